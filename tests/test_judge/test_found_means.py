"""What drives the robust means and compressors of docs/found.md hands over what it should, to rules of our own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fedspec.contract import ClientMessage
from fedspec_suite.api import check_subject

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/found"


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import from the folder, and forget it afterwards."""
    mine = {p.stem for folder in (FOLDER, ROOT / "examples/diloco") for p in folder.glob("*.py")}
    kept: dict[str, ModuleType] = {name: sys.modules.pop(name) for name in mine if name in sys.modules}
    path = list(sys.path)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield import_module
    for name in mine:
        sys.modules.pop(name, None)
    sys.path[:] = path
    sys.modules.update(kept)


def test_means_hand_over_changes_and_models_what_they_sum_to(at: Any) -> None:
    means = at("means")
    of_changes = means.offer("median", "yin-2018"), lambda h: lambda sent: np.median(means.rows(sent), 0)
    of_models = (
        means.offer_of_models("median", "yin-2018"),
        lambda h: lambda models, n: {b: np.median([m[b] for m in models], axis=0) for b in models[0]},
    )
    for subject in (means.Means("ours", "0", [of_changes]), means.Models("ours", "0", [of_models])):
        (found,) = check_subject(subject, law="follows-*")
        assert found.passed == found.required > 0


def test_compressors_hand_over_changes_and_draws(at: Any) -> None:
    compressing = at("compressing")

    def rounded(h: Any, d: int) -> Any:
        def sent(v: Any, u: Any) -> Any:
            R = np.sqrt((v * v).sum())
            a = h["levels"] * abs(v) / R if R else 0 * v
            return np.sign(v) * R / h["levels"] * (np.floor(a) + (u < a - np.floor(a)))

        return lambda changes, draws: [sent(changes[i], draws[i]) for i in changes]

    def largest(h: Any, d: int) -> Any:
        owing: dict[int, Any] = {}

        def sent(i: int, v: Any) -> Any:
            p = v + owing.get(i, 0)
            c = 0 * p
            first = np.argsort(-abs(p), kind="stable")[: int(h["kept"])]
            c[first] = p[first]
            owing[i] = p - c
            return c

        return lambda changes, draws: [sent(i, v) for i, v in changes.items()]

    offer = compressing.make_offer
    made = [(offer("fedpaq", "qsgd"), rounded), (offer("fedcams", "wang-2022"), largest)]
    for found in check_subject(compressing.Compressors("ours", "0", made), law="follows-*"):
        assert found.passed == found.required > 0


def test_shares_are_those_of_the_examples(at: Any) -> None:
    sent = [ClientMessage(i, {"x": np.zeros(1)}, n, 1, 1) for i, n in enumerate((1, 3))]
    assert at("means").shares(sent).tolist() == [0.25, 0.75]
