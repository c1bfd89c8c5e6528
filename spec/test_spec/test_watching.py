"""A rule that returns another shape than it says, or writes into its argument, is refused in tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jaxtyping
import numpy as np
import pytest
from test_proofs.traced import CANONICAL, rounds
from test_spec.watching import WatchedError, kept_shapes, read_only

from fedspec.arith import Vector
from fedspec.client.momentum import Momentum
from fedspec.rules import RULES, checked

X = np.array([1.0, 2.0, 3.0])


@checked
def cut(x: Vector, g: Vector) -> Vector:
    return x[:1] - g[:1]


@checked
def written(state: Momentum, g: Vector) -> Momentum:
    state.u[0] = g[0]
    return state


STATE = Momentum(x=X, u=X)


@pytest.mark.parametrize(("rule", "first"), [(cut, X), (written, STATE)])
def test_it_is_refused(rule: Callable[..., Any], first: Any) -> None:
    before = X.copy()
    with pytest.raises(WatchedError, match=rule.__name__):
        rule(first, X)
    np.testing.assert_array_equal(X, before)
    assert X.flags.writeable


def test_every_rule_is_watched_but_where_shapes_are_not_checked() -> None:
    assert all(rule.__code__ is cut.__code__ for rule in RULES.values())  # type: ignore[attr-defined]
    jaxtyping.config.update("jaxtyping_disable", True)
    assert cut(X, X).shape == (1,)


@pytest.mark.table(20)
@pytest.mark.parametrize("label", CANONICAL)
def test_a_round_writes_nowhere_and_keeps_shapes(label: str) -> None:
    t = rounds(label)
    with read_only(label, [t.moved, t.still]):
        state, _ = t.run(t.moved, t.still)
    kept_shapes(label, t.still[0], state)


def test_a_state_of_another_shape_is_refused() -> None:
    kept_shapes("state", STATE, STATE)
    with pytest.raises(WatchedError, match=r"state\.x: \(1,\)"):
        kept_shapes("state", STATE, Momentum(x=X[:1], u=X[:1]))
