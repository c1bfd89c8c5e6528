"""A federation of Datasets is one of the tensors that are in them, bit for bit; what draws, or cannot be stacked, is
refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any, cast

import numpy as np
import pytest
import torch
from test_mirror.kinds import Around
from test_mirror.support import resumed
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from fedspec.errors import FedspecError, PlanError, ShapeError
from fedspec_torch import CheckpointError, DataError, Federation, cohorts, exchanges, resume, simulate
from fedspec_torch.gradients.methods import CHANNELS_LAST
from fedspec_torch.ways.table import methods

pytestmark = pytest.mark.table(10)

torch.manual_seed(3)
INPUTS, TARGETS = torch.randn(40, 3), torch.randint(2, (40,))
PARTS = [np.array(part) for part in ([3, 1, 2], [*range(10, 22)], [5, 30, 31, 9, 39, 38], [22], [0, 4, 23, 24, 25, 26])]
PAIRS = [(INPUTS[part], TARGETS[part]) for part in PARTS]
FLIPPED = [(x.flip(1), y) for x, y in PAIRS]


class Rows(Dataset[Any]):
    """Rows of Python objects as a file has them, maybe changed; whoever asks is counted."""

    def __init__(self, inputs: Any, targets: Any, transform: Any = torch.tensor, change: Any = None) -> None:
        self.inputs, self.targets, self.transform, self.change = inputs, targets, transform, change
        self.asked = Counter[int]()

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> Any:
        assert type(index) is int
        self.asked[index] += 1
        example = self.transform(self.inputs[index]), self.targets[index]
        return self.change(index, *example) if self.change else example


class Table:
    """Columns by name, as HuggingFace's datasets give them: a dict of Python lists and numbers for each row."""

    def __init__(self, **columns: list[Any]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: column[index] for name, column in self.columns.items()}


class Stream(IterableDataset[Any]):
    """Examples that come one after another."""

    def __iter__(self) -> Iterator[Any]:
        return iter([(INPUTS[0], 1)])


class Counted(Stream):
    """A stream that knows how long it is, as some do for a DataLoader."""

    def __len__(self) -> int:
        return 1


def mlp() -> nn.Sequential:
    torch.manual_seed(4)
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))


def federation(data: Any, **more: Any) -> Federation:
    return Federation(mlp(), F.cross_entropy, data, **{"batch_size": 4, "way": "looped", **more})


def ended(fed: Federation, algorithm: str = "fedavg", rounds: int = 5) -> tuple[Tensor, list[float]]:
    """Last model of a run, and the losses on the way."""
    plan: Any = exchanges(steps=2) if algorithm == "dsgd" else cohorts(3, steps=(1, 4))
    more: dict[str, Any] = {"eta": 1.0} if algorithm == "scaffold" else {}
    run = simulate(algorithm, fed, plan=plan, rounds=rounds, block=2, eta_l=0.3, **more)
    losses = [r.loss for r in run]
    return run.x, losses


def rows_of(part: Any) -> Rows:
    return Rows([row.tolist() for row in INPUTS[part]], TARGETS[part].tolist())


def table() -> Table:
    return Table(name=[str(i) for i in range(40)], label=TARGETS.tolist(), pixels=INPUTS.tolist())


WHOLE = TensorDataset(INPUTS, TARGETS)
GIVEN: dict[str, Callable[[], dict[str, Any]]] = {
    "a Dataset for each": lambda: {"data": [TensorDataset(*pair) for pair in PAIRS]},
    "a Subset for each": lambda: {"data": [Subset(WHOLE, part.tolist()) for part in PARTS]},
    "Python objects, transformed": lambda: {"data": tuple(rows_of(part) for part in PARTS)},
    "NumPy": lambda: {"data": [Rows(x.numpy(), y.numpy(), np.flip) for x, y in FLIPPED]},
    "lists of pairs": lambda: {"data": [[*zip(x, y.tolist(), strict=True)] for x, y in PAIRS]},
    "one, and who has which": lambda: {"data": WHOLE, "parts": PARTS},
    "one, lists of numbers": lambda: {"data": rows_of(range(40)), "parts": [part.tolist() for part in PARTS]},
    "one, tensors of numbers": lambda: {"data": WHOLE, "parts": [torch.tensor(part) for part in PARTS]},
    "several joined": lambda: {
        "data": ConcatDataset([TensorDataset(INPUTS[:7], TARGETS[:7]), TensorDataset(INPUTS[7:], TARGETS[7:])]),
        "parts": PARTS,
    },
    "a table": lambda: {"data": table(), "parts": PARTS, "keys": ("pixels", "label")},
    "a table for each": lambda: {
        "data": [Table(x=x.tolist(), y=y.tolist()) for x, y in PAIRS],
        "keys": ("x", "y"),
    },
}


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("name", GIVEN)
def test_datasets_train_as_the_tensors_in_them_do(name: str, cached: bool) -> None:
    want, got = federation(PAIRS), federation(**GIVEN[name](), cached=cached)
    assert len(got) == 5 and got.setup == want.setup
    (x, losses), (other, told) = ended(want), ended(got)
    assert torch.equal(x, other) and losses == told


