"""Course of a deviation over the events: it vanishes after one event, keeps its size, or grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Begin
from fedspec_suite.measure.bench import HOPELESS, THRESHOLD, UNPLAYED, Bench
from fedspec_suite.measure.case_summary import call_of
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario, describe
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Course

ENOUGH = 4
"""Number of events, from the first deviating one, that are needed to name a course."""

LENGTH = 8
"""Least number of events to play."""

SAMPLES = 4
"""Largest number of samples to play."""

APART = 1.05
"""Quotient below which two sizes count as equal; a growing deviation grows by more in every event."""

ONCE = "the deviation is gone after one event"
STAYS = "the deviation keeps its size from event to event"
GROWS = "the deviation grows from event to event"


def course(bench: Bench, samples: Sequence[Scenario]) -> str:
    """Return a sentence on the course of the models' deviation, if it is the same in all samples; else empty."""
    told = {said for s in samples[:SAMPLES] if (said := _course(bench, longer(s))) is not None}
    return told.pop() if len(told) == 1 else ""


def longer(s: Scenario) -> Scenario:
    """Repeat the events of a sample, without Begin events, which would reset the model."""
    events = tuple(e for e in s.events if not isinstance(e, Begin))
    return replace(s, events=events * -(-LENGTH // max(1, len(events))))


def _course(bench: Bench, s: Scenario) -> str | None:
    """Course of the deviation in a sample; empty if it has no such course, None if too few events are decided."""
    try:
        sizes = _sizes(bench, s)
    except UNPLAYED:
        return None
    first = next((k for k, size in enumerate(sizes) if size), len(sizes))
    seen = np.array(sizes[first:])
    if len(seen) < ENOUGH:
        return None
    if not seen[1:].any():
        return ONCE
    if not seen.all():
        return ""
    if seen.max() <= APART * seen.min():
        return STAYS
    return GROWS if (seen[1:] > APART * seen[:-1]).all() else ""


def _sizes(bench: Bench, s: Scenario) -> list[float]:
    """Deviation of the model after each event up to the first undecided event; 0 if rounding may explain it."""
    return [float(off.max()) if (off > allowed).any() else 0.0 for off, allowed in _apart(bench, s, "x")]


def _apart(bench: Bench, s: Scenario, name: str) -> Iterator[tuple[Array, Array]]:
    """Yield the deviations of the numbers after each event, and the allowed ones; up to the first undecided event."""
    eps, tiny = float(np.finfo(s.case.dtype).eps), float(np.finfo(s.case.dtype).tiny)
    for got, want in zip(bench.play(s), bench.expect(s), strict=True):
        bounds, wanted = bounds_of(want[name]), np.array([float(x) for x in want[name]])
        if not (THRESHOLD * eps * bounds <= HOPELESS * max(float(np.abs(wanted).max()), eps)).all():
            return
        off = np.abs(got[name] - wanted)
        if not np.isfinite(off).all():
            return
        yield off, THRESHOLD * (eps * bounds + tiny)


def followed(bench: Bench, setting: Setting, samples: Sequence[Scenario], name: str = "x") -> Course | None:
    """Deviation of a quantity after each event of the first sample in which it deviates; None if no sample deviates.

    Args:
        bench: the offer.
        setting: the setting of the claim.
        samples: cases that are played until one shows the deviation.
        name: the quantity.
    """
    for s in map(longer, samples):
        try:
            found = [*_apart(bench, s, name)]
        except (*UNPLAYED, KeyError):
            continue
        if not any((off > allowed).any() for off, allowed in found):
            continue
        farthest = [int(np.argmax(off / allowed)) for off, allowed in found]
        return Course(
            quantity=name,
            call=call_of(setting, s, ""),
            where=tuple(f"{describe(s.events[k])} {k + 1}" for k in range(len(found))),
            off=tuple(float(off[j]) for (off, _), j in zip(found, farthest, strict=True)),
            allowed=tuple(float(allowed[j]) for (_, allowed), j in zip(found, farthest, strict=True)),
        )
    return None
