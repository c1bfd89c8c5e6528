"""A case made larger or smaller in one feature: more clients, more examples, longer steps, another shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Arrival, Event, Exchange, Gradient, Messages, Round
from fedspec_suite.diagnosis.cases.beside_others import taking_part
from fedspec_suite.measure.case_parts import above_zero
from fedspec_suite.measure.scenario import (
    Scenario,
    arranged,
    change_events,
    first_clients,
    losing,
    mapped,
    picked,
    with_blocks,
)
from fedspec_suite.measure.setting import Setting

PULLS = (64.0, -60.0)
"""Factors of the opposite changes of two clients, large enough that a stabiliser hardly matters."""


def scaled(s: Scenario, factor: float) -> Scenario:
    """Return the case with its model, messages and objectives multiplied by the factor."""

    def times(a: Array) -> Array:
        return (a * factor).astype(a.dtype)

    out = change_events(s, times, times)
    problem = s.case.problem
    if problem is not None:
        f = None if problem.f is None else (problem.f * factor**2).astype(problem.f.dtype)
        out = replace(out, case=replace(out.case, problem=replace(problem, e=times(problem.e), f=f)))
    return losing(out, factor**2)


def messages(s: Scenario, n: int) -> Scenario:
    """Return the case with n messages in each round: the messages of the case, and further messages like them."""

    def more(e: Event) -> Event:
        assert isinstance(e, Messages)
        sent = e.messages
        out = []
        for i in range(n):
            m, again = sent[i % len(sent)], i // len(sent)
            factor = 1 / (1 + again) * (-1) ** again
            blocks = {name: (a * factor).astype(a.dtype) for name, a in m.delta.items()}
            out.append(replace(m, client=i, delta=blocks, weight=m.weight + again))
        return replace(e, messages=tuple(out))

    N = s.case.population
    events = tuple(map(more, s.events))
    return replace(s, case=replace(s.case, population=N and max(N, n)), events=events)


def opposed(s: Scenario) -> Scenario | None:
    """Return the case with clients equal up to sign, in opposite pairs, so that their changes nearly cancel.

    The clients' mean nearly vanishes, so that a rule that takes the larger of two numbers takes another one than usual.
    None if no event has two clients.
    """
    case, problem = s.case, s.case.problem
    n = len(problem.e) if problem is not None else 0

    def event(e: Event) -> Event:
        if isinstance(e, Round):
            # Whoever is drawn twice comes once.
            who = tuple(range(min(len(e.steps), n)))
            return replace(arranged(e, [0] * len(who)), participants=who)
        assert isinstance(e, Messages)
        first = e.messages[0]
        sent = (replace(first, client=k, delta=side(first.delta, k)) for k in range(len(e.messages)))
        return replace(e, messages=tuple(sent))

    def side(delta: Mapping[str, Array], k: int) -> dict[str, Array]:
        return {name: (a * PULLS[k % 2]).astype(a.dtype) for name, a in delta.items()}

    if max(len(taking_part(s, e)) for e in s.events) < 2:
        return None
    if problem is not None:
        e = np.stack([problem.e[0] * PULLS[k % 2] for k in range(n)]).astype(problem.e.dtype)
        posed = above_zero(replace(picked(problem, [0] * n), e=e))
        case = replace(case, problem=posed, x0={name: a * 0 for name, a in case.x0.items()})
    return replace(s, case=case, events=tuple(map(event, s.events)))


def ringed(s: Scenario) -> Scenario | None:
    """Return the case in which each client mixes with only the next one in a ring, three times per round.

    None where there are no senders, or not everybody mixes.
    """
    n = 0 if s.case.problem is None else len(s.case.problem.e)

    def event(e: Exchange) -> Event:
        W = np.eye(n, dtype=e.mixing.dtype) / 2
        for V in e.clusters or (tuple(range(n)),):
            for k, i in enumerate(V):
                W[i, V[(k + 1) % len(V)]] += 0.5
        first = tuple(V[0] for V in e.clusters) or e.senders[:1]
        everybody = tuple(range(n))
        return replace(e, mixing=W, senders=first, computing=(everybody,) * 3)

    exchanges = [e for e in s.events if isinstance(e, Exchange)]
    if not exchanges or any(not e.senders or e.mixing.shape != (n, n) or n < 3 for e in exchanges):
        return None
    return replace(s, events=tuple(map(event, exchanges)))


def crowd(s: Scenario, n: int) -> Scenario:
    """Return the case with n clients, all of them in every round."""
    problem = s.case.problem
    assert problem is not None
    rows = [i % len(problem.e) for i in range(n)]
    e = np.stack([problem.e[row] * (1 - i / (2 * n)) for i, row in enumerate(rows)]).astype(problem.e.dtype)
    posed = above_zero(replace(picked(problem, rows), e=e))

    def everybody(event: Round) -> Event:
        return replace(arranged(event, [i % len(event.steps) for i in range(n)]), participants=tuple(range(n)))

    return mapped(replace(s, case=replace(s.case, problem=posed)), Round, everybody)


def heavy(s: Scenario, size: float) -> Scenario:
    """Return the case whose last client has ``size`` examples."""
    if s.case.problem is not None:
        examples = s.case.problem.examples.copy()
        examples[-1] = size
        return replace(s, case=replace(s.case, problem=replace(s.case.problem, examples=examples)))
    return mapped(
        s, Messages, lambda e: replace(e, messages=(*e.messages[:-1], replace(e.messages[-1], weight=int(size))))
    )


def stepping(setting: Setting, s: Scenario, steps: int) -> Scenario:
    """Return the case in which the first client of every event takes ``steps`` steps."""

    def event(e: Event) -> Event:
        match e:
            case Messages(messages=(first, *rest)):
                norm = steps if setting.steps_only else first.a_norm
                return replace(e, messages=(replace(first, steps=steps, a_norm=norm), *rest))
            case Round(steps=(_, *others)):
                return replace(e, steps=(steps, *others))
            case Arrival():
                return replace(e, steps=steps)
        return e

    return replace(s, events=tuple(map(event, s.events)))


def lasting(s: Scenario, steps: int) -> Scenario:
    """Return the case in which every round among peers has ``steps`` local steps."""
    return mapped(s, Exchange, lambda e: replace(e, computing=(e.computing * steps)[:steps]))


def delayed(s: Scenario, delay: int) -> Scenario:
    """Return the case with enough arrivals for the last ones to be ``delay`` versions late."""
    buffer = int(s.case.hyper.get("buffer", 1))
    few = tuple(e for e in s.events if isinstance(e, Arrival))
    count = max(len(few), (delay + 2) * buffer)
    events = [replace(few[k % len(few)], delay=0) for k in range(count)]
    late = [replace(e, delay=delay) if k // buffer >= delay else e for k, e in enumerate(events)]
    return replace(s, events=tuple(late))


def shaped(s: Scenario, shapes: list[tuple[int, ...]]) -> Scenario:
    """Return the case with blocks of these shapes, filled by repeating its numbers."""
    names = [f"w{k}" for k in range(len(shapes))]

    def blocks(old: Mapping[str, Array]) -> dict[str, Array]:
        numbers = np.concatenate([a.ravel() for a in old.values()])
        total = sum(int(np.prod(shape)) for shape in shapes)
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        parts = np.split(np.resize(numbers, total), ends)
        return {n: part.reshape(shape) for n, part, shape in zip(names, parts, shapes, strict=True)}

    def event(e: Event) -> Event:
        if isinstance(e, Gradient) and e.tokens:
            rows = [blocks({n: a[j, ...] for n, a in e.g.items()}) for j in range(len(e.tokens))]
            return replace(e, g={n: np.stack([row[n] for row in rows]) for n in names})
        return with_blocks(e, blocks)

    return replace(s, case=replace(s.case, x0=blocks(s.case.x0)), events=tuple(map(event, s.events)))


def longer(s: Scenario, events: int) -> Scenario:
    """Return the case with ``events`` events, by repeating its own."""
    return replace(s, events=(s.events * -(-events // len(s.events)))[:events])


def smaller(s: Scenario) -> Iterator[Scenario]:
    """Yield smaller versions of a case that is too large: two clients, one client, one event, both."""
    for n in (2, 1):
        yield replace(s, events=tuple(first_clients(e, n) for e in s.events))
    yield replace(s, events=s.events[:1])
    yield replace(s, events=tuple(first_clients(e, 1) for e in s.events[:1]))
