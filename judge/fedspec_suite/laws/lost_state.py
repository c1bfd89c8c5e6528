"""Diagnosis of a failed restore: run the specification with a part of its state corrupted at each restore.

Nothing here knows an algorithm. A session of the specification holds a state of named fields; each is set to its start,
to zero, to its value of one event before, or to the value that the event would give it a second time.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np

from fedspec.contract import Begin, Event, Session
from fedspec.errors import FedspecError
from fedspec.params import layers, shapes
from fedspec.reference import SUBJECT
from fedspec.rounding import TYPES, Grid, on_grid
from fedspec.scalars import like
from fedspec.schedules import read
from fedspec_suite.measure.bench import WORDS, Bench, Measured, Shown, reference, specified
from fedspec_suite.measure.formulas import ROWS, evaluated, smallest, terms_of
from fedspec_suite.measure.reaching import flat_model, reach
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.verdict import Deviates, Undecided

State: TypeAlias = dict[str, Any]
"""Contents of a session by name: the fields of its state, and values that a local solver keeps beside it."""

MEAN, SEEN = "mean_of_", "mean_seen_of_"
"""Prefixes of leaves: the mean of what is kept of each client, over all and over those seen so far."""

SLACK = 1e-8
"""Largest relative error of a value that is solved for."""

TRIED = 4
"""Number of formulas that are checked in both runs, the smallest first."""

ROUNDED = "nothing is lost, but numbers come back rounded"

RESTARTS = "the schedule starts again"

BESIDE = ("clock", "anchor", "k", "slow", "local_blocks", "case")


@dataclass(frozen=True)
class Seen:
    """States of which a restore may return parts.

    Attributes:
        first: the state at the start of the run, or of the round at level client.
        past: the states at the start of the run and after each event; the last is the one that was saved.
        again: the state after the last event is taken a second time.
        there: the participants of the last event, if it is a round.
        order: all participants so far, in the order in which they first took part.
        shown: the last answer.
        steps: number of local steps so far.
        rounds: number of rounds so far, at level client.
    """

    first: State
    past: tuple[State, ...]
    again: Callable[[], State]
    there: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    shown: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 0
    rounds: int = 0

    @property
    def start(self) -> State:
        """State at the start of the run."""
        return self.past[0]

    @property
    def now(self) -> State:
        """State that was saved."""
        return self.past[-1]

    @property
    def before(self) -> State:
        """State before the last event."""
        return self.past[-2]


Spoil: TypeAlias = Callable[[Seen], Mapping[str, Any]]
"""Function that returns the corrupted fields after a restore."""


def held(session: Any) -> State:
    """Return the state of a session of the specification, by name."""
    state = session.state
    parts = {f.name: getattr(state, f.name) for f in fields(state)} if is_dataclass(state) else {"x": state}
    return {**parts, **{n: getattr(session, n) for n in BESIDE if hasattr(session, n)}}


def put(session: Any, parts: State) -> None:
    """Overwrite the state of a session."""
    own = {n: v for n, v in parts.items() if n not in BESIDE}
    whole = is_dataclass(session.state)
    session.state = replace(session.state, **own) if whole else own["x"]
    for n in BESIDE:
        if n in parts:
            setattr(session, n, parts[n])


class Interrupted:
    """Session of the specification whose state is corrupted after some events, counted from 0."""

    def __init__(self, session: Any, spoil: Spoil, places: Container[int]) -> None:
        self.session, self.spoil, self.places = session, spoil, places
        self.steps = self.rounds = 0
        self.first = held(session)
        self.past = [self.first]
        self.last: Event | None = None
        self.order: dict[int, None] = {}
        self.shown: Mapping[str, Any] = {}

    def step(self, event: Event) -> Any:
        """Corrupt the state if a restore is due; then take the event."""
        if len(self.past) - 2 in self.places:
            there = getattr(self.last, "participants", ())
            seen = Seen(
                self.first, (*self.past,), self._again, there, (*self.order,), self.shown, self.steps, self.rounds
            )
            put(self.session, {**seen.now, **self.spoil(seen)})
            self.past[-1] = held(self.session)
        self.order |= dict.fromkeys(getattr(event, "participants", ()))
        self.steps += int(np.sum(getattr(event, "steps", 0)))
        # The first round of all begins by itself.
        self.rounds += isinstance(event, Begin) or self.last is None
        self.last = event
        self.shown = answer = self.session.step(event)
        self.past.append(held(self.session))
        if isinstance(event, Begin):
            self.first = self.past[-1]
        return answer

    def _again(self) -> State:
        assert self.last is not None
        now = held(self.session)
        self.session.step(self.last)
        twice = held(self.session)
        put(self.session, now)
        return twice


def spoils(s: Scenario) -> Iterator[tuple[str, set[str], Spoil]]:
    """Yield losses, the simplest first: the description, the fields reset to their start, the function."""
    session: Any = SUBJECT.start(s.case)
    start = held(session)
    shown, changed = dict[str, Any](), dict[str, None]()
    for event in s.events:
        shown |= session.step(event)
        changed |= {n: None for n, v in held(session).items() if not _equal(v, start[n])}
    # What no event changes can't be lost; only a schedule reads the clock.
    fixed = ("mu", "anchor", "case", *(() if s.case.schedules else ("clock",)))
    names = [n for n in start if n in changed and n not in fixed]
    yield ROUNDED, set(), lambda seen: {}
    for count in range(1, len(names) + 1):
        for some in combinations(names, count):
            yield _lost(some), {*some}, partial(_only, some, _initial)
    for n in names:
        stale, twice = f"{n} is that of one event before", f"{n} has taken the last event twice"
        if n == "clock":
            stale, twice = "the schedule doesn't count the last event", "the schedule counts the last event twice"
        yield stale, set(), partial(_only, [n], lambda seen: seen.before)
        yield twice, set(), partial(_only, [n], lambda seen: seen.again())
        if not isinstance(start[n], np.ndarray):
            continue
        yield f"{n} has the opposite sign", set(), partial(_only, [n], lambda seen: _each(seen.now, lambda a: -a))
        if start[n].any():
            yield f"{n} is zero", set(), partial(_only, [n], lambda seen: _each(seen.now, lambda a: 0 * a))
        for q in shown:
            if q not in ("x", n) and np.shape(shown[q]) == start[n].shape:
                yield f"{n} is the last {q}", set(), partial(_filled, n, "shown", q)
        if start[n].ndim == 2:
            rows = partial(_only, [n], lambda seen: _each(seen.now, lambda a: a[:1] + 0 * a))
            yield f"{n} of every client is that of the first", set(), rows
            for m in names:
                if np.shape(start[m]) == start[n].shape[1:]:
                    yield f"{n} of every client is {m}", set(), partial(_filled, n, "now", m)
    for n in names:
        if isinstance(start[n], tuple) and all(isinstance(v, np.ndarray) for v in (*start[n], *held(session)[n])):
            words = f"the older {n} are gone, and the newest stands in their place"
            yield words, set(), partial(_newest, n)
    clients = 0 if s.case.problem is None else len(s.case.problem.e)
    own = [n for n in names if clients > 1 and np.ndim(start[n]) and len(start[n]) == clients]
    for n in own:
        if all(isinstance(v, int) for v in start[n]):
            yield f"{n} of every client is the largest of all", set(), partial(_largest, n)
    if own:
        if len(own) > 1:
            words = f"{', '.join(own)} of every client are those of client 0"
            yield words, set(), partial(_by_client, own, lambda n, seen: [seen.now[n][0]] * len(seen.now[n]))
        words = f"{', '.join(own)} are restored to clients in the order in which these first took part"
        yield words, set(), partial(_by_client, own, _in_order)
        words = f"{', '.join(own)} are restored to clients in the order of their numbers as text, 10 before 2"
        yield words, set(), partial(_by_client, own, _as_text)
        yield f"{', '.join(own)} of clients that sat out: the initial value", set(), partial(_by_client, own, _absent)
    vectors = [n for n in names if isinstance(start[n], np.ndarray) and start[n].ndim]
    for kind, grid in TYPES.items():
        if grid.digits <= np.finfo(s.case.dtype).nmant:
            for some in [(n,) for n in vectors] + [tuple(vectors)] * (len(vectors) > 1):
                words = f"{', '.join(some)} went through {kind}"
                yield words, set(), partial(_only, some, partial(_short, grid))
    for last, which in ((False, "next"), (True, "last")) if s.case.schedules else ():
        words = f"the schedule multiplies the rate that it gave for the {which} round or step, and not the claim's"
        yield words, set(), partial(_compounded, last)
    yield from _counts(names, start, s.case.level)
    yield from _swapped(s, vectors)
    for n in names:
        if n != "clock":
            yield f"{n} is that of the first event", set(), partial(_only, [n], lambda seen: seen.past[:2][-1])
    yield "the last event is lost", set(), lambda seen: seen.before
    yield "the last event is taken twice", set(), lambda seen: seen.again()


def _counts(names: Sequence[str], start: State, level: str) -> Iterator[tuple[str, set[str], Spoil]]:
    """Losses of a whole number, or of each client's: another count has its place."""
    for n in names:
        kinds = {type(v) for v in (start[n] if isinstance(start[n], tuple) else (start[n],))}
        if kinds != {int}:
            continue
        counts: dict[str, Callable[[Seen], int]] = {
            "number of events so far": lambda seen: len(seen.past) - 1,
            **({"number of rounds so far": lambda seen: seen.rounds} if level == "client" else {}),
            "number of local steps so far": lambda seen: seen.steps,
            "number of clients seen so far": lambda seen: len(seen.order),
        }
        for more, around in {0: "the {}", 1: "one more than the {}", -1: "one less than the {}"}.items():
            for words, count in counts.items():
                said = f"{NAMES.get(n, n)} is {around.format(words)}"
                yield said, set(), partial(_counted, n, count, more)


