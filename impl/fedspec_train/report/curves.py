"""The curves of a comparison: losses and accuracy against rounds, what is sent, or time, over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fedspec.errors import ParameterError

Run = Mapping[str, Any]
"""A run as the record of ``fedspec simulate`` has it."""

Numbers = Float[np.ndarray, " rounds"]


def _rounds(run: Run) -> list[float]:
    return [r["round"] + 1 for r in run["rounds"]]


def _floats(run: Run) -> list[float]:
    return [r["floats_sent"] for r in run["rounds"]]


def _seconds(run: Run) -> list[float]:
    """None of a run that was resumed from a file without them: nobody knows what its first rounds took."""
    return [*np.cumsum(run["times"])] if len(run["times"]) == len(run["rounds"]) else []


AGAINST: Mapping[str, tuple[str, Callable[[Run], list[float]]]] = {
    "rounds": ("rounds", _rounds),
    "floats": ("floats sent", _floats),
    "seconds": ("seconds", _seconds),
}
"""Horizontal axes: words, and numbers of each round."""

PANELS = {"loss": "training loss", "test_loss": "test loss", "accuracy": "test accuracy"}
"""Vertical axes, by name in a round."""


def chosen(option: str, text: str, known: Collection[str]) -> tuple[str, ...]:
    """Names that are separated by commas, each once, in the order given.

    Raises:
        ParameterError: one is not known, or there is none.
    """
    names = tuple(dict.fromkeys(name.strip().replace("-", "_") for name in text.split(",") if name.strip()))
    for name in names:
        if name not in known:
            raise ParameterError(f"{option}: got {name!r}; known: {', '.join(known)}")
    if not names:
        raise ParameterError(f"{option}: none given; known: {', '.join(known)}")
    return names


@dataclass(frozen=True)
class Curve:
    """An algorithm over its seeds: the median across and up, and a band, at each round that all of its runs know.

    Attributes:
        low: the lower edge of the band; None: of a single seed there is none.
        high: the upper one.
    """

    x: Numbers
    y: Numbers
    low: Numbers | None
    high: Numbers | None


def value(done: Mapping[str, Any], up: str) -> float | None:
    """Value of a round under a name of PANELS, or a metric; None: it has none."""
    told: float | None = done[up] if up in PANELS else done["metrics"].get(up)
    return told


def curve(runs: Sequence[Run], against: str, up: str, band: tuple[float, float]) -> Curve | None:
    """The curve of runs that differ in their seeds; None where they have no such numbers.

    Args:
        runs: of one algorithm.
        against: a name of AGAINST.
        up: a name of PANELS, or of a metric.
        band: between which quantiles it lies.
    """
    by_round = [
        {
            r["round"]: (x, y)
            for x, r in zip(AGAINST[against][1](run), run["rounds"], strict=False)
            if (y := value(r, up)) is not None and math.isfinite(y)
        }
        for run in runs
    ]
    by_round = [found for found in by_round if found]
    common = sorted(set.intersection(*map(set, by_round))) if by_round else []
    if not common:
        return None
    xs, ys = np.array([[found[r] for r in common] for found in by_round], float).transpose(2, 0, 1)
    low, high = np.quantile(ys, band, axis=0) if len(ys) > 1 else (None, None)
    return Curve(np.median(xs, 0), np.median(ys, 0), low, high)
