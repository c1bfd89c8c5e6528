"""Plot of a recipe: one quantity (distance, accuracy or test loss) over rounds and floats sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fedspec_train.report import picture

AWAY = "distance to the minimiser"

FIRST = {"distance": AWAY, "accuracy": "accuracy", "test_loss": "test_loss"}
"""Panel by the record's column; a plot uses the first column that has values."""


BATCHES = {"quadratics": None, "heavy-tailed": 1}
"""Batch sizes of data sets that fix them: None for all examples, or 1."""


def draw(recipe: Any, records: Sequence[Mapping[str, Any]], size: str, file: Path) -> None:
    """Plot a recipe's runs to a file, one line for each trial.

    Args:
        recipe: a :class:`fedspec_torch.recipes.recipe.Recipe`.
        records: the stored runs of the recipe.
        size: the size of the runs, small or large.
        file: ``.png``, ``.svg`` or ``.pdf``.

    Raises:
        OSError: the file can't be written.
    """
    there = (name for name in FIRST if any(value is not None for r in records for value in r[name]))
    panel = FIRST[next(there, "test_loss")]
    how = replace(recipe.setting, **recipe.sizes[size].setting)
    task = {"data": how.data, "model": how.model, "clients": how.clients, "batch": BATCHES.get(how.data, how.batch)}
    if recipe.fall:
        at = ", ".join(map(str, recipe.fall.at(recipe.sizes[size].rounds)))
        task["fall"] = f"eta_l divided by {recipe.fall.factor:g} at rounds {at}"
    tuned = [trial.name for trial in recipe.trials if trial.grid]
    picture.draw([_run(r) for r in records], task, file, panels=(panel,), tuned=tuned, falling=(*picture.LOSSES, AWAY))


def _run(record: Mapping[str, Any]) -> dict[str, Any]:
    columns = ("round", "loss", "floats_sent", "test_loss", "accuracy", "distance")
    rounds = [dict(zip(columns, row, strict=True)) for row in zip(*(record[c] for c in columns), strict=True)]
    return {
        "algorithm": record["trial"],
        "hyper": record["hyper"],
        "asked": len(rounds) if not record["diverged"] else record["rounds"],
        "times": [],
        # A picture counts rounds from nought.
        "rounds": [r | {"round": r["round"] - 1, "metrics": {AWAY: r["distance"]}} for r in rounds],
    }
