"""Round of CAFGA on a toy network, in exact expectation over the sets that are drawn and over the noise.

Two independent ways: every outcome in turn through the algorithm (:func:`enumerated`), and the mean and covariance of
all models through the affine maps of its local steps (:func:`path`), read off by running the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from fedspec.algorithms import cafga
from fedspec.algorithms.afga import mean_change
from fedspec.arith import Array, Mixing, Stack, Vector, put
from fedspec.client.sgd import sgd
from fedspec.mixing import topology
from fedspec.mixing.gossip import cluster_mean, gossip
from fedspec.plan import Exchange, Oracle
from fedspec.population import gradients
from fedspec.problems import quadratic
from fedspec_proofs.afga.kit.network import Network, hyper
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.expectation import independent, mean, signs, subsets
from fedspec_proofs.engines.moments import Moments, affine, second_moment, start

Bend = Callable[[Any], Any]
"""Function that replaces x in the gradients a_i x + c_i."""


def straight(x: Any) -> Any:
    """x itself: quadratic clients."""
    return x


def clients(net: Network, noise: Callable[[int, int], Any], bend: Bend = straight) -> list[Oracle]:
    """The clients' stochastic gradients; noise(t, i) is plus or minus one."""

    def oracle(i: int) -> Oracle:
        return lambda t, x: net.a[i] * bend(x) + net.c[i] + net.nu * noise(t, i)

    return [oracle(i) for i in range(net.N)]


def given(g: Array) -> list[Oracle]:
    """Clients with gradient g[t, i] at local step t, wherever they are."""
    return [quadratic.given(list(g[:, i])) for i in range(g.shape[1])]


@cache
def draws(K: int, n: int, m: int) -> tuple[tuple[Fraction, tuple[int, ...]], ...]:
    """The sets that m clients drawn from each cluster can be, each with its probability."""
    one = list(subsets(n, m))
    together = independent(*(one for _ in range(K)))
    return tuple((p, tuple(k * n + i for k, S in enumerate(sets) for i in S)) for p, sets in together)


def whole(net: Network) -> Array:
    """The clusters' matrices in one."""
    return topology.clustered(net.W)


def tossed(places: Mapping[tuple[int, int], int], coins: Sequence[Any]) -> Callable[[int, int], Any]:
    """The noise of client i at step t, by its place among the coins; 0 where there are none."""
    return lambda t, i: coins[places[t, i]] if coins else 0


def outcomes(
    net: Network, bend: Bend = straight
) -> Iterator[tuple[Fraction, tuple[Stack, Vector, tuple[tuple[int, ...], ...]]]]:
    """Everything that can happen in one round: the models after it, Delta, and the sets that computed.

    Senders, sets and signs of the noise are all taken in turn, through the algorithm.
    """
    sets = draws(net.K, net.n, net.m)
    x, W = exact.vector(net.x), whole(net)
    plans = list(independent(*([sets] * (net.I + 1))))
    for p, (senders, *computing) in plans:
        places = {(t, i): j for j, (t, i) in enumerate((t, i) for t, S in enumerate(computing) for i in S)}
        for q, coins in signs(len(places)) if net.nu else [(Fraction(1), ())]:
            oracles = clients(net, tossed(places, coins), bend)
            plan = Exchange(senders, tuple(computing), W, net.clusters)
            delta, X = cafga.change(hyper(net.eta_l), x, np.stack([x] * net.N), oracles, plan)
            yield p * q, (X, delta, tuple(computing))


def enumerated(net: Network, f: Callable[[Stack, Vector], Any]) -> Any:
    """The expectation of a function of the models after the round and of Delta, by taking every outcome."""
    return mean(lambda outcome: f(outcome[0], outcome[1]), outcomes(net))


def mixed(maps: list[tuple[Fraction, Any]], now: Moments, variance: Any) -> Moments:
    """The moments after one of several affine steps, each with its probability."""
    means = [a.M @ now.mean + a.b for _, a in maps]
    centre = sum(p * mu for (p, _), mu in zip(maps, means, strict=True))
    spread = sum(
        p * (a.M @ now.covariance @ a.M.T + np.outer(mu - centre, mu - centre))
        for (p, a), mu in zip(maps, means, strict=True)
    )
    noise = sum(p * variance * (a.N @ a.N.T) for p, a in maps)
    return Moments(centre, spread + noise)


