"""Batches of any structure are given in many forms, tested on, saved and held out, or are refused by name.

test_kinds.py has them trained in every way.
"""

from __future__ import annotations

import json
import re
from collections import UserDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror import support
from test_mirror.batch_kinds import Heads, Masked, Output, Scaled, Towers, ce, text, two
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

from fedspec.errors import FedspecError, PlanError, ShapeError
from fedspec_torch import (
    CheckpointError,
    DataError,
    Federation,
    LossError,
    ModuleError,
    cohorts,
    read_leaf,
    read_table,
    resume,
    simulate,
    tune,
)
from fedspec_torch.federation.federation import on


def batches(clients: int = 4, n: int = 6) -> list[dict[str, Tensor]]:
    torch.manual_seed(5)
    return [text(n) for _ in range(clients)]


def masked(data: Any, **more: Any) -> Federation:
    torch.manual_seed(6)
    return Federation(Masked(), None, data, **{"batch_size": 2, "way": "looped", **more})


def ended(fed: Federation, **more: Any) -> Any:
    """A run that is over."""
    return support.ended("fedavg", fed, **{"plan": cohorts(2, steps=2), "rounds": 3, "eta_l": 0.3, **more})


def rows(batch: dict[str, Tensor]) -> list[dict[str, Any]]:
    """Examples as HuggingFace's datasets have them: lists of numbers by name."""
    return [{name: part[k].tolist() for name, part in batch.items()} for k in range(len(batch["labels"]))]


def padded(examples: list[dict[str, Any]], width: int | None = 4) -> dict[str, Tensor]:
    """Collate examples without their padding; None: to the longest of the batch."""
    width = width or max(sum(row["attention_mask"]) for row in examples)
    long = [name for name in examples[0] if name != "labels"]
    found = {name: torch.tensor([(row[name] + [0] * 4)[:width] for row in examples]) for name in long}
    return {**found, "labels": torch.tensor([row["labels"] for row in examples])}


def short(batch: dict[str, Tensor]) -> list[dict[str, Any]]:
    """Examples of their own lengths."""
    return [
        {name: part[: sum(row["attention_mask"])] if name != "labels" else part for name, part in row.items()}
        for row in rows(batch)
    ]


def loaded(some: Any, **more: Any) -> DataLoader[Any]:
    return DataLoader(some, **{"batch_size": 2, **more})


JOINED: list[dict[str, Any]] = [row for batch in batches() for row in rows(batch)]
PARTS = [[*range(6 * i, 6 * i + 6)] for i in range(4)]
GIVEN: dict[str, dict[str, Any]] = {
    "rows of a table for each": {"data": [rows(batch) for batch in batches()]},
    "rows of one, and who has which": {"data": JOINED, "parts": PARTS},
    "rows of another class": {"data": [[*map(UserDict, rows(batch))] for batch in batches()]},
    "DataLoaders that pad": {"data": [loaded(short(b), collate_fn=padded) for b in batches()], "batch_size": None},
    "a DataLoader, and who has which": {"data": loaded(JOINED, collate_fn=padded, shuffle=True), "parts": PARTS},
    "DataLoaders of tensors": {
        "data": [loaded([{n: p[k] for n, p in b.items()} for k in range(6)]) for b in batches()], "batch_size": None,
    },
    "a function": {"data": lambda i: UserDict(batches()[i]), "examples": (6,) * 4},
    "names in another order": {"data": [dict([*b.items()][:: 1 - 2 * (k % 2)]) for k, b in enumerate(batches())]},
}  # fmt: skip


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("name", GIVEN)
def test_datasets_and_dataloaders_are_the_batches_that_torch_collates(name: str, cached: bool) -> None:
    cached &= not callable(GIVEN[name]["data"]) and name != "names in another order"
    got, want = masked(**GIVEN[name], cached=cached), masked(batches())
    assert got.batch_size == 2 and torch.equal(ended(got).x, ended(want).x)