@pytest.mark.table(1)
@pytest.mark.parametrize("way", ["compiled", "layered", "stacked", "vmapped", "looped"])
@pytest.mark.parametrize("algorithm", ["scaffold", "dsgd"])
@pytest.mark.parametrize("even", [False, True])
def test_in_every_way(way: str, algorithm: str, even: bool) -> None:
    """Clients of whole minibatches are copied by another way than others."""
    parts = [np.arange(8 * i, 8 * i + 8) for i in range(5)] if even else PARTS
    pairs = [(INPUTS[part], TARGETS[part]) for part in parts]
    for shuffled in (False, True):
        want = ended(federation(pairs, way=way, shuffled=shuffled), algorithm, 3)
        got = ended(federation(WHOLE, parts=parts, way=way, shuffled=shuffled), algorithm, 3)
        assert torch.equal(want[0], got[0]) and want[1] == got[1]


SIZES = tuple(map(len, PARTS))


def test_a_function_may_read_every_client_into_the_same_memory() -> None:
    room = (torch.empty(12, 3), torch.empty(12).long())

    def read(i: int) -> Any:
        return tuple(memory[: len(part)].copy_(part) for memory, part in zip(room, PAIRS[i], strict=True))

    assert torch.equal(ended(federation(read, examples=SIZES))[0], ended(federation(PAIRS))[0])


@pytest.mark.parametrize(("at", "what"), [(0, "inputs"), (1, "targets")])
def test_a_function_that_draws_examples_anew_is_refused(at: int, what: str) -> None:
    asked = list[int]()

    def drawn(i: int) -> Any:
        asked.append(i)
        changed = [part.clone() for part in PAIRS[i]]
        changed[at] += len(asked) % 2
        return changed[0], changed[1] % 2

    with pytest.raises(
        DataError, match=rf"client \d has different {what} when the function is called again.*number alone"
    ):
        ended(federation(drawn, examples=SIZES))


def test_a_number_that_is_none_is_no_other_example() -> None:
    """The module leaves it out, so that the run goes on."""
    inputs = INPUTS.clone()
    inputs[PARTS[1][0]] = torch.nan
    module = Around(lambda self, x: self.part(x.nan_to_num()), part=mlp())
    for more in (
        {"data": lambda i: (inputs[PARTS[i]], TARGETS[PARTS[i]]), "examples": SIZES},
        {"data": TensorDataset(inputs, TARGETS), "parts": PARTS},
    ):
        assert len(ended(Federation(module, F.cross_entropy, **cast(Any, more)))[1]) == 5


@pytest.mark.parametrize("way", [None, *(way for way in methods() if way != CHANNELS_LAST)])
def test_inputs_that_want_a_gradient_are_data_like_others(way: str | None) -> None:
    wanting = [(inputs.clone().requires_grad_(), targets) for inputs, targets in PAIRS]
    want, _ = ended(federation(PAIRS, way=way))
    for got in (federation(wanting, way=way), federation(wanting.__getitem__, way=way, examples=SIZES)):
        assert torch.allclose(ended(got)[0], want, rtol=1e-5, atol=1e-7)


