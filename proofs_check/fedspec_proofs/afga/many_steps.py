"""Lemmas F.3 and F.4 from one local step: the entries of G and B, and how much of each t steps leave.

M_(t+1) <= G M_t + B entry by entry, G as in :mod:`.recursion` and not negative, so that M_t <= sum_(j<t) G^j B. With
lambda_2^j <= 3 and s_j <= s the repaired eqs. (54) and (71) give t (3 (b1 + b2) + s (g b1 + b b2)) for consensus error
and drift, and t (3 b1 + s b b2) for the consensus error. Coefficient by coefficient that is below the lemmas' bounds.
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec_proofs.afga.bounds import C_1
from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import every

ENOUGH = 60
"""What the recursion needs of C_1, at most what the bounds are written with."""
assert ENOUGH <= C_1

GIVEN = {
    "step": "64 I^2 e <= 1 with e = (eta_l L)^2",
    "r": "r = rho_max^2 is in [0, 1]",
    "case 1": "1 <= H <= I with H = 1/(1 - rho_max); zeta = rho_max/(1 - rho_max), so that rho_L = r H",
    "s, case 1": "0 <= s <= 3 H: afga.eq-56 with lambda_2^j <= 3 (afga.eq-58-repaired, eq-60, eq-61) and lambda_2 - "
    "lambda_1 >= 1 - rho_max (afga.eq-63-repaired)",
    "s, case 2": "0 <= s <= 3 I, H = I: afga.eq-56 with j <= I; zeta = 4I - 1, so that rho_L = 4 I r",
}


def _sums(draw: Draw, constant: Any) -> Statement:
    """Both cases; ``w`` is the s of case 2. All is over eta_l^2 and over the number t of steps."""
    I, e, r, H, s, w = (draw(name) for name in ("I", "e", "r", "H", "s", "w"))
    given = {
        "step": every(e >= 0, 64 * I * I * e <= 1),
        "r": every(r >= 0, r <= 1),
        "case 1": every(H >= 1, H <= I),
        "s, case 1": every(s >= 0, s <= 3 * H),
        "s, case 2": every(w >= 0, w <= 3 * I),
    }
    g = 16 * I * e
    shown: dict[str, Any] = {}
    for case, times, rho_L, h in (("case 1", s, r * H, H), ("case 2", w, 4 * I * r, I)):
        b = 4 * e * rho_L
        # The coefficients in b1 and b2 of: gradients, sbar_l^2, sigma^2, sigma^2/n, fac I sbar_l^2.
        first, second = (4 * rho_L, 4 * rho_L, r, 0, 0), (16 * I, 0, 0, 1, 16)
        # Both sides of the last two times I^2, since H^2/I^2 stands there.
        share = r * h * h
        drift = (I + r * h, r * h, r, I * I + share, I * I + share)
        inner = (r * h, r * h, r, share, share)
        names = ("gradients", "dissimilarity", "noise", "noise of the mean", "sampling")
        for k, name in enumerate(names):
            scale = I * I if k > 2 else 1
            whole = 3 * (first[k] + second[k]) + times * (g * first[k] + b * second[k])
            shown[f"Lemma F.3, {case}, {name}"] = scale * whole <= constant * drift[k]
            shown[f"Lemma F.4, {case}, {name}"] = scale * (3 * first[k] + times * b * second[k]) <= constant * inner[k]
    return Statement(given, shown)


def _sample(rng: np.random.Generator) -> dict[str, F]:
    I = F(int(rng.integers(1, 9)))
    H = 1 + (I - 1) * F(int(rng.integers(0, 5)), 4)
    e, r = F(int(rng.integers(0, 5)), 256) / I**2, F(int(rng.integers(0, 9)), 8)
    s, w = (3 * k * F(int(rng.integers(0, 5)), 4) for k in (H, I))
    return {"I": I, "e": e, "r": r, "H": H, "s": s, "w": w}


@claim(
    "afga.lemma-f-3-assembly",
    statement="Lemmas F.3 and F.4 with t in place of t + 1 and C_1 = 60, so with 72 as well, follow from Lemma F.1, as "
    "repaired, from F.2, and from what is assumed here of the eigenvalues, in both cases, for all real I, H and rho",
    source=Source(AFGA, "ours, for Lemmas F.3 and F.4 (L3080-3725)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions=GIVEN,
)
def f_3() -> Finding:
    """Twenty coefficients. With rho_max = 0 zeta is 0, and F.2 is taken in the limit."""
    return decide(lambda draw: _sums(draw, ENOUGH), sample=_sample)