def test_lists_of_numbers_are_collated_by_a_dataloader_as_torch_does() -> None:
    """Its default makes a tensor of each place of a list, and float64 of Python's numbers."""
    torch.manual_seed(0)
    some = [([0.5 * k, 1.0], k % 2) for k in range(4)]
    x, _ = Federation(nn.Linear(2, 2), ce, [some]).pool.of([0])[0]
    assert x.shape == (4, 2) and x.dtype == torch.float32
    pairs = Federation(Towers().double(), lambda z, y: z.sum(), [loaded(some, batch_size=4)]).pool.of([0])[0]
    want = next(iter(loaded(some, batch_size=4)))
    assert all(torch.equal(a, b) for a, b in zip(pairs, [*want[0], want[1]], strict=True))


def test_a_batch_is_tested_on_as_a_plain_loop_does() -> None:
    test, seen = text(9), list[Any]()

    def metric(output: Any, batch: Any) -> float:
        seen.append((output, batch))
        return float(len(batch["labels"]))

    run = ended(masked(batches()), test=test, metrics={"count": metric})
    module = run.module().eval()
    logits, loss = module(**test).logits, module(**test).loss
    last = run.history[-1]
    assert last.accuracy == float((logits.argmax(1) == test["labels"]).double().mean())
    assert last.test_loss == pytest.approx(float(loss)) and last.metrics == {"count": 9}
    assert isinstance(seen[-1][0], Output) and seen[-1][1].keys() == test.keys()
    again = ended(masked(batches()), test=loaded(rows(test), collate_fn=padded))
    assert [r.test_loss for r in again.history] == [r.test_loss for r in run.history]


def test_scores_of_words_are_no_accuracy() -> None:
    """Their classes lie on the last axis, where torch's lie on the second."""
    module = nn.Sequential(nn.Embedding(7, 7))
    fed = Federation(module, lambda z, t: ce(z.mT, t), [(torch.randint(7, (6, 4)), torch.randint(7, (6, 4)))])
    assert ended(fed, plan=cohorts(None), test=fed.data[0]).history[-1].accuracy is None  # type: ignore[index]


def test_a_saved_run_knows_its_batches_again(tmp_path: Path) -> None:
    def begun() -> Any:
        return simulate("scaffold", masked(batches()), plan=cohorts(2, steps=2), rounds=4, eta_l=0.1, eta=1.0)

    support.resumed(begun, tmp_path / "run.pt", masked([rows(batch) for batch in batches()]))
    swapped = [{**b, "input_ids": b["attention_mask"], "attention_mask": b["input_ids"]} for b in batches()]
    with pytest.raises(CheckpointError, match="data: input_ids of client 0's first example"):
        resume(tmp_path / "run.pt", masked(swapped))
    other = [
        {"attention_mask": b["input_ids"], "input_ids": b["attention_mask"], "labels": b["labels"]} for b in batches()
    ]
    with pytest.raises(CheckpointError, match=r"batch was dict \(input_ids, .*, here it is dict \(attention_mask, "):
        resume(tmp_path / "run.pt", masked(other))


@pytest.mark.parametrize("of", ["clients", "examples"])
@pytest.mark.parametrize("held", [True, False])
def test_batches_are_held_out_and_moved(held: bool, of: Any) -> None:
    data: dict[str, Any] = {"data": batches()} if held else {"data": batches().__getitem__, "examples": (6,) * 4}
    fed = on(masked(**data), "cpu")
    found = tune("fedavg", fed, plan=cohorts(2, steps=2), rounds=2, grid={"eta_l": [0.01, 0.3]}, of=of)
    assert found.choice["eta_l"] in (0.01, 0.3) and all(np.isfinite(t.score) for t in found.trials)


@dataclass
class Batch:
    """A batch of a class of its own."""

    x: Tensor


