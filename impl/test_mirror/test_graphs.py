"""Recorded local runs, held to the same runs step by step, by a recorder that keeps what a CUDA graph keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from test_mirror.federations import TRAINABLE, hyper, schedule
from test_mirror.support import momentum
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fedspec.catalogue import find
from fedspec.facts import Fact
from fedspec_torch import Federation, cohorts, simulate
from fedspec_torch.federation.autotune import Choice
from fedspec_torch.local.runs import run_in_place
from fedspec_torch.local.solvers import along
from fedspec_torch.tracing.closures import UnknownPartError
from fedspec_torch.ways import graphs
from fedspec_torch.ways.graphs import run_key

pytestmark = pytest.mark.table(10)


class Recorder(TorchDispatchMode):
    """CUDA graph on a CPU: operations with the numbers and addresses that they had when they were recorded.

    No Python runs again when it is replayed. A number that an operation was given stays as it was, memory is read and
    written at its old place, and code that reads a number in between is refused.
    """

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[tuple[Any, Any, Any, list[Tensor]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and note where its results lie."""
        if func is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("operation not permitted when stream is capturing")
        given = kwargs or {}
        made = func(*args, **given)
        self.noted.append((func, args, given, [part for part in tree_leaves(made) if isinstance(part, Tensor)]))
        return made

    def replay(self) -> None:
        """Run them again; what comes to lie elsewhere is brought to where it lay."""
        for func, args, kwargs, results in self.noted:
            again = [part for part in tree_leaves(func(*args, **kwargs)) if isinstance(part, Tensor)]
            for old, new in zip(results, again, strict=True):
                if new.data_ptr() != old.data_ptr():
                    old.copy_(new)


def recording(work: Callable[[], Any], device: torch.device) -> tuple[Any, Callable[[], object]]:
    """In place of :func:`fedspec_torch.ways.graphs.recorded`."""
    recorder = Recorder()
    with recorder:
        made = work()
    # A graph computes nothing while it is recorded.
    for part in tree_leaves(made):
        if isinstance(part, Tensor):
            part.fill_(float("nan"))
    return made, recorder.replay


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Numbers of runs that were recorded, and replayed."""
    found: Counter[str] = Counter()

    def recorded(work: Callable[[], Any], device: torch.device) -> Any:
        made, again = recording(work, device)
        found["recorded"] += 1

        def replayed() -> None:
            found["replayed"] += 1
            again()

        return made, replayed

    monkeypatch.setitem(graphs.RECORDS, "cpu", recorded)
    yield found


def federation(way: str | None, clients: int = 5, bias: bool = True, **more: Any) -> Federation:
    """Federation whose measured way is that of the layers, if no way is named."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 7, bias=bias), nn.Tanh(), nn.Linear(7, 3, bias=bias)).double()
    data = [(torch.randn(9, 6).double(), torch.randint(3, (9,))) for _ in range(clients)]
    made = Federation(module, nn.functional.cross_entropy, data, batch_size=4, way=way, **more)
    if way is None:
        made.ways._agreed.add("layered")
        made.choices.update({size: Choice("layered", "told", "in place") for size in range(1, 5)})
    return made


def ended(row: Any, plan: Any, rounds: int = 6, block: int | None = None, **numbers: Any) -> list[Any]:
    """Models and losses of a run with recordings, and of one without."""
    found = []
    bias = not find(row).has(Fact.MATRICES) if isinstance(row, str) else True
    for way in (None, "layered"):
        run = simulate(row, federation(way, bias=bias), plan=plan, rounds=rounds, block=block, **numbers)
        found.append(([r.loss for r in run], run.x))
    return found


ROWS = {row.id: row for row in TRAINABLE}
REPLAYED = {"fedavg", "fedprox", "fednova", "fedadam", "fedadagrad", "fedada2", "joint-local", "fedadaadam"}
"""Some of those that are, where clients take as many steps in every round."""


alike = partial(schedule, clients=5, steps=3, largest_delay=0)
"""A schedule of the events that the algorithm takes, in which all do the same every time."""


