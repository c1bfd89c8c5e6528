"""Results of a recipe's checks, and a sentence that reports them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from fedspec_torch.recipes.measures import MEASURES, Record, measured
from fedspec_torch.recipes.recipe import Check, Recipe

RELATIONS = ("times", "above", "within", "falls")


@dataclass(frozen=True)
class Finding:
    """Result of one check.

    Attributes:
        check: the check of the recipe.
        holds: True if the median over the seeds meets the check.
        values: for each seed the ratio or the difference; for ``falls``, the decrease of the median from each trial to
            the next.
        words: the result as a clause.
    """

    check: Check
    holds: bool
    values: tuple[float, ...]
    words: str


def judge(recipe: Recipe, records: Sequence[Record]) -> list[Finding]:
    """Evaluate the checks one by one; trials are compared on the same seeds."""
    return [_found(recipe, check, records) for check in recipe.checks]


def verdict(findings: Sequence[Finding]) -> str:
    """Verdict on the claim: it appears here, in part, or not."""
    held = sum(f.holds for f in findings)
    if held == len(findings):
        return "Appears here"
    return f"Appears in part here, {held} of {len(findings)}" if held else "Does not appear here"


def sentence(findings: Sequence[Finding]) -> str:
    """Verdict on the claim, with the measured amounts."""
    return f"{verdict(findings)}: {'; '.join(f.words for f in findings)}."


def by_seed(recipe: Recipe, measure: str, trial: str, records: Sequence[Record]) -> dict[int, float]:
    """Return a measure of a trial by seed."""
    return {int(r["seed"]): measured(measure, r, recipe.last, recipe.target) for r in records if r["trial"] == trial}


def _found(recipe: Recipe, check: Check, records: Sequence[Record]) -> Finding:
    words, form = MEASURES[check.measure].words, MEASURES[check.measure].form
    if check.relation == "falls":
        rows = [by_seed(recipe, check.measure, name, records) for name in check.along]
        medians = [median([*row.values()]) for row in rows]
        falls = tuple(a - b for a, b in pairwise(medians))
        holds = all(fall > check.bound for fall in falls)
        numbers = ", ".join(f"{name} {format(m, form)}" for name, m in zip(check.along, medians, strict=True))
        return Finding(check, holds, falls, f"{words} {'falls' if holds else 'does not fall'} along {numbers}")
    ours = by_seed(recipe, check.measure, check.of, records)
    theirs = by_seed(recipe, check.measure, check.than, records)
    pairs = [(ours[seed], theirs[seed]) for seed in sorted(ours.keys() & theirs.keys())]
    if check.relation == "times":
        values = tuple(_ratio(a, b) for a, b in pairs)
        middle = median(values)
        holds = middle <= check.bound
        said = f"{words} of {check.of} is {_range(values, '.3g')} times that of {check.than}"
        return Finding(check, holds, values, f"{said}; asked for: at most {check.bound:g}")
    values = tuple(_difference(a, b) for a, b in pairs)
    middle, signed = median(values), f"+{form}"
    if check.relation == "above":
        holds = middle >= check.bound
        said = f"{words} of {check.of} less that of {check.than} is {_range(values, signed)}"
        return Finding(check, holds, values, f"{said}; asked for: at least {check.bound:g}")
    holds = abs(middle) <= check.bound
    said = f"{words} of {check.of} less that of {check.than} is {_range(values, signed)}"
    return Finding(check, holds, values, f"{said}; asked for: within {check.bound:g}")


def _ratio(a: float, b: float) -> float:
    if a == b:
        return 1.0
    return _plain(a / b) if b else math.inf


def _difference(a: float, b: float) -> float:
    return 0.0 if a == b else _plain(a - b)


def _plain(value: float) -> float:
    """Without the last digits: 0.6 - 0.5 is at least 0.1."""
    return float(f"{value:.12g}")


def _range(values: Sequence[float], form: str) -> str:
    middle = format(median(values), form)
    if len(values) == 1:
        return f"{middle} on one seed"
    return f"{middle} (median of {len(values)} seeds, {format(min(values), form)} to {format(max(values), form)})"