def test_examples_are_read_when_a_client_takes_part() -> None:
    data = [rows_of(part) for part in PARTS]
    fed = federation(data)
    for rows in data:
        rows.asked.clear()
    fed.oracle([1, 3])(0, fed.x0.repeat(2, 1))
    # One of each client's is read twice: what draws at random would be another one.
    assert [sum(rows.asked.values()) for rows in data] == [0, 13, 0, 2, 0]
    fed.in_round(1).oracle([1])(0, fed.x0[None])
    assert [sum(rows.asked.values()) for rows in data] == [0, 26, 0, 2, 0]


def test_a_split_that_is_written_over_later_is_another_one() -> None:
    parts = [part.copy() for part in PARTS]
    fed = federation(WHOLE, parts=parts)
    parts[1][:] = 0
    assert torch.equal(fed.pool.of([1])[0][0], PAIRS[1][0])


def test_a_cache_is_read_once() -> None:
    data = [rows_of(part) for part in PARTS]
    fed = federation(data, cached=True)
    asked = [rows.asked.copy() for rows in data]
    assert all(set(seen) == {*range(len(rows))} for seen, rows in zip(asked, data, strict=True))
    ended(fed)
    assert asked == [rows.asked for rows in data]


def test_a_buffer_that_a_dataset_fills_again_is_copied() -> None:
    buffer = torch.empty(3)
    got = ended(federation([Rows(x, y.tolist(), buffer.copy_) for x, y in PAIRS]))
    assert torch.equal(got[0], ended(federation(PAIRS))[0])


def test_types_are_those_that_torch_gives() -> None:
    cases: list[tuple[Any, Tensor]] = [
        (1.5, torch.tensor([1.5])),
        (True, torch.tensor([True])),
        (7, torch.tensor([7])),
        (np.float64(0.1), torch.tensor([0.1], dtype=torch.float64)),
        (np.int16(3), torch.tensor([3], dtype=torch.int16)),
        (np.arange(6, dtype=np.uint8).reshape(2, 3)[::-1], torch.tensor([[[3, 4, 5], [0, 1, 2]]], dtype=torch.uint8)),
        ([1.0, 2.0], torch.tensor([[1.0, 2.0]])),
        (torch.ones(2, requires_grad=True), torch.ones(1, 2)),
    ]
    for given, want in cases:
        (_, targets), _ = federation([[(INPUTS[0], given)]]).pool.of([0])
        assert targets.dtype == want.dtype and torch.equal(targets, want) and not targets.requires_grad


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("where", ["inputs", "targets"])
def test_a_dataset_that_draws_at_random_is_refused(where: str, cached: bool) -> None:
    """As augmentation does: no run of it could be repeated or resumed."""

    def noisy(row: Any) -> Tensor:
        return torch.tensor(row) + (torch.rand(()) if where == "inputs" else 0)

    def flipped(index: int, inputs: Any, target: int) -> Any:
        return inputs, target if where == "inputs" else (target + next(times)) % 2

    times = count(1)
    data = [rows_of(PARTS[0]), rows_of(PARTS[1]), Rows(INPUTS[:9].tolist(), TARGETS[:9].tolist(), noisy, flipped)]
    with pytest.raises(DataError, match=rf"client 2, example \d has different {where} when it is read again.*number"):
        ended(federation(data, cached=cached))


def test_what_draws_in_one_example_is_refused_at_a_look() -> None:
    """The one that is not among those that are read twice at once: what a run looks at later has it."""
    state = torch.Generator().manual_seed(0)

    def sly(index: int, inputs: Any, target: int) -> Any:
        return inputs + (torch.rand(3, generator=state) if index == 2 else 0), target

    fed = federation([Rows(INPUTS[:4].tolist(), TARGETS[:4].tolist(), change=sly)])
    with pytest.raises(DataError, match="client 0 has different inputs when its Dataset is called again"):
        list(simulate("fedavg", fed, plan=cohorts(None), rounds=2, eta_l=0.1))


def test_a_draw_that_is_a_function_of_the_number_is_taken() -> None:
    def seeded(index: int, inputs: Any, target: int) -> Any:
        return inputs + torch.rand(3, generator=torch.Generator().manual_seed(index)), target

    ended(federation([Rows(x.tolist(), y.tolist(), change=seeded) for x, y in PAIRS]))


