"""Features of cases that decide whether a subject follows its claim or deviates."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from fedspec.contract import Begin, Gradient
from fedspec.params import flatten
from fedspec_suite.diagnosis.cases.features import OTHERWISE, amounts
from fedspec_suite.diagnosis.cases.probes import Ladder, ladders, otherwise, repeatable
from fedspec_suite.diagnosis.cases.resized import longer, smaller
from fedspec_suite.diagnosis.cases.without import on_ladder, without
from fedspec_suite.diagnosis.comparing import Given, off
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.lasting import moved
from fedspec_suite.diagnosis.seen.held_out import Played, always, contradicted, held_out, how_often, not_always, related
from fedspec_suite.diagnosis.variants import CANNOT
from fedspec_suite.laws.far import everything
from fedspec_suite.measure.bench import UNPLAYED, Bench
from fedspec_suite.measure.scenario import Scenario, describe
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, listed

SAID = 2
"""Largest number of features that are named if several decide."""

EVENTS = 1500
"""Number of events after which no further feature is tried; 200 to 1000 are usual. It is a count, not a time, so that
the words don't depend on the machine."""

BASES = 4
"""Largest number of followed cases used as bases; a hyper-parameter is varied in the one where it has an effect."""

BESIDE = 30
"""Number of cases without the deciding features in which the subject must follow the claim."""

CLEAR = {"float64": 1e-12, "float32": 1e-4}
"""Error of an answer, relative to the model, below which the first comparison counts it as right."""

LENGTH = 50
"""Number of events of the longest run."""

MADE = 6
"""Largest number of cases from which a feature is removed for the test."""


Covers = Callable[[Scenario, int], bool | None]
"""Predicate on a case and the event in which it first deviates: True if it has the feature, None if unknown."""


@dataclass(frozen=True)
class Gate:
    """Feature that decides whether the subject deviates.

    Attributes:
        words: description of the cases in which the subject deviates.
        deviating: a case in which it does.
        covers: predicate on a case and the event in which it first deviates: True if the case has the feature.
        name: the feature, if it has a size.
        following: the sizes at which the subject follows the claim.
    """

    words: str
    deviating: Scenario
    covers: Covers = lambda s, first: None
    name: str = ""
    following: tuple[float, ...] = ()


@dataclass(frozen=True)
class Decided:
    """Features that decide whether the subject deviates, with evidence.

    Attributes:
        words: the words for where the subject deviates.
        beside: the number of cases without the features in which the subject follows the claim.
        deviating: cases in which it deviates, the smallest first.
    """

    words: tuple[str, ...] = ()
    beside: int = 0
    deviating: tuple[Scenario, ...] = ()


def gates(bench: Bench, setting: Setting, known: Known, given: Given, broken: Sequence[Scenario] = ()) -> Decided:
    """Find features that decide, by varying each alone in a case that the subject follows; none without such a case.

    Features are not reported if a played case without any of them deviates, or if a case still deviates after its
    feature is removed.

    Args:
        bench: the offer.
        setting: the setting of the claim.
        known: the samples and variants that the offer is compared with.
        given: the offer's answers on the samples.
        broken: cases in which laws found the offer to deviate.
    """
    asked = _Asked(bench, known, broken=broken)
    decided = _decided(asked, setting, given)
    there = [s for s, first in (*asked.played, *asked.held) if first >= 0]
    return replace(decided, deviating=tuple(sorted(there, key=_size)))


def _size(s: Scenario) -> tuple[int, int]:
    """Numbers of events and of coordinates."""
    return len(s.events), sum(x.size for x in s.case.x0.values())


def in_what_is_shown(bench: Bench, known: Known, setting: Setting, broken: Sequence[Scenario] = ()) -> Decided:
    """Find the feature of clients relative to one another that decides whether an intermediate deviates."""
    asked = _Asked(bench, known, broken=broken)
    held = asked.held_out(setting)
    where, lacking = related(held, lambda words: _stands(asked, setting, held, words))
    return Decided((where,), lacking) if where else Decided()


