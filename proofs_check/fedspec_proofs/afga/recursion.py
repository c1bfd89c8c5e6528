"""The algebra behind Lemmas F.3 and F.4: powers of the 2 x 2 matrix G = [[a, b], [g, C]], by its eigenvalues.

    a = max rho_k^2 (1 + 1/zeta) + b,    b = 4 L^2 eta_l^2 rho_L,    g = 16 I eta_l^2 L^2,    C = C_I
    s_j = (lambda_2^j - lambda_1^j) / (lambda_2 - lambda_1)

A matrix is made from its eigenvalues, C and g, so that everything is a rational function of four variables.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec_proofs.afga.bounds import printed_growth
from fedspec_proofs.claim import AFGA, Engine, Extent, Finding, Severity, Source, Verdict, claim, false
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities
from fedspec_proofs.refutation import refutation

POWERS = range(6)


def _from(draw: Draw) -> tuple[Array, Any, Any]:
    """G and its eigenvalues."""
    low, gap, C, g = (draw(name, positive=True) for name in ("lambda_1", "gap", "C", "g"))
    high = low + gap
    a = low + high - C
    G = np.array([[a, (a * C - low * high) / g], [g, C]], dtype=object)
    return G, low, high


def _power(G: Array, j: int) -> Array:
    return exact.power(G, j) if j else np.array([[1, 0], [0, 1]], dtype=object)


def _s(low: Any, high: Any, j: int) -> Any:
    """(lambda_2^j - lambda_1^j) / (lambda_2 - lambda_1), as the sum that it is."""
    return sum((high**k * low ** (j - 1 - k) for k in range(j)), start=low * 0)


def _rows_of_powers(rest: Callable[..., Any], row: tuple[int, int]) -> Callable[[Draw], list[Any]]:
    """row G^j (b1, b2) less what is said to be it, for j = 0..5, and Cayley-Hamilton, which takes both on to j + 1."""

    def body(draw: Draw) -> list[Any]:
        G, low, high = _from(draw)
        b = draw("b", 2)
        found = [row @ (_power(G, j) @ b) - rest(G, low, high, b, _s(low, high, j), low**j, high**j) for j in POWERS]
        hamilton = G @ G - (low + high) * G + low * high * _power(G, 0)
        return [*found, *hamilton.ravel()]

    return body


@claim(
    "afga.eq-52",
    statement="G = P diag(lambda_1, lambda_2) P^-1 with the printed P and its inverse",
    source=Source(AFGA, "Lemma F.3, eq. (52) (L3152-3165)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
)
def eq_52() -> Finding:
    """With lambda_1, lambda_2 any two numbers whose sum is the trace and whose product is the determinant of G."""

    def body(draw: Draw) -> list[Any]:
        G, low, high = _from(draw)
        C, g = G[1, 1], G[1, 0]
        P = np.array([[low - C, high - C], [g, g]], dtype=object)
        middle = np.array([[low, 0], [0, high]], dtype=object)
        Q = np.array([[g, C - high], [-g, low - C]], dtype=object)
        return list((G - P @ middle @ Q / (g * (low - high))).ravel())

    return identities({"all G with g > 0 and lambda_1 < lambda_2": body})


def _instance() -> tuple[Array, Any, Any]:
    """G of one local step, with rational eigenvalues."""
    return np.array([[F(15, 16), F(9, 16)], [F(1, 4), F(3, 2)]], dtype=object), F(3, 4), F(27, 16)


INSTANCE = (
    "I = L = 1, eta_l = 1/8, m = n, rho = 3/5, zeta = 24, so that rho_L = 9 and G = [[15/16, 9/16], [1/4, 3/2]] has "
    "the eigenvalues 3/4 and 27/16; sbar_l^2 = 16/9, all other constants 0, so that B = (1, 0); j = 1"
)


def _meets() -> dict[str, bool]:
    """Whether the constants in the words give that G and that B."""
    G, low, high = _instance()
    steps, L, eta_l, rho, zeta, sbar = 1, 1, F(1, 8), F(3, 5), F(24), F(16, 9)
    rho_L = rho**2 * (1 + zeta)
    b = 4 * L**2 * eta_l**2 * rho_L
    return {
        "step: eta_l <= 1/(8IL)": eta_l * 8 * steps * L <= 1,
        "D.2: rho < 1": rho < 1,
        "first row of eq. (50)": (G[0, 0], G[0, 1]) == (rho**2 * (1 + 1 / zeta) + b, b),
        "second row of eq. (50)": (G[1, 0], G[1, 1]) == (16 * steps * eta_l**2 * L**2, printed_growth(steps)),
        "eq. (51): B = (1, 0)": 4 * rho_L * eta_l**2 * sbar == 1,
        "lambda_1 <= lambda_2 are the eigenvalues of G": low <= high
        and low + high == G[0, 0] + G[1, 1]
        and low * high == G[0, 0] * G[1, 1] - G[0, 1] * G[1, 0],
    }


@claim(
    "afga.eq-54",
    statement="(1, 1) G^j B = lambda_1^j b1 + lambda_2^j b2 + s_j (g b1 + b b2), the first line; the second one holds",
    source=Source(AFGA, "Lemma F.3, eq. (54), first line (L3198-3216)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.SLIP,
)
def eq_54() -> Finding:
    """Off by s_j (lambda_2 - C_I)(b1 - b2); lambda_2 = C_I only where the other entries vanish."""
    G, low, high = _instance()
    return refutation(
        instance=INSTANCE,
        conditions=_meets(),
        left=np.array([1, 1]) @ (G @ exact.vector(1, 0)),
        right=low + _s(low, high, 1) * G[1, 0],
        relation="=",
    )


@claim(
    "afga.eq-54-repaired",
    statement="(1, 1) G^j B = lambda_2^j (b1 + b2) + s_j (g b1 + b b2) - s_j ((C - lambda_1) b1 + (a - lambda_1) b2) "
    "for every j; what is subtracted is not negative, which gives the second line of eq. (54)",
    source=Source(AFGA, "ours, for eq. (54) (L3198-3216)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
    repairs="afga.eq-54",
)
def eq_54_repaired() -> Finding:
    """As polynomials for j = 0..5. Both sides satisfy y_(j+2) = tr(G) y_(j+1) - det(G) y_j, the left one by
    Cayley-Hamilton (shown as well): two values of j carry over to all. lambda_1 <= min(a, C) is a claim of its own.
    """

    def rest(G: Array, low: Any, high: Any, b: Any, s: Any, low_j: Any, high_j: Any) -> Any:
        slack = (G[1, 1] - low) * b[0] + (G[0, 0] - low) * b[1]
        return high_j * (b[0] + b[1]) + s * (G[1, 0] * b[0] + G[0, 1] * b[1]) - s * slack

    return identities({"j = 0..5": _rows_of_powers(rest, (1, 1))})


@false(
    "afga.false-54-smaller-eigenvalue",
    of=eq_54_repaired,
    statement="Eq. (54) as repaired, with lambda_1 in place of lambda_2 in the first term",
)
def smaller_eigenvalue() -> Finding:
    """The larger eigenvalue is needed."""

    def rest(G: Array, low: Any, high: Any, b: Any, s: Any, low_j: Any, high_j: Any) -> Any:
        slack = (G[1, 1] - low) * b[0] + (G[0, 0] - low) * b[1]
        return low_j * (b[0] + b[1]) + s * (G[1, 0] * b[0] + G[0, 1] * b[1]) - s * slack

    return identities({"j = 0..5": _rows_of_powers(rest, (1, 1))})


@claim(
    "afga.eq-71",
    statement="(1, 0) G^j B = lambda_1^j b1 + s_j b b2, the first equality; the bound after it holds",
    source=Source(AFGA, "Lemma F.4, eq. (71), first equality (L3636-3669)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.SLIP,
)
def eq_71() -> Finding:
    """s_j (lambda_2 - C_I) b1 is missing."""
    G, low, _ = _instance()
    return refutation(
        instance=INSTANCE,
        conditions=_meets(),
        left=np.array([1, 0]) @ (G @ exact.vector(1, 0)),
        right=low,
        relation="=",
    )


@claim(
    "afga.eq-71-repaired",
    statement="(1, 0) G^j B = lambda_2^j b1 + s_j b b2 - s_j (C - lambda_1) b1 for every j, which gives the "
    "inequality after the first equality of eq. (71)",
    source=Source(AFGA, "ours, for eq. (71) (L3636-3669)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
    repairs="afga.eq-71",
)
def eq_71_repaired() -> Finding:
    """As :func:`eq_54_repaired`."""

    def rest(G: Array, low: Any, high: Any, b: Any, s: Any, low_j: Any, high_j: Any) -> Any:
        return high_j * b[0] + s * G[0, 1] * b[1] - s * (G[1, 1] - low) * b[0]

    return identities({"j = 0..5": _rows_of_powers(rest, (1, 0))})
