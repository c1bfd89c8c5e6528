"""Every algorithm with a server against the specification: the server half alone, and whole rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.support import DEVICES, DTYPES, HYPER, D, Scale, assert_close, by_id, dyadic, pairs, parts, tensors

from fedspec.catalogue import CATALOGUE, Algorithm, Method
from fedspec.errors import PlanError, ShapeError
from fedspec.mixing.accumulation import a_norm
from fedspec.mixing.weighted import weighted_mean
from fedspec.plan import Message, Messages, Plan
from fedspec.readings import Solver
from fedspec_torch.plan import rows
from fedspec_torch.population import Stream
from fedspec_torch.problems import QuadraticClients
from fedspec_torch.run.rounds import run_round

pytestmark = pytest.mark.table(10)

METHODS = [a for a in CATALOGUE.values() if isinstance(a.run, Method)]
EXAMPLES = (3, 0, 8, 5)
STEPS = (2, 5, 1, 3)
N = len(STEPS)
LOSSES = (0.5, 2.0, 1.25, 8.0)


def prepared(algorithm: Algorithm, options: dict[str, str]) -> tuple[Method, Any]:
    method = algorithm.run
    assert isinstance(method, Method)
    numbers = algorithm.numbers_under("round", {**algorithm.defaults(), **options})
    return method, method.hyper(**{n: HYPER[n] for n in numbers}, **options)


def stream(deltas: torch.Tensor, size: int) -> Stream:
    """The rows in blocks, the last first."""
    blocks = [(list(at), deltas[at[0] : at[-1] + 1]) for at in torch.split(torch.arange(len(deltas)), size)]
    places = [([int(r) for r in at], rows) for at, rows in reversed(blocks)]
    return Stream(len(deltas), places)


def assert_same(
    state: Any, values: dict[str, Any], want: Any, wanted: dict[str, Any], scale: Scale, where: str
) -> None:
    assert set(parts(state)) == set(parts(want))
    for name, value in parts(want).items():
        if isinstance(value, np.ndarray):
            assert_close(parts(state)[name], value, scale[name], f"{where}, {name}")
        else:
            assert parts(state)[name] == value
    assert set(values) == set(wanted)
    for name, value in wanted.items():
        got = torch.as_tensor(values[name], dtype=parts(state)["x"].dtype)
        like = np.asarray(value, dtype=parts(want)["x"].dtype)
        assert_close(got, like, max(scale[name], float(np.abs(like).max())), f"{where}, {name}")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("algorithm", METHODS, ids=by_id)
def test_server(algorithm: Algorithm, dtype: torch.dtype, device: str) -> None:
    kind = str(dtype).removeprefix("torch.")
    x, deltas = dyadic(0, D).astype(kind), dyadic(1, 4, N, D).astype(kind)
    norms = [float(a_norm(Solver.MOMENTUM, tau, rho=0.5)) for tau in STEPS]
    for options in pairs(algorithm):
        method, h = prepared(algorithm, options)
        want, state = method.init(h, x), method.init(h, torch.tensor(x, device=device))
        scale = Scale(4)
        for t in range(4):
            rows_sent = zip(deltas[t], EXAMPLES, STEPS, norms, LOSSES, strict=True)
            sent = [Message(delta, n, tau, a, loss=F) for delta, n, tau, a, F in rows_sent]
            want, wanted = method.server(h, want, sent)
            blocks = stream(torch.tensor(deltas[t], device=device), [N, 1][t % 2])
            sent_rows = blocks.stacked() if method.whole else blocks
            held = [(part, part.clone()) for part in tensors(state).values()]
            state, values = method.server(h, state, Messages(sent_rows, EXAMPLES, STEPS, norms, losses=lambda: LOSSES))
            assert all(torch.equal(part, was) for part, was in held), "a state was written over"
            scale.see(want)
            assert_same(state, values, want, wanted, scale, f"{options}, round {t}")


@pytest.mark.parametrize("algorithm", [a for a in METHODS if prepared(a, {})[0].whole], ids=by_id)
def test_what_says_that_it_needs_a_stack_does(algorithm: Algorithm) -> None:
    method, h = prepared(algorithm, {})
    blocks = stream(torch.tensor(dyadic(1, N, D)), 2)
    with pytest.raises(ShapeError, match="deltas: got Stream"):
        method.server(
            h,
            method.init(h, torch.tensor(dyadic(0, D))),
            Messages(blocks, EXAMPLES, STEPS, STEPS, losses=lambda: LOSSES),
        )


def test_consecutive_clients_are_not_copied() -> None:
    stack = torch.arange(10.0).view(5, 2)
    assert rows(stack, (1, 2, 3)).data_ptr() == stack[1].data_ptr()
    assert rows(stack, (3, 1)).tolist() == [[6, 7], [2, 3]]


class TestRefusals:
    @pytest.mark.parametrize("rows", [1, 3])
    def test_one_row_for_each_weight(self, rows: int) -> None:
        with pytest.raises(ShapeError, match="one weight for each row"):
            weighted_mean(stream(torch.zeros(rows, 3), 1), torch.tensor([0.5, 0.5]))

    @pytest.mark.parametrize(("participants", "block"), [((0, 9), None), ((0, 1), 0)])
    def test_plan(self, participants: tuple[int, ...], block: int | None) -> None:
        method, h = prepared(CATALOGUE["fedavg"], {})
        clients = QuadraticClients(torch.eye(2).expand(3, 2, 2), torch.zeros(3, 2))
        plan = Plan(participants, (1, 1), (1, 1))
        with pytest.raises(PlanError):
            run_round(method, h, torch.zeros(2), clients, plan, block=block)

    @pytest.mark.parametrize(("H", "e"), [((3, 2, 2), (3, 3)), ((2, 2), (2,)), ((2, 2, 2), (3, 2))])
    def test_problem_shapes(self, H: tuple[int, ...], e: tuple[int, ...]) -> None:
        with pytest.raises(ShapeError, match="quadratics"):
            QuadraticClients(torch.zeros(H), torch.zeros(e))

    def test_problem_symmetry(self) -> None:
        with pytest.raises(ShapeError, match="not symmetric"):
            QuadraticClients(torch.tensor([[[1.0, 2.0], [0.0, 1.0]]]), torch.zeros(1, 2))
