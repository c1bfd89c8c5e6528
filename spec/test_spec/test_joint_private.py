"""Rounds of private joint adaptivity worked by hand, in fractions."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.algorithms.joint_private import DpJoint, init, step
from fedspec.algorithms.private import DpFedAvg
from fedspec.algorithms.private import init as begin_averaging
from fedspec.algorithms.private import step as averaging
from fedspec.errors import PlanError
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import constant

ROOTED: dict[str, Any] = {"server": "adam", "beta2": 0}
"""A server whose second moment is a square."""


def hyper(**more: Any) -> Any:
    """eta_l = 4 and eps = 1 at the clients, c = 2 and sigma c = 1/2, a server without momentum."""
    server: dict[str, Any] = {"eta": 1, "beta1": 0, "tau": F(1, 2), "v0": F(3, 16)}
    given: dict[str, Any] = {"eta_l": 4, "eps": 1, **server, "clip_norm": 2, "sigma": F(1, 4)}
    numbers: dict[str, Any] = {n: F(v) if isinstance(v, int) else v for n, v in {**given, **more}.items()}
    return DpJoint(**numbers)


def run(h: Any, *gradients: np.ndarray, noise: tuple[int, ...] = (0,)) -> tuple[Any, Any]:
    """Run one round of one step from 0, on constant gradients."""
    n, d = len(gradients), len(gradients[0])
    start = init(h, vec(*[0] * d), Setup((1,) * n, {"w": (d,)}))
    plan = Plan(tuple(range(n)), (1,) * n, (1,) * n, noise=noise)
    return step(h, start, [constant(g) for g in gradients], plan)


def test_a_round() -> None:
    """Steps 3/4 and -1/2 change by -3 and 2; clipped: -2 and 2; with noise -1/2 the mean over two is -1/4.

    AdaGrad: v = 3/16 + 1/16, sqrt(v) + tau = 1. Adam with beta2 = 3/4 and v_0 = 1/16: the same v = 1/16, and 3/4.
    """
    after, shown = run(hyper(), vec(3), vec(-1), noise=(-1,))
    assert list(shown["delta"]) == [F(-1, 4)] and list(after.server.v) == [F(1, 4)]
    assert list(after.x) == [F(-1, 4)]
    after, shown = run(hyper(server="adam", beta2=F(3, 4), v0=F(1, 16)), vec(3), vec(-1), noise=(-1,))
    assert list(shown["v"]) == [F(1, 16)] and list(after.x) == [F(-1, 3)]


def test_a_client_that_is_sent_the_server_s_second_moment() -> None:
    """v_0 = 16 and g = 3: the divisor is 5 + 1, the change -2 instead of -3; neither is longer than c = 3."""
    for preconditioner, change in (("sent", -2), ("compressed", -3)):
        _, shown = run(hyper(v0=16, clip_norm=3, preconditioner=preconditioner, **ROOTED), vec(3))
        assert list(shown["delta"]) == [change]


def test_a_clipped_gradient() -> None:
    """(3, 4) is shortened to (3/2, 2): the steps are 3/5 and 2/3, and a change longer than c = 5/2 is not clipped."""
    h = hyper(clipped="gradients", clip_norm=F(5, 2), cover="singletons", **ROOTED)
    _, shown = run(h, vec(3, 4), noise=(0, 0))
    assert list(shown["delta"]) == [F(-12, 5), F(-8, 3)]


def test_clipped_gradients_of_federated_averaging() -> None:
    """Two steps of rate 4 along (3/2, 2): the change is 8 times as long as c allows a change to be."""
    h = DpFedAvg(eta_l=F(4), eta=F(1), clip_norm=F(5, 2), sigma=F(1), clipped="gradients")  # type: ignore[arg-type]
    start = begin_averaging(h, vec(0, 0), Setup((1,), {"w": (2,)}))
    plan = Plan((0,), (2,), (1,), noise=(0, 1))
    _, shown = averaging(h, start, [constant(vec(3, 4))], plan)
    assert list(shown["delta"]) == [-12, -16 + F(5, 2)]


def test_what_is_refused() -> None:
    with pytest.raises(PlanError, match="noise: got 1 draws for 2 coordinates"):
        run(hyper(), vec(1, 1))