NAMES = {"clock": "the schedule's count"}
"""Words for fields that no paper names."""


def _counted(n: str, count: Callable[[Seen], int], more: int, seen: Seen) -> State:
    now, number = seen.now[n], count(seen) + more
    return {n: (number,) * len(now) if isinstance(now, tuple) else number}


def _swapped(s: Scenario, vectors: Sequence[str]) -> Iterator[tuple[str, set[str], Spoil]]:
    """Losses of the blocks' order: vectors are saved in one order of blocks and read in the other."""
    of_blocks = shapes(s.case.x0)
    if len(of_blocks) < 2:
        return
    places = {name: np.arange(b.start, b.stop) for name, b in zip(of_blocks, layers(of_blocks), strict=True)}
    orders = {"of their names": sorted(places), "that is reversed": [*places][::-1]}
    for words, order in orders.items():
        saved = np.concatenate([places[name] for name in order])
        for some in [(n,) for n in vectors] + [tuple(vectors)] * (len(vectors) > 1):
            for rows in (saved, np.argsort(saved)):
                said = f"the blocks of {', '.join(some)} are in the order {words}"
                yield said, set(), partial(_only, some, partial(_reordered, rows))


def _reordered(places: Any, seen: Seen) -> State:
    """A state whose vectors have their numbers in other places."""
    return _each(seen.now, lambda a: a[..., places] if a.shape[-1] == len(places) else a)


