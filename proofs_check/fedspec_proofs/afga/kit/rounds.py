"""A round of CAFGA on a toy network, in exact expectation over sampled sets and noise.

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
from fedspec_proofs.engines import exact, independent, mean, signs, subsets
from fedspec_proofs.engines.moments import Moments, affine, second_moment, start

Bend = Callable[[Any], Any]
"""Function that replaces x in the gradients a_i x + c_i, for clients that are not quadratic."""


def straight(x: Any) -> Any:
    """Identity: clients stay quadratic."""
    return x


def clients(net: Network, noise: Callable[[int, int], Any], bend: Bend = straight) -> list[Oracle]:
    """Stochastic gradients of the clients; noise(t, i) is 1 or -1."""

    def oracle(i: int) -> Oracle:
        return lambda t, x: net.a[i] * bend(x) + net.c[i] + net.nu * noise(t, i)

    return [oracle(i) for i in range(net.N)]


def given(g: Array) -> list[Oracle]:
    """Clients with gradient g[t, i] at local step t, wherever they evaluate it."""
    return [quadratic.given(list(g[:, i])) for i in range(g.shape[1])]


@cache
def draws(K: int, n: int, m: int) -> tuple[tuple[Fraction, tuple[int, ...]], ...]:
    """All unions of m sampled clients from each cluster, with their probabilities."""
    one = list(subsets(n, m))
    together = independent(*(one for _ in range(K)))
    return tuple((p, tuple(k * n + i for k, S in enumerate(sets) for i in S)) for p, sets in together)


def whole(net: Network) -> Array:
    """Mixing matrix of all clients, block diagonal by cluster."""
    return topology.clustered(net.W)


def tossed(places: Mapping[tuple[int, int], int], coins: Sequence[Any]) -> Callable[[int, int], Any]:
    """Noise of client i at step t, looked up in the coins; 0 if there are no coins."""
    return lambda t, i: coins[places[t, i]] if coins else 0


def outcomes(
    net: Network, bend: Bend = straight
) -> Iterator[tuple[Fraction, tuple[Stack, Vector, tuple[tuple[int, ...], ...]]]]:
    """Yield every outcome of one round with its probability: models after it, Delta, and the sets that computed.

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
    """Expectation of a function of the models after the round and of Delta, by enumerating every outcome."""
    return mean(lambda outcome: f(outcome[0], outcome[1]), outcomes(net))


def mixed(maps: list[tuple[Fraction, Any]], now: Moments, variance: Any) -> Moments:
    """Moments after one affine step drawn at random with these probabilities."""
    means = [a.M @ now.mean + a.b for _, a in maps]
    centre = sum(p * mu for (p, _), mu in zip(maps, means, strict=True))
    spread = sum(
        p * (a.M @ now.covariance @ a.M.T + np.outer(mu - centre, mu - centre))
        for (p, a), mu in zip(maps, means, strict=True)
    )
    noise = sum(p * variance * (a.N @ a.N.T) for p, a in maps)
    return Moments(centre, spread + noise)


def local_step(net: Network, S: tuple[int, ...], W: Array) -> Callable[[Vector, Vector], Vector]:
    """Local step of all models with computing set S, followed by the exchange."""
    places = {i: j for j, i in enumerate(S)}

    def step(X: Vector, xi: Vector) -> Vector:
        oracles = clients(net, lambda t, i: xi[places[i]] if len(xi) else 0)
        moved = gossip(adapt(net.eta_l, X[:, None], oracles, S), W)
        return np.asarray(moved[:, 0])

    return step


def adapt(eta_l: Any, X: Array, oracles: Sequence[Oracle], S: Sequence[int]) -> Array:
    """Gradient step of the clients in S."""
    S = list(S)
    return put(X, S, sgd(X[S], gradients(oracles, S, 0, X[S]), eta_l=eta_l))


def models(eta_l: Any, x: Vector, oracles: Sequence[Oracle], sets: Sequence[tuple[int, ...]], W: Mixing) -> Array:
    """All models after local steps with these sets, all starting at x: the clients' part of a one-cluster round."""
    X = np.stack([x] * len(oracles))
    return cafga.change(hyper(eta_l), x, X, oracles, Exchange((0,), tuple(sets), W))[1]


def path(net: Network) -> list[Moments]:
    """Means and covariances of all models after 0, 1, ..., I local steps."""
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
    """Matrices that take all models to their cluster means, and to their deviations from these."""
    J = topology.clustered([topology.complete(n, exact.vector(0))] * K)
    return J, topology.alone(K * n, exact.vector(0)) - J


def consensus(net: Network, now: Moments) -> Any:
    """Consensus error 1/N sum_k E ||X^(k,perp)||^2."""
    _, rest = _rows(net.K, net.n)
    return second_moment(now, rest, exact.vector(*[0] * net.N)) / net.N


def drift(net: Network, now: Moments) -> Any:
    """Drift 1/K sum_k E |xbar^k - x_r|^2."""
    means, _ = _rows(net.K, net.n)
    return second_moment(now, means, exact.vector(*[-net.x] * net.N)) / net.N


def slopes_at_models(net: Network, now: Moments) -> Any:
    """Squared mean slope at the models, E |1/N sum_i f_i'(x^i)|^2."""
    row = np.stack([exact.vector(*net.a) / net.N])
    return second_moment(now, row, exact.vector(sum(net.c)) / net.N)


def slopes_at_means(net: Network, now: Moments) -> Any:
    """Squared mean slope at the cluster means, E |1/K sum_k fbar_k'(xbar^k)|^2."""
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
    """Second moment E ||Delta_r||^2 over noise, computing sets and senders."""
    back = exact.vector(-net.x)
    return sum(p * second_moment(last, _sending(net.K, net.n, S), back) for p, S in draws(net.K, net.n, net.m))


def mean_change_squared(net: Network, last: Moments) -> Any:
    """Second moment E ||Deltabar_r||^2, where Deltabar_r is the mean change of all clients."""
    row = np.stack([exact.vector(*[Fraction(1, net.N)] * net.N)])
    return second_moment(last, row, exact.vector(-net.x))
