"""Exact numbers on quadratics: where the iteration diverges, and FedProx's limit at alpha = 1 and a finite rate."""

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
from fedspec_proofs.claim import FEDNOVA, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.fednova.bounds import rational
from fedspec_proofs.fednova.settings import Setting


def iso(h: Hyper, steps: tuple[int, ...], e: tuple[int, int] = (0, 1)) -> Setting:
    """H = 1, two clients of equal sample sizes."""
    return Setting(
        h, QuadraticClients(exact.vector(1, 1).reshape(2, 1, 1), exact.vector(*e).reshape(2, 1)), steps, (1, 1)
    )


def _rounded(q: Fraction, like: str) -> str:
    return f"{float(q):.{len(like.partition('.')[2])}f}"


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