@pytest.mark.parametrize("plan", [schedule, alike], ids=["schedule", "alike"])
@pytest.mark.parametrize("row", TRAINABLE, ids=lambda row: row.id)
def test_runs_of_every_algorithm_are_those_step_by_step(
    row: Any, plan: Any, counted: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a GPU blocks of every size are recorded.
    monkeypatch.setattr("fedspec_torch.population.LEAST", 0)
    monkeypatch.setattr("fedspec_torch.population.UNEQUAL", 0)
    monkeypatch.setattr("fedspec_torch.population.SHARED", ())
    (losses, x), (others, want) = ended(row.id, plan(row), **hyper(row))
    assert losses == others and (x == want).all()
    assert counted["replayed"] >= 4 or row.id not in REPLAYED or plan is schedule, counted


def test_a_rate_that_falls_from_round_to_round_is_not_replayed(counted: Counter[str]) -> None:
    fed, other = federation(None), federation("layered")
    x = fed.x0
    for t, rate in enumerate((0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.5)):
        for solver in (along(lambda k, rate=rate: rate / (k + 1)), momentum(rate, 0.5)):
            runs = [f.in_round(t).oracle([3, 1]) for f in (fed, other)]
            got, want = (run_in_place(solver, x.expand(2, -1), oracle, 3)[0].clone() for oracle in runs)
            assert (got == want).all()
        x = want.mean(0)
    assert counted == {"recorded": 4, "replayed": 10}


def test_a_run_that_looks_at_its_numbers_goes_on_step_by_step(counted: Counter[str]) -> None:
    fed = federation(None)
    run = simulate(
        "fedadaadam", fed, plan=cohorts(None, steps=2), rounds=5, **hyper(ROWS["fedadaadam"]) | {"eps_s": 1e-3}
    )
    assert len(list(run)) == 5 and not counted
    known = graphs.recordings(fed.network, fed.x0[None])
    assert {*known.values()} == {"aten._local_scalar_dense.default: what it gives must be known before the run goes on"}


def test_no_more_recordings_are_kept_than_said(counted: Counter[str]) -> None:
    fed = federation(None)
    for tau in [*range(1, graphs.KEPT + 3)] * 3:
        run_in_place(along(lambda k: 0.5), fed.x0.expand(2, -1), fed.in_round(0).oracle([0, 1]), tau)
    assert not counted and len(graphs.recordings(fed.network, fed.x0[None])) == graphs.KEPT


def test_examples_elsewhere_are_another_run(counted: Counter[str]) -> None:
    data = federation(None).data
    assert isinstance(data, list)
    ends = []
    for way in (None, "layered"):
        fed = federation(way)
        made = replace(fed, data=lambda i: data[i], examples=(9,) * 5)
        made.choices.update(fed.choices), made.ways._agreed.update(fed.ways._agreed)
        # All of them stay, so that none lies where another lay.
        clients = made.in_round(0, keeps=True)
        oracles = [clients.oracle(who) for who in ([0, 1], [2, 3], [4, 0]) for _ in range(3)]
        ends.append([run_in_place(along(lambda k: 0.5), made.x0.expand(2, -1), o, 2)[0].clone() for o in oracles])
    assert all((got == want).all() for got, want in zip(*ends, strict=True)) and counted["recorded"] == 3


def closed_over(*parts: Any) -> Callable[[], Any]:
    return lambda: parts


def test_what_tells_two_runs_apart() -> None:
    v = torch.zeros(4)
    pairs: list[tuple[Any, Any]] = [
        (0.5, 0.25), (0.0, -0.0), (1, 1.0), (1, True), ("a", "b"), (v, v.clone()), (v[:2], v[2:]), (v[:2], v[:3]),
        (v[::2], v[:2]), (v, v.view(torch.int32)), ((1, 2), (1, (2,))), ({"a": 1}, {"a": 2}), ({"a": 1}, {"b": 1}),
        (slice(1), slice(2)), (partial(max, 1), partial(max, 2)), (partial(max, 1), partial(min, 1)),
        (along(lambda k: 0.5), along(lambda k: 0.25)), (momentum(0.5, 0.5), momentum(0.5, 0.25)),
        (Choice("a", "b"), Choice("a", "c")),
        (replace, Choice), (lambda k: k, lambda k: k + 1), (lambda k=1: k, lambda k=2: k),
    ]  # fmt: skip
    for one, other in pairs:
        assert run_key(closed_over(one)) == run_key(closed_over(one)) != run_key(closed_over(other)), (one, other)
    assert run_key(along(lambda k: 0.5)) != run_key(momentum(0.5, 0.5))


def test_what_is_not_known_is_not_recorded(counted: Counter[str]) -> None:
    with pytest.raises(UnknownPartError, match="object is no number, tensor, function or record"):
        run_key(closed_over(object()))
    fed, unknown = federation(None), iter(())
    for _ in range(4):
        run_in_place(along(lambda k: 0.5 if unknown else 0), fed.x0.expand(2, -1), fed.in_round(0).oracle([0, 1]), 2)
    assert not counted
