"""Fed-LAMB and its baselines for many clients at once: each as if it were alone, no input written to, no NaN hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.support import DEVICES, DTYPES, HYPER, SHAPES, D, dyadic, mirrored
from torch import Tensor

from fedspec.catalogue import CATALOGUE, Program
from fedspec.client.lamb import layer_step
from fedspec.plan import Plan, Setup
from fedspec_torch.plan import rows

NAMES = ("fed-lamb", "fed-ams", "fed-sgd")
STEPS = (4, 1, 3, 2, 4)
N = len(STEPS)


class Elementwise:
    """Clients whose gradient is x times a number of their own, so that no sum is reordered; into one buffer."""

    def __init__(self, like: Tensor) -> None:
        self.c = torch.tensor(dyadic(2, N, D)).to(like)
        self.buffer = torch.empty_like(self.c)

    def __len__(self) -> int:
        return len(self.c)

    def oracle(self, clients: Sequence[int]) -> Any:
        c, out = rows(self.c, clients), self.buffer[: len(clients)]
        return lambda k, x: torch.mul(c, x, out=out)


def program(name: str, **options: str) -> tuple[Program, Any]:
    mirror = mirrored(CATALOGUE[name])
    known = {n: v for n, v in options.items() if n in CATALOGUE[name].options}
    numbers = CATALOGUE[name].numbers_under("round", {**CATALOGUE[name].defaults(), **known})
    return mirror, mirror.hyper(**{n: HYPER[n] for n in numbers}, **known)


def leaves(state: Any) -> list[Tensor]:
    if isinstance(state, Tensor):
        return [state]
    return [t for f in fields(state) for t in leaves(getattr(state, f.name))] if is_dataclass(state) else []


def plan(who: Sequence[int]) -> Plan:
    return Plan(tuple(who), tuple(STEPS[i] for i in who), (1,) * len(who))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("gradient", ["fresh", "stale"])
@pytest.mark.parametrize("memory", ["carried", "reset"])
@pytest.mark.parametrize("name", NAMES)
def test_together_or_alone(name: str, memory: str, gradient: str, dtype: torch.dtype, device: str) -> None:
    mirror, h = program(name, memory=memory, gradient=gradient, bias_correction="none")
    x = torch.tensor(dyadic(0, D), dtype=dtype, device=device)
    clients = Elementwise(x)
    start, _ = mirror.step(h, mirror.init(h, x, Setup((1,) * N, SHAPES)), clients, plan((3, 1)))
    who = (4, 0, 3, 2)
    together, values = mirror.step(h, start, clients, plan(who))
    alone = [mirror.step(h, start, clients, plan((i,))) for i in who]
    mean = torch.stack([state.x for state, _ in alone]).sum(0) / len(who)
    if values:
        assert torch.equal(together.x, mean)
    else:
        # Models that nothing else needs are added up in blocks.
        torch.testing.assert_close(together.x, mean, rtol=4 * torch.finfo(dtype).eps, atol=0)
    for n in {"m_i", "s_i"} & set(values):
        assert torch.equal(values[n], torch.cat([shown[n] for _, shown in alone]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_rounds_are_pure(name: str, dtype: torch.dtype) -> None:
    mirror, h = program(name)
    x = torch.tensor(dyadic(0, D), dtype=dtype)
    clients = Elementwise(x)
    state, _ = mirror.step(h, mirror.init(h, x, Setup((1,) * N, SHAPES)), clients, plan((0, 2)))
    inputs = [*leaves(state), clients.c, x]
    before = [t.clone() for t in inputs]
    after, _ = mirror.step(h, state, clients, plan((2, 1)))
    assert all(torch.equal(a, b) for a, b in zip(inputs, before, strict=True))
    assert all(t.dtype == dtype for t in leaves(after))
    assert not torch.equal(after.x, state.x)


def test_the_absent_keep_what_they_have() -> None:
    mirror, h = program("fed-lamb")
    x = torch.tensor(dyadic(0, D))
    first, shown = mirror.step(h, mirror.init(h, x, Setup((1,) * N, SHAPES)), Elementwise(x), plan((3, 1)))
    second, _ = mirror.step(h, first, Elementwise(x), plan((0, 1)))
    assert torch.equal(second.m_i[3], shown["m_i"][0])
    assert list(second.t) == [STEPS[0], 2 * STEPS[1], 0, STEPS[3], 0]


def test_a_client_that_has_finished_may_hold_anything() -> None:
    """Its gradients are ignored, infinite ones included."""
    mirror, h = program("fed-lamb")
    x = torch.tensor(dyadic(0, D))
    start = mirror.init(h, x, Setup((1,) * N, SHAPES))

    class Wild(Elementwise):
        def oracle(self, clients: Sequence[int]) -> Any:
            inner, steps = super().oracle(clients), torch.tensor([STEPS[i] for i in clients])
            return lambda k, x: torch.where((steps > k).unsqueeze(1), inner(k, x), torch.inf)

    tame, wild = (mirror.step(h, start, c, plan((0, 1, 2)))[0] for c in (Elementwise(x), Wild(x)))
    assert all(torch.equal(a, b) for a, b in zip(leaves(tame), leaves(wild), strict=True))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_direction_that_is_no_number_is_not_taken_for_none(bad: float) -> None:
    x, p = np.array([3.0, 4.0]), np.array([bad, 1.0])
    with np.errstate(invalid="ignore"):
        assert np.isnan(layer_step(x, p, eta_l=0.5)).any()
    assert layer_step(torch.tensor(x)[None], torch.tensor(p)[None], eta_l=0.5).isnan().any()


def test_layers_are_those_of_the_setup() -> None:
    mirror, h = program("fed-lamb", phi="identity")
    h = replace(h, lam=0.0)
    x = torch.tensor(dyadic(0, D))
    state, _ = mirror.step(h, mirror.init(h, x, Setup((1,), SHAPES)), Elementwise(x), Plan((0,), (1,), (1,)))
    for at in (slice(0, 12), slice(12, 17)):
        step, layer = (state.x - x)[at].norm(), x[at].norm()
        assert abs(step / layer - h.eta_l) < 1e-15
