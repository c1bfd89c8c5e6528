"""Splits of a data set over clients: nothing is lost, nobody is empty, and each is as unequal as its law says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedspec.arith import Array
from fedspec.errors import FedspecError, PlanError, ShapeError
from fedspec_torch.data import partition

LABELS = np.random.default_rng(7).choice(5, size=211, p=[0.4, 0.3, 0.15, 0.1, 0.05])

Split = Callable[[np.random.Generator], list[Array]]

DRAWN: dict[str, Split] = {
    "iid": lambda rng: partition.iid(211, 13, rng),
    "dirichlet": lambda rng: partition.dirichlet(LABELS, 13, 0.4, rng),
    "dirichlet, nearly one client": lambda rng: partition.dirichlet(LABELS, 100, 1e-9, rng),
    "dirichlet by client": lambda rng: partition.dirichlet_by_client(LABELS, 13, 0.4, rng),
    "dirichlet by client, nearly one class": lambda rng: partition.dirichlet_by_client(LABELS, 100, 1e-9, rng),
    "shards": lambda rng: partition.shards(LABELS, 13, 3, rng),
    "power law": lambda rng: partition.power_law(211, 13, 1.5, rng),
    "power law, steep": lambda rng: partition.power_law(211, 100, 9.0, rng),
}
WHOLE: dict[str, Split] = DRAWN | {
    "one class": lambda _: partition.one_class(LABELS, 13),
    "natural": lambda _: partition.natural(LABELS.astype(str)),
}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", WHOLE)
def test_every_example_belongs_to_one_client_and_everybody_has_one(name: str) -> None:
    parts = WHOLE[name](rng())
    owners = np.zeros(211, int)
    for part in parts:
        assert part.ndim == 1 and part.dtype == np.int64 and len(part) and (np.diff(part) > 0).all()
        owners[part] += 1
    assert (owners == 1).all()


@pytest.mark.parametrize("name", DRAWN)
def test_a_split_is_a_function_of_its_generator(name: str) -> None:
    before = np.random.get_state()[1].tolist()  # type: ignore[index]
    one, again, other = ([part.tolist() for part in DRAWN[name](rng(seed))] for seed in (3, 3, 4))
    assert one == again != other
    assert before == np.random.get_state()[1].tolist()  # type: ignore[index]


def test_labels_may_be_a_list_a_tensor_or_names() -> None:
    names = np.array(["e", "d", "c", "b", "a"])[LABELS]
    want = partition.one_class(LABELS, 5)
    for labels in (LABELS.tolist(), torch.tensor(LABELS), torch.tensor(LABELS).double().requires_grad_()):
        assert [*map(list, partition.one_class(labels, 5))] == [*map(list, want)]
    assert [*map(list, partition.one_class(names, 5))] == [*map(list, want[::-1])]


def test_iid_clients_have_equally_many_of_like_mixtures() -> None:
    labels = np.arange(20_000) % 10
    parts = partition.iid(20_000, 7, rng())
    assert {*map(len, parts)} == {2857, 2858}
    for part in parts:
        counted = np.bincount(labels[part], minlength=10)
        expected = len(part) / 10
        # Chi square of 9 degrees: above 34 in one of 10,000.
        assert ((counted - expected) ** 2 / expected).sum() < 34


@pytest.mark.parametrize("alpha", [0.1, 1.0, 20.0])
def test_a_class_is_shared_out_with_the_variance_of_a_dirichlet_law(alpha: float) -> None:
    """Variance of K shares with mean 1/K is (1/K)(1 - 1/K)/(K alpha + 1): here of 600 classes."""
    labels = np.repeat(np.arange(600), 200)
    parts = partition.dirichlet(labels, 4, alpha, rng(), least=0)
    shares = np.stack([np.bincount(labels[part], minlength=600) / 200 for part in parts])
    assert shares.mean(1) == pytest.approx([0.25] * 4, abs=0.06)
    assert shares.var() == pytest.approx(0.25 * 0.75 / (4 * alpha + 1), rel=0.1)


def test_a_dirichlet_split_is_the_one_that_simulate_has_drawn_from_the_beginning() -> None:
    """Written down from the first state of it: published runs can be repeated. In the second somebody had none."""
    labels = np.arange(14) % 3
    drawn = [[part.tolist() for part in partition.dirichlet(labels, 5, a, rng(4))] for a in (0.3, 0.05)]
    assert drawn[0] == [[5, 8, 11], [1, 7, 10], [4], [6, 13], [0, 2, 3, 9, 12]]
    assert drawn[1] == [[2, 8, 11], [13], [1, 4, 7, 10], [5], [0, 3, 6, 9, 12]]


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize("alpha", [0.5, 4.0])
def test_clients_draw_their_mixtures_and_have_equally_many(alpha: float) -> None:
    """Squares of a mixture of C equal classes from Dirichlet(alpha / C, ...) sum to (alpha / C + 1)/(alpha + 1).

    Most of 300 clients get nearly their mixture, though classes are used up in the end.
    """
    labels = np.arange(30_000) % 10
    sums = []
    for seed in range(3):
        parts = partition.dirichlet_by_client(labels, 300, alpha, rng(seed))
        assert {*map(len, parts)} == {100}
        mixtures = np.stack([np.bincount(labels[part], minlength=10) / 100 for part in parts])
        assert mixtures.mean(0) == pytest.approx([0.1] * 10)
        sums.append((mixtures**2).sum(1).mean())
    expected = (alpha / 10 + 1) / (alpha + 1)
    assert 0.85 * expected < np.mean(sums) < 1.05 * expected


def test_shards_are_those_of_the_paper() -> None:
    """60,000 digits sorted by label, 200 shards of 300, two for each of 100 clients: most see two classes at most."""
    labels = rng().permutation(np.arange(60_000) % 10)
    parts = partition.shards(labels, 100, 2, rng(1))
    place = np.empty(60_000, int)
    place[np.argsort(labels, kind="stable")] = np.arange(60_000)
    for part in parts:
        assert len(part) == 600 and len({*labels[part]}) <= 2
        shards, counts = np.unique(place[part] // 300, return_counts=True)
        assert len(shards) == 2 and (counts == 300).all()
    pairs = {tuple(sorted({*(place[part] // 300).tolist()})) for part in parts}
    assert pairs != {(2 * i, 2 * i + 1) for i in range(100)}


def test_a_client_of_one_class_shares_it_with_those_whose_number_says_so() -> None:
    labels = np.repeat([4, 9, 11], [6, 7, 2])
    parts = partition.one_class(labels, 5)
    assert [(np.unique(labels[part]).tolist(), len(part)) for part in parts] == [
        ([4], 3),
        ([9], 4),
        ([11], 2),
        ([4], 3),
        ([9], 3),
    ]


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.6])
def test_sizes_fall_on_a_line_of_that_slope(exponent: float) -> None:
    parts = partition.power_law(500_000, 50, exponent, rng())
    sizes = [*map(len, parts)]
    slope, _ = np.polyfit(np.log(np.arange(1, 51)), np.log(sizes), 1)
    assert slope == pytest.approx(-exponent, abs=0.01) and sum(sizes) == 500_000
    assert sizes == sorted(sizes, reverse=True)
    assert abs(np.mean(parts[0]) - 250_000) < 10_000


def test_natural_clients_are_the_groups_in_their_order() -> None:
    parts = partition.natural(["writer 2", "writer 0", "writer 2", "writer 1", "writer 0"])
    assert [part.tolist() for part in parts] == [[1, 4], [3], [0, 2]]


@pytest.mark.parametrize("least", [0, 1, 4])
@pytest.mark.parametrize("split", ["dirichlet", "power_law"])
def test_nobody_has_fewer_than_is_asked_for(split: str, least: int) -> None:
    if split == "dirichlet":
        parts = partition.dirichlet(np.arange(90) % 3, 20, 0.02, rng(), least=least)
    else:
        parts = partition.power_law(90, 20, 4.0, rng(), least=least)
    assert min(map(len, parts)) == least and sorted(np.concatenate(parts).tolist()) == [*range(90)]


def split(name: str, *given: Any, **more: Any) -> Callable[[], Any]:
    return partial(getattr(partition, name), *given, **more)


REFUSED: list[tuple[Callable[[], Any], type[FedspecError], str]] = [
    (
        split("iid", 3, 4, rng()),
        PlanError,
        r"clients: got 4 for 3 examples, but each client needs at least 1: take at most 3 clients$",
    ),
    (split("iid", 3, 0, rng()), PlanError, "clients: got 0; .* >= 1"),
    (split("iid", 3.0, 2, rng()), PlanError, "n: got 3.0; .*whole number"),
    (split("iid", 3, 2, 7), PlanError, r"rng: got int; give numpy\.random\.default_rng\(seed\)"),
    (split("dirichlet", [0, 1], 2, 0.0, rng()), PlanError, "alpha: got 0.0; .* positive"),
    (split("dirichlet", [0, 1], 2, np.nan, rng()), PlanError, "alpha: got nan"),
    (split("dirichlet", [0, 1], 2, 1e308, rng()), PlanError, r"alpha: got 1e\+308; .* and finite"),
    (split("dirichlet_by_client", [0, 1], 2, -1.0, rng()), PlanError, "alpha: got -1.0"),
    (
        split("dirichlet", [0] * 9, 4, 1.0, rng(), least=3),
        PlanError,
        "4 for 9 examples, but each client needs at least 3: .*most 3",
    ),
    (split("dirichlet", [0], 1, 1.0, rng(), least=-1), PlanError, "least: got -1"),
    (split("shards", [0] * 5, 2, 3, rng()), PlanError, "shards_per_client: 2 clients of 3 are 6 shards, of 5 examples"),
    (split("shards", [0] * 5, 2, 0, rng()), PlanError, "shards_per_client: got 0"),
    (split("one_class", [0, 1, 2], 2), PlanError, "clients: got 2 for 3 classes.* take 3 clients or more"),
    (split("one_class", [3, 3, 3, 8], 4), PlanError, "clients: 2 of 4 would share class 8, which has 1 example; take"),
    (split("power_law", 9, 2, -1.0, rng()), PlanError, "exponent: got -1.0"),
    (split("power_law", 9, 2, np.inf, rng()), PlanError, "exponent: got inf"),
    (split("natural", []), ShapeError, r"groups: got shape \(0,\)"),
    (split("natural", [1.0, np.nan]), ShapeError, "groups: example 1 has no value"),
    (split("natural", ["a", None]), ShapeError, "groups: example 1 has no value"),
    (split("natural", ["a", 3, object()]), ShapeError, "groups: .*numbers or names"),
    (split("one_class", np.eye(3), 3), ShapeError, r"labels: got shape \(3, 3\); .*argmax"),
    (split("one_class", [[1], [2, 3]], 3), ShapeError, "labels: got list"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED)
def test_what_cannot_be_is_refused(call: Callable[[], Any], error: type[FedspecError], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_picture_has_as_much_of_a_colour_as_there_is_of_a_class(tmp_path: Path) -> None:
    import matplotlib as mpl
    from matplotlib import image

    labels = np.repeat(["cat", "dog"], [3000, 1000])
    file, asked = tmp_path / "split.png", mpl.rcParams["backend"]
    partition.picture([np.arange(0, 3400), np.arange(3400, 4000)], labels, file)
    seen = (image.imread(file)[..., :3] * 255).round().astype(int)
    cat, dog = (
        (np.abs(seen - [round(255 * part) for part in mpl.colormaps["tab10"].colors[k]]).max(-1) <= 1)  # type: ignore[attr-defined]
        for k in (0, 1)
    )
    assert cat.sum() / dog.sum() == pytest.approx(3, rel=0.05)
    # The second client has dogs alone; the first one's dogs lie upon its cats.
    middle = seen.shape[1] // 2
    assert np.nonzero(cat.any(0))[0].max() < middle + 60 and dog[:, middle + 60 :].sum() > 0.4 * dog.sum()
    beside = dog[:, : middle - 60].any(1).nonzero()[0]
    assert beside.min() < cat[:, : middle - 60].any(1).nonzero()[0].min()
    # A notebook goes on with the backend that it had.
    assert mpl.rcParams["backend"] == asked


def test_a_picture_that_cannot_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError, match="parts: client 1 has example 9, but there are 4 labels"):
        partition.picture([np.array([0]), np.array([9])], [0, 1, 0, 1], tmp_path / "split.png")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(FedspecError, match=r"picture needs matplotlib: pip install '\./impl\[simulate\]'"):
        partition.picture([np.array([0])], [0], tmp_path / "split.png")
