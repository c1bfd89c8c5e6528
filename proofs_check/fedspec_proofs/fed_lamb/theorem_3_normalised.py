"""Theorem 3's proof from the normalised gradients on. Fed-LAMB, L770-812.

The instance of most displays: f' = 0, gradient 3/100 or -3/100 with equal chances, one client, one coordinate, v0 = 1.
Then g_bar = sqrt(v_hat) sign(g) is 1 or -1, and M = 3/100, sigma = 4/100 leave only M and sigma on the right sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.expectation import mean
from fedspec_proofs.fed_lamb.bounds import Constants
from fedspec_proofs.fed_lamb.rounds import F, as_in_proofs, begin, lamb, noisy, seen
from fedspec_proofs.fed_lamb.shared import FOUR, at, constant, every
from fedspec_proofs.refutation import refutation

M, SIGMA, BETA2 = F(3, 100), F(4, 100), F(99, 100)
COIN = ((F(1, 2), M), (F(1, 2), -M))
FLAT = (
    "f' = 0, gradient 3/100 or -3/100 with equal chances, n = p = Lay = T = 1, beta1 = 0, beta2 = 99/100, v0 = 1, "
    "sigma = 4/100"
)
K = Constants(M=M, sigma=SIGMA, beta2=BETA2)


def bar(g: Any) -> Any:
    """g_bar of a client of one coordinate with gradient g."""
    h = lamb()
    return seen(h, begin(h, vector(0), 1), [constant(g)]).g_bar[0][0]


def met() -> dict[str, bool]:
    """H1 to H4 of the coin."""
    return {
        "H1: f' = 0 at 0 and at 9": all(sum(q * constant(g)(0, vector(x))[0] for q, g in COIN) == 0 for x in (0, 9)),
        "H2: unbiased": mean(lambda g: g, COIN) == 0,
        "H2: M = 3/100": all(abs(g) <= M for _, g in COIN),
        "H3: the variance is below sigma^2": mean(lambda g: g**2, COIN) < SIGMA**2,
        "H4: phi = 1": K.phi_m == K.phi_M == 1,
        **as_in_proofs(lamb()),
    }


@claim(
    "fed-lamb.l-772",
    statement="E||g_bar_i/v_hat^(1/4)||^2 <= phi_M^2 sqrt(M^2 + p sigma^2)",
    source=at("L772, second line"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def l_772() -> Finding:
    """In one coordinate it is phi^2 sqrt(v_hat), which is sqrt(v0) in round 1."""
    return refutation(
        instance=FLAT, conditions=met(), left=mean(lambda g: bar(g) ** 2, COIN), right=sqrt(M**2 + SIGMA**2)
    )


NORMALISED = {"w <= C": "C is the largest root of v_hat in the layer", "w > 0": "v_hat is positive"}


def _ratio_of_sums(draw: Draw) -> Statement:
    """phi = 1: sum_j (g_j^2/w_j) / sum_j (g_j^2/w_j^2) in a layer of two coordinates, by u = g/w."""
    u, w, C = draw("u", 2), draw("w", 2), draw("C")
    above, below = u[0] * u[0] * w[0] + u[1] * u[1] * w[1], u @ u
    holds = (every(w[0] <= C, w[1] <= C), every(w[0] > 0, w[1] > 0))
    return Statement(dict(zip(NORMALISED, holds, strict=True)), {"L772": above <= C * below})


def _roots(rng: np.random.Generator) -> dict[str, F]:
    w = [F(int(rng.integers(1, 9)), 4) for _ in range(2)]
    return {"w_0": w[0], "w_1": w[1], "C": max(w) + F(int(rng.integers(0, 3)))}


@claim(
    "fed-lamb.l-772-repaired",
    statement="||g_bar_i^l/v_hat^(1/4)||^2 <= phi_M^2 max_j sqrt(v_hat^j) in a layer, beta1 = "
    "0, hence phi_M^2 Lay times the largest for all layers",
    source=at("L772, second line"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="layers of two coordinates",
    assumptions=NORMALISED,
    repairs="fed-lamb.l-772",
)
def ratio_of_sums() -> Finding:
    """A weighted mean of the roots, beta1 = 0; with fed-lamb.assumption-5 at most phi_M^2 Lay max(sqrt(v0), M)."""
    return decide(_ratio_of_sums, sample=_roots)


@claim(
    "fed-lamb.l-776",
    statement="-E[phi f'^j (g^j/||p^j||) [signs differ]] <= phi_M f'^j P(signs differ), f' without the absolute value "
    "that it has in L608",
    source=at("L776"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def l_776() -> Finding:
    """Where f' < 0 the left side is positive and the right side negative."""
    gradient, coin = F(-1), ((F(1, 2), F(1)), (F(1, 2), F(-3)))
    return refutation(
        instance="f' = -1, gradient 1 or -3 with equal chances, n = p = T = 1, beta1 = 0, v0 = 1, phi = 1",
        conditions=noisy(lamb(), coin, gradient, F(3), F(5)),
        left=-mean(lambda g: gradient * bar(g) * (gradient * g < 0), coin),
        right=gradient * mean(lambda g: F(gradient * g < 0), coin),
    )