def _decided(asked: _Asked, setting: Setting, given: Given) -> Decided:
    bench, known = asked.bench, asked.known
    for k, answers in given.items():
        first = _follows(known, known.samples[k], answers)
        asked.played.append((known.samples[k], -1 if first is None else first))
    counted = len(asked.played)
    found = _deciding(asked, setting, given, counted)
    if contradicted([g.covers for g in found], asked.played):
        found = ()
    held = asked.held_out(setting)
    if not all(_needed(asked, setting, held, g) for g in found):
        found = ()

    stands = cache(lambda words: _stands(asked, setting, held, words))
    words = _held(found, held, stands)
    if not words:
        # What clients are beside one another, or were before.
        where, lacking = related(held, stands)
        return Decided((where,), lacking) if where else Decided()
    others = [
        s for s, first in asked.played if first < 0 and all(g.covers(s, len(s.events) - 1) is False for g in found)
    ]
    # By the judge's own tolerance, which is finer than what a first look takes for equal.
    seen = [deviates(bench, s) for s in sorted(others, key=lambda s: len(s.events))[:BESIDE]]
    if True in seen:
        return Decided()
    return Decided(words, seen.count(False))


def _needed(asked: _Asked, setting: Setting, held: Played, gate: Gate) -> bool:
    """True unless a case deviates that has the feature, and still does with as much of it as is followed elsewhere."""
    if not gate.name:
        return _stands(asked, setting, held, gate.words)
    having = [s for s, first in held if first >= 0 and gate.covers(s, first) is True]
    made = (on_ladder(setting, s, gate.name, gate.following) for s in having[:MADE])
    # Another client may have as much of it.
    less = [s for s in made if s is not None and gate.covers(s, len(s.events) - 1) is False]
    return not any(map(asked.wrong, less))


def _stands(asked: _Asked, setting: Setting, held: Played, words: str) -> bool:
    """True unless a case deviates that has what is said of clients, and still does without it."""
    made = [without(setting, s, words, first) for s, first in held if first >= 0]
    return not any(asked.wrong(s) for s in [s for s in made if s is not None][:MADE])


def _held(found: Sequence[Gate], held: Played, stands: Callable[[str], bool]) -> tuple[str, ...]:
    """Words for the features without which no case deviates; several features are named if each decides by itself."""
    covers = [g.covers for g in found]
    if not found or contradicted(covers, held):
        return ()
    if always(covers, held) and (len(found) == 1 or all(how_often([c], held)[0] for c in covers)):
        return tuple(g.words for g in found)
    if len(found) > 1 or related(held, stands)[0]:
        return ()
    return (not_always(found[0].words, how_often(covers, held)),)


def _deciding(asked: _Asked, setting: Setting, given: Given, counted: int) -> tuple[Gate, ...]:
    bench, known = asked.bench, asked.known
    followed = [k for k, (_, first) in zip(given, asked.played[:counted], strict=True) if first < 0]
    followed.sort(key=lambda k: (_moving(given[k]), *_varied(known.samples[k])), reverse=True)
    bases = [known.samples[k] for k in followed if _moving(given[k])][:BASES]
    if not bases:
        less = (s for k in list(given)[:BASES] for s in smaller(known.samples[k]))
        bases = [next((s for s in less if asked.moves(s) and asked.first(s) == -1), known.samples[0])]
        if asked.first(bases[0]) != -1:
            return ()
    first: list[Gate] = []
    for k, base in enumerate(bases):
        if base.case.hyper in [s.case.hyper for s in bases[:k]]:
            continue
        found: list[Gate] = []
        for gate in _found(asked, setting, [*bases[k:], *bases[:k]]):
            if gate is not None and deviates(bench, gate.deviating):
                found.append(gate)
            if len(found) > SAID or sum(asked.events) > EVENTS:
                break
        # Where this and that and more decides, something in this case hid the mistake: all of that brings it out.
        if 0 < len(found) <= SAID:
            return tuple(found)
        first = first or found[:SAID]
        if sum(asked.events) > EVENTS:
            break
    return tuple(first)


def deviates(bench: Bench, s: Scenario) -> bool | None:
    """Return True if the subject deviates by more than rounding may; None if the case can't be decided or played."""
    try:
        everything(bench, s)
    except Deviates:
        return True
    except UNPLAYED:
        return None
    return False


def _moving(answers: list[dict[str, np.ndarray]]) -> int:
    """Quarters of the model's coordinates that move from event to event, rounded down."""
    return int(4 * moved(answers))


def _varied(s: Scenario) -> tuple[int, int]:
    """Number of distinct nonzero hyper-parameters, and minus the number of events, to prefer short cases."""
    return len({v for v in s.case.hyper.values() if v}), -len(s.events)


