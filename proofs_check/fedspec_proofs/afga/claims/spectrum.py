"""Lemma F.3: bounds of the eigenvalues of G, and of their distance. Notation as in :mod:`.consensus`."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Second, Verdict, claim
from fedspec_proofs.engines import Draw, Statement, decided, every, prove, real, several


def _roots(draw: Draw) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """a = r + b with r, b >= 0, C >= 1 >= g >= 0, and the two eigenvalues."""
    low, high, r, b, C, g = several(draw, "lambda_1, lambda_2, r, b, C, g")
    a = r + b
    given = {
        "eigenvalues": every(low <= high, low + high == a + C, low * high == a * C - b * g),
        "signs": every(r >= 0, b >= 0, g >= 0),
        "C >= g": g <= C,
    }
    return given, (low, high, a, C, r, g)


ROOTS = {
    "eigenvalues": "lambda_1 <= lambda_2 are the eigenvalues of G",
    "signs": "a - b = max rho_k^2 (1 + 1/zeta), b and g are not negative",
    "C >= g": "C_I > 1 >= 16 I eta_l^2 L^2",
}


def _sample_roots(rng: np.random.Generator) -> dict[str, F]:
    """Rational eigenvalues, an a between them, and b small enough."""
    a, t = F(int(rng.integers(1, 9)), 4), F(int(rng.integers(0, 9)), 8)
    C = a + F(int(rng.integers(0, 9)), 4)
    # (C - a)^2 + 4 b g = (C - a + 2 t)^2
    g = F(int(rng.integers(1, 5)), 4)
    b = t * (C - a + t) / g
    return {"lambda_1": a - t, "lambda_2": C + t, "r": a - b, "b": b, "C": C, "g": g}


@claim(
    "afga.eigenvalues-of-g",
    statement="0 <= lambda_1 <= min(a, C_I) and lambda_2 >= max(a, C_I)",
    source="Lemma F.3, used for eqs. (54)-(57) (L3165-3262)",
    extent=Extent.WHOLE,
    assumptions=ROOTS,
)
@decided(sample=_sample_roots)
def eigenvalues(draw: Draw) -> Statement:
    """Proof: the determinant is nonnegative, since a >= b and C_I >= g."""
    given, (low, high, a, C, _, _) = _roots(draw)
    shown = {
        "0 <= lambda_1": low >= 0,
        "lambda_1 <= a, C": every(low <= a, low <= C),
        "lambda_2 >= a, C": every(high >= a, high >= C),
    }
    return Statement(given, shown)


def _sample_step(rng: np.random.Generator) -> dict[str, F]:
    steps = F(int(rng.integers(1, 9)))
    return {"I": steps, "e": F(int(rng.integers(0, 9)), 8 * 64) / steps**2}


def _eq_60_at(rng: np.random.Generator) -> dict[str, F]:
    found = _sample_step(rng)
    rho = (1 - 1 / found["I"]) * F(int(rng.integers(0, 5)), 4)
    return {**found, "rho": rho, "w": F(int(rng.integers(0, 8)), 8), "q": rho**2 / (1 - rho)}


@claim(
    "afga.eq-60",
    statement="In both cases the other disc lies below 1 + 3/(4I - 1): max rho_k^2 (1 + 1/zeta) + 8 eta_l^2 rho_L L^2 "
    "<= 1 in case 1, and <= 1 + 3/(4I - 1) in case 2",
    source="Lemma F.3, eqs. (60) and (67), last bounds (L3324, L3546)",
    extent=Extent.WHOLE,
    assumptions={
        "I >= 1": "there is a local step",
        "step": "e = (eta_l L)^2 with eta_l <= 1/(8IL)",
        "case 1": "0 <= rho <= 1 - 1/I, zeta = rho/(1 - rho), rho_L = rho^2/(1 - rho) = q",
        "case 2": "0 <= w < 1 in place of rho, zeta = 4I - 1, rho_L = 4 I w^2",
    },
)
@decided(sample=_eq_60_at, timeout_ms=5000)
def eq_60(draw: Draw) -> Statement:
    """Proof for every real I >= 1; the printed terms in between have wrong denominators and are not needed."""
    steps, e, rho, w, q = several(draw, "I, e, rho, w, q")
    given = {
        "I >= 1": steps >= 1,
        "step": every(e >= 0, 64 * steps**2 * e <= 1),
        "case 1": every(rho >= 0, steps * rho <= steps - 1, q * (1 - rho) == rho**2),
        "case 2": every(w >= 0, w < 1),
    }
    shown = {
        "case 1": rho + 8 * e * q <= 1,
        "case 2": w**2 * 4 * steps + 32 * steps * e * w**2 * (4 * steps - 1) <= 4 * steps + 2,
    }
    return Statement(given, shown)


@claim(
    "afga.eq-61",
    statement="(1 + 3/(4I - 1))^j <= 3 for j <= I, I >= 1, hence lambda_2^j <= 3, and (1 + 2/(4I - 1))^j <= 3",
    source="Lemma F.3, eqs. (61) and (64) (L3338, L3421)",
    extent=Extent.WHOLE,
    assumptions={"j <= I": "I >= 1, and j is a whole number from 0 to I"},
)
def eq_61() -> Finding:
    """Induction over j: with y = 3/(4I - 1) and t = 1 - jy/6 the power times t^6 stays at most 1, since (1 + y)(1 -
    y/6)^6 <= 1 and t - y/6 <= t (1 - y/6). At j = I, where t >= 5/6, the power is at most (6/5)^6 < 3.
    """
    y, t, power, t6, q, next_t6, I = (real(name) for name in ("y", "t", "power", "t6", "q", "next_t6", "I"))
    factor = prove({"(1 + y)(1 - y/6)^6 <= 1": (1 + y) * (1 - y / 6) ** 6 <= 1}, {"y": every(y >= 0, y <= 1)})
    base = prove(
        {"t - y/6 <= t (1 - y/6)": t - y / 6 <= t * (1 - y / 6)}, {"0 <= t <= 1": every(t >= 0, t <= 1, y >= 0)}
    )
    again = prove(
        {"power (1 + y) (t - y/6)^6 <= 1": power * (1 + y) * next_t6 <= 1},
        {
            "so far": every(power >= 0, power * t6 <= 1),
            "q = (1 - y/6)^6": every(q >= 0, (1 + y) * q <= 1, y >= 0),
            "(t - y/6)^6 <= t^6 q": next_t6 <= t6 * q,
        },
    )
    reach = prove({"3I/(4I - 1) <= 1": 3 * I <= 4 * I - 1}, {"I >= 1": I >= 1})
    answers = (factor, base, again, reach)
    powers = [(1 + F(3, 4 * k - 1)) ** k for k in range(1, 61)]
    beyond = (1 + F(3, 4 * 4 - 1)) ** 8
    ok = all(answers) and F(6, 5) ** 6 <= 3 and max(powers) <= 3
    return Finding(
        Verdict.PROVED if ok else Verdict.UNKNOWN,
        "\n".join(map(str, answers)) + f"\nthe largest power for I <= 60 is {float(max(powers)):.4g}",
        {"j <= I": Dropped(beyond > 3, f"by hand: I = 4, j = 8: {float(beyond):.4g}")},
        Second(Engine.EXACT, len(powers), "powers as fractions, j = I"),
    )
