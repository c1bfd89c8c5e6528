"""FedSAM and MoFedSAM by hand, in fractions, and beside a loop over numbers whose batches have their own gradients."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.control_runs import ROUNDS, Run, batches, gradient
from test_spec.exact import vec

from fedspec.algorithms.fedsam import uphill
from fedspec.errors import ParameterError


def test_the_length_is_that_of_the_whole_model() -> None:
    """3 and 4 are 5 long: of a radius of 1/10 the coordinates have 6 and 8 hundredths, half of it where eps is 5."""
    for eps, far in ((0, 1), (5, 2)):
        z = uphill(vec(0, 1), vec(3, 4), radius=F(1, 10), eps=eps)
        assert list(z) == [F(6, 100 * far), 1 + F(8, 100 * far)]


def test_at_a_minimum_it_looks_where_it_is_and_without_eps_cannot_say_where() -> None:
    nothing, there = np.zeros(2), np.array([1.0, -2.0])
    assert uphill(there, nothing, radius=0.5, eps=1e-12).tolist() == there.tolist()
    with pytest.raises(ParameterError, match="eps: got 0, and uphill divides by 0"), np.errstate(all="ignore"):
        uphill(there, nothing, radius=0.5, eps=0.0)


SLOPES = (((1, 2, 3), (F(1, 2), F(1, 2), F(1, 2))), ((1, 1, 2), (4, -1, 5)), ((5, 1, 2), (1, 2, -3)))
"""Slopes of each client, of each of three batches: g(x) = a x - b, as the numbers a and b."""


def looped(
    rounds: Sequence[dict[int, int]], n: Sequence[int], *, lr: F, server: F, radius: F, eps: F, beta: F
) -> list[F]:
    """Loop over numbers: the sign of a batch's gradient is uphill, and its size beside eps is the distance.

    The stored direction is a fall over its length; FedSAM takes nothing of it, beta = 1.
    """
    x, kept, models = F(3), F(0), []
    for steps in rounds:
        weight, fall, K = sum(n[i] for i in steps), F(0), F(0)
        for i, tau in steps.items():
            y = x
            for k in range(tau):
                g = gradient(i, k, y, SLOPES)
                sign = (g > 0) - (g < 0)
                there = gradient(i, k, y + sign * (radius - radius * eps / (abs(g) + eps)), SLOPES)
                y -= lr * (beta * there + (1 - beta) * kept)
            fall += F(n[i], weight) * (x - y)
            K += F(n[i] * tau, weight)
        x, kept = x - server * fall, fall / K / lr
        models.append(x)
    return models


@pytest.mark.parametrize(("algorithm", "beta"), [("fedsam", F(1)), ("mofedsam", F(1, 3))])
@pytest.mark.parametrize("weights", ["uniform", "examples"])
def test_it_is_the_loop_over_batches(weights: str, algorithm: str, beta: F) -> None:
    """Both gradients of a step are of one batch."""
    given: dict[str, Any] = {"eta_l": F(1, 8), "eta": F(3, 4), "radius": F(1, 2), "eps": F(1, 16), "weights": weights}
    more = {"rho": 1 - beta} if algorithm == "mofedsam" else {}
    run = Run(algorithm, {**given, **more}, batches(SLOPES), (2, 1, 5), vec(3))
    got = [run.rounds([steps])[0] for steps in ROUNDS]
    n = (2, 1, 5) if weights == "examples" else (1, 1, 1)
    assert got == looped(ROUNDS, n, lr=F(1, 8), server=F(3, 4), radius=F(1, 2), eps=F(1, 16), beta=beta)
