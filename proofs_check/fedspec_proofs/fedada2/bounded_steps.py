"""Proposition 14 (5 in the main text): client AdaGrad keeps to a ball, so that nothing it does is remorseful."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fedspec.algorithms import normalised
from fedspec.client.normalised import normalised_sgd
from fedspec.client.sgd import sgd
from fedspec.plan import Plan, Setup
from fedspec_proofs.balls import farther, mean_inside
from fedspec_proofs.claim import FEDADA2, Dropped, Engine, Finding, Severity, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.reals import roots
from fedspec_proofs.engines.smt import every
from fedspec_proofs.fedada2.normalised import positive
from fedspec_proofs.fedada2.rational import F
from fedspec_proofs.refutation import refutation

PROPOSITION = Source(FEDADA2, "Proposition 14 (L651), Proposition 5 (L78)")
SIZES = "the length of a step through the rule for d <= 3; the ball from it for every d, K, t and number of clients"
NORMALISED = {"normalised": "a step is the gradient over its own length and eps, as App. A has AdaGrad (eq. (2))"}


@claim(
    "fedada2.proposition-14-radius",
    statement="x_t lies within K t of x_0, whatever the clients' rate",
    source=Source(FEDADA2, "proof of Proposition 14 (L657)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.CONSTANT,
)
def radius() -> Finding:
    """It forgets the rate, and is true of rates up to 1; that some ball holds x_t is all that the proof needs."""
    h, x = normalised.FedAvgNormalised(eta_l=F(2), eps=F(1)), exact.vector(0)
    state = normalised.init(h, x, Setup((1,), {"w": (1,)}))
    state, _ = normalised.step(h, state, (lambda k, at: exact.vector(3),), Plan((0,), (1,), (1,)))
    return refutation(
        instance="one client, d = K = t = 1, x_0 = 0, gradient 3, eps = 1, eta_l = 2",
        conditions={"eta_l, eps > 0": min(h.eta_l, h.eps) > 0},
        left=abs(state.x[0]),
        right=F(1),
    )


def _length(d: int) -> Callable[[Draw], Statement]:
    """|x' - x| <= eta for a step of the rule with any gradient."""

    def body(draw: Draw) -> Statement:
        x, g, eta, eps = draw("x", d), draw("g", d), positive(draw, "eta"), positive(draw, "eps")
        with roots() as known:
            moved = normalised_sgd(x, g, eta_l=eta, eps=eps) - x
        given = {"eta, eps > 0": every(eta > 0, eps > 0), "roots": every(*known)}
        return Statement(given, {f"|x' - x| <= eta, d = {d}": (moved * moved).sum() <= eta**2})

    return body


def _products(rng: np.random.Generator) -> Mapping[str, Fraction]:
    """Those of vectors on the line."""
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
    "fedada2.proposition-14-radius-repaired",
    statement="x_t lies within eta_l K t of x_0",
    source=Source(FEDADA2, "ours, about the proof of Proposition 14 (L657)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    assumptions=NORMALISED,
    sizes=SIZES,
    repairs="fedada2.proposition-14-radius",
)
def radius_repaired() -> Finding:
    """No step is longer than eta_l, K t of them add up, and the mean of clients in a ball is in it.

    With coordinatewise AdaGrad sqrt(d) eta_l K t; with delayed updates there is no such radius (claim l1510).
    """
    return _ball()


@claim(
    "fedada2.proposition-14",
    statement="Under client AdaGrad x_t stays in a ball about x_0 that does not depend on the noise, on which f "
    "in C(R^d) is bounded: the expected regret and the variance are finite",
    source=PROPOSITION,
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    assumptions=NORMALISED,
    sizes=SIZES,
)
def no_remorse() -> Finding:
    """The radius is eta_l K t; with delayed updates there is none (claim l1510)."""
    return _ball()
