"""Gossip: every client replaces its model by a weighted mean of its neighbours' models."""

from __future__ import annotations

from fedspec.arith import (
    Mixing,
    Scalar,
    Stack,
    Vector,
    Weights,
    check_array,
    has_values,
    namespace,
    slack,
    stack,
    where_less,
)
from fedspec.domains import is_number
from fedspec.errors import MixingError
from fedspec.mixing.weighted import check_shares
from fedspec.readings import Order
from fedspec.rules import rule


def check_mixing(W: Mixing) -> None:
    """Raise MixingError unless a matrix is doubly stochastic.

    Raises:
        MixingError: the matrix isn't square, has an entry outside [0, 1], or has a row or column that doesn't sum to
            one.
        ShapeError: W isn't an array of real numbers.
    """
    check_array("W", W)
    n = len(W)
    if tuple(W.shape) != (n, n):
        raise MixingError(f"W: shape {tuple(W.shape)}; a mixing matrix is square, one row for each client")
    if not has_values(W):
        return
    allowed = slack(W)
    if W.dtype != object and _stochastic(W, allowed):
        return
    entries = W.tolist()
    for i in range(n):
        for j in range(n):
            if is_number(entries[i][j]) and not -allowed <= entries[i][j] <= 1 + allowed:
                raise MixingError(f"W: entry [{i}, {j}] is {entries[i][j]}; weights lie in [0, 1]")
        for what, total in (("row", sum(entries[i])), ("column", sum(row[i] for row in entries))):
            if is_number(total) and not abs(total - 1) <= allowed:
                raise MixingError(f"W: {what} {i} sums to {total}, not to 1; a mixing matrix is doubly stochastic")


def _stochastic(W: Mixing, allowed: float) -> bool:
    """True if the floats of a matrix pass all checks at once; else the loop over the entries names the fault."""
    xp = namespace(W)
    sums = (xp.all(xp.abs(xp.sum(W, axis=axis) - 1) <= allowed) for axis in (0, 1))
    return bool(xp.all((-allowed <= W) & (1 + allowed >= W))) and all(map(bool, sums))


@rule
def gossip(X: Stack, W: Mixing) -> Stack:
    """Mix each client's model with its neighbours' models; row i of X is client i's model.

        X = W X                                    gossip.x

    Raises:
        MixingError: W is not doubly stochastic.

    Source: AFGA, Alg. 1, line 14 (L182-185).
    """
    check_mixing(W)
    return W @ X


@rule
def broadcast(x: Vector, X: Stack, reach: Weights) -> Stack:
    """Models from which the clients begin a round if the server's model reaches only some of them.

        x_i = x if reach_i > 0 else x_i            gossip.start

    reach_i is the weight that client i gives to clients who have x. Source: AFGA, Alg. 2, line 5 (L363), literally.
    """
    return stack([where_less(weight * 0, weight, x, x_i) for weight, x_i in zip(reach, X, strict=True)])


@rule
def cluster_mean(deltas: Stack, w: Weights) -> Vector:
    """Weighted mean of the clusters' changes; row k is the mean change of the senders in cluster k.

        Delta = sum_k w_k Delta_k                  cafga.delta

    Raises:
        WeightError: a weight w is negative, or their sum isn't one.

    Source: AFGA, Alg. 2, line 20 (L396-401), where w_k = 1/K.
    """
    check_shares(w)
    return w @ deltas


@rule
def dsgd(X: Stack, G: Stack, W: Mixing, *, eta_l: Scalar, order: Order = Order.COMBINE_THEN_ADAPT) -> Stack:
    """Step of decentralised SGD; row i of G is client i's gradient.

        X = W X - eta_l G                          dsgd.step
        X = W (X - eta_l G)                        dsgd.step [order=adapt-then-combine]
        X = W X - eta_l G(W X)                     dsgd.step [order=gradient-at-combined]

    Raises:
        MixingError: W is not doubly stochastic.

    External: Lian et al. (2017), Algorithm 1; named in AFGA (L968).
    """
    check_mixing(W)
    if order is Order.ADAPT_THEN_COMBINE:
        return W @ (X - eta_l * G)
    return W @ X - eta_l * G


@rule
def global_mean(X: Stack) -> Stack:
    """Replace every client's model by the mean of all models, in the last exchange of a period.

        x_i = 1/n sum_j x_j                        gossip-pga.step

    External: Chen et al. (2021), Gossip-PGA; named in AFGA (L968).
    """
    mean = sum(X[1:], start=X[0]) / len(X)
    return stack([mean] * len(X))
