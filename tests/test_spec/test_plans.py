"""Plans drawn at random: they keep the promises of the simulators, and run."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fedspec.arith import array
from fedspec.errors import PlanError
from fedspec.plan import Arrival, Plan
from fedspec.plans import busy_clients, drawn_delays


def drawn(seed: int = 0, **changes: int) -> list[Arrival]:
    settings: dict[str, int] = {
        "clients": 20,
        "buffer": 5,
        "rounds": 400,
        "largest_delay": 5,
        "steps": 3,
        "randomness": 2,
    }
    return drawn_delays(np.random.default_rng(seed), **{**settings, **changes})  # type: ignore[arg-type]


def test_every_buffer_holds_different_clients() -> None:
    plan = drawn()
    assert len(plan) == 2000
    buffers = [plan[k : k + 5] for k in range(0, len(plan), 5)]
    assert all(len({a.client for a in buffer}) == 5 for buffer in buffers)
    # Each client is in a quarter of the buffers; the standard deviation is sqrt(400 * 3/16) < 9.
    seen = Counter(a.client for a in plan)
    assert set(seen) == set(range(20)) and all(55 <= count <= 145 for count in seen.values())


def test_delays_are_uniform_and_reach_back_to_the_first_version_only() -> None:
    plan = drawn()
    for k, arrival in enumerate(plan):
        assert 0 <= arrival.delay <= min(5, k // 5)
    late = Counter(a.delay for a in plan[25:])
    assert set(late) == set(range(6)) and all(250 <= count <= 410 for count in late.values())
    assert {a.delay for a in drawn(largest_delay=0)} == {0}


def test_steps_are_uniform_from_one_to_k_r() -> None:
    assert set(Counter(a.steps for a in drawn())) == set(range(1, 7))
    # The mean of 1..6 is 7/2 with a standard error of 0.04.
    assert abs(np.mean([a.steps for a in drawn()]) - 3.5) < 0.2
    assert {a.steps for a in drawn(randomness=1)} == {1, 2, 3}
    assert {
        a.steps for a in drawn_delays(np.random.default_rng(0), clients=3, buffer=2, rounds=9, largest_delay=1, steps=3)
    } == {3}


def test_one_seed_one_plan() -> None:
    assert drawn(3) == drawn(3) != drawn(4)


def test_a_busy_client_begins_where_its_last_update_left_the_server() -> None:
    buffer, means = 3, [1.0, 1.0, 2.0, 10.0]
    plan = busy_clients(np.random.default_rng(0), means=means, steps=[1, 2, 3, 4], buffer=buffer, arrivals=600)
    begun = dict.fromkeys(range(4), 0)
    for k, arrival in enumerate(plan):
        assert k // buffer - arrival.delay == begun[arrival.client]
        begun[arrival.client] = (k + 1) // buffer
    # Renewals: a client with mean time w sends in proportion to 1/w; all together 2.6 updates in a unit of time.
    seen = Counter(a.client for a in plan)
    assert [round(seen[i] / 600 * 2.6 * w, 0) for i, w in enumerate(means)] == [1, 1, 1, 1]
    delays = {i: np.mean([a.delay for a in plan if a.client == i]) for i in range(4)}
    assert delays[3] > 3 * delays[2] > 3 * delays[0]
    assert all(a.steps == a.client + 1 for a in plan)


def test_refusals() -> None:
    with pytest.raises(PlanError, match="buffer: 21 different clients are drawn from 20"):
        drawn(buffer=21)
    with pytest.raises(PlanError, match="steps: 1 numbers for 2 clients"):
        busy_clients(np.random.default_rng(0), means=[1.0, 1.0], steps=[1], buffer=1, arrivals=1)


def test_noise_and_draws_may_be_arrays() -> None:
    """A large model's are no tuple of Python's numbers; what they may hold is the same."""
    draws = (0.25, 0.5, 0.0)
    plans = [
        Plan((0,), (1,), (1,), noise=made((-1.5, 0.25, 2.0)), draws=(made(draws),))  # type: ignore[arg-type]
        for made in (tuple, np.array)
    ]
    for like in (np.zeros(3), np.zeros(3, np.float32)):
        for field in ("noise", "draws"):
            rows = [getattr(plan, field) if field == "noise" else plan.draws[0] for plan in plans]
            one, other = (array(row, like) for row in rows)
            assert one.dtype == other.dtype == like.dtype and np.array_equal(one, other)
    with pytest.raises(PlanError, match="noise: entry 1 is"):
        Plan((0,), (1,), (1,), noise=np.array([0.0, np.nan]))  # type: ignore[arg-type]
    for wrong in (1.0, -0.5, np.inf):
        with pytest.raises(PlanError, match="draws: participant 0 has"):
            Plan((0,), (1,), (1,), draws=(np.array([0.0, wrong]),))  # type: ignore[arg-type]
