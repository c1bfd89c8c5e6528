"""Curves of a comparison: losses and accuracy over rounds, floats sent or time, summarised over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fedspec.errors import ParameterError

Run = Mapping[str, Any]
"""Run in the form of ``fedspec simulate``'s JSON record."""

Numbers = Float[np.ndarray, " rounds"]


def _rounds(run: Run) -> list[float]:
    return [r["round"] + 1 for r in run["rounds"]]


def _floats(run: Run) -> list[float]:
    return [r["floats_sent"] for r in run["rounds"]]


def _seconds(run: Run) -> list[float]:
    """Seconds by round; None for a run that was resumed from a file without them."""
    return [*np.cumsum(run["times"])] if len(run["times"]) == len(run["rounds"]) else []


AGAINST: Mapping[str, tuple[str, Callable[[Run], list[float]]]] = {
    "rounds": ("rounds", _rounds),
    "floats": ("floats sent", _floats),
    "seconds": ("seconds", _seconds),
}
"""Horizontal axes: label, and function from a run to its values by round."""

PANELS = {
    "loss": "training loss",
    "test_loss": "test loss",
    "accuracy": "test accuracy",
    "clients_loss": "clients' test loss",
    "clients_accuracy": "clients' accuracy",
}
"""Vertical axes: label, by the field of a round's record, or of its results by client."""

OF_CLIENTS = "clients_"
"""First letters of the panels of results by client."""


def chosen(option: str, text: str, known: Collection[str]) -> tuple[str, ...]:
    """Parse comma-separated names, each once, in the given order.

    Raises:
        ParameterError: a name is unknown, or there is no name.
    """
    names = tuple(dict.fromkeys(name.strip().replace("-", "_") for name in text.split(",") if name.strip()))
    for name in names:
        if name not in known:
            raise ParameterError(f"{option}: got {name!r}; known: {', '.join(known)}")
    if not names:
        raise ParameterError(f"{option}: no names given; known: {', '.join(known)}")
    return names


@dataclass(frozen=True)
class Curve:
    """Median over an algorithm's seeds, and a band, at each round that all of its runs have evaluated.

    Attributes:
        low: the lower edge of the band; None: a single seed has no band.
        high: the upper edge of the band, likewise.
    """

    x: Numbers
    y: Numbers
    low: Numbers | None
    high: Numbers | None


def value(done: Mapping[str, Any], up: str, statistic: str = "mean") -> float | None:
    """Return a round's value under a name of PANELS, or of a metric; None if it has none."""
    if up in PANELS and up.startswith(OF_CLIENTS):
        by_client = (done.get("clients") or {}).get(up.removeprefix(OF_CLIENTS))
        return by_client[statistic] if by_client else None
    told: float | None = done[up] if up in PANELS else done["metrics"].get(up)
    return told


def curve(runs: Sequence[Run], against: str, up: str, band: tuple[float, float]) -> Curve | None:
    """Compute the curve of runs that differ only in their seeds; None if they have no such values.

    In a panel of results by client the curve is of the clients' mean, and the band reaches from it to the worst tenth.

    Args:
        runs: the runs of one algorithm.
        against: the quantity on the horizontal axis, a name in AGAINST.
        up: the quantity on the vertical axis, a name in PANELS or of a metric.
        band: the two quantiles that bound the band.
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
    if up in PANELS and up.startswith(OF_CLIENTS):
        worst = [{r["round"]: value(r, up, "worst_tenth") for r in run["rounds"]} for run in runs]
        ends = np.array([np.median(ys, 0), np.median([[found[r] for r in common] for found in worst], 0)])
        return Curve(np.median(xs, 0), ends[0], ends.min(0), ends.max(0))
    low, high = np.quantile(ys, band, axis=0) if len(ys) > 1 else (None, None)
    return Curve(np.median(xs, 0), np.median(ys, 0), low, high)
