"""Strongly convex clients: distance of rounds from the minimiser, certified for all clients, in every dimension.

FedAvg, FedProx and FedNova go to a limit, which is not the minimiser x* where clients differ. What it depends on is
the clients' mean squared gradient zeta^2 at x*. SCAFFOLD and FedDyn keep a vector at each client and go to x* itself.
The rules' rounds are those of :mod:`fedspec_proofs.worst_cases.one_round`, whose tables these are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.client.proximal import proximal_sgd
from fedspec.plan import Oracle
from fedspec_proofs.claim import Claim, Dropped, Engine, Finding, Verdict, claim, false
from fedspec_proofs.engines import Draw, Statement, decided, every, exact
from fedspec_proofs.engines.worst_case.certificates import Case, certified, with_less
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.replay import Parabola, dropped
from fedspec_proofs.fednova.kit.bounds import rational
from fedspec_proofs.worst_cases import one_round
from fedspec_proofs.worst_cases.one_round import STRONG, Round

UNLIKE = {**STRONG, "zeta": "the clients' gradients at the minimiser x* of their mean F have the mean square zeta^2"}
SERVER = {
    "server": "the server's vector begins at the mean of the clients'; all of them take part, so that it stays there"
}
RATE = {"rate": "eta is in the interval"}
LOCAL_RATE = {"rate": "eta_l is in the interval"}


def without(made: Problem, r: Any) -> dict[str, Dropped]:
    """For each assumption, clients (less convex, steeper, more unlike) or a server's vector that break the bound.

    Args:
        made: function that makes the claim.
        r: the rounds of the claim.
    """
    n, keeps = len(r.steps), getattr(r, "keeps", False)
    zeros = {"s0": Fraction(0), **({f"c{i}": Fraction(0) for i in range(n)} if keeps else {})}
    out = flatter_or_steeper(made, r, n, **zeros)
    return {**out, **({"server": elsewhere(r)} if keeps else {"zeta": more_unlike(made, r)})}


def flatter_or_steeper(made: Problem, r: object, n: int, **zeros: Fraction) -> dict[str, Dropped]:
    """Counterexamples with n equal clients, less convex or steeper, with other kept vectors equal to ``zeros``."""
    out = {}
    for name, c in (("strong", -1), ("smooth", 100)):
        words = f"F_i = {c} x^2/2, {r}, from x = 1"
        parabolas = [Parabola(Fraction(c))] * n
        out[name] = dropped(made, parabolas, but="F", words=words, x=Fraction(1), **zeros)
    return out


def more_unlike(made: Problem, r: object) -> Dropped:
    """Counterexample with two clients whose minimisers are far apart."""
    far = [Parabola(Fraction(1), Fraction(-100)), Parabola(Fraction(1, 10), Fraction(1000))]
    words = f"F_1 = (x + 100)^2/2, F_2 = (x - 1000)^2/20, {r}, from x = 1"
    return dropped(made, far, but="zeta", words=words, x=Fraction(1), s0=Fraction(100))


@dataclass(frozen=True)
class Listed:
    """Polynomial bound of a round for the rates of an interval.

    Attributes:
        round: the round, with an open rate.
        bound: the coefficients of a polynomial in the rate.
        low: the smallest rate of the interval.
        high: the largest rate of the interval.
    """

    round: Round
    bound: tuple[str, ...]
    low: str = "1/4"
    high: str = "1/2"

    @property
    def letter(self) -> str:
        """Symbol of the clients' rate: eta as in the paper; eta_l for methods with a server's rate eta."""
        return "eta_l" if self.round.keeps else "eta"

    def value(self, eta: Any) -> Any:
        """Value of the polynomial bound at a rate."""
        return sum(Fraction(c) * eta**k for k, c in enumerate(self.bound))

    def case(self, claimed: Callable[[Round, Any], Problem]) -> Case:
        """Certificate case: the bound over the interval of rates."""
        return Case(
            lambda eta: claimed(replace(self.round, eta_l=eta), self.value(eta)),
            Fraction(self.low),
            Fraction(self.high),
        )

    def __str__(self) -> str:
        rate = self.letter
        powers = ("", f" {rate}", f" {rate}^2", f" {rate}^3")
        bound = " + ".join(f"{c}{power}" for c, power in zip(self.bound, powers, strict=False) if c != "0")
        a = f", a = {self.round.share}" if self.round.keeps else ""
        name = f"{self.round.algorithm}, tau = {self.round.steps}"
        return f"{name}, {rate} in [{self.low}, {self.high}]{a}: {bound}".replace("+ -", "- ")


def _listed(algorithm: str, steps: tuple[int, ...], *bound: str, share: str = "0", **of: str) -> Listed:
    return Listed(Round(algorithm, steps, "", share=share), bound, **of)


LIMITS = (
    _listed("fedavg", (2, 2), "0", "0", "9/10", "3/10"),
    _listed("fedavg", (3, 3), "0", "0", "57/20", "2/5"),
    _listed("fedprox", (2, 2), "0", "0", "3/4", "17/10"),
    _listed("fednova", (1, 2), "0", "0", "63/100", "1/4"),
    _listed("fednova", (1, 3), "0", "0", "2", "13/20"),
    _listed("fednova", (2, 1, 1), "0", "0", "9/10", "1/4"),
)

UNEQUAL = (
    _listed("fedavg", (1, 2), "278/25", "-37/25"),
    _listed("fedavg", (1, 3), "25", "-15/4"),
    _listed("fedprox", (1, 2), "5393/500", "-741/50"),
)

VARIATES = (
    _listed("scaffold", (2, 2), "9943/10000", "-357/1000", share="1/10"),
    _listed("scaffold", (2, 2, 2), "9943/10000", "-357/1000", share="1/10"),
)

DUALS = (
    _listed("feddyn", (2, 2), "1331/2000", "258/625", share="2", low="3/8"),
    _listed("feddyn", (1, 3), "104/125", "1/10", share="2", low="7/16"),
)

NEARER = (
    _listed("fednova", (1, 2), "5003/5000", "-3/10", "3/100"),
    _listed("fednova", (1, 3), "2001/2000", "-2/5", "3/50", "-1/250"),
)


def _claim(
    id: str,
    statement: str,
    place: str,
    listed: Sequence[Listed],
    claimed: Callable[[Round, Any], Problem],
    without: Callable[[], Mapping[str, Dropped]],
    assumptions: Mapping[str, str],
    verdict: Verdict = Verdict.TIGHT,
) -> Claim:
    return claim(
        id,
        statement=statement,
        source=place,
        engine=Engine.WORST_CASE,
        verdict=verdict,
        assumptions=assumptions,
        sizes="; ".join(map(str, listed)) + f"; {listed[0].letter} in units of 1/L",
    )(certified(id, {str(one): one.case(claimed) for one in listed}, without))


def _fixed(r: Round, parabolas: Sequence[Parabola]) -> Fraction:
    """Model of one coordinate that a round leaves unchanged."""

    def slope(p: Parabola) -> Oracle:
        return lambda k, y: exact.vector(p.gradient(y[0]))

    def after(x: Fraction) -> Any:
        return r.after(exact.vector(x), [slope(p) for p in parabolas])[0]

    zero, one = after(Fraction(0)), after(Fraction(1))
    fixed: Fraction = zero / (1 - (one - zero))
    return fixed


def _limit_without(
    one: Listed, *, flat: tuple[str, str], steep: tuple[str, str]
) -> Callable[[], Mapping[str, Dropped]]:
    """Two parabolas that break the bound without one assumption; their gradients at 0 are opposite."""

    def instance(but: str, slopes: tuple[str, str], s: int = 1, rate: str = "1/2") -> Dropped:
        c = [Fraction(k) for k in slopes]
        parabolas = [Parabola(c[0], -s / c[0]), Parabola(c[1], s / c[1])]
        r = replace(one.round, eta_l=Fraction(rate))
        x = _fixed(r, parabolas)
        said = f"F_i'' = {', '.join(slopes)}, F_i'(0) = {s}, {-s}, eta = {rate}, {r.algorithm} rests at {float(x):.4g}"
        problem = one_round.resting(r, one.value(r.rate))
        return dropped(problem, parabolas, but=but, words=said, x=x, s0=Fraction(s))

    return lambda: {
        "strong": instance("F", flat),
        "smooth": instance("F", steep),
        "zeta": instance("zeta", ("1/10", "1/5"), s=10),
        "rate": instance("", ("1/10", "1"), rate="19/10"),
    }


def elsewhere(r: Round) -> Dropped:
    """Counterexample with the server's vector 1 away from the clients' mean, all else at its fixed point."""
    still = [exact.vector(0)] * len(r.steps)
    clients = [lambda k, y: y] * len(r.steps)
    moved, held, *_ = replace(r, eta_l="1/2").kept(still[0], still, clients, off=rational(1))
    words = f"F_i = x^2/2, {r.algorithm} from x = x* = 0, c_i = 0, eta_l = 1/2, the server's vector 1"
    return Dropped(
        bool(moved[0] != 0), f"{words}: the sum was 0, x is {moved[0]} after the round, that vector {held[0]}"
    )


def _factor_without(
    one: Listed, claimed: Callable[[Round, Any], Problem], *kept: str
) -> Callable[[], Mapping[str, Dropped]]:
    """Equal parabolas, from 1, with whatever clients keep at zero."""

    def instance(but: str, curvature: int, rate: str = "1/2") -> Dropped:
        problem = claimed(replace(one.round, eta_l=Fraction(rate)), one.value(Fraction(rate)))
        zeros = dict.fromkeys(kept, Fraction(0))
        words = f"F_i = {curvature} x^2/2, {one.round.algorithm} from x = 1, {one.letter} = {rate}"
        parabolas = [Parabola(Fraction(curvature))] * len(one.round.steps)
        return dropped(problem, parabolas, but=but, words=words, x=Fraction(1), **zeros)

    def without() -> dict[str, Dropped]:
        found = {"strong": instance("F", -1), "smooth": instance("F", 100), "rate": instance("", 1, "4")}
        return {**found, **({"server": elsewhere(one.round)} if one.round.keeps else {})}

    return without


def _small(rng: np.random.Generator) -> Mapping[str, Fraction]:
    """Values for which the assumptions hold."""
    one, two, three, four = (Fraction(int(k), 16) for k in rng.integers(1, 16, 4))
    known = {"L": Fraction(2), "p": Fraction(2), "r": Fraction(4)}
    return {**known, "mu": one, "pull": two, "eta": three / 2, "q": four, "m": four}


@claim(
    "fednova.local-steps-contract",
    statement="Rounds of FedAvg or FedProx from x and y, n strongly convex clients, any weights p_i, numbers tau_i of "
    "steps, end at most sum p_i m(tau_i) |x - y| apart, m(0) = 1, m(k+1) = (1 - eta (mu + mu')) m(k) + eta mu' < 1, "
    "mu' FedProx's mu: one model is left where it is by a round, and rounds go there from everywhere",
    source="ours, about the limits of eqs. (24)-(28) (L357-373), for clients that are no quadratics",
    assumptions={
        "strong": "every F_i is mu-strongly convex, 0 < mu < L",
        "smooth": "every F_i has gradients that are Lipschitz with constant L, in any dimension",
        "rate": "0 < eta (L + mu + 2 mu') <= 2",
        "weights": "the p_i are not negative and sum to 1",
    },
)
@decided(sample=_small)
def local_steps(draw: Draw) -> Statement:
    """Proof for one local step, for all lengths and inner products: h = the difference of the gradients of F_i - mu
    |x|^2 / 2, which is convex with gradients of Lipschitz constant L - mu, so that <h, y - z> (L - mu) >= |h|^2.

    By the triangle inequality a step makes c |y - z| + eta mu' |x - w| of |y - z|; from m(0) = 1 by induction over the
    steps, which z3 sees keep m in [0, 1); the mean of the clients by the triangle inequality again; the fixed point by
    Banach's theorem. Equal parabolas of curvature mu attain it.
    """
    # A local step of two runs, by the rule; then its lengths, of which only the inner products are known.
    eta, mu, pull, L = draw("eta"), draw("mu"), draw("pull"), draw("L")
    y, z, x, w, g, k = (draw(name, 1) for name in "yzxwgk")
    c = 1 - eta * (mu + pull)
    h = g - k - mu * (y - z)
    step = proximal_sgd(y, g, x, eta_l=eta, mu=pull) - proximal_sgd(z, k, w, eta_l=eta, mu=pull)
    # |y - z|^2, |h|^2 and <h, y - z> in any dimension; h is the difference of two gradients of F_i - mu |x|^2 / 2.
    r, q, p, m = draw("r"), draw("q"), draw("p"), draw("m")
    stepped = c * (y - z) - eta * h + eta * pull * (x - w)
    return Statement(
        {
            "strong": every(mu > 0, mu < L),
            "smooth": every(r >= 0, q >= 0, p * (L - mu) >= q),
            "rate": every(eta > 0, pull >= 0, eta * (L + mu + 2 * pull) <= 2),
            "weights": every(m >= 0, m <= 1),
        },
        {
            "the step is c (y - z) - eta h + eta mu' (x - w)": step[0] == stepped[0],
            "|c (y - z) - eta h|^2 <= c^2 |y - z|^2": c**2 * r - 2 * eta * c * p + eta**2 * q <= c**2 * r,
            "c >= 0": c >= 0,
            "c m + eta mu' < 1": c * m + eta * pull < 1,
        },
    )


nova = _claim(
    "fednova.fednova-contracts",
    "One round of FedNova from x and one from y, clients with unequal steps, ends at most sqrt(the polynomial) |x - y| "
    "apart: so its rounds go to one limit from everywhere",
    "ours, about the limit of FedNova, as eqs. (24)-(28) (L357-373)",
    NEARER,
    one_round.apart,
    _factor_without(NEARER[0], one_round.apart),
    STRONG | RATE,
)

limits = _claim(
    "fednova.limit-error",
    "The limit x~ of FedAvg and FedProx (mu = L) with equal steps and of FedNova with unequal ones has |x~ - x*|^2 <= "
    "zeta^2 times the polynomial in eta (of order eta^2), in every dimension",
    "ours, about eqs. (24)-(28) (L357-373), for clients that are no quadratics",
    LIMITS,
    one_round.resting,
    _limit_without(LIMITS[0], flat=("-9/10", "1"), steep=("1/10", "5")),
    UNLIKE | RATE,
    verdict=Verdict.CERTIFIED,
)

unequal = _claim(
    "fednova.limit-error-unequal",
    "With unequal steps the limit x~ of FedAvg and FedProx (mu = L) has |x~ - x*|^2 <= zeta^2 times the polynomial, "
    "which does not fall with eta; functions are built at which it is all but attained",
    "ours, about Lemma 1 (L70), for clients that are no quadratics",
    UNEQUAL,
    one_round.resting,
    _limit_without(UNEQUAL[0], flat=("1/100", "1/100"), steep=("1/10", "41/10")),
    UNLIKE | RATE,
)

variates = _claim(
    "fednova.scaffold-contracts",
    "In a round of SCAFFOLD (option II, eta = 1) |x - x*|^2 + a mean |c_i - grad F_i(x*)|^2 becomes at most "
    "the polynomial in eta_l times what it was, whatever zeta is: what is left of FedAvg's distance to x* is removed",
    "ours, about SCAFFOLD (L204), external",
    VARIATES,
    one_round.problem_of,
    _factor_without(VARIATES[0], one_round.problem_of, "s0", "c0", "c1"),
    STRONG | LOCAL_RATE | SERVER,
)

duals = _claim(
    "fednova.feddyn-contracts",
    "In a round of FedDyn (mu = L) |x - x*|^2 + a mean |lam_i - grad F_i(x*)|^2 becomes at most the polynomial in "
    "eta_l times what it was, whatever zeta is, also with unequal steps",
    "ours, about FedDyn beside eq. (12) (L198), external",
    DUALS,
    one_round.problem_of,
    _factor_without(DUALS[0], one_round.problem_of, "s0", "c0", "c1"),
    STRONG | LOCAL_RATE | SERVER,
)


@false("fednova.limit-error-less", of=limits, statement="The same with nineteen twentieths of the polynomial")
def nearer_limit() -> Finding:
    """Refuted by functions that need nearly the whole polynomial."""
    return with_less(limits.id, Fraction(19, 20))


@false("fednova.scaffold-contracts-faster", of=variates, statement="The same with 99 hundredths of the polynomial")
def faster() -> Finding:
    """Refuted by functions that need nearly the whole polynomial."""
    return with_less(variates.id, Fraction(99, 100))