def test_a_saved_run_knows_its_datasets_again(tmp_path: Any) -> None:
    """By the digest that the same tensors have."""
    file = tmp_path / "run.pt"
    fed = federation(WHOLE, parts=PARTS)
    begun = partial(simulate, "scaffold", fed, plan=cohorts(3, steps=2), rounds=6, eta_l=0.1, eta=1.0)
    for same in (federation(WHOLE, parts=PARTS), federation(PAIRS), federation(WHOLE, parts=PARTS, cached=True)):
        resumed(begun, file, same, 3)
    other = [PARTS[0], PARTS[1], PARTS[2], [29], PARTS[4]]
    with pytest.raises(CheckpointError, match=r"federation: data: inputs of client 3's first"):
        resume(file, federation(WHOLE, parts=other))


def test_an_error_of_a_dataset_says_where_and_stays_what_it_is() -> None:
    def torn(index: int, *example: Any) -> Any:
        if index == 7:
            raise OSError("no such file")
        return example

    fed = federation([rows_of(PARTS[0]), Rows(INPUTS.tolist(), TARGETS.tolist(), change=torn)])
    with pytest.raises(OSError, match="no such file") as caught:
        fed.pool.of([1])
    assert caught.value.__notes__ == ["data: while client 1, example 7 was read"]


def bad(example: Any, at: int = 17) -> list[Any]:
    """Three clients that are in order, and one with such an example."""
    rows: list[Any] = [(row, int(target)) for row, target in zip(INPUTS, TARGETS, strict=True)]
    return [rows, rows, rows, [*rows[:at], example, *rows[at + 1 :]]]


THERE = "client 3, example 17"
UNSTACKED: list[tuple[Any, str]] = [
    (
        (torch.ones(5), 1),
        r"has inputs \(5,\) torch.float32, but client 0's first example has \(3,\) torch.float32; .*pad, resize",
    ),
    ((INPUTS[0], torch.ones(1)), r"has targets \(1,\) torch.float32, .*\(\) torch.int64"),
    ((INPUTS[0].double(), 1), r"has inputs \(3,\) torch.float64, .*\(3,\) torch.float32"),
    ((INPUTS[0], "cat"), r"has targets of type str; give a tensor, an array or numbers.*transform"),
    ((INPUTS[0], None), "has targets of type NoneType"),
    (([[1.0], [2.0, 3.0]], 1), "has inputs of type list.*give a tensor"),
    ((np.array(["a"]), 1), "has inputs of type ndarray.*give a tensor"),
    ((torch.eye(3).to_sparse(), 1), r"has inputs that are sparse_coo; .*\(to_dense, pad\)"),
    ((torch.ones(3, device="meta"), 1), "has inputs that are meta"),
    ((INPUTS[0], 1, 2), r"is tuple \(\[0\], \[1\], \[2\]\); give a tuple \(inputs, targets\)"),
    (INPUTS[0], r"is Tensor; give a tuple \(inputs, targets\)"),
    ({"pixels": INPUTS[0], "label": 1}, r"is dict \(pixels, label\); give a tuple"),
]


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize(("example", "words"), UNSTACKED)
def test_what_cannot_be_stacked_is_refused_with_client_and_example(example: Any, words: str, cached: bool) -> None:
    with pytest.raises(ShapeError, match=f"data: {THERE} {words}"):
        federation(bad(example), cached=cached).pool.of([3])


def test_the_first_examples_are_looked_at_when_the_federation_is_made() -> None:
    with pytest.raises(ShapeError, match=r"data: client 3, example 0 has inputs \(4,\)"):
        federation(bad((torch.ones(4), 1), at=0))


