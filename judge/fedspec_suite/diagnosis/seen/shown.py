"""Shown intermediates read off their values: those that are wrong, and those wrong beside a model that deviates."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Begin
from fedspec_suite.diagnosis.comparing import Evidence, Given
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.seen.digits import compared
from fedspec_suite.diagnosis.seen.fitting import CLOSE, measures, named
from fedspec_suite.measure.bench import WORDS

ENOUGH = 4
"""Number of nonzero values for which a relation must hold before it is named."""


_MADE: tuple[tuple[str, Callable[[Array, Array], Array]], ...] = (
    ("that of the event before", lambda want, before: before),
    ("the square of what it should be", lambda want, before: want**2),
    ("the root of what it should be", lambda want, before: np.sqrt(np.abs(want))),
    ("its magnitude alone", lambda want, before: np.abs(want)),
)
"""Mistakes in a value: made of the wanted one, and of that wanted in the event before."""


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


def _rows(known: Known, given: Given, name: str) -> Iterator[tuple[Array, Array, Array | None, dict[str, float]]]:
    """Yield the shown value, the wanted one, the one wanted before, and the event, in turn."""
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


def along(known: Known, told: Evidence) -> str:
    """Name the intermediates that are right in every event in which x first deviates, and those wrong in every one."""
    right: list[set[str]] = []
    wrong: list[set[str]] = []
    for k, event, answers in told.heads:
        wanted = known.exact(known.claimed, k)
        if not wanted:
            return ""
        got, want = answers[event], wanted[event]
        names = [n for n in got if n in want and n not in {"x", *WORDS} and got[n].shape == want[n].shape]
        dtype = known.samples[k].case.dtype
        found = {n: compared(k, event, got[n], want[n], dtype) for n in names}
        right.append({n for n, each in found.items() if each.equal.all()})
        wrong.append({n for n, each in found.items() if each.apart.any()})
    kept, lost = (sorted(set.intersection(*sets)) if sets else [] for sets in (right, wrong))
    said = [f"{_listed(kept)} {_is(kept)} as claimed"] if kept else []
    said += [f"{_listed(lost)} {_is(lost)} not{'' if kept else ' as claimed'}"] if lost else []
    return f"where x first deviates, {' and '.join(said)}" if said else ""


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
