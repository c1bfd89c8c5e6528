"""Tables of a recipe's results, and texts of its grids and checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fedspec_torch.recipes.checks import by_seed
from fedspec_torch.recipes.measures import MEASURES, Record, shown
from fedspec_torch.recipes.recipe import Check, Recipe, Trial


def looked_at(recipe: Recipe) -> list[str]:
    """Return the measures to print: the measures of the checks, and the number of floats sent."""
    return list(dict.fromkeys([*(c.measure for c in recipe.checks), "floats"]))


def rows(recipe: Recipe, records: Sequence[Record]) -> Iterator[list[str]]:
    """Yield for each trial its name, measures and values."""
    for trial in recipe.trials:
        mine = [r for r in records if r["trial"] == trial.name]
        if not mine:
            continue
        lost = sum(bool(r["diverged"]) for r in mine)
        found = [shown(name, [*by_seed(recipe, name, trial.name, records).values()]) for name in looked_at(recipe)]
        yield [trial.name, *found, values(trial) + (f"; diverged on {lost} of {len(mine)} seeds" if lost else "")]


def head(recipe: Recipe) -> list[str]:
    """Return the column names of ``rows``."""
    return ["trial", *(MEASURES[name].words for name in looked_at(recipe)), "values"]


def values(trial: Trial) -> str:
    """Format a trial's values; mark tuned values at an end of their grid."""
    fixed = [f"{name}={_plain(value)}" for name, value in trial.set.items()]
    sought = [f"{name}={_plain(value)}{_edge(trial, name)}" for name, value in trial.tuned.items()]
    return " ".join([trial.algorithm, *([trial.reading] if trial.reading else []), *fixed, *sought])


def grid(trial: Trial) -> str:
    """Format the tried values of each tuned hyper-parameter."""
    return ", ".join(f"{name} in {{{', '.join(map(_plain, tried))}}}" for name, tried in trial.grid.items())


def asked(check: Check) -> str:
    """Format the condition of a check."""
    words = MEASURES[check.measure].words
    if check.relation == "falls":
        return f"Asked for: {words} falls along {', '.join(check.along)}"
    relation = {
        "times": f"at most {check.bound:g} times that of {check.than}",
        "above": f"at least {check.bound:g} above that of {check.than}",
        "within": f"within {check.bound:g} of that of {check.than}",
    }[check.relation]
    return f"Asked for: {words} of {check.of} {relation}"


def _edge(trial: Trial, name: str) -> str:
    tried = trial.grid[name]
    numbers = [v for v in tried if isinstance(v, int | float)]
    return " (an end of its grid)" if numbers and trial.tuned[name] in (min(numbers), max(numbers)) else ""


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def tuned(trial: Trial, won: Mapping[str, Any]) -> str:
    """Format the best point of a grid, and the recipe's values if they differ."""
    found = ", ".join(f"{name}={_plain(value)}" for name, value in won.items())
    same = all(trial.tuned[name] == value for name, value in won.items())
    return f"{trial.name}: {found}" + (
        "" if same else f"; the recipe has {', '.join(f'{n}={_plain(v)}' for n, v in trial.tuned.items())}"
    )