@dataclass(frozen=True)
class _Asked:
    """A subject, what it claims, and how many events it has been asked in each case."""

    bench: Bench
    known: Known
    events: list[int] = field(default_factory=list)
    played: list[tuple[Scenario, int]] = field(default_factory=list)
    """Each case that was played, and the event from which on the subject deviates, -1 if in none."""
    held: list[tuple[Scenario, int]] = field(default_factory=list)
    """Each held-out case, and the event from which the subject deviates by more than rounding may, -1 if in none."""
    broken: Sequence[Scenario] = ()
    """Cases in which laws found the subject to deviate."""

    def first(self, s: Scenario) -> int | None:
        """The event from which on a subject deviates, -1 if in none; None where it cannot be asked."""
        event = self._first(s)
        if event is not None:
            self.played.append((s, event))
        return event

    def _first(self, s: Scenario) -> int | None:
        if not self.known.claimed.answers(s):
            # What the claim refuses says nothing of who does not.
            return None
        self.events.append(len(s.events))
        try:
            answers = self.bench.play(s)
        except Deviates:
            return 0
        except UNPLAYED:
            return None
        event = _follows(self.known, s, answers)
        return -1 if event is None else event

    def wrong(self, s: Scenario) -> bool:
        """True if the subject deviates in a case by more than rounding may."""
        first = self._first(s)
        return first is not None and first >= 0 and deviates(self.bench, s) is True

    def held_out(self, setting: Setting) -> list[tuple[Scenario, int]]:
        """The cases held out, and from where on each deviates by more than rounding may."""
        for s in (*held_out(setting), *self.broken):
            first = self._first(s)
            if first is not None and (first < 0 or deviates(self.bench, s)):
                self.held.append((s, first))
        return self.held

    def moves(self, s: Scenario) -> bool:
        """True if the claimed rule moves the model in a case; a model that stands still does so under most mistakes."""
        return any(not np.array_equal(a["x"], flatten(s.case.x0)) for a in self.known.claimed.answers(s))

    def shows(self, s: Scenario, other: Scenario) -> bool:
        """True if the claimed rule gives different models in two cases."""
        one, two = map(self.known.claimed.answers, (s, other))
        return any(not np.array_equal(a["x"], b["x"]) for a, b in zip(one, two, strict=False))


def _follows(known: Known, s: Scenario, answers: list[dict[str, np.ndarray]]) -> int | None:
    """The first event whose answer is clearly not the claimed one."""
    try:
        plain = known.claimed.quick(s, known.claimed.editions()())
        for j, (event, got, want) in enumerate(zip(s.events, answers, plain, strict=True)):
            for name in got.keys() & want.keys():
                if name != "x" and isinstance(event, Begin):
                    continue
                if off(got[name], want[name], s, CLEAR[s.case.dtype]).any():
                    return j
    except CANNOT:
        return None
    return None


def _found(asked: _Asked, setting: Setting, bases: list[Scenario]) -> Iterator[Gate | None]:
    """Yield the gate of each feature in turn; None for a feature that doesn't decide."""
    base = bases[0]
    if repeatable(setting):
        in_time = _in_time(asked, longer(base, LENGTH), len(base.events))
        unbroken = replace(base, events=tuple(e for e in base.events if not isinstance(e, Begin)))
        if in_time is None and 0 < len(unbroken.events) < len(base.events):
            # Rounds that end soon do not show what comes late in one.
            in_time = _in_time(asked, longer(unbroken, LENGTH), 0)
        yield in_time
    for words, s in otherwise(base):
        first = asked.first(s)
        if first is not None and first >= 0:
            has = OTHERWISE[words]
            yield Gate(words, s, lambda s, first, has=has: has(s, first))  # type: ignore[misc]
            break
    for ladder in ladders(setting, bases, asked.shows):
        yield _climbed(asked, ladder)


def _in_time(asked: _Asked, s: Scenario, known: int) -> Gate | None:
    """Gate for a deviation that begins at some event after the known ones; None if the subject doesn't deviate so."""
    first = asked.first(s)
    if first is None or first < known:
        return None
    event = s.events[first]
    if isinstance(event, Gradient):
        inside = next(k for k in range(first + 1) if k == first or isinstance(s.events[first - k], Begin))
        if inside == first:
            return Gate(f"from local step {first + 1} on", s, lambda other, j: _since_begin(other, j) >= first)
        return Gate(f"from event {first + 1} on", s, lambda other, j: j >= first)
    return Gate(f"from {describe(event)} {first + 1} on", s, lambda other, j: j >= first)


