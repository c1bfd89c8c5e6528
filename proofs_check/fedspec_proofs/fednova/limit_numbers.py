"""Fixed points on quadratics in exact numbers: how far from the minimiser, and where the iteration diverges."""

from __future__ import annotations

from fractions import Fraction

from fedspec.algorithms.fedavg import FedAvg
from fedspec.algorithms.fednova import FedNova
from fedspec.algorithms.fedprox import FedProx
from fedspec.arith import Scalar
from fedspec.hyper import Hyper
from fedspec.mixing.nova import general_weights
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import NovaWeights, TauEff
from fedspec_proofs.claim import FEDNOVA, Dropped, Engine, Finding, Source, Verdict, claim, false
from fedspec_proofs.engines import exact
from fedspec_proofs.fednova.bounds import rational
from fedspec_proofs.fednova.settings import Setting, label
from fedspec_proofs.fednova.small_rate import small_rate
from fedspec_proofs.refutation import refutation


def iso(h: Hyper, steps: tuple[int, ...], e: tuple[int, int] = (0, 1)) -> Setting:
    """H = 1, two clients of equal sample sizes."""
    return Setting(
        h, QuadraticClients(exact.vector(1, 1).reshape(2, 1, 1), exact.vector(*e).reshape(2, 1)), steps, (1, 1)
    )


KNOWN_LIMITS: dict[str, tuple[str, str]] = {
    "1/2": ("0.5002", "0.091"),
    "1/20": ("0.712", "0.199"),
    "1/100": ("0.869", "0.399"),
    "1/1000": ("0.905", "0.489"),
}
"""FedAvg's and FedNova's limit at a rate, for H = 1, e = (0, 1), p = 1/2, tau = (10, 100); the minimiser is 1/2."""


def _rounded(q: Fraction, like: str) -> str:
    return f"{float(q):.{len(like.partition('.')[2])}f}"


@claim(
    "fednova.limit-numbers",
    statement="H = 1, e = (0, 1), p = 1/2, tau = (10, 100): the fixed points at four rates, FedAvg's between the "
    "minimiser and the client with more steps, FedNova's beyond the minimiser and nearer to it at smaller rates",
    source=Source(FEDNOVA, "eq. (29) (L381); the numbers are ours"),
    engine=Engine.EXACT,
    verdict=Verdict.PROVED,
    assumptions={"norms": "FedNova divides by ||a_i||_1"},
)
def known_numbers() -> Finding:
    """Each limit is a fixed point of the round run exactly, 100 local steps included, and eq. (29) for FedAvg."""
    lines: list[str] = []
    found: dict[type, list[Fraction]] = {FedAvg: [], FedNova: []}
    for rate, wanted in KNOWN_LIMITS.items():
        eta = exact.number(rate)
        r = [1 - (1 - eta) ** tau for tau in (10, 100)]
        expected = (r[1] / (r[0] + r[1]), (r[1] / 100) / (r[0] / 10 + r[1] / 100))
        for h, want, closed in zip((FedAvg(eta_l=eta), FedNova(eta_l=eta)), wanted, expected, strict=True):
            s = iso(h, (10, 100))
            (value,) = s.limit()
            right = (s.round(s.limit()) == s.limit()).all() and value == closed and _rounded(value, want) == want
            if not right:
                return Finding(Verdict.REFUTED, f"{label(s)} at {rate}: {float(value)}, expected {want}")
            lines.append(f"{type(h).__name__} at eta_l = {rate}: {_rounded(value, want)}")
            found[type(h)].append(value)
    plain, nova = (iso(h(eta_l=rational(1, 20)), (10, 100)).limit()[0] for h in (FedAvg, FedNova))
    without = Dropped(plain != nova, f"eta_l = 1/20: {float(plain):.3f} in place of {float(nova):.3f}")
    half, nova_points = rational(1, 2), found[FedNova]
    as_said = all(half < x < 1 for x in found[FedAvg]) and all(x < half for x in nova_points)
    as_said = as_said and sorted(nova_points) == nova_points
    return Finding(Verdict.PROVED if as_said else Verdict.REFUTED, "; ".join(lines), {"norms": without})


