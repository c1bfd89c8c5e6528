"""What a client is beside the others of its event, or was in events before: features that no single number tells.

Each is a number for an event and those before it, or whether it holds; None where an event has nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from fedspec.contract import Event, Messages, Round
from fedspec_suite.measure.scenario import Scenario


class Client(NamedTuple):
    """A client in an event.

    Attributes:
        number: its number.
        weight: its examples.
        steps: its local steps.
        norm: the norm of its coefficients, where the message says it.
    """

    number: int
    weight: float
    steps: int
    norm: float | None


def taking_part(s: Scenario, e: Event) -> list[Client]:
    """Who takes part in an event of a server or a round; nobody in others."""
    match e:
        case Messages(messages=sent):
            return [Client(m.client, float(m.weight), m.steps, float(m.a_norm)) for m in sent]
        case Round(participants=who, steps=steps) if s.case.problem is not None:
            sizes = s.case.problem.examples
            return [Client(i, float(sizes[i]), tau, None) for i, tau in zip(who, steps, strict=True)]
    return []


History: TypeAlias = Sequence[Sequence[Client]]
"""Who takes part in an event, last, and in those before it."""


def _shares(rounds: History) -> list[float]:
    total = sum(c.weight for c in rounds[-1])
    return [c.weight / total for c in rounds[-1]] if total else []


def _largest(rounds: History) -> float | None:
    return max(_shares(rounds), default=None)


def _smallest(rounds: History) -> float | None:
    return min((p for p in _shares(rounds) if p), default=None)


def _alike(rounds: History, of: Callable[[Client], object]) -> bool | None:
    """Whether all clients are alike in something, as one by itself is."""
    there = {of(c) for c in rounds[-1]}
    return None if None in there or not there else len(there) == 1


def _several(rounds: History, of: Callable[[Client], object], alike: bool) -> bool | None:
    """Whether several clients are alike in something; nothing is said of one by itself."""
    same = _alike(rounds, of)
    return None if same is None else len(rounds[-1]) > 1 and same is alike


def _met(rounds: History) -> set[int]:
    return {c.number for others in rounds[:-1] for c in others}


def _new(rounds: History) -> bool:
    return len(rounds) > 1 and any(c.number not in _met(rounds) for c in rounds[-1])


def _again(rounds: History) -> bool:
    return any(c.number in _met(rounds) for c in rounds[-1])


def _back(rounds: History) -> bool:
    """Whether somebody comes back who sat out."""
    before = {c.number for c in rounds[-2]} if len(rounds) > 1 else set()
    return any(c.number in _met(rounds) - before for c in rounds[-1])


def _first_again(rounds: History) -> bool:
    return 0 in _met(rounds) and any(c.number == 0 for c in rounds[-1])


def _took(rounds: History, holds: Callable[[Sequence[int]], bool]) -> bool:
    """Whether something holds of the steps that somebody who takes part again took, each time."""
    took = ([c.steps for there in rounds for c in there if c.number == who.number] for who in rounds[-1])
    return any(len(steps) > 1 and holds(steps) for steps in took)


SHARES: Mapping[str, tuple[Callable[[History], float | None], bool]] = {
    "where a client has more than {} of the weights": (_largest, True),
    "where a client has less than {} of the weights": (_smallest, False),
}
"""By what is said: a number for an event, and whether the larger ones decide."""

HOLDING: Mapping[str, Callable[[History], bool | None]] = {
    "where clients of a round have other ||a_i||_1 than one another": lambda r: _several(r, lambda c: c.norm, False),
    "where clients of a round have one ||a_i||_1": lambda r: _several(r, lambda c: c.norm, True),
    "where no two clients of a round have different ||a_i||_1": lambda r: _alike(r, lambda c: c.norm),
    "where clients of a round take other numbers of steps than one another": lambda r: _several(
        r, lambda c: c.steps, False
    ),
    "where clients of a round take equally many steps": lambda r: _several(r, lambda c: c.steps, True),
    "where no two clients of a round take different numbers of steps": lambda r: _alike(r, lambda c: c.steps),
    "where clients of a round have other weights than one another": lambda r: _several(r, lambda c: c.weight, False),
    "where a client takes part for the first time after the first round": _new,
    "where a client takes part again after it sat out": _back,
    "where a client takes more steps than the last time, and took more once before": lambda r: _took(
        r, lambda took: took[-1] > took[-2] < max(took[:-1])
    ),
    "where a client takes more steps than the last time": lambda r: _took(r, lambda took: took[-1] > took[-2]),
    "where a client takes fewer steps than the last time": lambda r: _took(r, lambda took: took[-1] < took[-2]),
    "where client 0 takes part again": _first_again,
    "where a client takes part again": _again,
}
"""By what is said: whether it holds in an event."""


def histories(s: Scenario, last: int) -> Iterator[History]:
    """Who takes part, for each event of a case up to one."""
    there = [taking_part(s, e) for e in s.events[: last + 1]]
    for k in range(len(there)):
        yield there[: k + 1]
