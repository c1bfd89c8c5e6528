"""Rounds a block of clients at a time: held to the text, and no larger where more take part."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from test_mirror.federations import TRAINABLE
from test_mirror.support import assert_close, begun, dyadic, tensors
from test_mirror.test_in_place import FORMS, N, federation, hyper, plans
from torch import nn

from fedspec.algorithms import synchronous
from fedspec.arith import numbers, put
from fedspec.catalogue import Method, find
from fedspec.errors import PlanError, UnknownNameError
from fedspec.plan import Plan
from fedspec.population import each
from fedspec.records import record
from fedspec.usual import needed
from fedspec_bench.micro import allocated
from fedspec_torch import Federation, cohorts, simulate
from fedspec_torch.population import Batched
from fedspec_torch.ranks import undo
from fedspec_torch.run import client_memory, rounds, text_clients
from fedspec_torch.run.rounds import run_step
from fedspec_torch.sums.asking import sums_of

pytestmark = pytest.mark.table(10)

ROUNDS = [row for row in TRAINABLE if row.event == "round"]
READINGS = [(row.id, dict(reading.fixes)) for row in ROUNDS for reading in row.readings if "round" in reading.levels]

ALL_ROWS = {
    "geometric-median": "its steps go back to the changes, each from a sum of them",
    "krum": "it measures how far changes are apart",
    "multi-krum": "it measures how far changes are apart",
    "median": "it sorts the changes",
    "trimmed-mean": "it sorts the changes",
    "mifa": "it averages what all clients remember once some of it is new",
}
"""Rows whose text needs what all participants return at once, and why; with diloco where its moments are averaged."""


def spied(summed: list[bool]) -> Callable[..., Any]:
    """Notes whether sums are enough."""

    def found(*args: Any, **kwargs: Any) -> Any:
        sums = sums_of(*args, **kwargs)
        summed.append(sums is not None)
        return sums

    return found


def asked(name: str, more: dict[str, Any], dtype: torch.dtype) -> tuple[Any, Any, list[bool], Any]:
    """States after two rounds: by the text on all rows, and a block of two after another; whether sums were enough."""
    run: Any = find(name).run
    h, fed, summed = hyper(name, more), federation("looped", dtype), list[bool]()

    begin = fed.x0.clone()
    own, text = (begun(run, h, begin.clone(), fed.setup) for _ in range(2))
    own = client_memory.remembered(own, N)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_clients, "sums_of", spied(summed))
        for number, plan in enumerate(plans(name, len(begin))):
            clients = fed.in_round(number)
            if isinstance(run, Method):
                own = rounds.run_round(run, h, own, clients, plan, block=2, own=True).state
                parts = {"local": run.local, "norm": run.norm, "server": run.server}
                text = synchronous.run_round(h, text, Batched(clients), plan, **parts).state
            else:
                own, _ = rounds.run_step(run, h, own, clients, plan, block=2, own=True)
                text, _ = run.step(h, text, Batched(clients), plan)
    return own, text, summed, begin


@pytest.mark.table(5)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize(("name", "more"), [*READINGS, *FORMS], ids=str)
def test_a_block_after_another_is_the_text(name: str, more: dict[str, Any], dtype: torch.dtype) -> None:
    own, text, summed, begin = asked(name, more, dtype)
    assert not torch.equal(synchronous.model(text), begin)
    for part, want in tensors(text).items():
        assert_close(tensors(own)[part], want.numpy(), 4 * float(want.abs().max()), part, ulps=256)
    assert isinstance(text, torch.Tensor) or getattr(own, "t", ()) == getattr(text, "t", ())
    whole = name in ALL_ROWS or (name == "diloco" and more.get("inner") == "averaged")
    assert all(summed) is not whole and any(summed) is not whole


def remembers(name: str) -> bool:
    """True if the state of an algorithm has a row for each client."""
    fed = federation("looped", torch.float64)
    state = begun(find(name).run, hyper(name, {}), fed.x0, fed.setup)
    return any(part.ndim == 2 and len(part) == N for part in tensors(state).values())


REMEMBERING = [row.id for row in ROUNDS if remembers(row.id)]


@pytest.mark.parametrize("name", ["fedavg", "scaffold", "geometric-median"])
def test_a_round_leaves_no_tensor_to_the_collector(name: str) -> None:
    run = simulate(name, federation("looped", torch.float64), plan=cohorts(None, steps=1), rounds=4, block=2)
    run.step()
    gc.collect()
    gc.disable()
    try:
        run.step()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        assert not [x for x in gc.garbage if isinstance(x, torch.Tensor)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


TWICE = {"vrl-sgd", "scaffnew", "streaming-diloco"}
"""Rows whose clients remember what is made with the new model: where they ended is held until that is known."""


@pytest.mark.table(5)
@pytest.mark.parametrize("name", sorted({*REMEMBERING} - {*ALL_ROWS, *TWICE, "diloco-muon"}))
def test_a_round_holds_a_few_blocks_whoever_takes_part(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And, to undo it, of rows that it writes over no more than is said: here as much as a block."""
    most, d, row = [], 3000, find(name)
    monkeypatch.setattr(undo, "MOST", 4 * 4 * d)
    for n in (32, 96):
        data = [(torch.ones(1, d), torch.zeros(1, 1)) for _ in range(n)]
        fed = Federation(nn.Linear(d, 1, bias=False), nn.functional.mse_loss, data, way="layered", shuffled=False)
        values = hyper(name, {})
        numbers = {k: getattr(values, k) for k in needed(row, row.resolve(row.readings[0].name, {}))}
        numbers |= {rate: 1e-6 for rate in ("eta_l", "eta") if rate in numbers}
        run = simulate(name, fed, plan=cohorts(None, steps=1), block=4, **numbers)
        run.step()
        most.append(allocated(run.step) / (4 * 4 * d))
    assert max(most) < 10 and most[1] < most[0] + 0.5


