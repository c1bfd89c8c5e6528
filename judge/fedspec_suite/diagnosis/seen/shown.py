"""What is wrong with an intermediate that is shown, where the model is right: read off its values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Begin
from fedspec_suite.diagnosis.comparing import Given
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.seen.fitting import CLOSE, Step, measures, named

ENOUGH = 4
"""On how many values that are not zero something must hold before it is said."""


_MADE: tuple[tuple[str, Callable[[Array, Array], Array]], ...] = (
    ("that of the event before", lambda want, before: before),
    ("the square of what it should be", lambda want, before: want**2),
    ("the root of what it should be", lambda want, before: np.sqrt(np.abs(want))),
    ("its magnitude alone", lambda want, before: np.abs(want)),
)
"""What a value may be made of by mistake: of the wanted one, and of that wanted in the event before."""


def shown(known: Known, given: Given, names: tuple[str, ...]) -> str:
    """A sentence on each intermediate that is not what it should be."""
    said = ((name, _what(known, given, name)) for name in names)
    return "; ".join(f"{name} is {words}" for name, words in said if words)


def _what(known: Known, given: Given, name: str) -> str:
    rows = list(_rows(known, given, name))
    dtype = known.samples[0].case.dtype
    if not rows or any(got.shape != want.shape for got, want, *_ in rows):
        return ""
    told = [row for row in rows if np.abs(row[1]).max(initial=0.0) > 0]
    if len(told) < ENOUGH:
        return ""
    if all(not got.any() for got, *_ in told):
        return "always zero"
    for words, made in _MADE:
        apart = [(got, made(want, before)) for got, want, before, _ in told if before is not None]
        if len(apart) >= ENOUGH and all(_near(got, other, dtype) for got, other in apart):
            return words
    factors = []
    for got, want, _, step in told:
        c = float(got @ want) / float(want @ want)
        if not _near(got, c * want, dtype):
            return ""
        factors.append((step, c))
    times = named(factors, dtype)
    return f"what it should be times {times}" if times else ""


def _near(got: Array, want: Array, dtype: str) -> bool:
    size = max(float(np.abs(want).max(initial=0.0)), 1e-300)
    return bool(np.isfinite(got).all() and np.abs(got - want).max(initial=0.0) <= CLOSE[dtype] * size)


def _rows(known: Known, given: Given, name: str) -> Iterator[tuple[Array, Array, Array | None, Step]]:
    """What is shown, what is wanted, what was wanted before, and the event, in turn."""
    for k, answers in given.items():
        s, wanted = known.samples[k], known.exact(known.claimed, k)
        before: Array | None = None
        number = 0
        for event, got, want in zip(s.events, answers, wanted or (), strict=True):
            if isinstance(event, Begin) or name not in got or name not in want:
                before = None
                continue
            value = np.array([float(x) for x in want[name]])
            yield got[name], value, before, measures(s, event, number)
            before, number = value, number + 1
