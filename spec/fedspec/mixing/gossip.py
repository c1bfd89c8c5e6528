"""Gossip: every client replaces its model by a weighted mean of its neighbours' models."""

from __future__ import annotations

from fedspec.arith import Mixing, Stack, slack
from fedspec.domains import is_number
from fedspec.errors import MixingError
from fedspec.rules import rule


def check_mixing(W: Mixing) -> None:
    """Refuse a matrix that is not doubly stochastic.

    Raises:
        MixingError: it is not square, has an entry outside [0, 1], or a row or column does not sum to one.
    """
    n = len(W)
    if W.shape != (n, n):
        raise MixingError(f"W: shape {W.shape}; a mixing matrix is square, one row for each client")
    allowed = slack(W)
    for i in range(n):
        for j in range(n):
            if is_number(W[i, j]) and not -allowed <= W[i, j] <= 1 + allowed:
                raise MixingError(f"W: entry [{i}, {j}] is {W[i, j]}; weights lie in [0, 1]")
        for what, total in (("row", sum(W[i])), ("column", sum(W[:, i]))):
            if is_number(total) and not abs(total - 1) <= allowed:
                raise MixingError(f"W: {what} {i} sums to {total}, not to 1; a mixing matrix is doubly stochastic")


@rule
def gossip(X: Stack, W: Mixing) -> Stack:
    """One exchange with the neighbours; row i of X is client i's model.

        X = W X                                    gossip.x

    Raises:
        MixingError: W is not doubly stochastic.

    Source: AFGA, Alg. 1, line 14 (L157-200).
    """
    check_mixing(W)
    return W @ X
