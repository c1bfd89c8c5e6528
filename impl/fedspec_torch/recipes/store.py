"""Store of a recipe's runs: a file that is written after each run, so that an interrupt loses nothing."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy
import torch

import fedspec
from fedspec.parsing import parse_json
from fedspec_torch.recipes.measures import MEASURES, measured
from fedspec_torch.recipes.parser import RecipeError, digests
from fedspec_torch.recipes.recipe import Recipe
from fedspec_torch.recipes.runner import points
from fedspec_torch.recipes.tables import looked_at
from fedspec_torch.run.log import write_atomically

Record = Mapping[str, Any]


@dataclass
class Stored:
    """Stored runs of a recipe at one size.

    Attributes:
        recipe: the recipe that was run.
        size: the size of the runs, small or large.
        versions: versions of the packages that computed the runs.
        date: date of the last run.
        runs: the runs, as :func:`fedspec_torch.recipes.runner.played` returns them.
        grids: the points that the grid searches tried and their scores, by trial.
    """

    recipe: Recipe
    size: str
    versions: dict[str, str]
    date: str = ""
    runs: list[Record] = field(default_factory=list)
    grids: dict[str, list[tuple[dict[str, Any], float]]] = field(default_factory=dict)

    def has(self, trial: str, seed: int) -> bool:
        """True if the store contains that run."""
        return any(r["trial"] == trial and r["seed"] == seed for r in self.runs)

    def add(self, record: Record) -> None:
        """Add a run."""
        self.runs.append(record)
        self.date = datetime.now(UTC).date().isoformat()


def versions() -> dict[str, str]:
    """Return the versions of packages and the machine, on which numbers depend."""
    return {
        "fedspec": fedspec.__version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "torch": torch.__version__,
        "machine": platform.machine(),
    }


def opened(recipe: Recipe, size: str, file: Path) -> Stored:
    """Open the store of this recipe and these versions; return an empty one if the file has other versions.

    Raises:
        RecipeError: the file exists but can't be read.
    """
    fresh = Stored(recipe, size, versions())
    if not file.exists():
        return fresh
    found = _read(file)
    if found["versions"] != fresh.versions or found["size"] != size:
        return fresh
    there = stored(recipe, found)
    # What is tuned may be changed after the grids were tried, and one trial without the others.
    runs = [r for r in there.runs if r["trial"] in current(recipe, found, "digests")]
    grids = {name: some for name, some in there.grids.items() if name in current(recipe, found, "tried")}
    return replace(there, runs=runs, grids=grids)


def current(recipe: Recipe, found: Mapping[str, Any], what: str) -> set[str]:
    """Return the trials whose definition is unchanged since the file was written, for runs or for grids (``tried``)."""
    now = digests(recipe, found["size"], grids=what == "tried")
    return {name for name, digest in now.items() if found[what].get(name) == digest}


def stored(recipe: Recipe, found: Mapping[str, Any]) -> Stored:
    """Convert the content of a file to a record."""
    grids = {name: [(dict(point), score) for point, score in some] for name, some in found["grids"].items()}
    return Stored(recipe, found["size"], dict(found["versions"]), found["date"], list(found["runs"]), grids)


def kept(file: Path, recipe: Recipe) -> Stored:
    """Read a stored result, and check that it belongs to the recipe's present state.

    Raises:
        RecipeError: the file can't be read, or belongs to another version of the recipe.
    """
    found = _read(file)
    size, names = found["size"], {trial.name for trial in recipe.trials}
    there, measures = stored(recipe, found), {*looked_at(recipe)}
    same = (found["last"], found["target"]) == (recipe.last, recipe.target) and current(
        recipe, found, "digests"
    ) == names
    whole = all(there.has(name, seed) for name in names for seed in range(recipe.sizes[size].seeds))
    if not (same and whole and all(measures <= {*r.get("measures", MEASURES)} for r in there.runs)):
        raise RecipeError(
            f"{file}: stored for an earlier version of {recipe.id}; run fedspec reproduce {recipe.id}, and store its "
            "result again"
        )
    for name, tried in there.grids.items():
        missing = [point for point in points(recipe.trial(name)) if point not in [p for p, _ in tried]]
        if missing or name not in current(recipe, found, "tried"):
            raise RecipeError(
                f"{file}: the grid of {name} differs from the recipe's; run it with --retune and store the result"
            )
    return there


def _read(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = parse_json(file.read_text(encoding="utf-8"))
        if not {"digests", "tried", "last", "target", "size", "versions", "date", "runs", "grids"} <= found.keys():
            raise ValueError("entries are missing")
    except (AttributeError, OSError, ValueError) as error:
        raise RecipeError(
            f"{file}: not a readable file of a recipe's runs: {error}; remove it to begin anew"
        ) from error
    return found


def write(found: Stored, file: Path, *, brief: bool = False) -> None:
    """Write the file atomically.

    Args:
        found: the runs to write.
        file: the path of the file.
        brief: True: write each run's measures in place of its values by round.

    Raises:
        OSError: the file can't be written.
    """
    runs = [_brief(r, found.recipe) for r in found.runs] if brief else found.runs
    head = {
        "recipe": found.recipe.id,
        "size": found.size,
        "date": found.date,
        "versions": found.versions,
        "last": found.recipe.last,
        "target": found.recipe.target,
        "digests": digests(found.recipe, found.size),
        "tried": digests(found.recipe, found.size, grids=True),
    }
    lines = [json.dumps(head, indent=1)[1:-2] + ","]
    lines.append(' "grids": ' + json.dumps(found.grids) + ",")
    lines.append(' "runs": [\n  ' + ",\n  ".join(json.dumps(r) for r in runs) + "\n ]")
    write_atomically(file, "{" + "\n".join(lines) + "\n}\n")


def _brief(record: Record, recipe: Recipe) -> Record:
    """A run with its measures in place of its course."""
    known = ("trial", "algorithm", "seed", "hyper", "rounds", "diverged", "seconds")
    found = {name: measured(name, record, recipe.last, recipe.target) for name in looked_at(recipe)}
    return {**{name: record[name] for name in known}, "measures": found}