@claim(
    "fednova.default-tau-eff-diverges",
    statement="FedNova with its default tau_eff can diverge where FedAvg converges: H = 1, tau = (1, 100), eta_l = "
    "0.1, and tau = (10, 100), eta_l = 0.5",
    source=Source(FEDNOVA, "ours, about eq. (12) (L198); the proof of Theorem 1 asks eta_l L tau_eff <= 1/2"),
    engine=Engine.EXACT,
    verdict=Verdict.PROVED,
    assumptions={"default": "tau_eff = sum p_i ||a_i||_1"},
)
def divergence() -> Finding:
    """The factor M of one round: 0.450 against -1.777, and -2.02. With tau_eff = 1 FedNova converges as well."""
    cases = (((1, 100), "1/10", "0.450", "-1.777"), ((10, 100), "1/2", "0.000", "-2.02"))
    lines, small = [], []
    for steps, rate, avg, nova in cases:
        eta = exact.number(rate)
        for h, want in ((FedAvg(eta_l=eta), avg), (FedNova(eta_l=eta), nova)):
            M = iso(h, steps).linear_part(exact.vector(0))[0, 0]
            if _rounded(M, want) != want or (abs(M) < 1) != isinstance(h, FedAvg):
                return Finding(Verdict.REFUTED, f"{type(h).__name__}, tau = {steps}: M = {float(M)}, expected {want}")
            lines.append(f"{type(h).__name__}, tau = {steps}, eta_l = {rate}: M = {_rounded(M, want)}")
        short = FedNova(eta_l=eta, tau_eff=1, tau_eff_choice=TauEff.FIXED)
        small.append(iso(short, steps).linear_part(exact.vector(0))[0, 0])
    words = ", ".join(f"M = {float(M):.3f}" for M in small) + " with tau_eff = 1"
    return Finding(Verdict.PROVED, "; ".join(lines), {"default": Dropped(all(abs(M) < 1 for M in small), words)})


def proximal_example(eta: Scalar) -> Setting:
    """F_1 = x^2 / 2, F_2 = (x - 1)^2, p = 1/2, two proximal steps each at alpha = 1."""
    problem = QuadraticClients(exact.vector(1, 2).reshape(2, 1, 1), exact.vector(0, 2).reshape(2, 1))
    return Setting(FedProx(eta_l=eta, mu=1 / eta), problem, (2, 2), (1, 1))


@claim(
    "fednova.limit-proximal-finite-rate",
    statement="FedProx at alpha = 1 has w = p, yet for F_1 = x^2/2, F_2 = (x-1)^2, two steps, its limit is 12/19 at "
    "eta_l = 1/8, where the gradient of F is -1/19",
    source=Source(FEDNOVA, "ours, against the consistency at alpha = 1 (L185) and Theorem 1 for FedProx (L155-165)"),
    engine=Engine.EXACT,
    verdict=Verdict.PROVED,
    assumptions={"finite": "the rate is not taken to zero"},
)
def proximal_numbers() -> Finding:
    """The minimiser of F is 2/3. At eta_l = 1/16 the gradient of F at the limit is -1/43, and less at smaller rates."""
    lines = []
    for rate, gradient in (("1/8", rational(-1, 19)), ("1/16", rational(-1, 43))):
        s = proximal_example(exact.number(rate))
        x, p = s.limit(), s.shares()
        slope = sum(p_i * g(0, x) for p_i, g in zip(p, s.problem.clients, strict=True))
        contracts = abs(s.linear_part(x * 0)[0, 0]) < 1
        same = (general_weights(p, s.norms(), NovaWeights.IMPLIED) == p).all() and (s.norms() == 1).all()
        if (s.round(x) != x).any() or slope[0] != gradient or not (contracts and same):
            return Finding(Verdict.REFUTED, f"eta_l = {rate}: limit {x[0]}, gradient {slope[0]}")
        lines.append(f"eta_l = {rate}: limit {x[0]}, gradient of F {slope[0]}")
    tiny = proximal_example(exact.number("1/1000000"))
    gap = abs(tiny.limit() - tiny.problem.minimiser(tiny.shares()))[0]
    words = f"at eta_l = 10^-6 the limit is {float(gap):.1e} from the minimiser"
    evidence = "; ".join(lines) + f"; minimiser of F {s.problem.minimiser(p)[0]}"
    return Finding(Verdict.PROVED, evidence, {"finite": Dropped(gap < rational(1, 10**6), words)})


# False variants.


def _off(h: Hyper) -> Finding:
    """H = 1, e = (0, 1), tau = (1, 2): the limit against the minimiser."""
    s = iso(h, (1, 2))
    x, best = s.limit(), s.problem.minimiser(s.shares())
    return refutation(
        instance="H = 1, e = (0, 1), tau = (1, 2), eta_l = 1/4: the limit against the minimiser",
        conditions={
            "a fixed point of the round": (s.round(x) == x).all(),
            "that attracts": abs(s.linear_part(x * 0)[0, 0]) < 1,
        },
        left=x[0],
        right=best[0],
        relation="=",
    )


@false(
    "fednova.fedavg-is-consistent",
    of=small_rate,
    statement="FedAvg converges to the minimiser of sum p_i F_i when clients take different numbers of steps",
    engine=Engine.EXACT,
)
def fedavg_consistent() -> Finding:
    """Lemma 1 says that it does not."""
    return _off(FedAvg(eta_l=exact.number("1/4")))


@false(
    "fednova.consistent-at-any-rate",
    of=small_rate,
    statement="FedNova converges to the minimiser of sum p_i F_i at every rate, not only as eta_l -> 0",
    engine=Engine.EXACT,
)
def nova_consistent() -> Finding:
    """Against the words after eq. (12) (L198)."""
    return _off(FedNova(eta_l=exact.number("1/4")))
