"""FedAda2's local solvers on numbers worked by hand, exactly: the delay, what is carried over it, the dead zone."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from math import ceil
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.client import admu as client_admu
from fedspec.client import agdu as client_agdu
from fedspec.client import sm3_adam as client_sm3_adam
from fedspec.client import sm3_delayed
from fedspec.client.admu import admu
from fedspec.client.agdu import agdu
from fedspec.client.delay import due, updates
from fedspec.client.sm3_adam import sm3_adam
from fedspec.client.sm3_delayed import sm3_i_delayed, sm3_ii_delayed
from fedspec.covers import Cover
from fedspec.errors import ParameterError
from fedspec.readings import DeadZone, Idle

ALONE = Cover(((0,),), 1)
ONE = Cover(((0, 1),), 2)
CHAIN = Cover(((0, 1), (1, 2)), 3)


def run(rule: Callable[..., Any], state: Any, gradients: list[np.ndarray], *cover: Cover, **kw: Any) -> list[Any]:
    """The state after every gradient."""
    out = []
    for g in gradients:
        state = rule(state, g, *cover, **kw)
        out.append(state)
    return out


def nu(states: list[Any]) -> list[list[float]]:
    return [list(s.nu) for s in states]


def floats(*rows: tuple[float, ...]) -> list[np.ndarray]:
    """Whole numbers: sums of their squares are exact, whatever their roots."""
    return [np.array(row, dtype=float) for row in rows]


@pytest.mark.parametrize("z", range(1, 9))
def test_updates_are_counted(z: int) -> None:
    seen = 0
    for t in range(1, 60):
        seen += due(t, z)
        assert updates(t, z) == seen == ceil(F(t, z))
    assert [t for t in range(1, 3 * z + 1) if due(t, z)] == [1, z + 1, 2 * z + 1]


@pytest.mark.parametrize(
    ("idle", "want"), [(Idle.CARRIED, [9, 9, 10]), (Idle.RESET, [9, 9, 1]), (Idle.RECOMPUTED, [9, 9, 10])]
)
def test_the_printed_text_does_not_accumulate(idle: Idle, want: list[float]) -> None:
    """The bound of Lemma 15, nu_3 >= 9 + 1, fails where mu is cleared at every step."""
    start = sm3_delayed.begin(np.zeros(1), ALONE)
    states = run(sm3_ii_delayed, start, floats((3,), (1,), (1,)), ALONE, eta_l=1.0, eps=0.5, z=2, idle=idle)
    assert [s.nu[0] for s in states] == want


def test_without_delay_the_printed_text_accumulates() -> None:
    start = sm3_delayed.begin(np.zeros(3), CHAIN, v0=2.0)
    gradients = floats((1, -2, 1), (0, 1, 3), (2, 0, 1))
    runs = [run(sm3_ii_delayed, start, gradients, CHAIN, eta_l=1.0, eps=0.5, z=1, idle=idle) for idle in Idle]
    assert nu(runs[0]) == nu(runs[1]) == nu(runs[2])
    assert nu(runs[0])[0] == [3, 6, 3]


def test_what_is_not_stored_is_bounded_from_above() -> None:
    """nu recomputed from mu is the largest of the set, at every coordinate of it."""
    start = sm3_delayed.begin(np.zeros(2), ONE)
    gradients = floats((3, 1), (1, 1), (1, 2))
    keywords = {"eta_l": 1.0, "eps": 0.5, "z": 2}
    kept = run(sm3_ii_delayed, start, gradients, ONE, **keywords)
    recomputed = run(sm3_ii_delayed, start, gradients, ONE, **keywords, idle=Idle.RECOMPUTED)
    assert nu(kept) == [[9, 1], [9, 1], [10, 13]]
    assert nu(recomputed) == [[9, 1], [9, 9], [10, 13]]


def test_sm3_i_adds_the_largest_of_the_set() -> None:
    start = sm3_delayed.begin(np.zeros(2), ONE, v0=4.0)
    states = run(sm3_i_delayed, start, floats((3, 1), (5, 5), (1, 2)), ONE, eta_l=1.0, eps=0.5, z=2)
    assert nu(states) == [[13, 13], [13, 13], [17, 17]]


def test_adagrad_waits() -> None:
    """v = 9, 9, 9 + 16, 25: the roots stay rational."""
    gradients = [vec(3), vec(7), vec(4), vec(-5)]
    states = run(agdu, client_agdu.begin(vec(0)), gradients, eta_l=F(1), eps=F(1), z=2)
    assert [s.v[0] for s in states] == [9, 9, 25, 25]
    steps = [F(3, 4), F(7, 4), F(4, 6), F(-5, 6)]
    assert [s.x[0] for s in states] == [-sum(steps[: k + 1]) for k in range(4)]
    # The second step is longer than eta_l, which no step is without a delay.
    assert steps[1] > 1


@pytest.mark.parametrize(
    ("eps_s", "moves"),
    [(F(3, 5), (True, True)), (F(61, 100), (False, True)), (F(4, 5), (False, True)), (F(9, 10), (False, False))],
)
def test_the_dead_zone_looks_at_the_whole_step_and_spares_a_tie(eps_s: F, moves: tuple[bool, bool]) -> None:
    """u = 3/5 is not taken below eps_s > 3/5; u = (3/5, 3/5) has length 0.848..."""
    for d, moving in enumerate(moves, 1):
        start = client_agdu.begin(vec(*[0] * d), v0=F(16))
        state = agdu(start, vec(*[3] * d), eta_l=F(2), eps=F(0), eps_s=eps_s)
        assert list(state.x) == [F(-6, 5) if moving else 0] * d
        assert list(state.v) == [25] * d, "the step is left out, its square is not"


def test_what_the_dead_zone_clears() -> None:
    """g = 1 throughout: u = 1 < 2 at the first step in both readings."""
    keywords = {"eta_l": F(1), "beta1": F(1, 2), "beta2": F(1, 2), "eps": F(0), "eps_s": F(2)}
    kept, cleared = (
        run(admu, client_admu.begin(vec(0)), [vec(1), vec(1)], **keywords, dead_zone=zone) for zone in DeadZone
    )
    assert [(s.x[0], s.m[0]) for s in kept] == [(0, F(1, 2)), (0, F(3, 4))]
    # As printed: the first step is taken; m_hat = (1/2) / (1 - 1/4) = 2/3 at the second, since m was 0.
    assert [(s.x[0], s.m[0]) for s in cleared] == [(-1, 0), (F(-5, 3), 0)]


def test_sm3_adam_by_hand() -> None:
    states = run(
        sm3_adam,
        client_sm3_adam.begin(np.zeros(2), ONE),
        floats((2, 1), (0, 2), (0, 2)),
        ONE,
        eta_l=1.0,
        beta1=0.0,
        beta2=0.5,
        eps=0.5,
        z=2,
    )
    assert nu(states) == [[2, 0.5], [2, 0.5], [1, 3]]
    assert [s.mu[0] for s in states] == [2, 2, 3]
    # nu_hat = nu / (1 - 1/2) at both of the first steps: roots of 4 and 1, then of 4 and 1 again.
    assert list(states[0].x) == [-2 / 2.5, -1 / 1.5]
    assert list(states[1].x - states[0].x) == pytest.approx([0, -2 / 1.5], rel=1e-15)


@pytest.mark.parametrize("z", [0, -1, 1.5, np.nan])
def test_a_delay_that_is_none_is_refused(z: Any) -> None:
    with pytest.raises(ParameterError, match=r"^z: got .*delay"):
        agdu(client_agdu.begin(vec(0)), vec(3), eta_l=F(1), eps=F(1), z=z)


def test_a_dead_zone_that_is_none_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^eps_s: got -1.*dead zone"):
        agdu(client_agdu.begin(vec(0)), vec(3), eta_l=F(1), eps=F(1), eps_s=F(-1))


def test_a_whole_delay_in_another_type_is_a_delay() -> None:
    """The correction beta2^n stays exact where a float says how long to wait."""
    keywords: dict[str, Any] = {"eta_l": F(1), "beta1": F(0), "beta2": F(3, 4), "eps": F(1)}
    states = run(admu, client_admu.begin(vec(0)), [vec(2)] * 3, **keywords, z=2.0)
    assert states[-1].v_hat[0] == 4 and isinstance(states[-1].v_hat[0], F)


def test_a_delay_in_epochs() -> None:
    """Epochs of two steps, every other one frozen: steps 1, 2, 5 and 6 update.

    With g = 3, 4, 8, 8, 12, 84: v = 9, 25, 25, 25, 169, 7225.
    """
    assert [t for t in range(1, 8) if due(t, 2, 2)] == [1, 2, 5, 6]
    assert [updates(t, 2, 2) for t in range(1, 7)] == [1, 2, 2, 2, 3, 4]
    state, seen = client_agdu.begin(vec(0)), []
    for g in (3, 4, 8, 8, 12, 84):
        state = agdu(state, vec(g), eta_l=F(1), eps=F(1), z=2, epoch=2)
        seen.append(state.v[0])
    assert seen == [9, 25, 25, 25, 169, 7225]
