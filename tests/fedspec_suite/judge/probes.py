"""Cases that differ from one that a subject follows in one feature alone, from small to large: where it begins to deviate,
that feature decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from fedspec.arith import Array
from fedspec.catalogue import Program
from fedspec.contract import Arrival, Event, Gradient, Messages, Quadratics, Round
from fedspec.domains import COUNTS, DOMAINS
from fedspec_suite.measure.pools import EDGES, POOLS
from fedspec_suite.measure.scenario import Scenario, change_events, with_hyper
from fedspec_suite.measure.setting import Setting

MANY = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50)
LONG = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
MAGNITUDES = tuple(2.0**k for k in (-20, -17, -13, -10, -7, -3, 0, 3, 7, 10, 13, 17, 20))
SIZES = tuple(2.0**k for k in (2, 4, 6, 7, 8, 10, 12, 14, 15, 16, 20, 24, 26, 29))


Shows: TypeAlias = Callable[[Scenario, Scenario], bool]
"""Whether what is claimed gives other models in one case than in another."""


@dataclass(frozen=True)
class Ladder:
    """One feature, and how a case looks at each of its values.

    Attributes:
        name: the feature: a hyper-parameter, or what is counted.
        values: where it is looked at, from the least to the greatest.
        at: the case with that value.
        whole: whether what lies between two values can be looked at too.
    """

    name: str
    values: tuple[float, ...]
    at: Callable[[float], Scenario]
    whole: bool = False


def ladders(setting: Setting, bases: Sequence[Scenario], shows: Shows) -> Iterator[Ladder]:
    """The features of a case, each alone.

    Args:
        setting: what the subject is judged on.
        bases: cases that it follows, the best first; a hyper-parameter is looked at where it plays a part.
        shows: whether what is claimed differs between two cases.
    """
    for name in bases[0].case.hyper:
        if name not in setting.fixed and name in DOMAINS:
            found = [_number(setting, s, name) for s in bases]
            yield next((w for w in found if len(w.values) > 1 and shows(w.at(w.values[0]), w.at(w.values[-1]))), found[0])
    s = bases[0]
    yield from _sizes(setting, s)
    yield Ladder("numbers of about", MAGNITUDES, lambda v: _scaled(s, v))
    yield Ladder("all digits", (0, 1), lambda v: _scaled(s, 1.1) if v else s)


def otherwise(s: Scenario) -> Iterator[tuple[str, Scenario]]:
    """The same case with something else about its events that has no size: numbers of clients, steps that change."""
    if s.case.level == "server":
        yield from _relabelled(s)
    if s.case.level == "round" and len(s.events) > 1:
        steps = tuple(
            replace(e, steps=tuple(1 + (t + 2 * k + i) % 4 for i, t in enumerate(e.steps)))
            if isinstance(e, Round)
            else e
            for k, e in enumerate(s.events)
        )
        yield "where a client's steps change from round to round", replace(s, events=steps)


_LABELS: tuple[tuple[str, Callable[[int, int], int]], ...] = (
    ("where clients are not numbered from zero", lambda i, n: i + 1),
    ("where clients do not come in the order of their numbers", lambda i, n: n - 1 - i),
    ("where clients are not numbered one after another", lambda i, n: 7 * i + 3),
    ("where a client's number is 256 or more", lambda i, n: i + 300 * (i > 0)),
    ("where a client's number is 65536 or more", lambda i, n: i + 70000 * (i > 0)),
)


def _relabelled(s: Scenario) -> Iterator[tuple[str, Scenario]]:
    numbers = sorted({m.client for e in s.events if isinstance(e, Messages) for m in e.messages})
    for words, label in _LABELS:
        names = {i: label(i, max(numbers) + 1) for i in numbers}
        events = tuple(
            Messages(tuple(replace(m, client=names[m.client]) for m in e.messages)) if isinstance(e, Messages) else e
            for e in s.events
        )
        yield words, replace(s, events=events)


def smaller(s: Scenario) -> Iterator[Scenario]:
    """The case with less of everything, for where it is too large: two clients, one, one event."""
    for n in (2, 1):
        yield replace(s, events=tuple(_first(e, n) for e in s.events))
    yield replace(s, events=s.events[:1])
    yield replace(s, events=tuple(_first(e, 1) for e in s.events[:1]))


def _first(e: Event, n: int) -> Event:
    match e:
        case Messages(messages=sent):
            return Messages(sent[:n])
        case Round(participants=who):
            return replace(e, **{f: getattr(e, f)[:n] for f in ("participants", "steps", "strategies", "scales") if who})
    return e


def _number(setting: Setting, s: Scenario, name: str) -> Ladder:
    """A hyper-parameter: the usual values, those at the edges of its domain, and some further up."""
    rules = setting.algorithm.reading(setting.reading).requires
    pool = POOLS.get(name, (0.0, 0.0625, 1.0))
    most = max(pool)
    further = () if name in COUNTS or most < 1 or name.startswith("eta") else (2 * most, 4 * most)
    values = sorted({float(v) for v in (*pool, *EDGES.get(name, ()), *further)})
    if name == "eta_l" and s.case.problem is not None:
        values = [v for v in values if v <= 0.125]
    kind = int if name in COUNTS else float
    cases = {}
    for v in values:
        hyper: dict[str, Any] = {**s.case.hyper, name: kind(v)}
        if name == "tau" and "v0" in hyper and "v0" not in setting.fixed and not all(r.holds(hyper) for r in rules):
            hyper["v0"] = v * v
        allowed = DOMAINS[name].domain.holds(v) and (v or name not in setting.nonzero)
        if allowed and all(r.holds(hyper) for r in rules):
            cases[v] = with_hyper(s, **hyper)
    return Ladder(name, tuple(cases), cases.__getitem__)


def _sizes(setting: Setting, s: Scenario) -> Iterator[Ladder]:
    """What is counted: clients, steps, examples, coordinates, blocks, axes, rounds, delays."""
    first = s.events[0]
    match first:
        case Messages():
            if not setting.everyone:
                yield Ladder("clients", MANY, lambda v: _messages(s, int(v)), whole=True)
            yield Ladder("examples", _weights(setting), lambda v: _heavy(s, v))
            yield Ladder("steps", MANY[:11], lambda v: _stepping(setting, s, int(v)), whole=True)
        case Round():
            if "strategies" not in setting.takes and "scales" not in setting.takes:
                yield Ladder("clients", MANY, lambda v: _crowd(s, int(v)), whole=True)
            yield Ladder("examples", _weights(setting), lambda v: _heavy(s, v))
            yield Ladder("steps", MANY[:11], lambda v: _stepping(setting, s, int(v)), whole=True)
        case Arrival():
            yield Ladder("steps", MANY[:11], lambda v: _stepping(setting, s, int(v)), whole=True)
            yield Ladder("delay", (0, 1, 2, 3, 4, 6, 8, 12, 16, 20), lambda v: _delayed(s, int(v)), whole=True)
    if s.case.problem is None:
        if not setting.matrices and "cover" not in setting.options:
            yield Ladder("coordinates", LONG, lambda v: _long(s, int(v)), whole=True)
            if not setting.one_block:
                yield Ladder("blocks", (1, 2, 3, 4, 5, 6), lambda v: _shaped(s, [(2,)] * int(v)), whole=True)
            shapes: Mapping[float, tuple[int, ...]] = {1: (8,), 2: (2, 4), 3: (2, 2, 2)}
            yield Ladder("axes", (1, 2, 3), lambda v: _shaped(s, [shapes[v]]))


def _weights(setting: Setting) -> tuple[float, ...]:
    return SIZES if "weight" in setting.nonzero else (0.0, *SIZES)


def _scaled(s: Scenario, factor: float) -> Scenario:
    def times(a: Array) -> Array:
        return (a * factor).astype(a.dtype)

    out = change_events(s, times, times)
    problem = s.case.problem
    if problem is not None:
        out = replace(out, case=replace(out.case, problem=replace(problem, e=times(problem.e))))
    return out


def _messages(s: Scenario, n: int) -> Scenario:
    """Each round with so many messages: those of the case, and more like them."""

    def more(e: Event) -> Event:
        assert isinstance(e, Messages)
        sent = e.messages
        out = []
        for i in range(n):
            m, again = sent[i % len(sent)], i // len(sent)
            factor = 1 / (1 + again) * (-1) ** again
            blocks = {name: (a * factor).astype(a.dtype) for name, a in m.delta.items()}
            out.append(replace(m, client=i, delta=blocks, weight=m.weight + again))
        return Messages(tuple(out))

    N = s.case.population
    events = tuple(map(more, s.events))
    return replace(s, case=replace(s.case, population=N and max(N, n)), events=events)


def _crowd(s: Scenario, n: int) -> Scenario:
    """So many clients, all of them in every round."""
    problem = s.case.problem
    assert problem is not None
    rows = [i % len(problem.e) for i in range(n)]
    e = np.stack([problem.e[row] * (1 - i / (2 * n)) for i, row in enumerate(rows)]).astype(problem.e.dtype)
    posed = Quadratics(problem.H[rows], e, problem.examples[rows])

    def everybody(event: Event) -> Event:
        assert isinstance(event, Round)
        steps = tuple(event.steps[i % len(event.steps)] for i in range(n))
        return replace(event, participants=tuple(range(n)), steps=steps)

    return replace(s, case=replace(s.case, problem=posed), events=tuple(map(everybody, s.events)))


def _heavy(s: Scenario, size: float) -> Scenario:
    """One client of that many examples: the last, which others must not be alone with."""
    if s.case.problem is not None:
        examples = s.case.problem.examples.copy()
        examples[-1] = size
        return replace(s, case=replace(s.case, problem=replace(s.case.problem, examples=examples)))

    def event(e: Event) -> Event:
        assert isinstance(e, Messages)
        return Messages((*e.messages[:-1], replace(e.messages[-1], weight=int(size))))

    return replace(s, events=tuple(map(event, s.events)))


def _stepping(setting: Setting, s: Scenario, steps: int) -> Scenario:
    """The first client of every event takes so many steps."""

    def event(e: Event) -> Event:
        match e:
            case Messages(messages=(first, *rest)):
                norm = steps if setting.steps_only else first.a_norm
                return Messages((replace(first, steps=steps, a_norm=norm), *rest))
            case Round(steps=(_, *others)):
                return replace(e, steps=(steps, *others))
            case Arrival():
                return replace(e, steps=steps)
        return e

    return replace(s, events=tuple(map(event, s.events)))


def _delayed(s: Scenario, delay: int) -> Scenario:
    """As many arrivals as it takes for the last ones to be that late."""
    buffer = int(s.case.hyper.get("buffer", 1))
    few = tuple(e for e in s.events if isinstance(e, Arrival))
    count = max(len(few), (delay + 2) * buffer)
    events = [replace(few[k % len(few)], delay=0) for k in range(count)]
    late = [replace(e, delay=delay) if k // buffer >= delay else e for k, e in enumerate(events)]
    return replace(s, events=tuple(late))


def _long(s: Scenario, d: int) -> Scenario:
    """One block of so many coordinates, made of those that there are."""
    return _shaped(s, [(d,)])


def _shaped(s: Scenario, shapes: list[tuple[int, ...]]) -> Scenario:
    """Blocks of these shapes, filled with the numbers that there are."""
    names = [f"w{k}" for k in range(len(shapes))]

    def blocks(old: Mapping[str, Array]) -> dict[str, Array]:
        numbers = np.concatenate([a.ravel() for a in old.values()])
        total = sum(int(np.prod(shape)) for shape in shapes)
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        parts = np.split(np.resize(numbers, total), ends)
        return {n: part.reshape(shape) for n, part, shape in zip(names, parts, shapes, strict=True)}

    def event(e: Any) -> Any:
        if isinstance(e, Messages):
            sent = (
                replace(m, delta=blocks(m.delta), control=None if m.control is None else blocks(m.control))
                for m in e.messages
            )
            return Messages(tuple(sent))
        return replace(e, g=blocks(e.g)) if isinstance(e, Gradient) else replace(e, x=blocks(e.x))

    return replace(s, case=replace(s.case, x0=blocks(s.case.x0)), events=tuple(map(event, s.events)))


def longer(s: Scenario, events: int) -> Scenario:
    """The events of a case again and again."""
    return replace(s, events=(s.events * -(-events // len(s.events)))[:events])


def repeatable(setting: Setting) -> bool:
    """Whether a case may hold its events again: a late update must not reach back before the first version."""
    run = setting.algorithm.run
    return not (isinstance(run, Program) and run.event == "arrival" and setting.level == "trace")
