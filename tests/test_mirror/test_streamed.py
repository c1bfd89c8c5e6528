"""Rounds of clients that remember, a block at a time: held to the text, and no larger where more take part."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_mirror.support import assert_close, tensors
from test_mirror.test_in_place import FORMS, N, federation, hyper, plans
from torch import nn

from fedspec.catalogue import find
from fedspec.errors import PlanError, UnknownNameError
from fedspec.plan import Plan
from fedspec.usual import needed
from fedspec_bench.micro import allocated
from fedspec_torch import Federation, cohorts, simulate
from fedspec_torch.fast_paths.streamed import STREAMED
from fedspec_torch.population import Batched
from fedspec_torch.ranks import undo
from fedspec_torch.run import client_memory
from fedspec_torch.run.rounds import run_step

pytestmark = pytest.mark.table(10)

REMEMBERING = [(name, more) for name, more in FORMS if getattr(find(name).run, "step", None) in STREAMED]


def test_all_of_them_are_held_to_the_text() -> None:
    assert {find(name).run.step for name, _ in REMEMBERING} == {*STREAMED}  # type: ignore[union-attr]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize(("name", "more"), REMEMBERING, ids=str)
def test_a_block_after_another_as_the_text_has_it(name: str, more: dict[str, Any], dtype: torch.dtype) -> None:
    run: Any = find(name).run
    h, fed = hyper(name, more), federation("looped", dtype)
    begin = fed.x0.clone()
    text = run.init(h, begin, fed.setup)
    own = client_memory.remembered(run.init(h, begin.clone(), fed.setup), N)
    for number, plan in enumerate(plans(name, len(begin))):
        clients = fed.in_round(number)
        text, _ = run.step(h, text, Batched(clients), plan)
        own, shown = run_step(run, h, own, clients, plan, block=2, own=True)
        assert not shown, "the text was run"
    assert not torch.allclose(text.x, begin, rtol=1e-2)
    for part, want in tensors(text).items():
        assert_close(tensors(own)[part], want.numpy(), 4 * float(want.abs().max()), part, ulps=256)
    assert getattr(own, "t", ()) == getattr(text, "t", ())


@pytest.mark.parametrize("name", sorted({name for name, _ in REMEMBERING}))
def test_a_round_holds_a_few_blocks_whoever_takes_part(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And, to undo it, of rows that it writes over no more than is said: here as much as a block."""
    most, d, row = [], 3000, find(name)
    monkeypatch.setattr(undo, "MOST", 4 * 4 * d)
    for n in (32, 96):
        data = [(torch.ones(1, d), torch.zeros(1, 1)) for _ in range(n)]
        fed = Federation(nn.Linear(d, 1, bias=False), nn.functional.mse_loss, data, way="layered", shuffled=False)
        values = hyper(name, {})
        numbers = {k: getattr(values, k) for k in needed(row, row.resolve(row.readings[0].name, {}))}
        run = simulate(name, fed, plan=cohorts(None, steps=1), block=4, **{**numbers, "eta_l": 1e-6})
        run.step()
        most.append(allocated(run.step) / (4 * 4 * d))
    assert max(most) < 8 and most[1] < most[0] + 0.5


@pytest.mark.parametrize("name", sorted({name for name, _ in REMEMBERING}))
def test_the_rows_of_one_client_are_not_vectors_of_the_server(name: str) -> None:
    """A stack of one vector may be seen in the memory of that vector."""
    row = find(name)
    run, h = row.run, hyper(name, {})
    data = [(torch.randn(4, 3).double(), torch.randn(4, 1).double())]
    fed = Federation(nn.Linear(3, 1).double(), nn.functional.mse_loss, data, batch_size=2)
    numbers = {k: getattr(h, k) for k in needed(row, row.resolve(row.readings[0].name, {}))}
    # So large that no gradient's square takes the place of Fed-LAMB's greatest.
    numbers |= {"v0": 16.0} if "v0" in numbers else {}
    trained = simulate(name, fed, plan=cohorts(None, steps=2), rounds=3, **numbers)
    begin = fed.x0.clone()
    state = run.init(trained.h, begin.clone(), fed.setup)  # type: ignore[union-attr]
    for number, _ in enumerate(trained):
        (plan,) = trained.plan.events(row, trained.h, fed.setup, begin, number)
        state, _ = run.step(trained.h, state, Batched(fed.in_round(number)), plan)  # type: ignore[union-attr]
    assert torch.equal(fed.x0, begin)
    assert_close(trained.x, state.x.numpy(), 4.0, ulps=256)


def test_what_the_text_refuses_is_refused() -> None:
    fed = federation("looped", torch.float64)

    def stepped(name: str, plan: Plan) -> Any:
        run: Any = find(name).run
        h = hyper(name, {})
        state = client_memory.remembered(run.init(h, fed.x0, fed.setup), N)
        return run_step(run, h, state, fed.in_round(0), plan, own=True)

    with pytest.raises(PlanError, match="names a client twice"):
        stepped("fednova-sampled", Plan((1, 1), (1, 1), (1, 1), repeats=True))
    with pytest.raises(PlanError, match="strategies: none"):
        stepped("fednova-solvers", Plan((1, 2), (1, 1), (1, 1)))
    with pytest.raises(UnknownNameError, match="strategies: unknown value 'sdg'"):
        stepped("fednova-solvers", Plan((1, 2), (1, 1), (1, 1), strategies=("sgd", "sdg")))
    with pytest.raises(PlanError, match="missing"):
        stepped("vrl-sgd", Plan((1, 2), (1, 1), (1, 1)))
    with pytest.raises(PlanError, match="participants"):
        stepped("scaffold", Plan((1, 9), (1, 1), (1, 1)))
