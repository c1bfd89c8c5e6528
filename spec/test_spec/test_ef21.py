"""EF21 by hand, and beside its printed box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction as F
from functools import partial

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.algorithms.ef21 import Ef21, init, step
from fedspec.errors import PlanError
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import constant
from fedspec.readings import Compressor, FirstMessage


def all_of(n: int, steps: int = 1) -> Plan:
    return Plan(tuple(range(n)), (steps,) * n, (1,) * n)


def test_the_first_message_is_whole_or_compressed() -> None:
    for first, want in ((FirstMessage.WHOLE, [3, 1]), (FirstMessage.COMPRESSED, [3, 0])):
        h = Ef21(eta=F(1), kept=1, first=first)
        _, shown = step(h, init(h, vec(0, 0), Setup((1,), {"w": (2,)})), [constant(vec(3, 1))], all_of(1))
        assert list(shown["c_i"][0]) == want
    h = Ef21(eta=F(1), compressor=Compressor.SCALED_SIGN, first=FirstMessage.COMPRESSED)
    _, shown = step(h, init(h, vec(0, 0), Setup((1,), {"w": (2,)})), [constant(vec(3, -1))], all_of(1))
    assert list(shown["c_i"][0]) == [2, -2]


def printed(x: list[F], gradients: Sequence[Callable[[list[F]], list[F]]], gamma: F, rounds: int) -> list[list[F]]:
    """Algorithm 1 in its own order, one number after another, with Top-1: first the step, then the gradients there."""

    def top(v: list[F]) -> list[F]:
        kept = max(range(len(v)), key=lambda j: abs(v[j]))
        return [a if j == kept else F(0) for j, a in enumerate(v)]

    n, g_i, models = len(gradients), [top(f(x)) for f in gradients], []
    g = [sum(column) / n for column in zip(*g_i, strict=True)]
    for _ in range(rounds):
        x = [a - gamma * b for a, b in zip(x, g, strict=True)]
        models.append(x)
        c_i = [top([a - b for a, b in zip(f(x), known, strict=True)]) for f, known in zip(gradients, g_i, strict=True)]
        g_i = [[a + b for a, b in zip(known, c, strict=True)] for known, c in zip(g_i, c_i, strict=True)]
        g = [a + sum(column) / n for a, column in zip(g, zip(*c_i, strict=True), strict=True)]
    return models


def test_without_an_option_it_is_the_printed_box() -> None:
    """Two clients with slopes (3, 1) and (1, 2) around (1, 2) and (-2, 1): eight models in fractions."""
    slopes, places = ((F(3), F(1)), (F(1), F(2))), ((F(1), F(2)), (F(-2), F(1)))

    def gradient(i: int) -> Callable[[list[F]], list[F]]:
        return lambda x: [a * (v - p) for a, v, p in zip(slopes[i], x, places[i], strict=True)]

    want = printed([F(5), F(-7)], [gradient(0), gradient(1)], F(1, 8), 8)
    h, state = Ef21(eta=F(1, 8), kept=1), None
    clients = [partial(lambda f, k, x: vec(*f([*x])), gradient(i)) for i in range(2)]
    for model in want:
        state = state or init(h, vec(5, -7), Setup((1, 1), {"w": (2,)}))
        state, _ = step(h, state, clients, all_of(2))
        assert [*state.x] == model
    whole = Ef21(eta=F(1, 8), kept=1, first=FirstMessage.WHOLE)
    first, _ = step(whole, init(h, vec(5, -7), Setup((1, 1), {"w": (2,)})), clients, all_of(2))
    assert [*first.x] != want[0]


def test_a_round_has_one_gradient_of_everybody() -> None:
    h = Ef21(eta=1.0, kept=1)
    start = init(h, np.zeros(2), Setup((1, 1), {"w": (2,)}))
    clients = [constant(np.ones(2))] * 2
    with pytest.raises(PlanError, match=r"steps: got \(2, 2\); this algorithm takes one gradient of each client"):
        step(h, start, clients, all_of(2, 2))
    with pytest.raises(PlanError, match=r"clients \[1\] are missing"):
        step(h, start, clients, all_of(1))
