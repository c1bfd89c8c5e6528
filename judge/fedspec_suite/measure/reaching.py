"""The value that a part of a rule must have had for an event to lead to a given model, found by secants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, cast

import numpy as np

from fedspec import population
from fedspec.arith import Array
from fedspec_suite.measure.call_graph import Spaces

WEIGH = cast(FunctionType, population.weigh)
"""The weighted mean of every rule."""


class OpenMean:
    """Replacement of the weighted mean that records its calls, and whose last call may give another vector.

    Attributes:
        calls: the weights and rows of each call since the list was cleared.
        now: result of the last call; None: the mean itself.
        last: the number of calls in an event; calls before the last one give the mean itself.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[Array, Array]] = []
        self.now: Array | None = None
        self.last = 0

    def in_place(self, names: Spaces) -> Callable[[Array, Array], Array]:
        """Return the function that stands in the place of ``population.weigh``."""

        def mean(w: Array, rows: Array) -> Array:
            self.calls.append((np.asarray(w, float), np.asarray(rows, float)))
            made: Array = w @ rows if self.now is None or len(self.calls) < self.last else self.now
            # A rule doesn't mix a mean of another type with its model.
            return made.astype(rows.dtype)

        return mean


REACHED = 8
"""Largest number of secant steps."""


def reach(taken: Callable[[Array], Array], x: Array, made: Array, plain: Array) -> Array:
    """Find what a rule must make for its event to lead to a model, by a secant a coordinate, or one for a number.

    Args:
        taken: the model for what the rule makes.
        x: the wanted model.
        made: the result of the claimed rule.
        plain: the model that this leads to.

    Raises:
        KeyError: nothing that the rule makes leads to the model.
    """
    lacking = x - plain if made.ndim else np.nanmean(x - plain)
    y = x if np.array_equal(made, plain, equal_nan=True) else made + lacking
    # One number can't undo the rounding of each coordinate.
    close = (4 if made.ndim else 64) * np.finfo(float).eps * np.nanmax(np.abs(x), initial=0)
    for _ in range(REACHED):
        here = taken(y)
        if ((np.abs(here - x) <= close) | (np.isnan(here) & np.isnan(x))).all():
            return y
        with np.errstate(all="ignore"):
            moved = here - plain
            # One number is found from all coordinates that it moves.
            step = (y - made) * ((x - here) / moved if made.ndim else (x - here) @ moved / (moved @ moved))
        made, plain, y = y, here, y + np.where(np.isfinite(step), step, 0)
    raise KeyError("the rule is not what makes the model")


def flat_model(shown: Mapping[str, Any]) -> Array:
    """The model of an answer as one vector."""
    x = shown["x"]
    return np.concatenate([np.asarray(a, float).reshape(-1) for a in (x.values() if isinstance(x, Mapping) else [x])])