def _only(names: Sequence[str], of: Callable[[Seen], State], seen: Seen) -> State:
    """Fields of these names of another state."""
    other = of(seen)
    return {n: other[n] for n in names}


def _initial(seen: Seen) -> State:
    """The first state of the run or round; a schedule that is lost starts again in a later round, too."""
    return {n: seen.start[n] if n == "clock" else v for n, v in seen.first.items()}


def _each(state: State, change: Callable[[Any], Any]) -> State:
    """A state with each array changed."""
    return {n: change(v) if isinstance(v, np.ndarray) and v.ndim else v for n, v in state.items()}


def _filled(n: str, among: Literal["shown", "now"], other: str, seen: Seen) -> State:
    """A field, or each of its rows, with the value of another quantity."""
    return {n: 0 * seen.now[n] + getattr(seen, among)[other]}


def _largest(n: str, seen: Seen) -> State:
    return {n: type(seen.now[n])([max(seen.now[n])] * len(seen.now[n]))}


def _newest(n: str, seen: Seen) -> State:
    return {n: seen.now[n][-1:] * len(seen.now[n])}


def _compounded(last: bool, seen: Seen) -> State:
    """A case whose scheduled rates are those of the last round, or of the next, for the schedule to multiply again."""
    case, clock = seen.now["case"], (seen.before if last else seen.now)["clock"]
    factors = {n: clock.factor(*how) for n, how in read(case.schedules).items()}
    rates = {n: case.hyper[n] * like(factor, case.hyper[n]) for n, factor in factors.items()}
    return {"case": replace(case, hyper={**case.hyper, **rates})}


