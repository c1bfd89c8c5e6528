"""Features of clients relative to the other clients of an event, or to earlier events: no single number tells them.

A feature is a number or a truth value of an event and the events before it; None if the event has nothing of the kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from fedspec.contract import Arrival, Event, Gradient, Messages, Round
from fedspec_suite.measure.scenario import Scenario


class Client(NamedTuple):
    """A client in an event.

    Attributes:
        number: its number.
        weight: its examples.
        steps: its local steps.
        norm: the norm of its coefficients; None if the event doesn't state the norm.
    """

    number: int
    weight: float
    steps: int
    norm: float | None


def taking_part(s: Scenario, e: Event) -> list[Client]:
    """Clients that take part in an event of a server or a round; none in other events."""
    match e:
        case Messages(messages=sent):
            return [Client(m.client, float(m.weight), m.steps, float(m.a_norm)) for m in sent]
        case Round(participants=who, steps=steps) if s.case.problem is not None:
            sizes = s.case.problem.examples
            return [Client(i, float(sizes[i]), tau, None) for i, tau in zip(who, steps, strict=True)]
    return []


History: TypeAlias = Sequence[Sequence[Client]]
"""Clients of an event and of the events before it, in order; the event itself is the last entry."""


def _shares(rounds: History) -> list[float]:
    total = sum(c.weight for c in rounds[-1])
    return [c.weight / total for c in rounds[-1]] if total else []


def _largest(rounds: History) -> float | None:
    return max(_shares(rounds), default=None)


def _smallest(rounds: History) -> float | None:
    return min((p for p in _shares(rounds) if p), default=None)


def _alike(rounds: History, of: Callable[[Client], object]) -> bool | None:
    """True if all clients have the same value, as a single client has; None without clients or without a value."""
    there = {of(c) for c in rounds[-1]}
    return None if None in there or not there else len(there) == 1


def _several(rounds: History, of: Callable[[Client], object], alike: bool) -> bool | None:
    """True if several clients have the same value, or different values if not ``alike``; False for a single client."""
    same = _alike(rounds, of)
    return None if same is None else len(rounds[-1]) > 1 and same is alike


def _met(rounds: History) -> set[int]:
    return {c.number for others in rounds[:-1] for c in others}


def _new(rounds: History) -> bool:
    return len(rounds) > 1 and any(c.number not in _met(rounds) for c in rounds[-1])


def _again(rounds: History) -> bool:
    return any(c.number in _met(rounds) for c in rounds[-1])


def _back(rounds: History) -> bool:
    """True if a client takes part again after it sat out the event before."""
    before = {c.number for c in rounds[-2]} if len(rounds) > 1 else set()
    return any(c.number in _met(rounds) - before for c in rounds[-1])


def _first_again(rounds: History) -> bool:
    return 0 in _met(rounds) and any(c.number == 0 for c in rounds[-1])


def _took(rounds: History, holds: Callable[[Sequence[int]], bool]) -> bool:
    """True if a predicate holds for the step counts, round by round, of a client that takes part again."""
    took = ([c.steps for there in rounds for c in there if c.number == who.number] for who in rounds[-1])
    return any(len(steps) > 1 and holds(steps) for steps in took)


def _drawn(rounds: History, apart: bool) -> bool | None:
    """True if a client is drawn twice in a round; if ``apart``, for different numbers of steps."""
    numbers = [c.number for c in rounds[-1]]
    if not numbers:
        return None
    return len({(c.number, c.steps) for c in rounds[-1]} if apart else numbers) > len({*numbers})


def _beside_before(rounds: History, holds: Callable[[int, int], bool]) -> bool:
    """True if a predicate holds for the number of clients and the largest number of clients in an earlier event."""
    return len(rounds) > 1 and holds(len(rounds[-1]), max(map(len, rounds[:-1])))


SHARES: Mapping[str, tuple[Callable[[History], float | None], bool]] = {
    "where a client has more than {} of the weights": (_largest, True),
    "where a client has less than {} of the weights": (_smallest, False),
}
"""Extreme share of the weights in an event, and whether the feature holds for larger shares, by its words."""

_OF_CLIENTS: Mapping[str, Callable[[History], bool | None]] = {
    "where a round has one client": lambda r: len(r[-1]) == 1 if r[-1] else None,
    "where a round has several clients": lambda r: len(r[-1]) > 1 if r[-1] else None,
    "where clients of a round have different ||a_i||_1": lambda r: _several(r, lambda c: c.norm, False),
    "where clients of a round have one ||a_i||_1": lambda r: _several(r, lambda c: c.norm, True),
    "where no two clients of a round have different ||a_i||_1": lambda r: _alike(r, lambda c: c.norm),
    "where clients of a round take different numbers of steps": lambda r: _several(r, lambda c: c.steps, False),
    "where clients of a round take equally many steps": lambda r: _several(r, lambda c: c.steps, True),
    "where no two clients of a round take different numbers of steps": lambda r: _alike(r, lambda c: c.steps),
    "where clients of a round have different weights": lambda r: _several(r, lambda c: c.weight, False),
    "where a client takes part for the first time after the first round": _new,
    "where a client takes part again after it sat out": _back,
    "where a client takes more steps than the last time, and took more once before": lambda r: _took(
        r, lambda took: took[-1] > took[-2] < max(took[:-1])
    ),
    "where a client takes more steps than the last time": lambda r: _took(r, lambda took: took[-1] > took[-2]),
    "where a client takes fewer steps than the last time": lambda r: _took(r, lambda took: took[-1] < took[-2]),
    "where client 0 takes part again": _first_again,
    "where a client takes part again": _again,
    "where a client is drawn twice in a round, for other numbers of steps": lambda r: _drawn(r, True),
    "where a client is drawn twice in a round": lambda r: _drawn(r, False),
    "where fewer clients take part than in a round before": lambda r: _beside_before(r, lambda now, most: now < most),
    "where more clients take part than in any round before": lambda r: _beside_before(r, lambda now, most: now > most),
}


def _steps(s: Scenario, last: int) -> list[list[float]]:
    """The rates of the local steps up to an event, round by round."""
    rounds: list[list[float]] = [[]]
    for e in s.events[: last + 1]:
        if isinstance(e, Gradient):
            rounds[-1].append(s.case.hyper["eta_l"] if e.eta_l is None else e.eta_l)
        else:
            rounds.append([])
    return rounds


def _other_rate(s: Scenario, k: int) -> bool | None:
    """True if the rate of a local step differs from the rate of the step before it; None if the event is no step."""
    if not isinstance(s.events[k], Gradient):
        return None
    (*_, now) = _steps(s, k)
    return len(now) > 1 and now[-1] != now[-2]


def _other_rate_there(s: Scenario, k: int) -> bool | None:
    """True if the step of the same number had another rate in an earlier round; None if the event is no step."""
    if not isinstance(s.events[k], Gradient):
        return None
    (*before, now) = _steps(s, k)
    return any(rates[len(now) - 1] != now[-1] for rates in before if len(rates) >= len(now))


def _moves_late(s: Scenario, k: int) -> bool | None:
    """True if a block gets its first nonzero gradient of the round in this event, after the round's first step."""
    if not isinstance(s.events[k], Gradient):
        return None
    begun = max((j + 1 for j in range(k) if not isinstance(s.events[j], Gradient)), default=0)
    so_far = [e.g for e in s.events[begun : k + 1] if isinstance(e, Gradient)]
    return len(so_far) > 1 and any(a.any() and not any(g[n].any() for g in so_far[:-1]) for n, a in so_far[-1].items())


