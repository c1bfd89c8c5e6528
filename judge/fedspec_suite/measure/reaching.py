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

TOGETHER = 24
"""Largest number of coordinates that are sought together."""

FAR = 2.0**-3
"""Change of a coordinate by which the model's change is measured."""


class Undetermined(KeyError):
    """Several results of a rule lead to the same model, or no more are wanted."""


def slope_of(taken: Callable[[Array], Array], made: Array, plain: Array) -> Array:
    """Return the matrix of the changes of the model by each coordinate of what a rule makes.

    Args:
        taken: the model for what the rule makes.
        made: the result of the claimed rule.
        plain: the model that this leads to.

    Raises:
        KeyError: there are too many coordinates.
    """
    if not 0 < made.size <= TOGETHER or made.size != plain.size:
        raise KeyError("too many coordinates for a matrix")
    return np.stack([(taken(made + FAR * e) - plain) / FAR for e in np.eye(made.size)], axis=1)


def _solved(slope: Array, lacking: Array) -> Array:
    """The change of what a rule makes by which the model changes as wanted.

    Raises:
        KeyError: no change leads to the model.
        Undetermined: several changes do.
    """
    if not (np.isfinite(slope).all() and np.isfinite(lacking).all()):
        raise KeyError("no finite model")
    step, _, rank, _ = np.linalg.lstsq(slope, lacking, rcond=1e-9)
    if np.abs(slope @ step - lacking).max() > 1e-6 * np.abs(lacking).max():
        raise KeyError("the rule is not what makes the model")
    if rank < len(slope):
        raise Undetermined("the model doesn't tell what the rule makes")
    return np.asarray(step)


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


def reach_together(taken: Callable[[Array], Array], x: Array, y: Array, slope: Array) -> Array:
    """Find what a rule must make if the event mixes its coordinates.

    Args:
        taken: the model for what the rule makes.
        x: the wanted model.
        y: the result of the claimed rule.
        slope: the matrix of :func:`slope_of`.

    Raises:
        KeyError: nothing that the rule makes leads to the model.
        Undetermined: several results do.
    """
    close = 4 * np.finfo(float).eps * np.nanmax(np.abs(x), initial=0)
    for _ in range(2 * REACHED):
        here = taken(y)
        if (np.abs(here - x) <= close).all():
            return y
        y = y + _solved(slope, x - here)
    raise KeyError("the rule is not what makes the model")


def flat_model(shown: Mapping[str, Any]) -> Array:
    """The model of an answer as one vector."""
    x = shown["x"]
    return np.concatenate([np.asarray(a, float).reshape(-1) for a in (x.values() if isinstance(x, Mapping) else [x])])