def _since_begin(s: Scenario, event: int) -> int:
    """Number of local steps of the round that come before an event."""
    begun = [k for k in range(event + 1) if isinstance(s.events[k], Begin)]
    return event - (begun[-1] + 1 if begun else 0)


def _climbed(asked: _Asked, ladder: Ladder) -> Gate | None:
    """Gate for a feature if the subject deviates at some of its values, not at all of them; else None."""
    states: dict[float, bool] = {}
    for v in ladder.values:
        first = asked.first(ladder.at(v))
        if first is not None:
            states[v] = first >= 0
    if not any(states.values()) or all(states.values()):
        return None
    if ladder.whole:
        _between(asked, ladder, states)
    order = sorted(states)
    deviating = [v for v in order if states[v]]

    def covers(s: Scenario, first: int) -> bool | None:
        found = {_state(states, order, v) for v in amounts(ladder.name, s, first)}
        return True if True in found else None if None in found or not found else False

    following = tuple(sorted((v for v in order if not states[v]), key=lambda v: abs(v - deviating[0])))
    return Gate(_words(ladder, order, deviating), ladder.at(deviating[0]), covers, ladder.name, following)


def _state(states: Mapping[float, bool], order: Sequence[float], v: float) -> bool | None:
    """True if the subject deviates at a value, judged by the nearest tried values; None if these values disagree."""
    if v in states:
        return states[v]
    below, above = [w for w in order if w < v], [w for w in order if w > v]
    near = {states[w] for w in (*below[-1:], *above[:1])}
    return near.pop() if len(near) == 1 else None


def _between(asked: _Asked, ladder: Ladder, states: dict[float, bool]) -> None:
    """Look between the two neighbours where it begins to deviate."""
    order = sorted(states)
    pair = next(((a, b) for a, b in itertools.pairwise(order) if states[a] != states[b]), None)
    while pair is not None and pair[1] - pair[0] > 1:
        middle = (pair[0] + pair[1]) // 2
        first = asked.first(ladder.at(middle))
        if first is None:
            return
        states[middle] = first >= 0
        pair = (pair[0], middle) if states[middle] != states[pair[0]] else (middle, pair[1])


def _words(ladder: Ladder, order: list[float], deviating: list[float]) -> str:
    """Words for the values at which the subject deviates."""
    name = ladder.name
    rest = [v for v in order if v not in deviating]
    least, most = min(deviating), max(deviating)
    upper = most == order[-1] and all(v < least for v in rest)
    lower = least == order[0] and all(v > most for v in rest)
    if name == "all digits":
        return "where numbers have more digits than float32 keeps"
    counted = {
        "clients": "{:g} clients",
        "examples": "{:g} examples of a client",
        "steps": "{:g} local steps of a client",
        "exchanges": "{:g} local steps of a round",
        "delay": "a delay of {:g}",
        "coordinates": "{:g} coordinates",
        "blocks": "{:g} blocks",
        "axes": "{:g} axes",
        "numbers of about": "numbers of about {:.0e}",
    }.get(name)
    if counted is None:
        if len(deviating) == 1:
            return f"where {name} = {least:g}"
        if upper:
            return f"where {name} is more than {max(rest):g}"
        if lower:
            return f"where {name} is less than {min(rest):g}"
        if len(deviating) > len(rest):
            return f"unless {name} is {listed(map('{:g}'.format, rest), 'or')}"
        return f"where {name} is {listed(map('{:g}'.format, deviating), 'or')}"
    if name != "numbers of about" and upper and rest:
        return f"from {_of(counted, least)} on"
    if upper:
        return f"with {_of(counted, least)} and more"
    if lower:
        return f"with {_of(counted, most)}" + (" and less" if len(deviating) > 1 else "")
    if len(deviating) > len(rest):
        return f"unless there {'is' if rest == [1] else 'are'} {_of(counted, *rest)}"
    return f"with {_of(counted, *deviating)}"


def _of(counted: str, *n: float) -> str:
    (form,) = re.findall(r"\{.*?\}", counted)
    said = counted.replace(form, listed((form.format(v) for v in n), "or"))
    return "1 axis" if said == "1 axes" else re.sub(r"^(1 (?:local )?\w+?)s\b", r"\1", said)
