"""Theorem 3's proof from the normalised gradients on. Fed-LAMB, L770-812.

The instance of most displays: f' = 0, gradient 3/100 or -3/100 with equal chances, one client, one coordinate, v0 = 1.
Then g_bar = sqrt(v_hat) sign(g) is 1 or -1, and M = 3/100, sigma = 4/100 leave only M and sigma on the right sides.
"""

from __future__ import annotations

from typing import Any

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.expectation import mean
from fedspec_proofs.fed_lamb.bounds import Constants
from fedspec_proofs.fed_lamb.rounds import F, as_in_proofs, begin, lamb, seen
from fedspec_proofs.fed_lamb.shared import FOUR, at, constant
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
