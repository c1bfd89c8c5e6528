"""Proposition 14 (5 in the main text): models of client AdaGrad stay in a ball, so client AdaGrad is not remorseful."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fedspec.client.normalised import normalised_sgd
from fedspec.client.sgd import sgd
from fedspec_proofs.claim import Dropped, Finding, Verdict, claim
from fedspec_proofs.engines import Draw, Statement, curried, decide, every, exact, roots
from fedspec_proofs.fedada2.claims.normalised import positive
from fedspec_proofs.fedada2.kit.rational import F
from fedspec_proofs.kit.balls import farther, mean_inside

PROPOSITION = "Proposition 14 (L651), Proposition 5 (L78)"
SIZES = "the length of a step through the rule for d <= 3; the ball from it for every d, K, t and number of clients"
NORMALISED = {"normalised": "a step is the gradient over its own length and eps, as App. A has AdaGrad (eq. (2))"}


@curried
def _length(draw: Draw, d: int) -> Statement:
    """|x' - x| <= eta for a step of the rule with any gradient."""
    x, g, eta, eps = draw("x", d), draw("g", d), positive(draw, "eta"), positive(draw, "eps")
    with roots() as known:
        moved = normalised_sgd(x, g, eta_l=eta, eps=eps) - x
    given = {"eta, eps > 0": every(eta > 0, eps > 0), "roots": every(*known)}
    return Statement(given, {f"|x' - x| <= eta, d = {d}": (moved * moved).sum() <= eta**2})


def _products(rng: np.random.Generator) -> Mapping[str, Fraction]:
    """Products of vectors on the line."""
    u, v, eta = (F(int(rng.integers(-8, 9)), 4) for _ in range(3))
    r = max(abs(u), abs(v))
    return {"u2": u * u, "v2": v * v, "uv": u * v, "r": r, "w": F(int(rng.integers(0, 5)), 4)} | {
        "a": abs(v) + abs(eta),
    }


def _ball() -> Finding:
    parts = [decide(_length(d), ablate=False, instances=20) for d in (1, 2, 3)]
    parts += [decide(body, sample=_products, ablate=False) for body in (farther, mean_inside)]
    for part in parts:
        if part.verdict is not Verdict.PROVED:
            return part
    (end,) = sgd(exact.vector(0), exact.vector(10**6), eta_l=F(1))
    dropped = {"normalised": Dropped(bool(end**2 > 1), f"one step of SGD with g = 10^6 and eta_l = 1 ends at {end}")}
    return replace(parts[-1], evidence="\n".join(part.evidence for part in parts), dropped=dropped)


@claim(
    "fedada2.proposition-14",
    statement="Under client AdaGrad x_t stays in a ball about x_0 that does not depend on the noise, on which f "
    "in C(R^d) is bounded: the expected regret and the variance are finite",
    source=PROPOSITION,
    assumptions=NORMALISED,
    sizes=SIZES,
)
def no_remorse() -> Finding:
    """The radius is eta_l K t; with delayed updates no such radius exists (claim l1510)."""
    return _ball()
