"""EF21 by hand, and what it converges to where plain error memory does not."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.ef21 import Ef21, init, step
from fedspec.errors import PlanError
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import QuadraticClients, constant
from fedspec.readings import Compressor, FirstMessage


def vec(*xs: Any) -> np.ndarray:
    return np.array([F(x) for x in xs], dtype=object)


def all_of(n: int, steps: int = 1) -> Plan:
    return Plan(tuple(range(n)), (steps,) * n, (1,) * n)


def test_three_rounds_of_two_clients() -> None:
    """Gradients (4, 2) and (-2, 2), k = 1, eta = 1/2; the first message is compressed too.

    Known are (4, 0) and (-2, 0), of equal sizes the first; g = (1, 0). Then (4, 2), (-2, 2): g = (1, 2), which stays.
    """
    h = Ef21(eta=F(1, 2), kept=1, first=FirstMessage.COMPRESSED)
    clients = [constant(vec(4, 2)), constant(vec(-2, 2))]
    state = init(h, vec(0, 0), Setup((1, 1), {"w": (2,)}))
    want = [([1, 0], [F(-1, 2), 0]), ([1, 2], [-1, -1]), ([1, 2], [F(-3, 2), -2])]
    for g, x in want:
        state, shown = step(h, state, clients, all_of(2))
        assert list(shown["g"]) == g and list(state.x) == x
    assert shown["c_i"].tolist() == [[0, 0], [0, 0]], "all is known"


def test_the_first_message_is_whole_or_compressed() -> None:
    for first, want in ((FirstMessage.WHOLE, [3, 1]), (FirstMessage.COMPRESSED, [3, 0])):
        h = Ef21(eta=F(1), kept=1, first=first)
        _, shown = step(h, init(h, vec(0, 0), Setup((1,), {"w": (2,)})), [constant(vec(3, 1))], all_of(1))
        assert list(shown["c_i"][0]) == want
    h = Ef21(eta=F(1), compressor=Compressor.SCALED_SIGN, first=FirstMessage.COMPRESSED)
    _, shown = step(h, init(h, vec(0, 0), Setup((1,), {"w": (2,)})), [constant(vec(3, -1))], all_of(1))
    assert list(shown["c_i"][0]) == [2, -2]


@pytest.mark.parametrize("first", FirstMessage)
def test_it_ends_at_the_minimum_whatever_clients_disagree_on(first: FirstMessage) -> None:
    """Top-1 of five, four clients: known are in the end the gradients at the minimum, which are not zero."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(4, 5, 5))
    H, e = A @ A.swapaxes(1, 2) / 5 + np.eye(5) / 2, rng.normal(size=(4, 5))
    best = np.linalg.solve(H.sum(axis=0), e.sum(axis=0))
    h = Ef21(eta=0.05, kept=1, first=first)
    state = init(h, np.zeros(5), Setup((1,) * 4, {"w": (5,)}))
    for _ in range(4000):
        state, _ = step(h, state, QuadraticClients(H, e).clients, all_of(4))
    assert np.abs(state.x - best).max() < 1e-12
    assert np.abs(state.g_i - (H @ best - e)).max() < 1e-11 and np.abs(H @ best - e).max() > 0.1


def test_a_round_has_one_gradient_of_everybody() -> None:
    h = Ef21(eta=1.0, kept=1)
    start = init(h, np.zeros(2), Setup((1, 1), {"w": (2,)}))
    clients = [constant(np.ones(2))] * 2
    with pytest.raises(PlanError, match=r"steps: got \(2, 2\); a round of this algorithm has one gradient"):
        step(h, start, clients, all_of(2, 2))
    with pytest.raises(PlanError, match=r"clients \[1\] are missing"):
        step(h, start, clients, all_of(1))
