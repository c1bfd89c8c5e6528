"""Cases that differ in a single feature, from small to large, from a case that a subject follows.

If the subject begins to deviate somewhere in such a series, the feature decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from fedspec.catalogue import CATALOGUE, Program
from fedspec.contract import Arrival, Exchange, Messages, Round
from fedspec.domains import COUNTS, DOMAINS
from fedspec_suite.diagnosis.cases.features import local_steps
from fedspec_suite.diagnosis.cases.resized import crowd, delayed, heavy, lasting, messages, scaled, shaped, stepping
from fedspec_suite.measure.hyper_pools import EDGES, POOLS
from fedspec_suite.measure.scenario import Scenario, arranged, mapped, with_hyper, with_sent
from fedspec_suite.measure.setting import Setting

MANY = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50)
LONG = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
MAGNITUDES = tuple(2.0**k for k in (-20, -17, -13, -10, -7, -3, 0, 3, 7, 10, 13, 17, 20))
SIZES = tuple(2.0**k for k in (2, 4, 6, 7, 8, 10, 12, 14, 15, 16, 20, 24, 26, 29))
FAR = 64
"""Factor by which a hyper-parameter is made larger and smaller to distinguish two rules."""


Shows: TypeAlias = Callable[[Scenario, Scenario], bool]
"""Predicate on two cases: True if the claimed rule gives different models in them."""


@dataclass(frozen=True)
class Ladder:
    """A feature, the values at which it is tried, and the case for each value.

    Attributes:
        name: the feature: a hyper-parameter or a count.
        values: the values to try, from the least to the greatest.
        at: the function that gives the case with a value.
        whole: True if whole numbers between two values can be tried too.
    """

    name: str
    values: tuple[float, ...]
    at: Callable[[float], Scenario]
    whole: bool = False


def ladders(setting: Setting, bases: Sequence[Scenario], shows: Shows) -> Iterator[Ladder]:
    """Yield a ladder for each feature of a case: the feature's values to try, with all else unchanged.

    Args:
        setting: the setting of the claim.
        bases: cases that it follows, the best first; a hyper-parameter is looked at where it plays a part.
        shows: predicate: True if the claimed rule gives different answers in two cases.
    """
    for name in bases[0].case.hyper:
        if name not in setting.fixed and name in DOMAINS:
            found = [_number(setting, s, name) for s in bases]
            yield next(
                (w for w in found if len(w.values) > 1 and shows(w.at(w.values[0]), w.at(w.values[-1]))), found[0]
            )
    s = bases[0]
    yield from _sizes(setting, s)
    yield Ladder("numbers of about", MAGNITUDES, lambda v: scaled(s, v))
    yield Ladder("all digits", (0, 1), lambda v: scaled(s, 1.1) if v else s)


def otherwise(s: Scenario) -> Iterator[tuple[str, Scenario]]:
    """Yield the words for a feature without a size, such as the clients' numbers, and the case with it changed."""
    if s.case.level == "server":
        yield from _relabelled(s)
    if s.case.level == "client":
        yield from _without_input(s)
    if s.case.level == "round" and "repeats" in CATALOGUE[s.case.algorithm].takes:
        yield "where a client is drawn twice in a round", mapped(s, Round, _again)
    if s.case.level == "round":
        back = mapped(s, Round, lambda e: arranged(e, range(len(e.steps))[::-1]))
        yield "where clients do not come in the order of their numbers", back
    if s.case.level == "round" and len(s.events) > 1:
        steps = tuple(
            replace(e, steps=tuple(1 + (t + 2 * k + i) % 4 for i, t in enumerate(e.steps)))
            if isinstance(e, Round)
            else e
            for k, e in enumerate(s.events)
        )
        yield "where a client's steps change from round to round", replace(s, events=steps)


def _without_input(s: Scenario) -> Iterator[tuple[str, Scenario]]:
    """A zero gradient where rounds begin, or in the first step behind those."""
    first, later = local_steps(s)
    for words, which in (
        ("where the first gradient of a round is zero", first),
        ("where a later gradient of a round is zero", later[:1]),
    ):
        if which:
            yield words, replace(s, events=tuple(_zero(e) if k in which else e for k, e in enumerate(s.events)))


def _zero(e: Any) -> Any:
    return replace(e, g={n: 0 * a for n, a in e.g.items()})


def _again(e: Round) -> Round:
    """A round in which the first participant is drawn once more, as it was the first time."""
    return arranged(e, (*range(len(e.steps)), 0))


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
        yield words, with_sent(s, lambda m, names=names: replace(m, client=names[m.client]))  # type: ignore[misc]


