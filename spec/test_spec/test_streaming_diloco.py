"""Streaming DiLoCo by hand: clients whose every step is one down, and what public implementations make of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.streaming_diloco import State, StreamingDiLoCo, init, step
from fedspec.catalogue import CATALOGUE
from fedspec.errors import PlanError
from fedspec.plan import Oracle, Plan, Setup
from fedspec.readings import Against

DOWN: Oracle = lambda k, x: x * 0 + 1  # noqa: E731
"""Constant gradient, along which AdamW without eps and decay makes steps of the length eta_l, whatever its moments."""
NUMBERS = {"eta_l": 1.0, "beta1": 0.5, "beta2": 0.75, "eps": 0.0, "wd": 0.0, "eta": 0.7, "beta": 0.9}


def run(steps: Sequence[Sequence[int]], clients: Sequence[Oracle] = (DOWN,), blocks: int = 1, **h: Any) -> list[State]:
    """The state after each exchange, in which client i takes so many steps; every block is one number, 0 at first."""
    record = StreamingDiLoCo(**{**NUMBERS, **h})
    n, shapes = len(clients), {f"b{l}": (1,) for l in range(blocks)}
    state, out = init(record, np.zeros(blocks), Setup((1,) * n, shapes)), []
    for K in steps:
        state, _ = step(record, state, list(clients), Plan(tuple(range(n)), tuple(K), (1,) * n))
        out.append(state)
    return out


@pytest.mark.parametrize(
    ("whose", "first", "overlap", "own", "want"),
    [
        ("MaxText's", 5, 1, 0.0, (-5.32, -11.578, -19.3102)),
        ("MaxText's", 5, 1, 0.5, (-5.16, -10.2626, -15.9014)),
        ("torchft's", 4, 1, 0.0, (-3.99, -9.681, -16.9029)),
        ("torchft's", 4, 1, 0.5, (-3.995, -8.8413, -14.314)),
        ("both", 4, 0, 0.0, (-5.32, -12.908, -22.5372)),
    ],
)
def test_a_worker_after_each_receipt(whose: str, first: int, overlap: int, own: float, want: tuple[float, ...]) -> None:
    """H = 4, one fragment: the two clocks differ in the length of the first exchange alone."""
    got = [float(state.x_i[0, 0]) for state in run([[first], [4], [4]], P=1, overlap=overlap, own=own)]
    assert got == pytest.approx(want, abs=5e-5), whose


def test_two_fragments_take_turns() -> None:
    """Two steps each, eta = 1 and beta = 1/2: -2 is stepped to -3, and a block that has not been sent yet is at -2."""
    first, second, third = run([[2], [2], [2]], blocks=2, P=2, overlap=0, own=0.0, eta=1.0, beta=0.5)
    assert first.x.tolist() == [-3, 0] and first.x_i.tolist() == [[-3, -2]] and first.v.tolist() == [-2, 0]
    # The second block is at -4 when it is sent, and the first has gone on from -3.
    assert second.x.tolist() == [-3, -6] and second.x_i.tolist() == [[-5, -6]] and second.v.tolist() == [-2, -4]
    # From -3 the first has come to -7: v = -1 - 4 and x = -3 - 4 - 5/2.
    assert third.x.tolist() == [-9.5, -6] and third.v.tolist() == [-5, -4]


def test_clients_with_other_numbers_of_steps_travel_together() -> None:
    """Last two of 3 and 5 steps are not sent: the mean of -1 and -3 arrives as -2 and meets -3 and -5 half way."""
    (state,) = run([[3, 5]], [DOWN, DOWN], P=1, overlap=2, own=0.5, eta=1.0, beta=0.0)
    assert state.x.tolist() == [-2] and state.x_i.tolist() == [[-2.5], [-3.5]] and state.t == (3, 5)


def test_a_client_that_keeps_all_hears_nothing() -> None:
    """Three exchanges of two steps are six steps down, while the common copy goes its own way."""
    state = run([[2]] * 3, P=1, overlap=1, own=1.0)[-1]
    assert state.x_i[0, 0] == -6 and state.x[0] < -6


UP: Oracle = lambda k, x: x * 0 - 1  # noqa: E731


def printed(H: int, P: int, tau: int, alpha: float, T: int, *, eta: float, beta: float) -> list[list[list[float]]]:
    """Algorithm 2, step by step: models[m][p] after every receipt, of a client that goes down and one that goes up.

    Fragment p is one number, sent at the steps t with t = (p + 1) H / P modulo H.
    """
    theta = {(m, p): [0.0] for m in range(2) for p in range(P)}
    v, delta, out = [0.0] * P, [0.0] * P, []
    for t in range(1, T + 1):
        for (m, _), past in theta.items():
            past.append(past[-1] + (1 if m else -1))
        for p in range(P):
            offset = (p + 1) * H // P
            if t >= offset and (t - offset) % H == 0:
                delta[p] = sum(theta[m, p][max(t - H, 0)] - theta[m, p][t] for m in range(2)) / 2
            if t - tau >= offset and (t - offset - tau) % H == 0:
                v[p] = beta * v[p] + delta[p]
                for m in range(2):
                    arriving = theta[m, p][max(t - tau - H, 0)] - eta * (delta[p] + beta * v[p])
                    theta[m, p][t] = alpha * theta[m, p][t] + (1 - alpha) * arriving
                out.append([[theta[m, q][t] for q in range(P)] for m in range(2)])
    return out


@pytest.mark.parametrize(("P", "tau", "alpha"), [(1, 1, 0.5), (1, 2, 0.0), (2, 1, 0.25), (1, 0, 0.5)])
def test_the_literal_reading_is_the_printed_algorithm(P: int, tau: int, alpha: float) -> None:
    """Every client steps from its own last model: the canonical reading has a copy in the place of it."""
    H, exchanges = 4, 6
    steps = [[H // P + tau] * 2, *[[H // P] * 2] * (exchanges - 1)]
    want = printed(H, P, tau, alpha, H // P * exchanges + tau, eta=0.4, beta=0.5)
    numbers = {"P": P, "overlap": tau, "own": alpha, "eta": 0.4, "beta": 0.5}
    got = run(steps, (DOWN, UP), blocks=P, against=Against.OWN, **numbers)
    assert [state.x_i.tolist() for state in got] == [pytest.approx(np.array(models)) for models in want]
    other = run(steps, (DOWN, UP), blocks=P, **numbers)
    assert not np.allclose(got[-1].x_i, other[-1].x_i)


def test_the_usual_outer_rate_is_the_papers() -> None:
    """Sec. 3.2: 0.4 at all scales, and one step of overlap (sec. 3.3.2)."""
    row = CATALOGUE["streaming-diloco"]
    assert (row.usual["eta"], row.usual["overlap"]) == (0.4, 1)


def test_a_fragment_that_travels_longer_than_an_exchange_is_refused() -> None:
    with pytest.raises(PlanError, match="client 0 takes 1, but a fragment travels for 2 steps"):
        run([[1]], P=1, overlap=2, own=0.0)
