"""Theorem 3, for T >= 1 local steps, and the discussion of it. Fed-LAMB, eq. (22) (L706-716) and L718-729."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fed_lamb import bounds
from fedspec_proofs.fed_lamb.rounds import F
from fedspec_proofs.fed_lamb.shared import FOUR, at
from fedspec_proofs.fed_lamb.theorem_1 import hill
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.theorem-3-printed",
    statement="(1/tau) sum_t E||f'(x_t)/v_hat_t^(1/4)||^2 is at most the right side of (22), cst included",
    source=at("Theorem 3, eq. (22) (L706-712)"),
    engine=Engine.EXACT,
    verdict=Verdict.UNDECIDABLE,
)
def printed() -> Finding:
    """A bound with a constant that may be anything refuses nothing."""
    return Finding(
        Verdict.UNDECIDABLE,
        "cst is not specified; with the one that its proof ends with (L808) it falls, fed-lamb.theorem-3; "
        "what stands of the order that follows it (L716) is fed-lamb.theorem-3-order-repaired",
    )


@claim(
    "fed-lamb.theorem-3",
    statement="Ours: (1/tau) sum_t E||f'(x_t)/v_hat_t^(1/4)||^2 is at most the right side of (22) with a cst, which "
    "Theorem 3 does not specify, taken from the end of its proof (L808, for M <= 1); here T = 1",
    source=at("ours, Theorem 3, eq. (22) (L706-712) with the cst of L808"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def theorem_3() -> Finding:
    """c = 1/10 of x^2/2; sigma = 3c/4, so that the root in (22) is rational, which only makes the right side larger."""
    h = hill(F(1, 10), sigma=F(3, 40))
    return refutation(
        instance="x^2/20 near 0 from 1, one client, R = tau = 50, T = 1, rates 1/100 to 451/50000, beta1 = 0, v0 = "
        "1/100, sigma = 3/40",
        conditions={**h.conditions, "M <= 1 (L806)": h.k.M <= 1},
        left=h.mean(sqrt),
        right=bounds.theorem_3(h.k, h.k.L_bar),
    )


def _balance(power: int = 5) -> Body:
    """tau = a^2, L = b^4, n = u^4, p = w^4, T - 1 = sqrt(tau) L^(5/4)/(n p)^(1/4), so that no root occurs."""

    def body(draw: Draw) -> Iterable[Any]:
        a, b, u, w = (draw(name, positive=True) for name in ("a", "b", "u", "w"))
        more = a * b**power / (u * w)
        last = more**2 * w**4 / (a**3 * b**12)
        first = w**2 / u**2 / (b**2 * a)
        return [last - first]

    return body


@claim(
    "fed-lamb.remark-local-steps",
    statement="T - 1 = sqrt(tau) L^(5/4)/(n p)^(1/4) makes the last term of L716 as large as its first one over M",
    source=at("discussion (L718-720)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"L^(5/4)": "the power of L, which is smoothness in one term and the number of layers in the other"},
)
def balance() -> Finding:
    """So the remark follows from the display; the display does not hold."""
    return identities({"fourth powers": _balance()}, without={"L^(5/4)": {"fourth powers": _balance(power=4)}})
