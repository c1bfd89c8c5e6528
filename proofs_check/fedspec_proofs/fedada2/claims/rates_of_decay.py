"""Corollary 24: the best exponent of T that the bound of Theorem 20 allows, as printed and as corrected."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from fedspec_proofs.claim import Dropped, Extent, Finding, Verdict, claim
from fedspec_proofs.engines import Draw, Statement, decide, decided, every, exact
from fedspec_proofs.fedada2.claims.corollaries import COROLLARY_23, COROLLARY_24, bounded_case, growing_case
from fedspec_proofs.fedada2.claims.theorem_20 import hyper, setting
from fedspec_proofs.fedada2.kit.bounds import FLOAT, psis, theorem_20
from fedspec_proofs.fedada2.kit.problems import BALANCED
from fedspec_proofs.fedada2.kit.rational import F


@claim(
    "fedada2.corollary-24-exponents",
    statement="With eta = T^p1 and eta_l = T^p2 the largest of the five printed exponents is never below "
    "-1/2, in both cases, and is -1/2 at p1 = 0, p2 = -1/2",
    source=COROLLARY_24,
    extent=Extent.PART,
    assumptions={"p2 as the case wants": "p2 <= -1/2 where T eta_l^2 stays bounded, p2 >= -1/2 where it grows"},
)
def best_exponent() -> Finding:
    """Psi1/Psi6 and Psi2/Psi6 suffice: their exponents sum to -1 in the first case and to 2 p2 in the second."""

    def body(draw: Draw) -> Statement:
        p1, p2, q1, q2, best = draw("p1"), draw("p2"), draw("q1"), draw("q2"), draw("best")
        given = {
            "p2 as the case wants": every(p2 <= F(-1, 2), q2 >= F(-1, 2)),
            "best is at least all exponents of the first case": every(*(best >= e for e in bounded_case(p1, p2))),
        }
        other = growing_case(q1, q2)
        at = bounded_case(F(0), F(-1, 2))
        return Statement(
            given,
            {
                "best >= -1/2": best >= F(-1, 2),
                "some exponent of the second case is >= -1/2": other[0] + other[1] >= -1,
                "-1/2 is attained": max(at) == F(-1, 2),
            },
        )

    found = decide(body)
    return replace(found, dropped={k: v for k, v in found.dropped.items() if k == "p2 as the case wants"})


@claim(
    "fedada2.corollary-24-identical",
    statement="With identical clients, no dead zone and L^2 |Phi1|^2 for D, the exponents still are at most -1/2 at "
    "p1 = 0, p2 = -1/2: the right side of theorem-20-repaired falls as T^(-1/2)",
    source=COROLLARY_24,
    extent=Extent.PART,
    assumptions={"D = L^2 |Phi1|^2": "all F_i are equal and no step falls into the dead zone"},
    repairs="fedada2.corollary-24",
    chain="theorem-20-repaired lemma-15-repaired",
)
def identical() -> Finding:
    """Psi3 then contains eta_l^3 T in place of eta_l^2 T, so that Psi3/Psi6 has exponent 2 p2 instead of p2.

    The numbers of the repaired right side itself are then compared at T = 10^6 and 10^10: they fall a hundredfold.
    """

    def body(draw: Draw) -> Statement:
        p1, p2 = draw("p1"), draw("p2")
        exponents = bounded_case(p1, p2)
        exponents[2] = 2 * p2
        return Statement(
            {"p1 = 0 and p2 = -1/2": every(p1 == 0, p2 == F(-1, 2))},
            {f"Psi{i}/Psi6 falls as T^(-1/2)": e <= F(-1, 2) for i, e in enumerate(exponents, 1)},
        )

    found = decide(body, logic="QF_LRA", sample=lambda rng: {"p1": F(0), "p2": F(-1, 2)}, ablate=False)
    rights = []
    for T in (10**6, 10**10):
        s = setting(BALANCED, hyper(T, F(1, 4)), exact.vector(0), T)
        k = theorem_20(s, FLOAT, printed=False)
        same, apart = (psis(s, k, FLOAT, D) for D in (float(s.L) ** 2 * k.phi1**2, 4 * float(s.G) ** 2))
        rights.append((sum(same[:5]) / same[5], sum(apart[:5]) / apart[5]))
    (early, far_early), (late, far_late) = rights
    if not 90 < early / late < 110:
        return Finding(Verdict.UNKNOWN, f"the right side falls by {early / late:.3g}")
    words = f"D = 4 d G^2: the right side is {far_early:.4g} at T = 10^6 and {far_late:.4g} at 10^10"
    evidence = f"{found.evidence}\nright side {early:.4g} at T = 10^6, {late:.4g} at 10^10"
    return replace(found, evidence=evidence, dropped={"D = L^2 |Phi1|^2": Dropped(far_late > far_early / 2, words)})


def _in_ranges(rng: Any) -> dict[str, Fraction]:
    p2 = F(-int(rng.integers(4, 13)), 8)
    return {"p2": p2, "p1": -p2 - F(int(rng.integers(1, 8)), 8), "q1": F(int(rng.integers(-49, 48)), 100)}


@claim(
    "fedada2.corollary-23-identical",
    statement="With identical clients, no dead zone and L^2 |Phi1|^2 for D, all quotients of the repaired "
    "right side of Theorem 20 fall in ranges (A) and (B), eta = T^p1 and eta_l = T^p2, a logarithm in the fifth aside",
    source=COROLLARY_23,
    extent=Extent.PART,
    assumptions={"(A)": "the range where T eta_l^2 stays bounded", "(B)": "the range where it grows, p2 = -49/100"},
    repairs="fedada2.corollary-23",
    chain="theorem-20-repaired lemma-15-repaired",
)
@decided(logic="QF_LRA", sample=_in_ranges)
def identical_ranges(draw: Draw) -> Statement:
    """Corollary 23's statement about the printed bound, proved for the corrected bound and identical clients."""
    # Ranges (A), in p1 and p2, and (B), in q1, with Psi3 of the order eta eta_l^3 T.
    p1, p2, q1 = draw("p1"), draw("p2"), draw("q1")
    bounded, growing = bounded_case(p1, p2), growing_case(q1, F(-49, 100), squared=3)
    bounded[2] = 2 * p2
    given = {
        "(A)": every(p1 + p2 > -1, p1 + p2 < 0, p2 <= F(-1, 2)),
        "(B)": every(q1 > F(-1, 2), q1 < F(12, 25)),
    }
    shown = {f"Psi{i}/Psi6 falls in (A)": e < 0 for i, e in enumerate(bounded, 1)}
    return Statement(
        given,
        {
            **shown,
            **{f"Psi{i}/Psi6 falls in (B)": e < 0 for i, e in enumerate(growing, 1)},
        },
    )
