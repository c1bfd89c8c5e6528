"""One function for another: what the numbers of a cover's set, or of a coordinate's sets, come down to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from fedspec.arith import Array, largest, smallest
from fedspec_suite.judge.defects.defect import Defect, behind
from fedspec_suite.judge.edits import functions
from fedspec_suite.measure.setting import Setting


def _mean(x: Array) -> Array:
    mean: Array = x.sum(axis=-1) / x.shape[-1]
    return mean


EXTREMES: dict[str, tuple[Any, Callable[[Array], Array]]] = {
    "a set takes the mean of its coordinates' values, not the largest": (largest, _mean),
    "a set takes the smallest of its coordinates' values, not the largest": (largest, smallest),
    "a coordinate takes the largest of its sets' values, not the smallest": (smallest, largest),
    "a coordinate takes the mean of its sets' values, not the smallest": (smallest, _mean),
}
"""What is taken for the largest or the smallest of a cover's numbers."""


def _other(function: Callable[[Array], Array]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda there: function


def of(setting: Setting) -> Iterator[Defect]:
    """What the functions that an algorithm runs may take for one another."""
    if "cover" in setting.algorithm.options or any(
        "cover" in inspect.signature(inspect.unwrap(f)).parameters for f in functions(setting.algorithm, setting.level)
    ):
        for words, (function, other) in EXTREMES.items():
            yield Defect(words=words, tail="nu", session=behind({function: _other(other)}))
