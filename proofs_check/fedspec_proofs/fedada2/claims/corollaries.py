"""Corollaries 23 and 24 (7 and 8 in the main text): rates at which the bound of Theorem 20 falls, and how fast.

With eta = T^p1 and eta_l = T^p2 every quotient Psi_i/Psi6 is a power of T; its exponents are linear in p1 and p2, and
differ where T eta_l^2 stays bounded and where it grows. What is said of exponents is linear arithmetic, decided by z3.
What is said of the algorithm falls with Theorem 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fedspec.algorithms import fedada2
from fedspec.plan import Setup
from fedspec_proofs.claim import Extent, Finding, Severity, claim, refutation
from fedspec_proofs.engines import Draw, Statement, curried, decide, decided, every, exact, prove, real
from fedspec_proofs.fedada2.claims.theorem_20 import hyper
from fedspec_proofs.fedada2.kit.conditions import PRINTED, printed
from fedspec_proofs.fedada2.kit.problems import BALANCED, everybody, rounds
from fedspec_proofs.fedada2.kit.rational import F

COROLLARY_23 = "Corollary 23 (L1075), Corollary 7 (L162)"
COROLLARY_24 = "Corollary 24 (L1120), Corollary 8 (L168)"

RANGES_A = {"-1 < p1 + p2 < 0": "Omega(1/T) < eta eta_l < O(1)", "p2 <= -1/2": "eta_l <= O(T^(-1/2))"}


def bounded_case(p1: Any, p2: Any) -> list[Any]:
    """Exponents of T in Psi_i/Psi6 if T eta_l^2 stays bounded (L1094-1098)."""
    return [-(p1 + p2 + 1), p1 + p2, p2, 2 * p1 + 2 * p2, p1 * 0 - 1]


def growing_case(p1: Any, p2: Any, squared: int = 2) -> list[Any]:
    """Exponents if T eta_l^2 grows (L1104-1108), without logarithms; ``squared`` is the power of eta_l in Psi3."""
    half = F(1, 2)
    return [-p1 - half, p1 + 2 * p2 + half, squared * p2 + half, 2 * p1 + 3 * p2 + half, p2 - half]


def _negative(exponents: Sequence[Any]) -> dict[str, Any]:
    return {f"Psi{i}/Psi6 falls": e < 0 for i, e in enumerate(exponents, 1)}


def _still_for_all_rates(h: fedada2.FedAda2) -> bool:
    """The mean change of the three clients at 0, with eta_l a z3 real."""
    x, eta_l = exact.vector(0), real("eta_l")
    any_rate = replace(h, eta_l=eta_l)
    state = fedada2.init(any_rate, x, Setup((1,) * 3, {"w": (1,)}))
    sent = fedada2.step(any_rate, state, BALANCED.clients, everybody(BALANCED, 1))[1]["delta"]
    return bool(
        prove(
            {"Delta = 0": sent[0] == 0},
            {"eta_l > 0": eta_l > 0},
        )
    )


def _never(rate: str) -> Finding:
    """The three clients of Theorem 20, whose gradient stays 1/9 whatever T is."""
    T, x = 10**10, exact.vector(0)
    h = hyper(T, F(1, 4))
    run = rounds(fedada2.step, h, BALANCED, x, everybody(BALANCED, 1), 3)
    other = rounds(fedada2.step, hyper(10**14, F(1, 4)), BALANCED, x, everybody(BALANCED, 1), 3)
    return refutation(
        instance="three Huber clients of scale 1 about -1, 1/3, 1/3, all in every round, f their mean; x_0 = 0, "
        "K = z = d = 1, eps = tau = eta = 1, eps_s = 1/4, beta1 = 0, the clients' v_0 = 0, the server's 1, "
        "eta_l = T^(-1/2), for every T; the left side is the "
        f"minimum for every T, the right side the limit of what is claimed ({rate})",
        conditions={
            **printed(BALANCED, F(1), F(1), h),
            "p1 = 0 and p2 = -1/2 lie in range (A)": -1 < F(0) - F(1, 2) < 0 and F(-1, 2) <= F(-1, 2),
            "a round changes nothing, at T = 10^10 and at 10^14": run.still
            and other.still
            and run.exact
            and other.exact,
            "what the round's clients send is 0 for every eta_l > 0 (z3), hence for every T": _still_for_all_rates(h),
        },
        left=run.floor(BALANCED),
        right=F(0),
    )


@claim(
    "fedada2.corollary-23",
    statement="Rates in range (A) make Algorithm 2 converge: min over t <= T of |grad f|^2 falls to 0 as T grows",
    source=COROLLARY_23,
    severity=Severity.FALSE_RESULT,
    assumptions={**PRINTED, "(A)": "eta_l <= O(T^(-1/2)) and Omega(1/T) < eta eta_l < O(1)"},
)
def convergence() -> Finding:
    """Three clients, all of which take part: their AdaGrad steps cancel, their gradients do not.

    So every x_t is x_0, where f' is 1/9, whatever T is and however small eta_l.
    """
    return _never("0")


@claim(
    "fedada2.corollary-24",
    statement="Algorithm 2 converges at rate O(T^(-1/2)), with eta = Theta(1) and eta_l = Theta(T^(-1/2))",
    source=COROLLARY_24,
    severity=Severity.FALSE_RESULT,
    assumptions=PRINTED,
)
def rate() -> Finding:
    """Repeat Corollary 23: no constant C works, since C T^(-1/2) falls below 1/81."""
    return _never("C T^(-1/2), any C: left over right grows as T^(1/2)")


@claim(
    "fedada2.corollary-23-exponents-a",
    statement="With eta = T^p1 and eta_l = T^p2 in range (A) all five printed quotients Psi_i/Psi6 fall",
    source=COROLLARY_23,
    extent=Extent.PART,
    assumptions=RANGES_A,
)
@decided(logic="QF_LRA")
def range_a(draw: Draw) -> Statement:
    """Proof by linear arithmetic, for all real exponents."""
    p1, p2 = draw("p1"), draw("p2")
    given = {"-1 < p1 + p2 < 0": every(p1 + p2 > -1, p1 + p2 < 0), "p2 <= -1/2": p2 <= F(-1, 2)}
    return Statement(given, _negative(bounded_case(p1, p2)))


@curried
def _range_b(draw: Draw, top: Fraction) -> Statement:
    p1, p2 = draw("p1"), draw("p2")
    given = {"p2 = -49/100": p2 == F(-49, 100), "-1/2 < p1": p1 > F(-1, 2), "p1 < 12/25": p1 < top}
    return Statement(given, _negative(growing_case(p1, p2)))


def _in_b(rng: Any) -> dict[str, Fraction]:
    return {"p1": F(int(rng.integers(-49, 48)), 100), "p2": F(-49, 100)}


@claim(
    "fedada2.corollary-23-exponents-b",
    statement="With eta = T^p1 and eta_l = T^p2 in range (B) all five printed quotients Psi_i/Psi6 fall, a "
    "logarithm in the fifth left out",
    source=COROLLARY_23,
    extent=Extent.PART,
    assumptions={
        "p2 = -49/100": "eta_l = Theta(T^(-49/100))",
        "-1/2 < p1": "eta > Omega(T^(-1/2))",
        "p1 < 12/25": "eta < O(T^(12/25))",
    },
)
def range_b() -> Finding:
    """The bound 12/25 is sharp: there Psi2/Psi6 stops falling."""
    return decide(_range_b(F(12, 25)), logic="QF_LRA", sample=_in_b)