@pytest.mark.parametrize("name", REMEMBERING)
def test_the_rows_of_one_client_are_not_vectors_of_the_server(name: str) -> None:
    """A stack of one vector may be seen in the memory of that vector."""
    row = find(name)
    run, h = row.run, hyper(name, {})
    data = [(torch.randn(4, 3).double(), torch.randn(4, 2).double())]
    fed = Federation(nn.Linear(3, 2, bias=False).double(), nn.functional.mse_loss, data, batch_size=2)
    numbers = {k: getattr(h, k) for k in needed(row, row.resolve(row.readings[0].name, {}))}
    # So large that no gradient's square takes the place of Fed-LAMB's greatest.
    numbers |= {"v0": 16.0} if "v0" in numbers else {}
    trained = simulate(name, fed, plan=cohorts(None, steps=1 if "one-step" in row.takes else 2), rounds=3, **numbers)
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
    with pytest.raises(PlanError, match="strategies: the list is empty"):
        stepped("fednova-solvers", Plan((1, 2), (1, 1), (1, 1)))
    with pytest.raises(UnknownNameError, match="strategies: unknown value 'sdg'"):
        stepped("fednova-solvers", Plan((1, 2), (1, 1), (1, 1), strategies=("sgd", "sdg")))
    with pytest.raises(PlanError, match="missing"):
        stepped("vrl-sgd", Plan((1, 2), (1, 1), (1, 1)))
    with pytest.raises(PlanError, match="participants"):
        stepped("scaffold", Plan((1, 9), (1, 1), (1, 1)))


@record
class Kept:
    """A model, and what each client remembers."""

    x: Any
    c_i: Any


def trained(i: Any, x: Any, gradient: Any, tau: int) -> Any:
    return x - 0.25 * gradient(0, x) - x


def counted(i: Any, x: Any, gradient: Any, tau: int) -> Any:
    return trained(i, x, gradient, tau), float(tau)


def average(deltas: Any) -> Any:
    return deltas.sum(axis=0) / len(deltas)


def by_returned_numbers(state: Kept, deltas: Any, S: Any, ask: Any) -> Any:
    rows, a = ask(counted)
    w = numbers(a, state.x)
    return replace(state, x=state.x + (w / w.sum()) @ rows)


def beside_returned_numbers(state: Kept, deltas: Any, S: Any, ask: Any) -> Any:
    rows, a = ask(counted)
    return replace(state, x=state.x + average(rows / numbers(a, state.x)[:, None]))


def over_returned_numbers(state: Kept, deltas: Any, S: Any, ask: Any) -> Any:
    """The one case that needs no rows: the sum is divided once it is there."""
    rows, a = ask(counted)
    return replace(state, x=state.x + average(rows) / sum(a))


def looked_at(state: Kept, deltas: Any, S: Any, ask: Any) -> Any:
    mean = average(deltas)
    return replace(state, x=state.x + (mean if float(mean.sum()) > 0 else 2 * mean))


