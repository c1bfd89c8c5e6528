"""Stacks of clients: states over tensors, servers on blocks of changes; plans and problems that are none."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
import torch
from test_mirror.federations import hyper

from fedspec.catalogue import find
from fedspec.errors import PlanError, ShapeError
from fedspec.plan import Plan, Setup
from fedspec_torch.plan import rows
from fedspec_torch.problems import QuadraticClients
from fedspec_torch.run.rounds import run_round


@pytest.mark.parametrize("algorithm", ["fedada2", "fedblended", "dp-joint"])
def test_a_state_over_tensors_holds_no_coordinate_in_python(algorithm: str) -> None:
    """Tensors are not among what is counted: what is left is as much for a million coordinates as for one."""
    row, shapes = find(algorithm), {"w": (1000, 999), "b": (1000,)}
    x, h = torch.zeros(10**6), row.run.hyper(**hyper(row))  # type: ignore[union-attr]
    tracemalloc.start()
    try:
        state = row.run.init(h, x, Setup((1,), shapes))  # type: ignore[call-arg, union-attr]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert state.cover.q == 2999
    assert most < 100_000


pytestmark = pytest.mark.table(10)


def test_consecutive_clients_are_not_copied() -> None:
    stack = torch.arange(10.0).view(5, 2)
    assert rows(stack, (1, 2, 3)).data_ptr() == stack[1].data_ptr()
    assert rows(stack, (3, 1)).tolist() == [[6, 7], [2, 3]]


class TestRefusals:
    @pytest.mark.parametrize(("participants", "block"), [((0, 9), None), ((0, 1), 0)])
    def test_plan(self, participants: tuple[int, ...], block: int | None) -> None:
        method: Any = find("fedavg").run
        clients = QuadraticClients(torch.eye(2).expand(3, 2, 2), torch.zeros(3, 2))
        plan = Plan(participants, (1, 1), (1, 1))
        with pytest.raises(PlanError):
            run_round(method, method.hyper(eta_l=0.5), torch.zeros(2), clients, plan, block=block)

    @pytest.mark.parametrize(("H", "e"), [((3, 2, 2), (3, 3)), ((2, 2), (2,)), ((2, 2, 2), (3, 2))])
    def test_problem_shapes(self, H: tuple[int, ...], e: tuple[int, ...]) -> None:
        with pytest.raises(ShapeError, match="quadratics"):
            QuadraticClients(torch.zeros(H), torch.zeros(e))

    def test_problem_symmetry(self) -> None:
        with pytest.raises(ShapeError, match="not symmetric"):
            QuadraticClients(torch.tensor([[[1.0, 2.0], [0.0, 1.0]]]), torch.zeros(1, 2))
