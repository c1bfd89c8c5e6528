"""Gossip with compressed messages: clients mix estimates of their neighbours' models. Row i of a stack is client i's.

External to the five papers.
"""

from __future__ import annotations

from fedspec.arith import Mixing, Scalar, Stack
from fedspec.mixing.gossip import check_mixing
from fedspec.rules import rule


@rule
def untold(X: Stack, X_hat: Stack) -> Stack:
    """Difference between each client's model and its neighbours' estimate of that model.

        P = X - X_hat                              choco.P

    External: Koloskova, Stich and Jaggi (2019), as ``liboyue/Network-Distributed-Algorithm`` has it,
    ``nda/optimizers/decentralized_distributed/CHOCO_SGD.py`` at 7f661e9.
    """
    return X - X_hat


@rule
def told(X_hat: Stack, Q: Stack) -> Stack:
    """Update the neighbours' estimate of each client's model by its message; the client keeps a copy of it.

        X_hat = X_hat + Q                          choco.X_hat

    External: the same.
    """
    return X_hat + Q


@rule
def towards_told(X: Stack, X_hat: Stack, W: Mixing, *, consensus: Scalar) -> Stack:
    """Move each model by the difference between the neighbours' mixed estimates and the client's own estimate.

        X = X + consensus (W X_hat - X_hat)        choco.step

    Raises:
        MixingError: W is not doubly stochastic.

    External: the same.
    """
    check_mixing(W)
    return X + consensus * (W @ X_hat - X_hat)