def written_over(state: Kept, deltas: Any, S: Any, ask: Any) -> Any:
    deltas *= 2
    return replace(state, x=state.x + average(deltas))


def remembered_and_summed(state: Kept, deltas: Any, S: Any, ask: Any) -> Any:
    c_i = put(state.c_i, S, deltas)
    return Kept(x=state.x + average(c_i), c_i=c_i)


def remembered_and_read(state: Kept, deltas: Any, S: Any, ask: Any) -> Any:
    c_i = put(state.c_i, S, deltas)
    return Kept(x=state.x + average(c_i[S] + deltas), c_i=c_i)


def remembered_with_the_mean(state: Kept, deltas: Any, S: Any, ask: Any) -> Any:
    mean, old = average(deltas), average(state.c_i)
    return Kept(x=state.x + mean + old, c_i=put(state.c_i, S, state.c_i[S] + deltas - mean))


def read_before_and_written(state: Kept, deltas: Any, S: Any, ask: Any) -> Any:
    x = state.x + average(deltas - state.c_i[S])
    return Kept(x=x + average(state.c_i), c_i=put(state.c_i, S, 2 * state.c_i[S] - deltas))


def remembered_by_another(state: Kept, deltas: Any, S: Any, ask: Any) -> Any:
    others = [(i + 1) % N for i in S]
    return Kept(x=state.x + average(deltas), c_i=put(state.c_i, others, deltas))


def trained_again(state: Kept, deltas: Any, S: Any, ask: Any) -> Any:
    c_i = put(state.c_i, S, deltas)
    return Kept(x=state.x + average(deltas) + average(ask(trained)), c_i=c_i)


def moved_by(f: Callable[[Any], Any]) -> Callable[..., Any]:
    """A step by a function of the changes."""
    return lambda state, deltas, S, ask: replace(state, x=state.x + f(deltas))


OF_THE_CHANGES: dict[str, Callable[[Any], Any]] = {
    "spread_around_the_mean": lambda deltas: average(deltas) / (1 + average((deltas - average(deltas)) ** 2)),
    "of_other_clients": lambda deltas: average(deltas * deltas[[*range(len(deltas))][::-1]]),
    "every_second": lambda deltas: average(deltas[::2]),
    "first_of_all": lambda deltas: deltas[0],
    "longest": lambda deltas: deltas.amax(0),
    "of_a_number_of_a_row": lambda deltas: average(deltas) * deltas[1, 2],
}
RETURNED = (by_returned_numbers, beside_returned_numbers, over_returned_numbers)
ENOUGH = (over_returned_numbers, remembered_with_the_mean, read_before_and_written)
"""Texts of a step of which sums are enough."""
ALL_ROWS_OF = (
    *(by_returned_numbers, beside_returned_numbers, looked_at, written_over, remembered_and_summed),
    *(remembered_and_read, remembered_by_another, trained_again),
)
TEXTS = [pytest.param(text, id=text.__name__) for text in (*ENOUGH, *ALL_ROWS_OF)]
TEXTS += [pytest.param(moved_by(f), id=name) for name, f in OF_THE_CHANGES.items()]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_needs_all_rows_gets_them(text: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    fed, summed = federation("looped", torch.float64), list[bool]()
    c_i = torch.from_numpy(dyadic(5, N, len(fed.x0)))
    plan = Plan((4, 1, 3, 0), (2, 1, 2, 1), (1, 1, 1, 1))

    def step(state: Any, clients: Any) -> tuple[Any, Any]:
        def ask(client: Any) -> Any:
            return each(client, clients, plan, state.x)

        return text(state, None if text in RETURNED else ask(trained), list(plan.participants), ask), {}

    want, _ = step(Kept(fed.x0.clone(), c_i.clone()), Batched(fed.in_round(0)))
    monkeypatch.setattr(text_clients, "sums_of", spied(summed))
    begin = client_memory.remembered(Kept(fed.x0.clone(), c_i.clone()), N)
    got, _ = rounds.answered(step, begin, Batched(fed.in_round(0), 2), remember=N, looked_at=False)
    assert_close(got.x, want.x.numpy(), 4.0, ulps=64)
    assert_close(got.c_i, want.c_i.numpy(), 4.0, ulps=64)
    assert torch.equal(begin.c_i, got.c_i), "it is written where it is"
    assert summed == ([False, False] if text is trained_again else [text in ENOUGH])
