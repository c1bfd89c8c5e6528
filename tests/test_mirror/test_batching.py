"""Clients together or one at a time, in blocks of any size: the same result; and no input is written to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.support import (
    DEVICES,
    DTYPES,
    HYPER,
    SHAPES,
    D,
    Run,
    assert_close,
    by_id,
    dyadic,
    keywords,
    pairs,
    tensors,
)
from torch import Tensor

from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver, Method
from fedspec.covers import Cover, named_cover
from fedspec.plan import Message, Messages, Plan
from fedspec.readings import CoverName
from fedspec_torch.forms.table import FAST
from fedspec_torch.plan import rows
from fedspec_torch.population import Stream
from fedspec_torch.problems import QuadraticClients
from fedspec_torch.run.rounds import run_round

pytestmark = pytest.mark.table(10)

SOLVERS = [a for a in CATALOGUE.values() if isinstance(a.run, LocalSolver)]
METHODS = [a for a in CATALOGUE.values() if isinstance(a.run, Method)]
STEPS = (4, 1, 3, 4, 2, 4, 3, 3, 1, 4, 2)
N = len(STEPS)


def run(algorithm: Algorithm, options: dict[str, str], x: Tensor) -> Run:
    cover = named_cover(CoverName(options.get("cover", "one")), SHAPES)
    return Run(algorithm.run, keywords(algorithm, options), cover)


def trained(solver: Run, x: Tensor, g: Tensor) -> dict[str, Tensor]:
    state = solver.begin(x)
    for g_k in g:
        state = solver.step(state, g_k)
    return tensors(state)


@pytest.mark.table(1)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("algorithm", SOLVERS, ids=by_id)
def test_together_or_alone(algorithm: Algorithm, dtype: torch.dtype, device: str) -> None:
    x = torch.tensor(dyadic(0, N, D), dtype=dtype, device=device)
    g = torch.tensor(dyadic(1, 4, N, D), dtype=dtype, device=device)
    for options in pairs(algorithm):
        together = trained(run(algorithm, options, x), x, g)
        for i in range(N):
            alone = trained(run(algorithm, options, x), x[i : i + 1], g[:, i : i + 1])
            for name, value in alone.items():
                assert value.dtype == together[name].dtype
                if options.get("cover") or "eps_s" in algorithm.numbers or algorithm.id in SUMS:
                    # The length of a step is a sum over its coordinates, whose order may differ with the shape.
                    assert_close(together[name][i], value[0].cpu().numpy(), float(value.abs().max()), name, ulps=4)
                else:
                    assert torch.equal(together[name][i], value[0]), f"{options}, client {i}, {name}"


SUMS = {"normalised-sgd", "lamb"}


class Given:
    """Clients whose gradient is x times a number of their own, so that no sum is reordered."""

    def __init__(self, device: str = "cpu") -> None:
        self.c = torch.tensor(dyadic(2, N, D), device=device)

    def __len__(self) -> int:
        return len(self.c)

    def oracle(self, clients: Sequence[int]) -> Any:
        c = rows(self.c, clients)
        return lambda k, x: c * x

    def values(self, clients: Sequence[int], x: Any) -> list[float]:
        return LOSSES[list(clients)].tolist()


LOSSES = torch.arange(N, dtype=torch.float64) + 64
"""What clients lose at 0, or everywhere."""

PLAN = Plan((5, 0, 3, 1, 2, 4, 10, 9, 7, 6, 8), STEPS, (1, 2, 0, 4, 3, 2, 5, 1, 1, 3, 2))


def method(algorithm: Algorithm) -> tuple[Method, Any]:
    mirror = algorithm.run
    assert isinstance(mirror, Method)
    return mirror, mirror.hyper(**{n: HYPER[n] for n in algorithm.numbers_under("round", algorithm.defaults())})


def changes(algorithm: Algorithm, device: str, block: int | None, ours: bool = True) -> Tensor:
    """The changes of all participants, as the server gets them: ours as a stream unless it asks for a stack."""
    mirror, h = method(algorithm)
    streamed = ours and not mirror.whole

    def server(h: Any, state: Any, messages: Messages) -> tuple[Any, dict[str, Any]]:
        sent: Any = messages.deltas
        assert isinstance(sent, Stream) == streamed
        return state, {"deltas": sent.stacked() if streamed else sent}

    if ours:
        server.__module__ = "fedspec.algorithms.looked_at"

    x = torch.tensor(dyadic(0, D), device=device)
    trace = run_round(replace(mirror, server=server), h, mirror.init(h, x), Given(device), PLAN, block=block)
    deltas: Tensor = trace.values["deltas"]
    return deltas


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("algorithm", METHODS, ids=by_id)
def test_block_size_does_not_change_local_training(algorithm: Algorithm, device: str) -> None:
    whole = changes(algorithm, device, None)
    for block in (1, 2, 4, 10, 11, 100):
        assert torch.equal(changes(algorithm, device, block), whole)
    assert torch.equal(changes(algorithm, device, 4, ours=False), whole)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("algorithm", METHODS, ids=by_id)
def test_block_size_changes_the_order_of_one_sum(algorithm: Algorithm, device: str) -> None:
    mirror, h = method(algorithm)
    A = torch.tensor(dyadic(3, N, D, D), device=device) / 8
    clients = QuadraticClients(A @ A.mT, torch.tensor(dyadic(4, N, D), device=device), LOSSES.to(device))
    x = torch.tensor(dyadic(0, D), device=device)
    results = [
        tensors(run_round(mirror, h, mirror.init(h, x), clients, PLAN, block=block).state)
        for block in (None, 1, 4, 10, 11)
    ]
    for other in results[1:]:
        for name, value in other.items():
            want = results[0][name].cpu().numpy()
            assert_close(value, want, max(2.0, float(np.abs(want).max())), name)


@pytest.mark.parametrize("n", [1, N])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("algorithm", SOLVERS, ids=by_id)
def test_client_rules_are_pure(algorithm: Algorithm, dtype: torch.dtype, n: int) -> None:
    x, g = torch.tensor(dyadic(0, n, D), dtype=dtype), torch.tensor(dyadic(1, n, D), dtype=dtype)
    for options in pairs(algorithm):
        solver = run(algorithm, options, x)
        state = solver.step(solver.begin(x), g)
        inputs = {**tensors(state), "given": g, "start": x}
        before = {name: value.clone() for name, value in inputs.items()}
        after = solver.step(state, g)
        assert all(torch.equal(inputs[name], value) for name, value in before.items())
        for name, value in tensors(after).items():
            assert value.dtype == dtype
            assert value.shape == before[name].shape
        assert not torch.equal(tensors(after)["x"], before["x"])


@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("algorithm", METHODS, ids=by_id)
def test_rounds_are_pure(algorithm: Algorithm, dtype: torch.dtype, m: int) -> None:
    mirror, h = method(algorithm)
    A = torch.tensor(dyadic(3, N, D, D) / 8, dtype=dtype)
    clients = QuadraticClients(A @ A.mT, torch.tensor(dyadic(4, N, D), dtype=dtype), LOSSES.to(dtype))
    x = torch.tensor(dyadic(0, D), dtype=dtype)
    state = mirror.init(h, x)
    inputs = {**tensors(state), "H": clients.H, "e": clients.e, "start": x}
    before = {name: value.clone() for name, value in inputs.items()}
    plan = Plan(tuple(range(m)), STEPS[:m], (1,) * m)
    trace = run_round(mirror, h, state, clients, plan, block=3)
    assert all(torch.equal(inputs[name], value) for name, value in before.items())
    assert all(value.dtype == dtype for value in tensors(trace.state).values())
    assert not torch.equal(tensors(trace.state)["x"], x)


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("algorithm", METHODS, ids=by_id)
def test_local_training_is_pure(algorithm: Algorithm, n: int) -> None:
    mirror, h = method(algorithm)
    x = torch.tensor(dyadic(0, n, D))
    before = x.clone()
    after = mirror.local(h, x, Given().oracle(range(n)), 3)
    assert torch.equal(x, before)
    assert not torch.equal(after, x)
    fast = FAST.get(mirror.local, mirror.local)(h, x, Given().oracle(range(n)), 3)
    assert torch.equal(x, before)
    assert_close(fast, after.numpy(), 8.0)


@pytest.mark.parametrize("algorithm", METHODS, ids=by_id)
def test_servers_are_pure(algorithm: Algorithm) -> None:
    mirror, h = method(algorithm)
    x, deltas = torch.tensor(dyadic(0, D)), torch.tensor(dyadic(1, 3, D))
    sent = [Message(*row, loss=2.0) for row in zip(deltas, (1, 2, 1), (1, 2, 3), (1, 2, 3), strict=True)]
    state, _ = mirror.server(h, mirror.init(h, x), sent)
    inputs = {**tensors(state), "deltas": deltas, "start": x}
    before = {name: value.clone() for name, value in inputs.items()}
    mirror.server(h, state, sent)
    assert all(torch.equal(inputs[name], value) for name, value in before.items())


def test_the_oracle_may_reuse_its_buffer() -> None:
    class Buffered(Given):
        def oracle(self, clients: Sequence[int]) -> Any:
            c = rows(self.c, clients)
            out = torch.empty_like(c)
            return lambda k, x: torch.mul(c, x, out=out)

    x = torch.tensor(dyadic(0, D))
    for algorithm in METHODS:
        mirror, h = method(algorithm)
        results = [run_round(mirror, h, mirror.init(h, x), c, PLAN) for c in (Given(), Buffered())]
        assert torch.equal(tensors(results[0].state)["x"], tensors(results[1].state)["x"])


def test_consecutive_clients_are_not_copied() -> None:
    stack = torch.arange(10.0).view(5, 2)
    assert rows(stack, (1, 2, 3)).data_ptr() == stack[1].data_ptr()
    assert rows(stack, (3, 1)).tolist() == [[6, 7], [2, 3]]


def test_covers_do_not_loop_over_coordinates() -> None:
    d = 20_000
    sets = Cover((tuple(range(d)),), d)
    values = torch.arange(float(d)).expand(2, d)
    assert sets.greatest(values).tolist() == [[d - 1], [d - 1]]
    assert torch.equal(sets.least(torch.ones(2, 1)), torch.ones(2, d))
