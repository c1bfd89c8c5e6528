"""Metrics of a run on its test set, beside loss and accuracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from fedspec.errors import ParameterError

Metric: TypeAlias = Callable[[Any, Any], Any]
"""A function of the model's output on all test examples and their targets, or their dict, which gives one number."""

Told: TypeAlias = Callable[[Any, Any], Any]
"""Called with the run and the round that is done."""


def measured(metrics: Mapping[str, Metric], output: Any, targets: Any) -> tuple[dict[str, float], Exception | None]:
    """The metrics, up to the first that gives none, and why it gives none."""
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
