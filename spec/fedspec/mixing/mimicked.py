"""Mean gradient of a round's clients at the model that the server sent, accumulated batch by batch."""

from __future__ import annotations

from fedspec.arith import Stack, Vector, Weights
from fedspec.rules import rule


@rule
def gradient_at_x(g_x: Vector, g_i: Stack, p: Weights, tau: Weights) -> Vector:
    """Add one more batch of each client to the mean gradient of the round's clients at the model that they were sent.

        g_x = g_x + sum_i p_i g_i / tau_i, from 0  mime-lite.g_x

    In each round g_x begins at 0. g_i is of the batch of step t, of those clients who take it; of every client all
    batches together count p_i.
    External: Karimireddy et al. (2020), Mime, where a client's gradient is that of all its examples.
    """
    return g_x + (p / tau) @ g_i