def local_step(net: Network, S: tuple[int, ...], W: Array) -> Callable[[Vector, Vector], Vector]:
    """Local step of all models for the set S, and the exchange after it."""
    places = {i: j for j, i in enumerate(S)}

    def step(X: Vector, xi: Vector) -> Vector:
        oracles = clients(net, lambda t, i: xi[places[i]] if len(xi) else 0)
        moved = gossip(adapt(net.eta_l, X[:, None], oracles, S), W)
        return np.asarray(moved[:, 0])

    return step


def adapt(eta_l: Any, X: Array, oracles: Sequence[Oracle], S: Sequence[int]) -> Array:
    """Gradient step of the clients of S."""
    S = list(S)
    return put(X, S, sgd(X[S], gradients(oracles, S, 0, X[S]), eta_l=eta_l))


def models(eta_l: Any, x: Vector, oracles: Sequence[Oracle], sets: Sequence[tuple[int, ...]], W: Mixing) -> Array:
    """All models after the local steps for these sets, all begun at x: the clients' half of a round of one cluster."""
    X = np.stack([x] * len(oracles))
    return cafga.change(hyper(eta_l), x, X, oracles, Exchange((0,), tuple(sets), W))[1]


def path(net: Network) -> list[Moments]:
    """Mean and covariance of all models after 0, 1, ..., I local steps."""
    W = whole(net)
    noises = net.m * net.K if net.nu else 0
    maps = [(p, affine(local_step(net, S, W), net.N, noises)) for p, S in draws(net.K, net.n, net.m)]
    now = start(exact.vector(*[net.x] * net.N))
    found = [now]
    for _ in range(net.I):
        now = mixed(maps, now, Fraction(1))
        found.append(now)
    return found


@cache
def _rows(K: int, n: int) -> tuple[Array, Array]:
    """The matrices that take all models to their cluster means, and to what is left of each."""
    J = topology.clustered([topology.complete(n, exact.vector(0))] * K)
    return J, topology.alone(K * n, exact.vector(0)) - J


def consensus(net: Network, now: Moments) -> Any:
    """1/N sum_k E ||X^(k,perp)||^2."""
    _, rest = _rows(net.K, net.n)
    return second_moment(now, rest, exact.vector(*[0] * net.N)) / net.N


def drift(net: Network, now: Moments) -> Any:
    """1/K sum_k E |xbar^k - x_r|^2."""
    means, _ = _rows(net.K, net.n)
    return second_moment(now, means, exact.vector(*[-net.x] * net.N)) / net.N


def slopes_at_models(net: Network, now: Moments) -> Any:
    """E |1/N sum_i f_i'(x^i)|^2."""
    row = np.stack([exact.vector(*net.a) / net.N])
    return second_moment(now, row, exact.vector(sum(net.c)) / net.N)


def slopes_at_means(net: Network, now: Moments) -> Any:
    """E |1/K sum_k fbar_k'(xbar^k)|^2."""
    means, _ = _rows(net.K, net.n)
    row = np.stack([exact.vector(*net.a) / net.N]) @ means
    return second_moment(now, row, exact.vector(sum(net.c)) / net.N)


def _sending(K: int, n: int, S: tuple[int, ...]) -> Array:
    """The row by which Delta + x is made of all models, read off the rules."""
    zero = exact.vector(0)

    def change(X: Vector, _: Vector) -> Vector:
        parts = [X[k * n : (k + 1) * n, None] for k in range(K)]
        sent = [[i - k * n for i in S if i // n == k] for k in range(K)]
        deltas = np.stack([mean_change(part, zero, who) for part, who in zip(parts, sent, strict=True)])
        return cluster_mean(deltas, exact.vector(*[Fraction(1, K)] * K))

    return affine(change, K * n, 0).M


def change_squared(net: Network, last: Moments) -> Any:
    """E ||Delta_r||^2 over everything, the senders among it."""
    back = exact.vector(-net.x)
    return sum(p * second_moment(last, _sending(net.K, net.n, S), back) for p, S in draws(net.K, net.n, net.m))


def mean_change_squared(net: Network, last: Moments) -> Any:
    """E ||Deltabar_r||^2, Deltabar_r the mean over all clients."""
    row = np.stack([exact.vector(*[Fraction(1, net.N)] * net.N)])
    return second_moment(last, row, exact.vector(-net.x))


def errors(net: Network) -> list[tuple[Any, Any]]:
    """Consensus error and drift after 0, 1, ..., I local steps."""
    return [(consensus(net, now), drift(net, now)) for now in path(net)]
