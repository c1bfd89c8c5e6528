"""Periodic averaging: the server averages the states that its clients send, not their changes."""

from __future__ import annotations

from fedspec.arith import Stack, Vector, Weights, maximum
from fedspec.population import weigh
from fedspec.rules import rule


@rule
def model_mean(models: Stack, *, clients: int) -> Vector:
    """The server's model: the mean of the local models of the clients of a round.

        x = 1/|D| sum over D of x_i                fed-lamb.step
        x = 1/n sum over D of x_i                  fed-lamb.step [averaged=all]
        x = 1/n sum over all of x_i                fed-lamb.step [averaged=last-sent]

    Args:
        models: the models to add up.
        clients: divisor of the sum: |D|, or n, the number of all clients, as the paper's box prints it.

    Source: Fed-LAMB, Alg. 1, line 15 (L152).
    """
    mean: Vector = models.sum(axis=0) / clients
    return mean


@rule
def moment_maximum(v_hat: Vector, moments: Stack, *, clients: int) -> Vector:
    """Update the denominator v_hat for the next round's steps; its coordinates never decrease.

        v_hat = max(v_hat, 1/|D| sum over D of s_i)   fed-lamb.v_hat
        v_hat = max(v_hat, 1/n sum over D of s_i)     fed-lamb.v_hat [averaged=all]
        v_hat = max(v_hat, 1/n sum over all of s_i)   fed-lamb.v_hat [averaged=last-sent]

    The maximum is of means, not the mean of maxima. Source: Fed-LAMB, Alg. 1, line 15 (L152-154).
    """
    return maximum(v_hat, moments.sum(axis=0) / clients)


@rule
def moment_mean(moments: Stack, p: Weights) -> Vector:
    """Mean of the clients' moments, from which clients continue if moments are averaged as changes are.

        m_i = sum over S of p_j m_j                diloco.m_i [inner=averaged]
        v_i = sum over S of p_j v_j                diloco.v_i [inner=averaged]

    External: gensyn-ai/noloco, in its DiLoCo. No box of DiLoCo does it.
    """
    return weigh(p, moments)
