"""Delayed Nesterov by hand, and against what two public implementations of it give."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F

import numpy as np
import pytest

from fedspec.algorithms.delayed_nesterov import AsyncDiLoCo, init, step
from fedspec.errors import PlanError
from fedspec.plan import Arrival, Oracle, Setup


def models(h: AsyncDiLoCo, clients: list[Oracle], plan: Sequence[Arrival], x: int = 0) -> list[F]:
    """The one coordinate of the model after each arrival."""
    state, out = init(h, np.array([F(x)]), Setup((1,) * len(clients), {"w": (1,)})), []
    for arrival in plan:
        state, _ = step(h, state, clients, arrival)
        out.append(state.x[0])
    return out


def pushes(h: AsyncDiLoCo, *sizes: F | int) -> list[F]:
    """Clients with constant gradients: the server receives minus these, in turn."""
    clients: list[Oracle] = [lambda k, x, g=g: x * 0 + g for g in sizes]
    return models(h, clients, [Arrival(i, 1, 0) for i in range(len(sizes))])


def test_two_blocks_of_two() -> None:
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