def _like(own: Any, rows: Sequence[Any]) -> Any:
    """Rows of clients as a field has its own: in an array, or in a tuple."""
    return np.array(rows, dtype=own.dtype) if isinstance(own, np.ndarray) else tuple(rows)


def _by_client(names: Sequence[str], of: Callable[[str, Seen], list[Any]], seen: Seen) -> State:
    """Fields with a row for each client, with other rows."""
    return {n: _like(seen.now[n], of(n, seen)) for n in names}


def _in_order(n: str, seen: Seen) -> list[Any]:
    """Row k is that of the k-th client to take part."""
    return [*(seen.now[n][i] for i in seen.order), *seen.start[n][len(seen.order) :]]


def _as_text(n: str, seen: Seen) -> list[Any]:
    """The rows in the order in which text sorts the clients' numbers."""
    return [seen.now[n][i] for i in sorted(range(len(seen.now[n])), key=str)]


def _absent(n: str, seen: Seen) -> list[Any]:
    """Clients that sat out the last round have their first row again."""
    pairs = enumerate(zip(seen.first[n], seen.now[n], strict=True))
    return [first if seen.there and i not in seen.there else now for i, (first, now) in pairs]


def _lost(names: Sequence[str]) -> str:
    values, restarts = [n for n in names if n != "clock"], [RESTARTS] * ("clock" in names)
    if len(values) > 1:
        restarts.insert(0, f"{', '.join(values[:-1])} and {values[-1]} are at their initial values")
    elif values:
        restarts.insert(0, f"{values[0]} is at its initial value")
    return ", and ".join(restarts)


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(np.array_equal(a, b))
    except (TypeError, ValueError):
        return False


def _short(grid: Grid, seen: Seen) -> State:
    """A state whose numbers went through a narrower type."""
    return _each(seen.now, lambda a: on_grid(a.reshape(-1), grid).reshape(a.shape))


def named(bench: Bench, s: Scenario, once: Sequence[Shown], everywhere: Sequence[Shown]) -> str:
    """Describe the lost state that reproduces two resumed runs, or say that none does.

    Args:
        bench: the bench of the resumed subject.
        s: the case.
        once: its answers, resumed before the last event alone, in a new process.
        everywhere: its answers, resumed after every event.
    """
    count = len(s.events)
    fitting: list[tuple[str, Spoil]] = []
    least: list[set[str]] = []
    for words, lost, spoil in spoils(s):
        # A counter that the rule doesn't read may be lost, too.
        if not any(some <= lost for some in least) and _fits(bench, s, spoil, (count - 2,), once):
            fitting.append((words, spoil))
            least += [lost] if lost else []
    both = [words for words, spoil in fitting if _fits(bench, s, spoil, range(count - 1), everywhere)]
    if both == [RESTARTS]:
        return f"{RESTARTS} at a restore"
    if both:
        return f"after restore, {' or '.join(both[:2])}"
    begun = [k for k, e in enumerate(s.events[:-1]) if isinstance(e, Begin)]
    for words, lost, _ in spoils(s) if begun else ():
        if lost and _fits(bench, s, partial(_only, [*lost], lambda seen: seen.start), begun, everywhere):
            return f"after a restore that follows Begin, {words}"
    # Where nothing has to be lost for the one run, this run tells nothing of what is lost in the other.
    if fitting and fitting[0][0] != ROUNDED:
        return f"after a restore in a new process, {fitting[0][0]}"
    if said := _written(bench, s, once, everywhere):
        return said
    return f"none of {sum(1 for _ in spoils(s)) - 1} losses that fedspec tried explains it"


