"""Sequences of the proof: the mean models, and the mean change, of which Delta_r is an unbiased estimate.

Doubly stochastic matrices are convex combinations of permutations (Birkhoff), so that weights of permutations stand for
every one of their size.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from itertools import combinations, permutations
from typing import Any

import numpy as np

from fedspec.algorithms import afga
from fedspec.algorithms.afga import mean_change
from fedspec.arith import Mixing
from fedspec.mixing.gossip import cluster_mean
from fedspec.plan import Exchange
from fedspec_proofs.afga.kit.mixed import mean_after_exchange, mean_of_senders
from fedspec_proofs.afga.kit.network import hyper
from fedspec_proofs.afga.kit.networks import blended_permutation
from fedspec_proofs.afga.kit.rounds import given, models
from fedspec_proofs.claim import Dropped, Extent, Finding, claim
from fedspec_proofs.engines import Draw, curried, exact
from fedspec_proofs.engines.identities import Body, identities


def doubly(draw: Draw, n: int) -> Mixing:
    """Arbitrary doubly stochastic n x n matrix: a convex combination of all permutations."""
    orders = list(permutations(range(n)))
    share = draw("p", len(orders), positive=True)
    total = sum(share[1:], start=share[0])
    shares = [sum(s for s, order in zip(share, orders, strict=True) if order[i] == j) for i, j in np.ndindex(n, n)]
    W: Mixing = exact.objects(shares).reshape(n, n) / total
    return W


def row_stochastic(draw: Draw, n: int) -> Mixing:
    """Arbitrary matrix with rows that sum to one."""
    W = draw("p", n, n, positive=True)
    out: Mixing = W / W.sum(axis=1)[:, None]
    return out


@curried
def _mean_moves(
    draw: Draw, n: int, sets: tuple[tuple[int, ...], ...], matrix: Callable[[Draw, int], Mixing]
) -> list[Any]:
    """xbar_t - x_r + eta_l/n sum of the gradients of the sets, after each local step."""
    x, eta_l, g = draw("x", 2), draw("eta_l", positive=True), draw("g", len(sets), n, 2)
    W, found = matrix(draw, n), []
    for t in range(1, len(sets) + 1):
        X = models(eta_l, x, given(g), sets[:t], W)
        taken = sum(g[s, i] for s, S in enumerate(sets[:t]) for i in S)
        found.append(X.sum(axis=0) / n - x + eta_l * taken / n)
    return list(np.ravel(found))


SETS: dict[str, tuple[int, tuple[tuple[int, ...], ...]]] = {
    "n = 2": (2, ((0,), (1,), (0, 1))),
    "n = 3": (3, ((0,), (1, 2))),
}


@claim(
    "afga.eq-9",
    statement="The mean model moves by -(eta_l/n) sum of the gradients of those who compute, whatever the mixing "
    "does: xbar_(t+1) = xbar_t - eta_l gbar_t and Deltabar = -eta_l sum_t gbar_t",
    source="eqs. (9)-(11) (L1130-1177)",
    extent=Extent.WHOLE,
    assumptions={"columns of W sum to one": "1'W = 1', the half of Assumption 4.5 that the mean needs"},
)
def eq_9() -> Finding:
    """An exchange keeps the mean, as columns of W sum to one; a step moves it by the computing clients' gradients.

    Through the algorithm: n = 2 with three steps, n = 3 with two, d = 2, gradients as free numbers.
    """
    bodies: dict[str, Body] = {"any n": mean_after_exchange}
    bodies |= {size: _mean_moves(n, sets, doubly) for size, (n, sets) in SETS.items()}
    rows = {"rows only, n = 2": _mean_moves(2, ((0,), (1,)), row_stochastic)}
    return identities(bodies, without={"columns of W sum to one": rows}, instances=8)


@curried
def _drawn(draw: Draw, K: int, n: int, m: int, weight: Any = 1, only: int | None = None) -> list[Any]:
    """The mean of Delta_r over the senders (or ``only`` some sets of them) less the mean change of all clients."""
    X, x = draw("X", K * n, 1), draw("x", 1)
    sets = list(combinations(range(n), m))[:only]
    one = [mean_change(X[k * n : (k + 1) * n], x, S) for k in range(K) for S in sets]
    means: list[Any] = [sum(one[k * len(sets) : (k + 1) * len(sets)]) / F(len(sets)) for k in range(K)]
    share = exact.vector(*[F(1, K)] * K)
    return list(cluster_mean(np.stack(means), share) * weight - (X.sum(axis=0) / F(K * n) - x))


SIZES = [(1, 2, 1), (1, 3, 2), (1, 4, 2), (2, 2, 1), (2, 3, 2), (3, 2, 1)]


def _dependent() -> Dropped:
    """W = I-like mixing and S_(r,0) = S_r: who sends has computed, so that Delta is larger than the mean change."""
    W, x = blended_permutation(2, (0, 1), F(1, 2)), exact.vector(0)
    oracles = given(np.array([[exact.vector(1), exact.vector(1)]]))
    changes = [afga.change(hyper(F(1, 8)), x, oracles, Exchange((i,), ((i,),), W))[0] for i in (0, 1)]
    mean, every = sum(changes) / 2, F(-1, 16)
    words = f"by hand: two equal clients, W = (I + J)/2, S_(r,0) = S_r: E[Delta] = {mean}, E[Deltabar] = {every}"
    return Dropped(mean != every, words)


@claim(
    "afga.eq-12",
    statement="Given the local runs, the mean of Delta_r over the senders is Deltabar_r, the one of all clients",
    source="eq. (12) (L1180-1239), whose words have it the other way round",
    extent=Extent.WHOLE,
    assumptions={
        "S_r independent": "the senders are drawn without regard to who computed",
        "uniform": "they are m of each cluster's n clients, every one as likely to be among them",
    },
)
def eq_12() -> Finding:
    """Each client is among the senders with probability m/n; the clusters' means add up.

    Through the server's mean: every set of K <= 3 clusters of n <= 4.
    """
    sizes = {f"K = {K}, n = {n}, m = {m}": _drawn(K, n, m) for K, n, m in SIZES}
    first = {"n = 2, always the first": _drawn(1, 2, 1, only=1)}
    found = identities({"any n and m": mean_of_senders, **sizes}, without={"uniform": first})
    return Finding(found.verdict, found.evidence, {**found.dropped, "S_r independent": _dependent()}, found.second)
