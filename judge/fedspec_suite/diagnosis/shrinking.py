"""Pairs of mistakes: simplify a case until only one mistake shows, and find variants that explain this one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np

from fedspec.contract import Arrival, Exchange, Messages, Round
from fedspec.domains import DECAY, DOMAINS, NONNEGATIVE
from fedspec_suite.diagnosis.comparing import agreed, agrees
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.measure.bench import Shown
from fedspec_suite.measure.scenario import Scenario, arranged, first_clients, picked, with_hyper
from fedspec_suite.measure.setting import Setting

HOPEFUL = 40
"""Number of variants fitting the simplest case that are then compared on the other cases."""

LINKS = 6
"""Number of cases of a chain, the simplest ones, on which variants are compared."""

Asked = Callable[[Scenario], tuple[int, list[Shown]] | None]
"""Function that returns the event in which a subject first deviates in a case, and all its answers; None if the
subject doesn't deviate or cannot play the case.
"""


@dataclass(frozen=True)
class Link:
    """Case in a chain of ever simpler deviating cases.

    Attributes:
        s: the case.
        event: the event in which the subject first deviates.
        answers: all its answers.
    """

    s: Scenario
    event: int
    answers: list[Shown]

    @property
    def cut(self) -> tuple[Scenario, list[Shown]]:
        """Case and answers up to the first deviation."""
        return replace(self.s, events=self.s.events[: self.event + 1]), self.answers[: self.event + 1]


def chains(setting: Setting, s: Scenario, asked: Asked) -> tuple[tuple[Link, ...], ...]:
    """Simplify a deviating case in two ways, one feature at a time while it deviates: in one order and in reverse.

    Of two mistakes at once the last cases often show one alone; by the two orders each its own.
    """
    return tuple(_chain(setting, s, asked, forward) for forward in (True, False))


def _chain(setting: Setting, s: Scenario, asked: Asked, forward: bool) -> tuple[Link, ...]:
    found = asked(s)
    if found is None:
        return ()
    links = [Link(s, *found)]
    for plain in _features(setting, s)[:: 1 if forward else -1]:
        less = plain(links[-1].s)
        found = None if less is None else asked(less)
        if less is not None and found is not None:
            links.append(Link(less, *found))
    return tuple(links)


Plain = Callable[[Scenario], Scenario | None]
"""Function that simplifies a case by one feature; None if the feature is absent or required."""


def _features(setting: Setting, s: Scenario) -> list[Plain]:
    """Ways to make a case plainer: fewer clients and steps, equal sizes, equal or zero hyper-parameters."""
    decays = [n for n in s.case.hyper if DOMAINS[n].domain is DECAY and n not in setting.fixed]
    out: list[Plain] = [_each(lambda e: first_clients(e, 1)) if "everyone" not in setting.takes else _of_one_client]
    out += [_each(_one_step), _each(_as_many_steps), _each(_not_late), _alike]
    out += [_each(_one_cluster), _each(_unmixed)]
    if not {"senders", "one-set", "peers"} & {*setting.takes}:
        out.append(_each(partial(_everyone, len(s.case.problem.e) if s.case.problem else 0)))
    if len(decays) > 1:
        out.append(lambda s: _with(setting, s, dict.fromkeys(decays, s.case.hyper[decays[0]])))
    for n in s.case.hyper:
        zero = DOMAINS[n].domain in (DECAY, NONNEGATIVE) and n not in setting.nonzero
        if n not in setting.fixed:
            out.append(lambda s, n=n, least=0.0 if zero else 1: _with(setting, s, {n: least}))  # type: ignore[misc]
    return out


def _with(setting: Setting, s: Scenario, values: Mapping[str, Any]) -> Scenario | None:
    """The case with other hyper-parameters, where they change and may be so."""
    old = s.case.hyper
    new = {n: type(old[n])(v) for n, v in values.items()}
    hyper = setting.tied({**old, **new})
    may = all(DOMAINS[n].domain.holds(v) for n, v in new.items())
    holds = all(r.holds(hyper) for r in setting.algorithm.reading(setting.reading).requires)
    return with_hyper(s, **hyper) if hyper != old and may and holds else None


def _each(change: Callable[[Any], Any]) -> Plain:
    def of_all(s: Scenario) -> Scenario | None:
        events = tuple(map(change, s.events))
        # Matrices are not compared: an exchange that is another object is another.
        same = all(a is b or (not isinstance(a, Exchange) and a == b) for a, b in zip(events, s.events, strict=True))
        return None if same else replace(s, events=events)

    return of_all


def _of_one_client(s: Scenario) -> Scenario | None:
    """The case in which there is one client, where all that there are take part."""
    problem = s.case.problem
    if problem is None or len(problem.e) < 2 or not all(isinstance(e, Round) for e in s.events):
        return None
    alone = replace(s.case, problem=picked(problem, [0]))
    events = (arranged(e, [e.participants.index(0)]) for e in s.events if isinstance(e, Round))
    return replace(s, case=alone, events=tuple(events))


def _one_step(e: Any) -> Any:
    match e:
        case Round(steps=steps):
            return replace(e, steps=(1,) * len(steps)) if any(t > 1 for t in steps) else e
        case Arrival(steps=steps):
            return replace(e, steps=1) if steps > 1 else e
        case Exchange(computing=computing):
            return replace(e, computing=computing[:1]) if len(computing) > 1 else e
    return e


def _as_many_steps(e: Any) -> Any:
    if isinstance(e, Round) and len(set(e.steps)) > 1:
        return replace(e, steps=(max(e.steps),) * len(e.steps))
    return e


def _not_late(e: Any) -> Any:
    return replace(e, delay=0) if isinstance(e, Arrival) and e.delay else e


def _one_cluster(e: Any) -> Any:
    return replace(e, clusters=()) if isinstance(e, Exchange) and len(e.clusters) > 1 else e


def _unmixed(e: Any) -> Any:
    """Everybody hears of nobody else."""
    if not isinstance(e, Exchange) or (e.mixing == (one := np.eye(len(e.mixing), dtype=e.mixing.dtype))).all():
        return e
    return replace(e, mixing=one)


def _everyone(n: int, e: Any) -> Any:
    """Let all clients compute and send in an exchange."""
    if not isinstance(e, Exchange):
        return e
    computing = tuple(tuple(range(n)) for _ in e.computing)
    same = {*e.senders} == {*range(n)} and all({*S} == {*range(n)} for S in e.computing)
    return e if same else replace(e, senders=tuple(range(n)), computing=computing)


def _alike(s: Scenario) -> Scenario | None:
    """Clients of one size."""
    problem = s.case.problem
    if problem is not None:
        if len(set(problem.examples.tolist())) < 2:
            return None
        return replace(s, case=replace(s.case, problem=replace(problem, examples=np.ones_like(problem.examples))))

    def alike(e: Any) -> Any:
        if not isinstance(e, Messages) or len({m.weight for m in e.messages}) < 2:
            return e
        return replace(e, messages=tuple(replace(m, weight=1) for m in e.messages))

    return _each(alike)(s)


def halves(of_each: Sequence[Sequence[Link]], variants: Sequence[Variant]) -> list[Variant]:
    """Return variants that explain the simplest case of a chain, sorted by how many of its cases they explain."""
    ranked = [_explaining(links[-LINKS:], variants) for links in of_each if links]
    turns = (v for k in range(max(map(len, ranked), default=0)) for some in ranked for v in some[k : k + 1])
    return list(dict.fromkeys(turns))


def _explaining(links: Sequence[Link], variants: Sequence[Variant]) -> list[Variant]:
    plainest, *others = [link.cut for link in links[::-1]]
    fits = [v for v in variants if agrees(v, *plainest)]
    up = {v: sum(1 for _ in takewhile(lambda case: agrees(v, *case), others)) for v in fits}  # noqa: B023
    best = sorted(fits, key=lambda v: -up[v])[:HOPEFUL]
    lasts = {v: sum(agreed(v, link.s, link.answers) for link in links) for v in best}
    return sorted(best, key=lambda v: (-up[v], -lasts[v]))
