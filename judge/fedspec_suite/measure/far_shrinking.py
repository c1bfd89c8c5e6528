"""Shrink a large deviating case one feature at a time, so that the deviation needs the remaining features."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.catalogue import find
from fedspec.contract import Arrival, ClientMessage, Messages, Quadratics, Round
from fedspec.domains import COUNTS
from fedspec.errors import FedspecError
from fedspec_suite.measure.hyper_pools import POOLS
from fedspec_suite.measure.input_ranges import USUAL
from fedspec_suite.measure.scenario import Scenario, change_events, first_clients, saying, with_blocks, with_sent
from fedspec_suite.measure.verdict import Beyond, Deviates, Undecided

TRIALS = 40
"""Largest number of simpler cases to try."""


def simplest(
    s: Scenario, broken: Deviates, play: Callable[[Scenario], None], fixed: Collection[str] = ()
) -> tuple[Scenario, Deviates]:
    """Return the simplest deviating case found from one that deviates, and its deviation.

    Args:
        s: the case.
        broken: its deviation.
        play: function that plays a case and raises if it deviates.
        fixed: hyper-parameters whose values the claim fixes.
    """
    tried = 0
    candidates = simpler(s, broken.deviation.event, fixed)
    while tried < TRIALS and (candidate := next(candidates, None)) is not None:
        tried += 1
        try:
            play(candidate)
        except Deviates as again:
            s, broken = candidate, again
            candidates = simpler(s, broken.deviation.event, fixed)
        except (Beyond, Undecided, FedspecError):
            continue
    return s, broken


def simpler(s: Scenario, event: int, fixed: Collection[str] = ()) -> Iterator[Scenario]:
    """Yield cases with a feature less, the greatest reductions first; each differs from the case.

    Args:
        s: the case.
        event: the number of the event that deviates, from 1; 0 where it is not known.
        fixed: hyper-parameters that keep their values.
    """
    last = event or len(s.events)
    for first in (last - 1, last // 2, 0):
        if 0 <= first < last and last - first < len(s.events):
            yield replace(s, events=s.events[first:last])
    yield from _fewer(s)
    yield from _changed(s, lambda e: saying(e, {}))
    yield from _narrower(s)
    yield from _usual_numbers(s, fixed)
    yield from _plainer(s)


def _usual_numbers(s: Scenario, fixed: Collection[str]) -> Iterator[Scenario]:
    """Yield cases with one hyper-parameter, or all sample sizes, as in small cases."""
    rules = find(s.case.algorithm).reading(s.case.reading).requires
    for name, value in s.case.hyper.items():
        if name in POOLS and value not in POOLS[name] and name not in fixed:
            usual = POOLS[name][len(POOLS[name]) // 2]
            hyper = {**s.case.hyper, name: int(usual) if name in COUNTS else usual}
            if all(r.holds(hyper) for r in rules):
                yield replace(s, case=replace(s.case, hyper=hyper))
    few = _each_message(s, weight=lambda n: min(max(n, 1), 9))
    if s.case.problem is not None:
        problem = replace(s.case.problem, examples=np.clip(s.case.problem.examples, 1, 9))
        few = replace(few, case=replace(few.case, problem=problem))
    if not _same_examples(s, few):
        yield few


def _same_examples(s: Scenario, t: Scenario) -> bool:
    def examples(of: Scenario) -> list[float]:
        known = [] if of.case.problem is None else of.case.problem.examples.tolist()
        return known + [float(m.weight) for e in of.events if isinstance(e, Messages) for m in e.messages]

    return examples(s) == examples(t)


def _each_message(s: Scenario, **change: Callable[[Any], Any]) -> Scenario:
    def changed(m: ClientMessage) -> ClientMessage:
        return replace(m, **{n: f(getattr(m, n)) for n, f in change.items()})

    return with_sent(s, changed)


def _fewer(s: Scenario) -> Iterator[Scenario]:
    """Half the clients of every round; one local step each, or as many as small cases have."""

    def half(e: Any) -> Any:
        there = e.messages if isinstance(e, Messages) else getattr(e, "participants", ())
        return first_clients(e, -(-len(there) // 2))

    if "everyone" not in getattr(find(s.case.algorithm).run, "takes", ()):
        yield from _changed(s, half)
    yield from _changed(s, partial(_steps_at_most, most=1))
    yield from _changed(s, partial(_steps_at_most, most=int(USUAL["steps"][1])))


def _steps_at_most(e: Any, most: int) -> Any:
    """The event with fewer local steps; a norm that is their number goes with it."""
    match e:
        case Round(steps=steps):
            return replace(e, steps=tuple(min(k, most) for k in steps))
        case Arrival(steps=k):
            return replace(e, steps=min(k, most))
        case Messages(messages=messages):
            fewer = (replace(m, steps=min(m.steps, most), a_norm=min(m.a_norm, most)) for m in messages)
            return replace(e, messages=tuple(fewer)) if all(m.a_norm == m.steps for m in messages) else e
    return e


def _changed(s: Scenario, f: Callable[[Any], Any]) -> Iterator[Scenario]:
    out = [f(e) for e in s.events]
    if any(repr(a) != repr(b) for a, b in zip(out, s.events, strict=True)):
        yield replace(s, events=tuple(out))


def _narrower(s: Scenario) -> Iterator[Scenario]:
    """Half of the largest block, along its last axis, where no objective couples the coordinates."""
    name, widest = max(s.case.x0.items(), key=lambda item: item[1].shape[-1:])
    n = widest.shape[-1] if widest.ndim else 1
    if s.case.problem is None and n > 1 and not any(getattr(e, "tokens", ()) for e in s.events):
        for cut in dict.fromkeys((n // 2, n - n // 4, n - 1)):

            def keep(a: Array, cut: int = cut) -> Array:
                return a[..., :cut] if a.shape == widest.shape else a

            if [a.shape for a in s.case.x0.values()].count(widest.shape) == 1:
                yield _all_arrays(s, keep)
    if len(s.case.x0) > 1 and s.case.problem is None:
        yield _without(s, name)


def _without(s: Scenario, name: str) -> Scenario:
    """Remove a block from a scenario."""

    def fewer(blocks: Any) -> dict[str, Array]:
        return {n: a for n, a in blocks.items() if n != name}

    events = tuple(with_blocks(e, fewer) for e in s.events)
    return replace(s, case=replace(s.case, x0=fewer(s.case.x0)), events=events)


def _all_arrays(s: Scenario, f: Callable[[Array], Array]) -> Scenario:
    out = change_events(s, f, f)
    if s.case.problem is not None:
        problem = Quadratics(s.case.problem.H, f(s.case.problem.e), s.case.problem.examples)
        out = replace(out, case=replace(out.case, problem=problem))
    return out


def _plainer(s: Scenario) -> Iterator[Scenario]:
    """Blocks of two axes at most, numbers with few digits, numbers of the usual size."""
    for plain in (_two_axes, _eighths, _moderate):
        changed: list[bool] = []

        def noted(a: Array, plain: Callable[[Array], Array] = plain, changed: list[bool] = changed) -> Array:
            b = plain(a)
            changed.append(a.shape != b.shape or bool((a != b).any()))
            return b

        out = _all_arrays(s, noted)
        if any(changed):
            yield out


def _two_axes(a: Array) -> Array:
    return a.reshape(-1, a.shape[-1]) if a.ndim > 2 else a


def _moderate(a: Array) -> Array:
    return np.clip(_eighths(a), -8, 8)


def _eighths(a: Array) -> Array:
    out: Array = (np.round(a.astype(float) * 8) / 8).astype(a.dtype)
    return out
