"""Proposition 14 (5 in the main text): client AdaGrad keeps to a ball, so that nothing it does is remorseful."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import sqrt

from fedspec.algorithms import normalised
from fedspec.arith import Array, Vector
from fedspec.client.sgd import sgd
from fedspec.plan import Plan, Setup
from fedspec_proofs.claim import FEDADA2, Dropped, Engine, Finding, Source, Verdict, claim, false
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.search import Inequality, Sides, searched
from fedspec_proofs.fedada2.rational import F

PROPOSITION = Source(FEDADA2, "Proposition 14 (L651), Proposition 5 (L78)")


@dataclass(frozen=True)
class Walk:
    """Some rounds of client AdaGrad as App. A has it, with any gradients.

    Attributes:
        x: the first model.
        g: [rounds, K, d], what the one client draws.
        eta_l, eps: its rate and stabiliser.
    """

    x: Vector
    g: Array
    eta_l: float
    eps: float


def _walk(choose: Choose) -> Walk:
    d, T, K = choose.whole(1, 2), choose.whole(1, 4), choose.whole(1, 3)
    g = choose.array(T, K, d, low=-3, high=3, denominator=1).astype(float) * choose.of(1.0, 1e6)
    x = choose.vector(d, -2, 2, 2).astype(float)
    return Walk(x, g, choose.of(1.0, 2.0, 0.5), choose.of(1.0, 0.01))


def walked(w: Walk) -> list[Vector]:
    """x_0, x_1, ... through the algorithm."""
    h = normalised.FedAvgNormalised(eta_l=w.eta_l, eps=w.eps)
    state = normalised.init(h, w.x, Setup((1,), {"w": (len(w.x),)}))
    xs = [w.x]
    for rows in w.g:

        def client(k: int, x: Vector, rows: Array = rows) -> Vector:
            g: Vector = rows[k]
            return g

        state, _ = normalised.step(h, state, (client,), Plan((0,), (len(rows),), (1,)))
        xs.append(state.x)
    return xs


def _radius(rate: Callable[[Walk], float]) -> Inequality[Walk]:
    def sides(w: Walk) -> Iterable[Sides]:
        K = w.g.shape[1]
        for t, x in enumerate(walked(w)):
            yield sqrt(float(((x - w.x) ** 2).sum())), t * K * rate(w)

    return Inequality(_walk, {"rate": lambda w: True}, sides)


@claim(
    "fedada2.proposition-14-radius",
    statement="x_t lies within K t of x_0, whatever the clients' rate",
    source=Source(FEDADA2, "proof of Proposition 14 (L657)"),
    engine=Engine.SEARCH,
    verdict=Verdict.REFUTED,
    assumptions={"rate": "eta_l is any positive number"},
)
def radius() -> Finding:
    """It forgets the rate, and is true of rates up to 1; that some ball holds x_t is all that the proof needs."""
    return searched(_radius(lambda w: 1.0), 300)


@claim(
    "fedada2.proposition-14-radius-repaired",
    statement="x_t lies within eta_l K t of x_0",
    source=Source(FEDADA2, "proof of Proposition 14 (L657)"),
    engine=Engine.SEARCH,
    verdict=Verdict.CHECKED,
    assumptions={"normalised": "a step is the gradient over its own length and eps, as App. A has AdaGrad (eq. (2))"},
    repairs="fedada2.proposition-14-radius",
)
def radius_repaired() -> Finding:
    """With coordinatewise AdaGrad sqrt(d) eta_l K t; with delayed updates there is no such radius (claim l1510)."""
    found = searched(_radius(lambda w: w.eta_l), 600, drop=0)
    return replace(found, dropped={"normalised": _plain()})


def _plain() -> Dropped:
    (end,) = sgd(exact.vector(0), exact.vector(10**6), eta_l=F(1))
    return Dropped(bool(abs(end) > 1), f"one step of SGD with g = 10^6 and eta_l = 1 ends at {end}")


@false("fedada2.proposition-14-radius-half", of=radius_repaired, statement="x_t lies within eta_l K t/2 of x_0")
def radius_half() -> Finding:
    """Steps of almost eta_l in one direction."""
    return searched(_radius(lambda w: w.eta_l / 2), 300)


@claim(
    "fedada2.proposition-14",
    statement="Under client AdaGrad |f(x_t)| is at most the largest |f| on the ball of radius eta_l K t about x_0, "
    "whatever "
    "the noise: the expected regret and the variance are finite",
    source=PROPOSITION,
    engine=Engine.SEARCH,
    verdict=Verdict.CHECKED,
    assumptions={"normalised": "a step is the gradient over its own length and eps"},
)
def no_remorse() -> Finding:
    """For f(x) = |x|^2/2 - 1, whose largest modulus on a ball is at its farthest point or at its nearest."""

    def sides(w: Walk) -> Iterable[Sides]:
        K, start = w.g.shape[1], sqrt(float((w.x**2).sum()))
        for t, x in enumerate(walked(w)):
            ball = t * K * w.eta_l
            far, near = (start + ball) ** 2 / 2 - 1, max(start - ball, 0.0) ** 2 / 2 - 1
            yield abs(float((x**2).sum()) / 2 - 1), max(abs(far), abs(near))

    found = searched(Inequality(_walk, {"any": lambda w: True}, sides), 500, drop=0)
    return replace(found, dropped={"normalised": _plain()})
