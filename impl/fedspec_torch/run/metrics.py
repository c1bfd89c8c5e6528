"""User-defined metrics of a run on its test set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from fedspec.errors import ParameterError

Metric: TypeAlias = Callable[[Any, Any], Any]
"""Function of the model's output on all test examples and their targets (or the batch's dict), to one number."""

Told: TypeAlias = Callable[[Any, Any], Any]
"""Callback that is called with the run and the finished round."""


def measured(metrics: Mapping[str, Metric], output: Any, targets: Any) -> tuple[dict[str, float], Exception | None]:
    """Compute the metrics in order; return the values before the first metric that fails, and its error or None."""
    found: dict[str, float] = {}
    for name, metric in metrics.items():
        try:
            value = metric(output, targets)
        except Exception as error:
            error.add_note(f"metrics: while {name} was computed; the round is done, and the run can go on")
            return found, error
        try:
            found[name] = float(value)
        except (TypeError, ValueError, RuntimeError):
            return found, ParameterError(f"metrics: {name} gives {value!r}; give one number")
    return found, None
