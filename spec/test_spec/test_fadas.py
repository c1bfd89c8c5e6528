"""FADAS by hand, in fractions."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.algorithms.fadas import Fadas, init, slowed, step
from fedspec.plan import Arrival, Setup
from fedspec.readings import BiasCorrection, Slowing


@pytest.mark.parametrize(
    ("eta", "tau_max", "tau_c", "over", "capped"),
    [
        ("1/2", 10, 1, "1/20", "1/10"),
        ("1/10000", 10, 1, "1/100000", "1/10000"),
        ("1/2", 2, 1, "1/4", "1/2"),
        ("2", 1, 0, "2", "1"),
        ("2", 3, 3, "2", "2"),
        ("2", 0, 0, "2", "2"),
    ],
)
def test_rates_by_hand(eta: str, tau_max: int, tau_c: int, over: str, capped: str) -> None:
    said = {"tau_max": tau_max, "tau_c": tau_c}
    assert slowed(F(eta), **said) == F(over)
    assert slowed(F(eta), slowing=Slowing.CAPPED, **said) == F(capped)


GIVEN: dict[str, Any] = {"eta_l": 1, "eta": 1, "beta1": F(9, 10), "beta2": F(99, 100), "eps": 0, "tau_c": 1}


@pytest.mark.parametrize(("correction", "moved"), [("moments", "1.846"), ("none", "2.270")])
def test_three_buffers_of_one(correction: str, moved: str) -> None:
    """Changes 0.1, -0.05 and 0.1 of clients that are pulled nowhere else, none of them late."""
    changes = iter((0.1, -0.05, 0.1))
    clients = [lambda k, x: np.array([-next(changes)])]
    h = Fadas(buffer=1, **{**GIVEN, "beta1": 0.9, "beta2": 0.99}, bias_correction=correction)
    state = init(h, np.array([0.0]), Setup((1,), {"w": (1,)}))
    for _ in range(3):
        state, _ = step(h, state, clients, Arrival(0, 1, 0))
    assert f"{state.x[0]:.3f}" == moved


def test_a_buffer_is_as_slow_as_its_latest_update() -> None:
    """F = x^2 / 2 at rate 1: a change is minus the version; each step is one of signs, as long as eta_t."""
    h = Fadas(
        buffer=2, eta_l=1, eta=F(1), beta1=F(0), beta2=F(0), eps=F(0), tau_c=1, bias_correction=BiasCorrection.NONE
    )
    state, clients = init(h, vec(8), Setup((1, 1), {"w": (1,)})), [lambda k, x: x] * 2
    seen = []
    for pair in ((0, 0), (0, 1), (2, 0), (0, 3), (0, 0)):
        for i, delay in enumerate(pair):
            state, shown = step(h, state, clients, Arrival(i, 1, delay))
        seen.append((shown["eta_t"], state.delays))
    # v_hat keeps 8^2: changes are -8, -(7 + 8) / 2, ... over 8.
    assert seen == [(1, ()), (1, ()), (F(1, 2), ()), (F(1, 3), ()), (1, ())]
    assert state.versions[1][0] == 7 and state.versions[2][0] == 7 - F(15, 16)