X, Y = torch.ones(4, 6), torch.zeros(4, dtype=torch.long)
LINEAR = nn.Linear(6, 3)
OWN: dict[str, Any] = {"loss": None, "model": Masked()}
REFUSED: dict[str, tuple[dict[str, Any], type[FedspecError], str]] = {
    "words": ({"data": [(X, Y), (X, ["a"] * 4)]}, ShapeError, "client 1 has targets of type list of str; .*tokenizer"),
    "words at once": ({"data": [{"x": X, "text": ["a"] * 4}]}, ShapeError, "client 0 has text of type list of str"),
    "numbers": ({"data": [(X, [0, 1, 1, 0])]}, ShapeError, r"targets of type list of int; .*as_tensor for numbers"),
    "an array": ({"data": [{"x": X, "y": np.zeros(4)}]}, ShapeError, "client 0 has y of type ndarray; give a tensor"),
    "a class": ({"data": [Batch(X)]}, ShapeError, "client 0 has inputs of type Batch; give a tensor"),
    "a set": ({"data": [(X, {1, 2})]}, ShapeError, "client 0 has targets of type set"),
    "no tensor": ({"data": [{"a": 1, "b": None}]}, ShapeError, r"client 0 is dict \(a, b\), without a tensor; give a"),
    "one tensor for all": ({"data": X}, ShapeError, "data: got Tensor; give a list with one batch for each client"),
    "another structure": (
        {"data": [{"x": X, "y": Y}, {"x": X, "z": Y}]}, ShapeError, r"client 1 is dict \(x, z\); give a dict \(x, y\)"
    ),
    "one entry less": ({"data": [(X, X, Y), (X, Y)]}, ShapeError, r"client 1 is tuple \(inputs, targets\); give a t"),
    "a constant that differs": (
        {"data": [{"x": X, "scale": 1.0}, {"x": X, "scale": 2.0}]}, ShapeError,
        r"client 1 is dict \(x, scale=2.0\), but the first batch is dict \(x, scale=1.0\); .*give a tensor",
    ),
    "a constant that is a tensor": (
        {"data": [{"x": X, "scale": 1.0}, {"x": X, "scale": Y}]}, ShapeError, r"client 1 is dict \(x, scale\), but the"
    ),
    "other numbers of examples": (
        {"data": [{"a": X, "b": X[:2], "c": Y}]}, ShapeError, r"has a \(4, 6\) and b \(2, 6\) and c \(4,\); the first"
    ),
    "no axis": ({"data": [{"a": X, "t": torch.tensor(1.0)}]}, ShapeError, r"has a \(4, 6\) and t \(\); .*first axis"),
    "no example": ({"data": [{"a": X[:0]}]}, ShapeError, "client 0 has no example; leave it out"),
    "another length": (
        {"data": [{"a": X}, {"a": X[:, :5]}]}, ShapeError, r"example of client 1 has a \(5,\) .*\(6,\) .*\(pad"
    ),
    "sparse": ({"data": [{"a": X.to_sparse()}]}, ShapeError, r"client 0 has a that are sparse_coo; give a plain"),
    "nested": (
        {"data": [(torch.nested.as_nested_tensor([X[0, :2], X[1]]), Y[:2])]}, ShapeError,
        "client 0 has inputs that are nested; give a plain tensor",
    ),
    "a pad to the longest": (
        {**OWN, "data": [loaded(short(b), collate_fn=lambda some: padded(some, None)) for b in batches()]}, ShapeError,
        r"example \d has .*collate_fn must pad to a fixed length, not to the longest",
    ),
    "words in rows": (
        {"data": [[{"x": [1.0], "text": "a"}]]}, ShapeError, "example 0 has text of type str; .*tokenizer.* or leave"
    ),
    "None in rows": ({"data": [[{"x": [1.0], "y": None}]]}, ShapeError, "example 0 has y of type NoneType; give"),
    "sizes of batches": (
        {**OWN, "data": [loaded(rows(b), batch_size=k + 1, collate_fn=padded) for k, b in enumerate(batches(2))]},
        PlanError, r"batch_size: the DataLoaders have different sizes, \{1, 2\}; give one size",
    ),
    "a sampler": (
        {"data": [loaded(TensorDataset(X, Y), sampler=WeightedRandomSampler([1.0] * 4, 4))]}, PlanError,
        "client 0 is a DataLoader with a WeightedRandomSampler, .*; give its Dataset",
    ),
    "a name that is no argument": (
        {**OWN, "data": [{**b, "idx": b["labels"]} for b in batches()]}, ModuleError,
        r"forward\(input_ids, attention_mask, labels\) of Masked has no argument idx, .*rename .*or give a loss",
    ),
    "an argument that is missing": (
        {"model": Towers(), "data": [{"a": X, "y": Y}]}, ModuleError,
        r"forward\(a, b\) of Towers needs other arguments, but a minibatch has the entries a, y; rename",
    ),
    "an entry of inputs too many": (
        {"model": Towers(), "data": [({"a": X, "b": X, "c": X}, Y)]}, ModuleError, "of Towers has no argument c"
    ),
    "too many inputs": (
        {"data": [(X, X, Y)]}, ModuleError, r"forward\(input\) of Linear can't take 2 arguments, but a minibatch"
    ),
    "a model that needs more": (
        {"model": Towers(), "loss": None, "data": [(X,)]}, ModuleError, r"called as model\(\[0\]\)"
    ),
    "no loss": ({"model": Heads(), "loss": None, "data": [X]}, LossError, r"model's output \(dict\) has no loss; put"),
    "a loss that is None": (
        {"model": Masked(give=lambda loss, z: Output(None, z)), "loss": None, "data": batches()}, LossError,
        r"output \(Output\) has no loss; put labels into the batch",
    ),
    "outputs in place of a loss": (
        {"model": LINEAR, "loss": None, "data": [X]}, ShapeError, r"loss: got shape \(4, 3\); return one number"
    ),
    "a loss of targets and a dict": (
        {"data": [{"input": X, "label": Y}]}, ModuleError, r"called as loss\(model\(input=input\), batch\)"
    ),
    "names that are no arguments": (
        {"data": [{"image": X, "label": Y}]}, ModuleError, r"called as loss\(model\(\{'image'.*\}\), batch\)"
    ),
}  # fmt: skip
"""By name: what is given beside a linear layer and cross-entropy, and the words of the refusal."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_batch_is_refused_with_its_name_and_the_way_out(name: str) -> None:
    given, error, words = REFUSED[name]
    with pytest.raises(error, match=words) as caught:
        ended(Federation(**{"model": LINEAR, "loss": ce, **given}), plan=cohorts(None))
    assert re.search(r"[;:] \w+", str(caught.value))


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ({"input_ids": X}, r"test is dict \(input_ids\); give a dict \(input_ids, attention_mask, labels\)"),
        ({**text(3), "labels": Y}, r"test has input_ids \(3, 4\) and .* labels \(4,\); the first axis"),
        (({"x": X}, Y), r"test is tuple \(inputs\['x'\], targets\); give a dict"),
    ],
)
def test_a_test_batch_of_another_structure_is_refused(test: Any, words: str) -> None:
    with pytest.raises(ShapeError, match=words):
        ended(masked(batches()), test=test)


def test_an_example_that_is_no_number_is_named_with_its_entry() -> None:
    torch.manual_seed(1)
    test, data = two(5), [two(4) for _ in range(2)]
    test["b"][3, 1] = torch.nan
    fed = Federation(Towers(), lambda z, b: ce(z, b["labels"]), data)
    with pytest.raises(DataError, match="test: example 3 has b that aren't finite"):
        ended(fed, test=test)


def test_a_function_that_draws_is_told_with_the_entry() -> None:
    generator, data = torch.Generator(), batches()

    def drawn(i: int) -> Any:
        return {**data[i], "attention_mask": torch.randint(2, (6, 4), generator=generator)}

    with pytest.raises(DataError, match=r"client \d has different attention_mask when the function is called again"):
        ended(masked(drawn, examples=(6,) * 4))


def test_constants_reach_the_module_and_are_held_out_too() -> None:
    data = [{"x": X, "scale": 0.0, "mode": "none", "y": Y} for _ in range(2)]
    fed = Federation(Scaled(), lambda z, b: ce(z, b["y"]), data)
    assert ended(fed, plan=cohorts(None)).history[0].loss == pytest.approx(float(np.log(3)))
    assert replace(fed, batch_size=1).structure.constants == {"scale": 0.0, "mode": "none"}


def leaf(users: dict[str, Any], **more: Any) -> str:
    sizes = [len(own["y"]) for own in users.values()]
    return json.dumps({"users": [*users], "num_samples": sizes, "user_data": users, **more})


def test_leaf_is_read_and_trained(tmp_path: Path) -> None:
    one = {"u1": {"x": [[0.5, 1.0], [1.5, 2.0]], "y": [0, 1]}, "u0": {"x": [[2.5, 3.0]], "y": [1]}}
    (tmp_path / "a.json").write_text(leaf(one))
    (tmp_path / "b.json").write_text(leaf({"u2": {"x": [[0.0, 1.0]], "y": [0]}}))
    found = read_leaf(tmp_path)
    assert [*found] == ["u1", "u0", "u2"] and found["u1"][0].tolist() == [[0.5, 1.0], [1.5, 2.0]]
    assert found["u1"][1].dtype == torch.int64
    fed = Federation(nn.Linear(2, 2), F.cross_entropy, [*found.values()])
    assert fed.setup.examples == (2, 1, 1) and len(ended(fed).history) == 3
    (tmp_path / "c.json").write_text(leaf({"u2": {"x": [[0.0, 1.0]], "y": [0]}}))
    with pytest.raises(DataError, match=r"c.json: user 'u2' is in another file too; read the folders"):
        read_leaf(tmp_path)


def test_words_of_leaf_want_an_encoding(tmp_path: Path) -> None:
    file = tmp_path / "shakespeare.json"
    file.write_text(leaf({"romeo": {"x": ["abc", "bca"], "y": ["d", "a"]}}))
    with pytest.raises(DataError, match=r"user 'romeo' aren't numbers of one shape .*read_leaf's encode"):
        read_leaf(file)
    found = read_leaf(file, lambda x, y: (["abcd".index(c) for c in x], "abcd".index(y)))
    assert found["romeo"][0].tolist() == [[0, 1, 2], [1, 2, 0]] and found["romeo"][1].tolist() == [3, 0]


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"users": ["a"]}',
        leaf({"a": {"x": [1.0], "y": []}}),
        leaf({"a": {"x": [1.0], "y": [0]}}, user_data={}),
    ],
)
def test_what_is_no_leaf_is_refused_with_the_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(DataError, match=r"bad\.json: not a file of LEAF data .*user_data"):
        read_leaf(tmp_path / "bad.json")


def test_a_table_with_a_column_for_the_client_is_read(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("age,ward,sick,weight\n30,b,1,70.5\n41,a,0,80\n-2,b,0,60e0\n")
    found = read_table(file, client="ward", target="sick")
    assert [*found] == ["b", "a"] and found["b"][0].tolist() == [[30, 70.5], [-2, 60]]
    assert found["b"][1].tolist() == [1, 0] and found["a"][1].dtype == torch.int64
    with pytest.raises(
        DataError, match=r"got columns 'hospital' and 'sick'; name two different columns of age, ward, "
    ):
        read_table(file, client="hospital", target="sick")
    with pytest.raises(DataError, match=r"client '1': ward aren't numbers"):
        read_table(file, client="sick", target="age")
    for content in ("", "age,ward,sick\n", "age,ward,sick\n1,a,0\n2,b\n", "ward,sick\na,0\n"):
        file.write_text(content)
        with pytest.raises(DataError, match=r"table\.csv: got columns .*; name two .* fill each row"):
            read_table(file, client="ward", target="sick")
