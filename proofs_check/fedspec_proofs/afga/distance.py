"""Eqs. (62) and (63), how far apart the eigenvalues of G are; and Lemmas F.3 and F.4 from one local step.

M_(t+1) <= G M_t + B entry by entry, G as in :mod:`.recursion` and not negative, so that M_t <= sum_(j<t) G^j B. With
lambda_2^j <= 3 and s_j <= s the repaired eqs. (54) and (71) give t (3 (b1 + b2) + s (g b1 + b b2)) for consensus error
and drift, and t (3 b1 + s b b2) for the consensus error. Coefficient by coefficient that is below the lemmas' bounds.
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec_proofs.afga.bounds import C_1, printed_growth
from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import every
from fedspec_proofs.refutation import refutation


@claim(
    "afga.eq-63",
    statement="lambda_2 - lambda_1 = C_I - rho_max - 4 eta_l^2 rho_L L^2 in case 1; that it is at least so large holds",
    source=Source(AFGA, "Lemma F.3, eq. (63), first line (L3346-3364)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def eq_63() -> Finding:
    """True only where b g = 0. Squares of both sides, so that the root need not be rational."""
    steps, L, rho = 2, 1, F(1, 2)
    eta_l, C = F(1, 16), printed_growth(2)
    rho_L = rho**2 / (1 - rho)
    a, b, g = rho + 4 * eta_l**2 * rho_L * L**2, 4 * eta_l**2 * rho_L * L**2, 16 * steps * eta_l**2 * L**2
    return refutation(
        instance="I = 2, L = 1, eta_l = 1/16, rho = 1/2, zeta = rho/(1 - rho) = 1; the squares of both sides, the "
        "left one by the trace and the determinant of G",
        conditions={
            "step: eta_l <= 1/(8IL)": eta_l * 8 * steps * L <= 1,
            "case 1: rho <= 1 - 1/I": rho <= 1 - F(1, steps),
            "the right side is positive": C - a > 0,
        },
        left=(a + C) ** 2 - 4 * (a * C - b * g),
        right=(C - a) ** 2,
        relation="=",
    )


@claim(
    "afga.eq-63-repaired",
    statement="lambda_2 - lambda_1 >= C_I - rho_max - 4 eta_l^2 rho_L L^2 >= 1 - rho_max in case 1, with C_I >= 1 + "
    "1/(4I - 1), and so eq. (62): rho_max + 4 eta_l^2 rho_L L^2 <= C_I",
    source=Source(AFGA, "ours, for eq. (63) with eq. (62) (L3345-3364)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={
        "eigenvalues": "lambda_1 <= lambda_2 are the eigenvalues of G",
        "signs": "rho, b and g are not negative",
        "case 1": "I >= 1, rho_max <= 1 - 1/I and rho_L = rho_max^2/(1 - rho_max)",
        "step": "e = (eta_l L)^2 with eta_l <= 1/(8IL)",
        "C_I": "C_I >= 1 + 1/(4I - 1), which the printed and the repaired one meet",
    },
    repairs="afga.eq-63",
)
def eq_63_repaired() -> Finding:
    """For every real I >= 1."""

    def body(draw: Draw) -> Statement:
        low, high, rho, b, C, g = (draw(name) for name in ("lambda_1", "lambda_2", "rho", "b", "C", "g"))
        steps, e = draw("I"), draw("e")
        a = rho + b
        given = {
            "eigenvalues": every(low <= high, low + high == a + C, low * high == a * C - b * g),
            "signs": every(rho >= 0, b >= 0, g >= 0),
            "case 1": every(steps >= 1, steps * rho <= steps - 1, b * (1 - rho) == 4 * e * rho**2),
            "step": every(e >= 0, 64 * steps**2 * e <= 1),
            "C_I": (C - 1) * (4 * steps - 1) >= 1,
        }
        shown = {
            "lambda_2 - lambda_1 >= C - a": high - low >= C - a,
            "C - a >= 1 - rho": C - a >= 1 - rho,
            "eq. (62)": a <= C,
        }
        return Statement(given, shown)

    def sample(rng: np.random.Generator) -> dict[str, F]:
        steps = F(int(rng.integers(2, 6)))
        rho = (1 - 1 / steps) * F(int(rng.integers(1, 5)), 4)
        e = F(int(rng.integers(1, 5)), 256) / steps**2
        b = 4 * e * rho**2 / (1 - rho)
        C, t = 1 + 1 / (4 * steps - 1) + F(int(rng.integers(0, 3)), 7), F(int(rng.integers(0, 4)), 9)
        a = rho + b
        return {
            "I": steps, "rho": rho, "e": e, "b": b, "C": C, "lambda_1": a - t, "lambda_2": C + t,
            "g": t * (C - a + t) / b,
        }  # fmt: skip

    return decide(body, sample=sample, timeout_ms=5000)


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
