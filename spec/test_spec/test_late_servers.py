"""FADAS and delayed Nesterov by hand, and against what two public implementations of the latter give."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.algorithms import delayed_nesterov, fadas
from fedspec.algorithms.delayed_nesterov import AsyncDiLoCo
from fedspec.errors import PlanError
from fedspec.plan import Arrival, Oracle, Setup
from fedspec.readings import BiasCorrection, Slowing


def played(module: Any, h: Any, clients: Sequence[Oracle], plan: Sequence[Arrival], x: Any) -> list[tuple[Any, Any]]:
    """The state, and what is shown, after each arrival."""
    state, out = module.init(h, x, Setup((1,) * len(clients), {"w": x.shape})), []
    for arrival in plan:
        out.append(module.step(h, state, clients, arrival))
        state = out[-1][0]
    return out


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
def test_rates_of_fadas_by_hand(eta: str, tau_max: int, tau_c: int, over: str, capped: str) -> None:
    said = {"tau_max": tau_max, "tau_c": tau_c}
    assert fadas.slowed(F(eta), **said) == F(over)
    assert fadas.slowed(F(eta), slowing=Slowing.CAPPED, **said) == F(capped)


GIVEN: dict[str, Any] = {"eta_l": 1, "eta": 1, "beta1": F(9, 10), "beta2": F(99, 100), "eps": 0, "tau_c": 1}


@pytest.mark.parametrize(("correction", "moved"), [("moments", "1.846"), ("none", "2.270")])
def test_three_buffers_of_one_in_fadas(correction: str, moved: str) -> None:
    """Changes 0.1, -0.05 and 0.1 of clients that are pulled nowhere else, none of them late."""
    changes = iter((0.1, -0.05, 0.1))
    clients = [lambda k, x: np.array([-next(changes)])]
    h = fadas.Fadas(buffer=1, **{**GIVEN, "beta1": 0.9, "beta2": 0.99}, bias_correction=correction)
    *_, (state, _) = played(fadas, h, clients, [Arrival(0, 1, 0)] * 3, np.array([0.0]))
    assert f"{state.x[0]:.3f}" == moved


def test_a_buffer_is_as_slow_as_its_latest_update() -> None:
    """F = x^2 / 2 at rate 1: a change is minus the version; each step is one of signs, as long as eta_t."""
    h = fadas.Fadas(
        buffer=2, eta_l=1, eta=F(1), beta1=F(0), beta2=F(0), eps=F(0), tau_c=1, bias_correction=BiasCorrection.NONE
    )
    pairs = ((0, 0), (0, 1), (2, 0), (0, 3), (0, 0))
    plan = [Arrival(i, 1, delay) for pair in pairs for i, delay in enumerate(pair)]
    ends = played(fadas, h, [lambda k, x: x] * 2, plan, vec(8))[1::2]
    seen, state = [(shown["eta_t"], state.delays) for state, shown in ends], ends[-1][0]
    # v_hat keeps 8^2: changes are -8, -(7 + 8) / 2, ... over 8.
    assert seen == [(1, ()), (1, ()), (F(1, 2), ()), (F(1, 3), ()), (1, ())]
    assert state.versions[1][0] == 7 and state.versions[2][0] == 7 - F(15, 16)


def models(h: AsyncDiLoCo, clients: list[Oracle], plan: Sequence[Arrival], x: int = 0) -> list[F]:
    """The one coordinate of the model after each arrival."""
    return [state.x[0] for state, _ in played(delayed_nesterov, h, clients, plan, vec(x))]


def pushes(h: AsyncDiLoCo, *sizes: F | int) -> list[F]:
    """Clients with constant gradients: the server receives minus these, in turn."""
    clients: list[Oracle] = [lambda k, x, g=g: x * 0 + g for g in sizes]
    return models(h, clients, [Arrival(i, 1, 0) for i in range(len(sizes))])


def test_two_blocks_of_two_in_delayed_nesterov() -> None:
    """Half of 8, then m = 8 and half of it besides; half of -4; then m = 4 - 2 and half of it besides."""
    h = AsyncDiLoCo(N=2, eta_l=1, eta=F(1), beta=F(1, 2))
    # m = (8 + 8) / 2 and (4 - 4 + 8) / 2, each felt by half.
    assert pushes(h, -8, -8, 4, -8) == [4, 4 + 4 + 4, 12 - 2, 10 + 4 + 3]


def test_the_activation_takes_from_the_new_momentum_what_it_gives_to_the_old() -> None:
    """With c = 1/2 = 1/N: half of 8 and half of half of m = 8; then of the old and of the new m a quarter each."""
    h = AsyncDiLoCo(N=2, eta_l=1, eta=F(1), beta=F(1, 2), c=F(1, 2))
    assert pushes(h, -8, -8, 4, -8) == [4, 4 + 4 + 2, 10 - 2 + 2, 10 + 4 + F(6, 4)]


def test_a_late_change_belongs_to_the_version_that_was_downloaded() -> None:
    """Two clients pull to 8 and -4 by half; the second begins at 0, where the first began."""
    clients: list[Oracle] = [lambda k, x, c=c: x - c for c in (8, -4)]
    h = AsyncDiLoCo(N=2, eta_l=F(1, 2), eta=F(1), beta=F(1, 2))
    # 4 / 2; then -2 / 2 and half of m = 1.
    assert models(h, clients, [Arrival(0, 1, 0), Arrival(1, 1, 1)]) == [2, 2 - 1 + F(1, 2)]
    with pytest.raises(PlanError, match="version 0 or later"):
        models(h, clients, [Arrival(0, 1, 1)])


@pytest.mark.parametrize(
    ("N", "c", "want"),
    [
        (1, 0.0, (-1.33, -3.227, -5.6343, -8.50087)),
        (2, 0.0, (-0.35, -1.33, -1.68, -3.227, -3.577, -5.6343)),
        (2, 0.5, (-0.35, -1.015, -1.68, -2.6285, -3.577, -4.78065)),
    ],
)
def test_what_public_implementations_give(N: int, c: float, want: tuple[float, ...]) -> None:
    """``utnslab/halos`` at 4b5bf73, its class run; for c = 0 ``PanocularAI/torchft`` at 429a9db has the same steps."""
    h = AsyncDiLoCo(N=N, eta_l=1, eta=F(7, 10), beta=F(9, 10), c=F(c))
    assert [float(x) for x in pushes(h, *[1] * len(want))] == pytest.approx(want, abs=1e-9)