REFUSED: dict[type[FedspecError], list[tuple[dict[str, Any], str]]] = {
    ShapeError: [
        ({"data": [WHOLE, Stream()]}, "client 1 is Stream, whose examples can't be indexed.*map-style"),
        ({"data": [WHOLE, Counted()]}, "client 1 is Counted, whose examples can't be indexed"),
        ({"data": [WHOLE, DataLoader(Stream())]}, "client 1 is Stream, whose examples can't be indexed"),
        ({"data": [WHOLE, iter([])]}, "client 1 is list_iterator, whose examples can't be indexed"),
        ({"data": Stream()}, "data is Stream, whose examples can't be indexed"),
        ({"data": Stream(), "parts": PARTS}, "data is Stream, whose examples can't be indexed"),
        ({"data": [WHOLE, Rows([], [])]}, "client 1 has no example; leave it out"),
        ({"data": [Rows([], [])]}, "client 0 has no example"),
        ({"data": [WHOLE, PAIRS[0]]}, r"client 1 is a tuple of tensors.*TensorDataset\(inputs, targets\)"),
        ({"data": [PAIRS[0], WHOLE]}, r"client 0 is a tuple of tensors.*TensorDataset\(inputs, targets\)"),
        ({"data": WHOLE}, "data: got one TensorDataset; say which client has .*or give a list"),
        ({"data": table()}, "data: got one Table; say which client has which examples, parts="),
        ({"data": {"train": WHOLE}}, "data: got a dict with entries 'train'; give one of its entries"),
        ({"data": {"train": WHOLE}, "parts": PARTS}, "data: got a dict with entries 'train'; give one of its entries"),
        ({"data": DataLoader(WHOLE)}, "data: got one DataLoader; say which client has which examples, parts="),
        ({"data": table(), "parts": PARTS}, r"client 0, example 3 has name of type str; .*leave name out"),
        (
            {"data": table(), "parts": PARTS, "keys": ("image", "label")},
            "client 0, example 3 has no entry 'image'; its entries are name, label, pixels",
        ),
        ({"data": WHOLE, "parts": PARTS, "keys": ("x", "y")}, "is a tuple, but keys=.* select entries of dicts"),
        ({"data": PAIRS[0], "parts": PARTS}, r"data is a tuple of tensors.*TensorDataset\(inputs, targets\)"),
        ({"data": [WHOLE, WHOLE], "parts": PARTS}, "data: got a list of Datasets, but parts= splits a"),
        ({"data": WHOLE, "parts": []}, "parts: got no clients"),
        ({"data": WHOLE, "parts": [0, 1]}, r"parts: client 0 has shape \(\); give a list of numbers"),
        ({"data": WHOLE, "parts": 7}, "parts: got int; give one array"),
        ({"data": WHOLE, "parts": [[0], []]}, "parts: client 1 has no example; leave it out"),
        ({"data": WHOLE, "parts": [[0], [3, 40]]}, r"parts: client 1 has example 40; .*from 0 to 39"),
        ({"data": WHOLE, "parts": [[0], [3, -1]]}, "parts: client 1 has example -1"),
        ({"data": WHOLE, "parts": [[0.5]]}, "parts: client 0 has float64; .*whole numbers"),
        ({"data": WHOLE, "parts": [np.ones(40, bool)]}, r"parts: client 0 has bool; .*flatnonzero"),
    ],
    PlanError: [
        ({"data": WHOLE, "parts": PARTS, "keys": "xy"}, "keys: got 'xy'; give two names"),
        ({"data": PAIRS, "keys": ("x", "y")}, "keys: given, but data isn't a Dataset"),
        ({"data": PAIRS, "cached": True}, "cached: given, but data isn't a Dataset"),
        ({"data": PAIRS.__getitem__, "examples": (3,), "parts": PARTS}, "parts: given, but data is a function"),
        ({"data": WHOLE, "parts": PARTS, "examples": (3,) * 5}, "examples: given, but data isn't a function"),
        (
            {"data": WHOLE, "parts": [[7, 1], [2], [5, 7]]},
            r"example 7 belongs to clients 0 and 2; give each example to one client.*Sub",
        ),
        ({"data": WHOLE, "parts": [PARTS[1], [15, 3, 11]]}, "example 11 belongs to clients 0 and 1, and 1 more are of"),
    ],
}


def test_examples_may_be_shared_on_purpose_and_drawn_with_replacement() -> None:
    shared = federation([Subset(WHOLE, part) for part in ([7, 1], [2], [5, 7])])
    assert torch.equal(shared.pool.of([0])[0][0][0], INPUTS[7]) and torch.equal(shared.pool.of([2])[0][0][1], INPUTS[7])
    assert federation(WHOLE, parts=[[7, 7, 1], [2]]).pool.examples == (3, 1)


@pytest.mark.parametrize(
    ("given", "error", "words"), [(given, error, words) for error, rows in REFUSED.items() for given, words in rows]
)
def test_what_is_no_federation_is_refused(given: dict[str, Any], error: type[FedspecError], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        federation(**given)
    # A sentence with what to do, behind a semicolon.
    assert re.search(r"; \w+", str(caught.value)), str(caught.value)
