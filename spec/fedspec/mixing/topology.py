"""Mixing matrices: rings, complete graphs, clusters, Metropolis weights, random matrices; and how fast they mix.

Entry [i, j] is the weight of client j's model in client i's new model. The matrices use the arithmetic of ``like``:
exact if it holds fractions. A plan carries the matrices; rules neither draw nor build them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from fedspec.arith import Array, Mixing, Scalar
from fedspec.domains import COUNT, outside
from fedspec.errors import MixingError
from fedspec.mixing.gossip import check_mixing
from fedspec.readings import RingOfTwo, choice

FLOATS = np.zeros(1)


def _one(like: Array) -> Scalar:
    one: Scalar = like.flat[0] * 0 + 1
    return one


def _check_count(what: str, n: Any) -> None:
    if not isinstance(n, Integral) or outside(n, COUNT):
        raise MixingError(f"W: {n} {what}; a mixing matrix needs a whole number of them, at least one")


def _constant(n: int, value: Scalar, like: Array) -> Mixing:
    _check_count("clients", n)
    W = np.empty((n, n), dtype=like.dtype)
    W[:] = value
    return W


def _zeros(n: int, like: Array) -> Mixing:
    return _constant(n, _one(like) * 0, like)


def complete(n: int, like: Array = FLOATS) -> Mixing:
    """Complete graph J, with 1/n in every entry. AFGA: fully connected, rho = 0 (L280-281).

    Raises:
        MixingError: the number of clients is 0.
    """
    _check_count("clients", n)
    return _constant(n, _one(like) / n, like)


def alone(n: int, like: Array = FLOATS) -> Mixing:
    """Identity matrix, with which clients don't mix: rho = 1, which AFGA's Assumption 4.5 excludes.

    Raises:
        MixingError: the number of clients is 0.
    """
    _check_count("clients", n)
    return permutation(range(n), like)


def ring(n: int, like: Array = FLOATS, of_two: RingOfTwo = RingOfTwo.HALVES) -> Mixing:
    """Ring: weight 1/3 for a client itself and each neighbour; AFGA's default, by its rho (0.995 for 50, 0.873 for 10).

    A ring of three is J, a ring of one is [1]. The two neighbours in a ring of two are one client, which the paper does
    not mention: it counts once or twice.

    Raises:
        MixingError: the number of clients is 0.
    """
    _check_count("clients", n)
    if n == 2 and choice(RingOfTwo, "of_two", of_two) is RingOfTwo.HALVES:
        return complete(n, like)
    W = _zeros(n, like)
    for i in range(n):
        for j in (i, (i + 1) % n, (i - 1) % n):
            W[i, j] = W[i, j] + _one(like) / 3
    return W


def clustered(blocks: Sequence[Array]) -> Mixing:
    """Block-diagonal matrix of clusters, each with its own matrix; rho = 1 if there are two or more clusters.

    Raises:
        MixingError: there is no block, or a block isn't doubly stochastic.
    """
    if not blocks:
        raise MixingError("W: no cluster; give one matrix or more")
    W, start = _zeros(sum(map(len, blocks)), blocks[0]), 0
    for block in blocks:
        check_mixing(block)
        end = start + len(block)
        W[start:end, start:end] = block
        start = end
    return W


def metropolis(n: int, edges: Iterable[tuple[int, int]], like: Array = FLOATS) -> Mixing:
    """Metropolis-Hastings weights: 1 / (1 + the larger degree) on every edge, the rest on the diagonal; symmetric.

    Raises:
        MixingError: an edge joins a client to itself or to a client that doesn't exist, or the number of clients is 0.
    """
    _check_count("clients", n)
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for i, j in edges:
        if i == j or not {type(i), type(j)} <= {int} or not (0 <= i < n and 0 <= j < n):
            raise MixingError(f"edges: got ({i}, {j}); an edge must join two different clients of 0..{n - 1}")
        neighbours[i].add(j)
        neighbours[j].add(i)
    W = _zeros(n, like)
    for i, near in enumerate(neighbours):
        for j in near:
            W[i, j] = _one(like) / (1 + max(len(near), len(neighbours[j])))
        W[i, i] = _one(like) - sum(W[i])
    return W


def lazy(W: Mixing, share: Scalar) -> Mixing:
    """Return (1 - share) I + share W: clients keep more of their own models.

    Raises:
        MixingError: the result isn't doubly stochastic, because W isn't, or because the share is outside [0, 1].
    """
    return blended([share, 1 - share], [W, alone(len(W), W)])


def blended(weights: Sequence[Scalar], matrices: Sequence[Mixing]) -> Mixing:
    """Convex combination of matrices; with J as the second of two, rho is the first matrix's rho times its weight.

    Raises:
        MixingError: the combination isn't doubly stochastic, or the weights and the matrices differ in number.
    """
    if not 0 < len(weights) == len(matrices):
        raise MixingError(f"weights: {len(weights)} for {len(matrices)} matrices; give one for each of at least one")
    W: Mixing = np.sum([w * matrix for w, matrix in zip(weights, matrices, strict=True)], axis=0)
    check_mixing(W)
    return W


def permutation(order: Sequence[int], like: Array = FLOATS) -> Mixing:
    """Permutation matrix: client i takes the model of client order[i].

    Raises:
        MixingError: ``order`` isn't a permutation of 0..n-1.
    """
    if not set(map(type, order)) <= {int} or sorted(order) != list(range(len(order))):
        raise MixingError(f"order: {tuple(order)} is no permutation of 0..{len(order) - 1}")
    W = _zeros(len(order), like)
    for i, j in enumerate(order):
        W[i, j] = W[i, j] + 1
    return W


def random_permutations(n: int, count: int, rng: np.random.Generator, like: Array = FLOATS) -> Mixing:
    """Mean of ``count`` random permutation matrices: exactly doubly stochastic, in general not symmetric.

    By Birkhoff's theorem every doubly stochastic matrix is a convex combination of permutations.

    Raises:
        MixingError: the number of clients or of permutations is 0.
    """
    _check_count("clients", n)
    _check_count("permutations", count)
    W: Mixing = np.sum([permutation(rng.permutation(n).tolist(), like) for _ in range(count)], axis=0) / count
    return W


def balanced(A: Array, sweeps: int = 1000) -> Mixing:
    """Scale rows and columns of a positive matrix in turn until all sum to one (Sinkhorn); in floats.

    With random entries the result is AFGA's unbalanced complete graph, which footnote 6 (L642) doesn't define further.

    Raises:
        MixingError: A has an entry that isn't positive, or the sums aren't one after the largest number of sweeps.
    """
    if not (A > 0).all():
        raise MixingError(
            "A: an entry is not positive; all must be, since scaling rows and columns may not converge otherwise"
        )
    W: Mixing = A
    for _ in range(sweeps):
        W = W / W.sum(axis=1, keepdims=True)
        W = W / W.sum(axis=0, keepdims=True)
        try:
            check_mixing(W)
        except MixingError:
            continue
        return W
    raise MixingError(f"A: rows still do not sum to one after {sweeps} sweeps; its entries differ too much in size")


def rho(W: Mixing) -> float:
    """Second largest singular value ||W - J||_2 (in floats): small for a dense graph, 1 for a disconnected graph.

    AFGA calls it the spectral gap (Assumption 4.5) and, for symmetric W, |lambda_2| (L287-289): not the same otherwise.

    Raises:
        MixingError: W is not doubly stochastic.
    """
    check_mixing(W)
    return float(np.linalg.norm(W.astype(float) - 1 / len(W), 2))


def connected(W: Mixing) -> bool:
    """True if each client's model reaches every client in some number of exchanges; rho < 1 is sufficient."""
    reached, news = {0}, {0}
    while news:
        news = {j for i in news for j in range(len(W)) if W[i, j] > 0} - reached
        reached |= news
    return len(reached) == len(W)