def _waits_twice(s: Scenario, k: int) -> bool | None:
    """True if the event fills the buffer, and the buffer then holds two updates of one client."""
    if not isinstance(s.events[k], Arrival):
        return None
    buffer = int(s.case.hyper.get("buffer", 1))
    full = s.events[max(k + 1 - buffer, 0) : k + 1] if (k + 1) % buffer == 0 else ()
    return len({e.client for e in full if isinstance(e, Arrival)}) < len(full)


def _told_anew(s: Scenario, k: int) -> bool:
    """True if a hyper-parameter differs from its value in the event before."""
    now, before = ({**s.case.hyper, **getattr(e, "hyper", {})} for e in (s.events[k], s.events[max(k - 1, 0)]))
    return now != before


NO_TWO = "where no two clients"
"""Prefix of the words for features that hold for a single client too, because no two clients differ."""

HOLDING: Mapping[str, Callable[[Scenario, int], bool | None]] = {
    **{
        words: lambda s, k, holds=holds: holds(history(s, k))  # type: ignore[misc]
        for words, holds in _OF_CLIENTS.items()
    },
    "where a block has only zero gradients at first in a round, and then another": _moves_late,
    "where the rate of a step is another than that of the step before": _other_rate,
    "where the rate of a step is another than that of the same step in a round before": _other_rate_there,
    "where a client has two updates in a buffer that is full": _waits_twice,
    "where a rate, mu, rho or gamma is another than in the event before": _told_anew,
}
"""Predicates on an event of a case, by the words of the feature."""


def history(s: Scenario, last: int) -> History:
    """Clients that take part in each event of a case, up to and including event ``last``."""
    return [taking_part(s, e) for e in s.events[: last + 1]]


def histories(s: Scenario, last: int) -> Iterator[History]:
    """Yield the history of each event of a case, up to and including event ``last``."""
    there = history(s, last)
    for k in range(len(there)):
        yield there[: k + 1]


def newcomers(s: Scenario, zero: bool = False) -> Scenario | None:
    """Replace returning clients (only client 0 if ``zero``) by new ones; None if that is impossible."""
    met: set[int] = set()
    events: list[Any] = []
    for e in s.events:
        if not isinstance(e, Messages):
            return None
        free = itertools.count(max([*met, *(m.client for m in e.messages)], default=0) + 1)
        back = {m.client for m in e.messages if m.client in met and (m.client == 0 or not zero)}
        number = {i: next(free) if i in back else i for i in (m.client for m in e.messages)}
        if s.case.population is not None and max(number.values(), default=0) >= s.case.population:
            break
        met |= {*number.values()}
        events.append(replace(e, messages=tuple(replace(m, client=number[m.client]) for m in e.messages)))
    return replace(s, events=tuple(events)) if len(events) > 1 and tuple(events) != s.events else None
