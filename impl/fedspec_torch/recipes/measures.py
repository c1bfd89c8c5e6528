"""Measures of a run: a closed list, so that a recipe can claim nothing that is not measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

Record = Mapping[str, Any]
"""Stored run: its trial, seed, columns by round, and the weights of its surrogate objective."""


@dataclass(frozen=True)
class Measure:
    """Number that is computed from a run, with its name and direction.

    Attributes:
        words: description of the number.
        better: +1 if larger is better, -1 if smaller is better.
        worst: value for a run that diverged.
        of: function that returns the number, from the run's record, the number of last evaluations, and the target.
        form: format with which the number is printed.
    """

    words: str
    better: int
    worst: float
    of: Callable[[Record, int, float], float]
    form: str = ".3g"


def _last(column: str, of: Callable[[Sequence[float]], float]) -> Callable[[Record, int, float], float]:
    """The mean, or the largest, of the last evaluations."""

    def found(record: Record, last: int, target: float) -> float:
        values = [float(value) for value in record[column] if value is not None][-last:]
        return of(values) if values else math.nan

    return found


def _rounds(record: Record, last: int, target: float) -> float:
    for number, accuracy in zip(record["round"], record["accuracy"], strict=True):
        if accuracy is not None and accuracy >= target:
            return float(number)
    return math.inf


def _at_end(column: str) -> Callable[[Record, int, float], float]:
    return lambda record, last, target: float(record[column][-1])


def _weights(name: str) -> Callable[[Record, int, float], float]:
    return lambda record, last, target: float(record["weights"][name])


MEASURES: dict[str, Measure] = {
    "accuracy": Measure("test accuracy", 1, 0.0, _last("accuracy", fmean), ".3f"),
    "test-loss": Measure("test loss", -1, math.inf, _last("test_loss", fmean)),
    "distance": Measure("distance to the minimiser", -1, math.inf, _last("distance", fmean)),
    "farthest": Measure("farthest distance to the minimiser", -1, math.inf, _last("distance", max)),
    "floats": Measure("number of floats sent", -1, math.inf, _at_end("floats_sent"), ",.0f"),
    "rounds": Measure("number of rounds to the target accuracy", -1, math.inf, _rounds, ".0f"),
    "weight-bias": Measure("chi^2 of the shares p against the weights w", -1, math.inf, _weights("bias")),
    "slowdown": Measure("mean number of steps over tau_eff", -1, math.inf, _weights("slowdown")),
}


def measured(name: str, record: Record, last: int, target: float) -> float:
    """Return a measure of a run: the stored value, the worst one if it diverged, else from its rounds."""
    measure = MEASURES[name]
    if "measures" in record:
        return float(record["measures"][name])
    return measure.worst if record["diverged"] else measure.of(record, last, target)


def shown(name: str, values: Sequence[float]) -> str:
    """Format a measure's values over seeds: the median, and the range if they differ."""
    form, middle = MEASURES[name].form, median(values)
    if len({*values}) == 1:
        return format(middle, form)
    return f"{format(middle, form)} ({format(min(values), form)} to {format(max(values), form)})"