def _written(bench: Bench, s: Scenario, once: Sequence[Shown], everywhere: Sequence[Shown]) -> str:
    """A field as a formula of what the session knows, if one gives both runs; it is solved for from the last model."""
    caught: list[Seen] = []
    session: Any = SUBJECT.start(s.case)

    def catch(seen: Seen) -> State:
        caught.append(seen)
        return {}

    around = Interrupted(session, catch, (len(s.events) - 2,))
    for event in s.events:
        around.step(event)
    seen, x = caught[-1], np.asarray(once[-1]["x"], float)

    def taken(n: str, y: Any) -> Any:
        put(session, {**seen.now, n: y})
        return flat_model(session.step(s.events[-1]))

    for n, now in seen.now.items():
        if not (isinstance(now, np.ndarray) and now.shape == x.shape):
            continue
        try:
            y = reach(partial(taken, n), x, now, taken(n, now))
        except (ArithmeticError, FedspecError, KeyError, ValueError):
            continue
        rows = np.resize(np.arange(x.size), ROWS)
        terms = terms_of({name: v for name, v in _known(seen).items() if v.shape == x.shape}, rows)
        for answer in smallest(terms, y[rows], (SLACK * (np.abs(y) + 1))[rows])[:TRIED]:
            text = ast.unparse(answer.expression)
            spoil = partial(_as_written, n, text)
            last, every = (len(s.events) - 2,), range(len(s.events) - 1)
            if _fits(bench, s, spoil, last, once) and _fits(bench, s, spoil, every, everywhere):
                for name, words in ((MEAN, "the mean of "), (SEEN, "the mean over the clients seen so far of ")):
                    text = text.replace(name, words)
                return f"after restore, {n} is {text.replace(' ** ', '^')}"
    return ""


def _known(seen: Seen) -> dict[str, Any]:
    """Arrays that a wrong restore may read: the saved ones, those of one event before, and what was shown."""
    saved = {n: v for n, v in seen.now.items() if isinstance(v, np.ndarray)}
    before = {f"{n}_old": v for n, v in seen.before.items() if isinstance(v, np.ndarray)}
    shown = {n: np.asarray(v) for n, v in seen.shown.items() if n not in WORDS}
    rows = {n: v for n, v in saved.items() if v.ndim > 1 and seen.order}
    means = {f"{MEAN}{n}": v.sum(axis=0) / len(v) for n, v in rows.items()}
    of_seen = {f"{SEEN}{n}": v[[*seen.order]].sum(axis=0) / len(seen.order) for n, v in rows.items()}
    return {**shown, **before, **saved, **means, **of_seen}


def _as_written(n: str, text: str, seen: Seen) -> State:
    return {n: 0 * seen.now[n] + evaluated(text, _known(seen))}


def _fits(bench: Bench, s: Scenario, spoil: Spoil, places: Container[int], got: Sequence[Shown]) -> bool:
    bench = replace(bench, measured=Measured())

    def begun(lifted: Scenario) -> Session:
        return Interrupted(specified(lifted), spoil, places)

    try:
        want = reference(s, begun)
        for k, (one, two) in enumerate(zip(got, want, strict=True)):
            for name in (n for n in one if n in two and n not in WORDS):
                bench.compare(name, one[name], two[name], f"event {k + 1}")
    except (ArithmeticError, Deviates, FedspecError, KeyError, NameError, Undecided, TypeError, ValueError):
        # An event may not show what a formula reads.
        return False
    return True
