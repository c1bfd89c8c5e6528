"""Lemma 1: distance of local models from the server's. Fed-LAMB, eq. (2) (L198) and L521-534.

A local step has length alpha phi in every layer, whatever the gradients, v and beta2 are; the printed bound has them,
and not the number of layers.

The repaired Lemma 1 for any number of local steps, in layers of one coordinate, by SMT.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from fedspec.arith import norm
from fedspec.client.lamb import layer_step
from fedspec.mixing.periodic import model_mean
from fedspec.readings import Normalisation, Phi
from fedspec_proofs.claim import Extent, Finding, Severity, claim, refutation
from fedspec_proofs.engines import Statement, algebra, all_proved, all_refuted, decide, every, identities, roots
from fedspec_proofs.engines.draw import Draw, curried, several
from fedspec_proofs.engines.search import Inequality, Sides
from fedspec_proofs.fed_lamb.claims.key_inequality import layers, one_more_coordinate, shown
from fedspec_proofs.fed_lamb.kit import bounds
from fedspec_proofs.fed_lamb.kit.bounds import Constants
from fedspec_proofs.fed_lamb.kit.problems import Problem
from fedspec_proofs.fed_lamb.kit.problems import vector as of
from fedspec_proofs.fed_lamb.kit.rounds import F, begin, lamb, local_models, noiseless, noisy, one_round, squared
from fedspec_proofs.fed_lamb.kit.shared import H2, H4, SETTING, constant
from fedspec_proofs.fed_lamb.kit.walks import Walk, beside, checked, plain, walk
from fedspec_proofs.kit.adding import confirmed
from fedspec_proofs.kit.balls import farther, mean_inside
from fedspec_proofs.kit.piecewise import huber

TRIES = 800

NONZERO = {"p is not 0": "the direction is defined"}


def _length(draw: Draw, phi: Phi) -> Statement:
    x, p, alpha = draw("x", 2), draw("p", 2), draw("alpha")
    with roots() as known:
        step = layer_step(x, p, eta_l=alpha, phi=phi) - x
    phi2 = x @ x if phi is Phi.IDENTITY else 1
    return Statement({"p is not 0": p @ p > 0, "roots": every(*known)}, {"length": step @ step == alpha * alpha * phi2})


def _whole_lengths(rng: np.random.Generator) -> dict[str, F]:
    """Multiples of (3, 4) and (5, 12)."""
    k, j = (F(int(one), 4) for one in rng.integers(1, 9, 2))
    return {"x_0": 3 * k, "x_1": -4 * k, "p_0": 12 * j, "p_1": 5 * j}


@claim(
    "fed-lamb.lemma-1-length",
    statement="A local step moves a layer by alpha phi exactly, whatever p is: "
    "after T = 1 step the square of the gap to the round's start is alpha^2 times the sum of phi^2 over the layers "
    "that move",
    source="ours, about the first display of the proof (L527)",
    assumptions=NONZERO,
)
def length() -> Finding:
    """p / ||p|| is a unit vector: its squares sum to 1, by induction over coordinates, for any M, beta2 and v0.

    Two coordinates through the rule, with phi = 1, which multiplies the step, and with phi the length of the layer.
    """
    parts = {
        "two coordinates": decide(partial(_length, phi=Phi.CONSTANT)),
        "two coordinates, phi(a) = a": decide(partial(_length, phi=Phi.IDENTITY), sample=_whole_lengths, ablate=False),
        "any layer, any phi": identities({"one more coordinate": one_more_coordinate}),
    }
    return all_proved(parts, NONZERO)


ONE_D = Problem(((huber(F(1)),),), (1,))


@claim(
    "fed-lamb.lemma-1",
    statement="||x_r - x_(r,i)||^2 <= alpha^2 M^2 phi_M^2 (1 - beta2) p / v0, T = 1, with x_r the model that the round "
    "begins with (as in the proof, L529); and with x_r the mean that it ends with",
    source="Lemma 1, eq. (2) (L198) and L523",
    severity=Severity.FALSE_RESULT,
    assumptions={"H2": H2, "H4": H4, "setting": SETTING},
)
def lemma_1() -> Finding:
    """A step has length alpha phi, whatever M, beta2 and v0 are; two clients may step in opposite directions."""
    h = lamb(eta_l=F(9, 10), beta2=F(999, 1000))
    state = begin(h, of([F(1)]), 1)
    k = Constants(M=F(1), alpha=h.eta_l, beta2=h.beta2)
    rates = f"alpha = {h.eta_l}, beta2 = {h.beta2}, v0 = {h.v0}, phi = 1"
    printed = refutation(
        instance=f"x^2/2 (a line beyond |x| = 1), one client, T = 1, from x = {state.x[0]}: {rates}",
        conditions=noiseless(h, ONE_D, k.M),
        left=squared(state.x - local_models(h, state, ONE_D.clients, 1)[0]),
        right=bounds.lemma_1(k),
        again=F(9, 10) ** 2 * F(1, 1000),
    )
    coin = ((F(1, 2), F(1)), (F(1, 2), F(-1)))
    state, clients = begin(h, of([F(0)]), 2), [constant(g) for _, g in coin]
    mean = one_round(h, state, clients).x
    ended = refutation(
        instance="the other reading: f_i = 0, two clients, gradients 1 or -1 with equal chances, the outcome (1, -1); "
        f"{rates}",
        conditions=noisy(h, coin, F(0), k.M, F(5, 4)),
        left=squared(mean - local_models(h, state, clients, 1)[0]),
        right=bounds.lemma_1(k),
        again=F(9, 10) ** 2 * F(1, 1000),
    )
    return beside(all_refuted(printed, ended), PRINTED, TRIES // 2, shown=True)


def _printed(w: Walk) -> Iterator[Sides]:
    for x in w.ends:
        yield squared(w.start.x - x), bounds.lemma_1(w.constants)


def _from_start(w: Walk) -> Iterator[Sides]:
    reach = (w.h.eta_l * w.phi_M) ** 2
    for t, models in enumerate(w.path, start=1):
        for x in models:
            yield squared(w.start.x - x), {"whole": reach * w.Lay * t**2}


def _layerwise(w: Walk) -> Iterator[Sides]:
    for t, models in enumerate(w.path, start=1):
        for x in models:
            for where in w.start.layers:
                yield norm(w.start.x[where] - x[where]), {"layer by layer": w.h.eta_l * w.phi_M * t}


def _from_mean(w: Walk) -> Iterator[Sides]:
    for x in w.ends:
        bound = 4 * (1 - F(1, w.n)) ** 2 * w.Lay * w.T**2
        reach = (w.h.eta_l * w.phi_M) ** 2
        yield squared(w.mean - x), reach * (bound if isinstance(reach, F) else float(bound))


def _spread(w: Walk) -> Iterator[Sides]:
    yield sum(squared(w.mean - x) for x in w.ends) / w.n, (w.h.eta_l * w.phi_M) ** 2 * (w.Lay * w.T**2)


LENGTHS = {"H4": H4, "normalised": "every local step is divided by the length of its direction"}
HOLDS = {"H4": lambda w: w.scaled_as_claimed, "normalised": lambda w: w.normalised}
APART = Problem(((huber(F(1), F(-9), F(2)),), (huber(F(1), F(9), F(2)),)), (1,))
WITHOUT = {
    "H4": plain(problem=APART, options=(("eta_l", F(1, 2)), ("phi", Phi.IDENTITY)), largest=F(2)),
    "normalised": plain(
        problem=APART, options=(("eta_l", F(1, 2)), ("normalisation", Normalisation.NONE)), largest=F(2)
    ),
}
"""Two clients that pull a model at 3 apart with gradients 2 and -2: steps of 3/2 with phi(a) = a, of 1 unnormalised."""
PRINTED = Inequality(lambda c: walk(c, simple=True), {**HOLDS, "H2": lambda w: w.bounded_as_claimed}, _printed)


def _proved(*bodies: algebra.Body, looked: Finding) -> Finding:
    """The length of a step, and what steps, layers and clients add up to."""
    return confirmed([length.body(), *shown(*bodies)], looked, TRIES)


def around_mean(draw: Draw) -> Statement:
    """sum_i |x_i - y|^2 - sum_i |x_i - mean|^2 = n |mean - y|^2 >= 0, in terms of sums over clients."""
    n, squares, mean, y = several(draw, "n, squares, mean, y")
    around_y = squares - 2 * y * n * mean + n * y * y
    around = squares - 2 * mean * n * mean + n * mean * mean
    return Statement({"n > 0": n > 0}, {"least at the mean": around <= around_y})


@claim(
    "fed-lamb.lemma-1-repaired",
    statement="||x_(r,i)^t - x_(r-1)||^2 <= alpha^2 phi_M^2 Lay t^2 after t = 1..T local steps from the round's start, "
    "any lam, beta1, v0; and layer by layer ||.|| <= alpha phi_M t; so too of the mean of the clients' models",
    source="Lemma 1, eq. (2) (L198)",
    extent=Extent.WHOLE,
    assumptions=LENGTHS,
)
def from_start() -> Finding:
    """Triangle inequality over steps of length at most alpha phi_M in each layer; then the squares of Lay layers.

    The mean of the clients' models stays as near.
    """
    whole = Inequality(walk, HOLDS, lambda w: [*_from_start(w), *_layerwise(w)])
    return _proved(farther, layers, mean_inside, looked=checked(whole, TRIES, WITHOUT))


@claim(
    "fed-lamb.lemma-1-average-repaired",
    statement="||x_(r,i) - x_r||^2 <= 4 (1 - 1/n)^2 alpha^2 phi_M^2 Lay T^2 with x_r the mean that the round ends with",
    source="Lemma 1, eq. (2) (L198)",
    extent=Extent.WHOLE,
    assumptions=LENGTHS,
    repairs="fed-lamb.lemma-1",
)
def from_mean() -> Finding:
    """n (x_i - mean) is the sum of x_i - x_j over n - 1 other clients, each at most twice the distance from the start.

    Attained by one client against n - 1 that go the other way.
    """
    return _proved(farther, layers, looked=checked(Inequality(walk, HOLDS, _from_mean), TRIES, WITHOUT))


@claim(
    "fed-lamb.lemma-1-variance-repaired",
    statement="1/n sum_i ||x_(r,i) - x_r||^2 <= alpha^2 phi_M^2 Lay T^2",
    source="Lemma 1, eq. (2) (L198)",
    extent=Extent.WHOLE,
    assumptions=LENGTHS,
    repairs="fed-lamb.lemma-1",
)
def spread() -> Finding:
    """The mean minimises the mean squared distance, which from the round's start is at most the right side."""
    return _proved(farther, layers, around_mean, looked=checked(Inequality(walk, HOLDS, _spread), TRIES, WITHOUT))


@curried
def _alike(draw: Draw, n: int, moved: int = 0) -> Iterable[Any]:
    """Round of the server with n equal rows."""
    x = draw("x", 2)
    rows = np.stack([x + moved * draw("other", 2), *[x] * (n - 1)])
    return list(model_mean(rows, clients=n) - x)


@claim(
    "fed-lamb.clients-alike",
    statement="n clients that end alike leave the server the model of one: no bound all of whose terms "
    "vanish as n grows holds of something that is not 0 for clients alike with exact gradients",
    source="ours, about eq. (6) and L716",
    sizes="n = 2..5, d = 2",
    assumptions={"alike": "all participants end at one model"},
)
def alike() -> Finding:
    """The means of the v_i agree too, by the same identity; so the next round is again a round of one client."""
    return identities({f"n = {n}": _alike(n) for n in range(2, 6)}, without={"alike": {"n = 2": _alike(2, moved=1)}})
