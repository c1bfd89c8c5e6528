"""Names of what a restore loses: the specification's own run, with a part of its state spoilt at each restore.

Nothing here knows an algorithm. A session of the specification holds a state of named fields; each is set to its start,
to zero, to its value of one event before, or to the value that the event would give it a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from fedspec.contract import Begin, Event, Session
from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT
from fedspec_suite.measure.bench import WORDS, Bench, Measured, Shown, reference, specified
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.verdict import Deviates, Undecided

State: TypeAlias = dict[str, Any]
"""What a session holds, by the names of the rule: the fields of its state, and what a local solver keeps beside it."""

BESIDE = ("anchor", "k")


@dataclass(frozen=True)
class Seen:
    """The states that a restore may mix up.

    Attributes:
        first: the state at the start of the run, or of the round at level client.
        before: the state before the last event.
        now: the state that was saved.
        again: the state after the last event is taken a second time.
    """

    first: State
    before: State
    now: State
    again: Callable[[], State]


Spoil: TypeAlias = Callable[[Seen], Mapping[str, Any]]
"""Fields that come back with another value."""


def held(session: Any) -> State:
    """What a session of the specification holds."""
    state = session.state
    parts = {f.name: getattr(state, f.name) for f in fields(state)} if is_dataclass(state) else {"x": state}
    return {**parts, **{n: getattr(session, n) for n in BESIDE if hasattr(session, n)}}


def put(session: Any, parts: State) -> None:
    """Let a session hold other parts."""
    own = {n: v for n, v in parts.items() if n not in BESIDE}
    session.state = replace(session.state, **own) if is_dataclass(session.state) else own["x"]
    vars(session).update({n: parts[n] for n in BESIDE if n in parts})


class Interrupted:
    """A session of the specification that a restore spoils after some events, counted from 0."""

    def __init__(self, session: Any, spoil: Spoil, places: Container[int]) -> None:
        self.session, self.spoil, self.places = session, spoil, places
        self.taken = 0
        self.first = self.before = held(session)
        self.last: Event | None = None

    def step(self, event: Event) -> Any:
        """Take the event, after the restore."""
        if self.taken - 1 in self.places:
            now = held(self.session)
            put(self.session, {**now, **self.spoil(Seen(self.first, self.before, now, self._again))})
        self.before, self.last = held(self.session), event
        self.taken += 1
        answer = self.session.step(event)
        if isinstance(event, Begin):
            self.first = held(self.session)
        return answer

    def _again(self) -> State:
        assert self.last is not None
        now = held(self.session)
        self.session.step(self.last)
        twice = held(self.session)
        put(self.session, now)
        return twice


def spoils(s: Scenario) -> Iterator[tuple[str, Spoil]]:
    """Names of losses with what they do, the simplest first."""
    session: Any = SUBJECT.start(s.case)
    start = held(session)
    session.step(s.events[0])
    # What no event changes can't be lost.
    names = [n for n, v in held(session).items() if n not in ("mu", "anchor") and not _equal(v, start[n])]
    yield "nothing is lost, but numbers come back rounded", lambda seen: {}
    for n in names:
        yield f"{n} is at its initial value", lambda seen, n=n: {n: seen.first[n]}
        if isinstance(start[n], np.ndarray) and start[n].any():
            yield f"{n} is zero", lambda seen, n=n: {n: 0 * seen.now[n]}
        yield f"{n} is that of one event before", lambda seen, n=n: {n: seen.before[n]}
        yield f"{n} has taken the last event twice", lambda seen, n=n: {n: seen.again()[n]}
        if isinstance(start[n], np.ndarray) and start[n].dtype == np.float64:
            yield f"{n} went through float32", lambda seen, n=n: {n: _rounded(seen.now[n])}
        if isinstance(start[n], np.ndarray) and start[n].ndim == 2:
            yield f"{n} of every client is that of the first", lambda seen, n=n: {n: seen.now[n][:1] + 0 * seen.now[n]}
    for count in range(2, len(names) + 1):
        for some in combinations(names, count):
            yield f"{_listed(some)} are at their initial values", lambda seen, some=some: {n: seen.first[n] for n in some}
    yield "the last event is lost", lambda seen: seen.before
    yield "the last event is taken twice", lambda seen: seen.again()


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(np.array_equal(a, b))
    except (TypeError, ValueError):
        return False


def _rounded(a: Any) -> Any:
    out = a.copy()
    out.reshape(-1)[:] = [type(v)(float(np.float32(float(v)))) for v in a.reshape(-1)]
    return out


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def named(bench: Bench, s: Scenario, once: Sequence[Shown], everywhere: Sequence[Shown]) -> str:
    """Name the losses that give two resumed runs; in words, too, that none does.

    Args:
        bench: whose subject was resumed.
        s: the case.
        once: its answers, resumed before the last event alone, in a new process.
        everywhere: its answers, resumed after every event.
    """
    count = len(s.events)
    fitting = [(words, spoil) for words, spoil in spoils(s) if _fits(bench, s, spoil, (count - 2,), once)]
    both = [words for words, spoil in fitting if _fits(bench, s, spoil, range(count - 1), everywhere)]
    if both:
        return f"after restore, {' or '.join(both[:2])}"
    if fitting:
        return f"after a restore in a new process, {fitting[0][0]}"
    return "no part of the state that is lost or stale alone explains it"


def _fits(bench: Bench, s: Scenario, spoil: Spoil, places: Container[int], got: Sequence[Shown]) -> bool:
    bench = replace(bench, measured=Measured())

    def begun(lifted: Scenario) -> Session:
        return Interrupted(specified(lifted), spoil, places)

    try:
        want = reference(s, begun)
        for k, (one, two) in enumerate(zip(got, want, strict=True)):
            for name in (n for n in one if n in two and n not in WORDS):
                bench.compare(name, one[name], two[name], f"event {k + 1}")
    except (ArithmeticError, Deviates, FedspecError, Undecided, TypeError, ValueError):
        return False
    return True
