"""Late updates in torch: those of a buffer trained at once, and no more versions kept than were asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.support import DEVICES, HYPER, dyadic, mirrored

from fedspec.catalogue import CATALOGUE
from fedspec.catalogue import Program as Specified
from fedspec.errors import PlanError
from fedspec.plan import Arrival, Setup
from fedspec_torch.problems import QuadraticClients
from fedspec_torch.run.late_updates import run

BUFFERED = [i for i, a in CATALOGUE.items() if isinstance(a.run, Specified) and "buffer" in a.numbers]
N, D, SETUP = 12, 5, Setup((1,) * 12, {"w": (5,)})


def clients(device: str = "cpu") -> QuadraticClients:
    A = dyadic(1, N, D, D) / 8
    H = torch.tensor(A @ A.transpose(0, 2, 1) + np.eye(D) / 8, device=device)
    return QuadraticClients(H, torch.tensor(dyadic(2, N, D), device=device))


PLAN = [Arrival(7 * k % N, 1 + k % 3 + k % 2, k // 3 % (1 + min(3, k // 4))) for k in range(48)]
"""Twelve buffers of four clients, with delays of up to three versions."""


def begun(name: str, device: str = "cpu") -> tuple[Specified, Any, Any]:
    """The program, its hyper-parameters and its first state."""
    row = CATALOGUE[name]
    program = mirrored(row)
    numbers: dict[str, Any] = {**{n: HYPER[n] for n in row.numbers_under("trace", row.defaults())}, "buffer": 4}
    h = program.hyper(**numbers)
    start: Any = program.init
    return program, h, start(h, torch.tensor(dyadic(3, D), device=device), SETUP)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", BUFFERED)
def test_a_buffer_at_once_or_one_by_one(name: str, device: str) -> None:
    program, h, state = begun(name, device)
    at_once, plan, who = state, PLAN, clients(device)
    for arrival in plan:
        state, _ = program.step(h, state, who, arrival)
    # A buffer that is half full when the run begins.
    for arrival in plan[:2]:
        at_once, _ = program.step(h, at_once, who, arrival)
    at_once = run(program, h, at_once, who, plan[2:-1])
    assert len(at_once.pending) == 3
    at_once = run(program, h, at_once, who, plan[-1:])
    assert len(at_once.versions) == len(state.versions) == 13
    torch.testing.assert_close(at_once.x, state.x, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(state.x, state.versions[0])


@pytest.mark.parametrize("name", BUFFERED)
def test_an_announced_delay_bounds_what_is_kept(name: str) -> None:
    program, h, start = begun(name)
    everything, little = (run(program, h, start, clients(), PLAN, largest_delay=most) for most in (None, 3))
    assert torch.equal(everything.x, little.x)
    assert len(everything.versions) == 13 and len(little.versions) == 4
    with pytest.raises(PlanError, match="delay: 4 versions back from version 3"):
        program.step(h, little, clients(), Arrival(0, 1, 4))


def test_more_than_the_buffer_takes_is_refused() -> None:
    program, h, state = begun("cc-fedadam")
    with pytest.raises(PlanError, match="arrivals: 5 with 0 waiting, but the buffer takes 4"):
        program.step(h, state, clients(), *[Arrival(0, 1, 0)] * 5)
