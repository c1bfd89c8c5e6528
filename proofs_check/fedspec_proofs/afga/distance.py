"""Eqs. (62) and (63): how far apart the eigenvalues of G are. Notation as in :mod:`.recursion`."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np

from fedspec_proofs.afga.bounds import printed_growth
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


@claim(
    "afga.eq-66",
    statement="With zeta = 4I - 1 in case 2, rho_L = max rho_k^2 (1 + zeta) = 4 I rho_max^2 H; a slip, after eq. (68) "
    "it is 4 I rho_max^2",
    source=Source(AFGA, "Lemma F.3, eq. (66) (L3531)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def eq_66() -> Finding:
    """H = I is one factor too many; after eq. (68) it stands without."""
    steps, rho = 2, F(3, 4)
    H = min(F(steps), 1 / (1 - rho))
    return refutation(
        instance="I = 2, rho = 3/4, zeta = 7",
        conditions={"case 2: rho > 1 - 1/I": rho > 1 - F(1, steps), "H = I": steps == H},
        left=rho**2 * (1 + (4 * steps - 1)),
        right=4 * steps * rho**2 * H,
        relation="=",
    )
