"""The algebra behind Lemmas F.3 and F.4: powers of the 2 x 2 matrix G = [[a, b], [g, C]], by its eigenvalues.

    a = max rho_k^2 (1 + 1/zeta) + b,    b = 4 L^2 eta_l^2 rho_L,    g = 16 I eta_l^2 L^2,    C = C_I

A matrix is made from its eigenvalues, C and g, so that everything is a rational function of four variables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec_proofs.claim import AFGA, Engine, Extent, Finding, Source, Verdict, claim
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities


def _from(draw: Draw) -> tuple[Array, Any, Any]:
    """G and its eigenvalues."""
    low, gap, C, g = (draw(name, positive=True) for name in ("lambda_1", "gap", "C", "g"))
    high = low + gap
    a = low + high - C
    G = np.array([[a, (a * C - low * high) / g], [g, C]], dtype=object)
    return G, low, high


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