def _number(setting: Setting, s: Scenario, name: str) -> Ladder:
    """A hyper-parameter: the usual values, 0 and others at the edges of its domain, and some further up."""
    pool = POOLS.get(name, (0.0, 0.0625, 1.0))
    most = max(pool)
    further = () if name in COUNTS or most < 1 or name.startswith("eta") else (2 * most, 4 * most)
    return valued(setting, s, name, {0.0, *pool, *EDGES.get(name, ()), *further})


def valued(setting: Setting, s: Scenario, name: str, some: Iterable[float]) -> Ladder:
    """Return the ladder of a hyper-parameter over those of the given values that are allowed."""
    rules = setting.algorithm.reading(setting.reading).requires
    values = sorted({float(v) for v in some})
    if name == "eta_l" and s.case.problem is not None:
        values = [v for v in values if v <= 0.125]
    kind = int if name in COUNTS else float
    cases = {}
    for v in values:
        hyper: dict[str, Any] = setting.tied({**s.case.hyper, name: kind(v)})
        if name == "tau" and "v0" in hyper and "v0" not in setting.fixed and not all(r.holds(hyper) for r in rules):
            hyper["v0"] = v * v
        allowed = DOMAINS[name].domain.holds(v) and (v or name not in setting.nonzero)
        if allowed and all(r.holds(hyper) for r in rules):
            cases[v] = with_hyper(s, **hyper)
    return Ladder(name, tuple(cases), cases.__getitem__)


def far(name: str, value: float) -> tuple[float, ...]:
    """Return two values far from a hyper-parameter's value, one larger and one smaller; none for counts and rates."""
    return () if name in COUNTS or name.startswith("eta") else (FAR * value, value / FAR)


def at_edges(setting: Setting, s: Scenario) -> Iterator[tuple[str, Scenario]]:
    """Yield a case with each hyper-parameter at extreme values, and cases with larger and smaller numbers.

    What two rules have in common for usual numbers they often do not have there.
    """
    for name, value in s.case.hyper.items():
        if name in setting.fixed or name not in DOMAINS:
            continue
        pool = POOLS.get(name, ())
        ladder = valued(setting, s, name, {*EDGES.get(name, ()), *pool[:1], *pool[-1:], *far(name, value)})
        yield from ((f"where {name} = {v:g}", ladder.at(v)) for v in ladder.values)
    yield from ((f"with numbers of about {v:.0e}", scaled(s, v)) for v in (2.0**-10, 2.0**10))


def _sizes(setting: Setting, s: Scenario) -> Iterator[Ladder]:
    """Ladders of counts: clients, examples, steps, exchanges, delays, coordinates, blocks and axes."""
    first = s.events[0]
    match first:
        case Messages():
            if not setting.everyone:
                yield Ladder("clients", MANY, lambda v: messages(s, int(v)), whole=True)
            yield Ladder("examples", _weights(setting), lambda v: heavy(s, v))
            yield Ladder("steps", MANY[:11], lambda v: stepping(setting, s, int(v)), whole=True)
        case Round():
            if "strategies" not in setting.takes and "scales" not in setting.takes:
                yield Ladder("clients", MANY, lambda v: crowd(s, int(v)), whole=True)
            yield Ladder("examples", _weights(setting), lambda v: heavy(s, v))
            yield Ladder("steps", MANY[:11], lambda v: stepping(setting, s, int(v)), whole=True)
        case Exchange():
            yield Ladder("exchanges", MANY[:11], lambda v: lasting(s, int(v)), whole=True)
        case Arrival():
            yield Ladder("steps", MANY[:11], lambda v: stepping(setting, s, int(v)), whole=True)
            yield Ladder("delay", (0, 1, 2, 3, 4, 6, 8, 12, 16, 20), lambda v: delayed(s, int(v)), whole=True)
    if s.case.problem is None and not setting.matrices:
        # Of a cover's sets there are as many as coordinates, or more.
        long = LONG[:7] if "cover" in setting.options else LONG
        yield Ladder("coordinates", long, lambda v: shaped(s, [(int(v),)]), whole=True)
        if not setting.one_block:
            yield Ladder("blocks", (1, 2, 3, 4, 5, 6), lambda v: shaped(s, [(2,)] * int(v)), whole=True)
        shapes: Mapping[float, tuple[int, ...]] = {1: (8,), 2: (2, 4), 3: (2, 2, 2)}
        yield Ladder("axes", (1, 2, 3), lambda v: shaped(s, [shapes[v]]))


def _weights(setting: Setting) -> tuple[float, ...]:
    return SIZES if "weight" in setting.nonzero else (0.0, *SIZES)


def repeatable(setting: Setting) -> bool:
    """True if a case may repeat its events: a late update must not reach back before the first version."""
    run = setting.algorithm.run
    return not (isinstance(run, Program) and run.event == "arrival" and setting.level == "trace")
