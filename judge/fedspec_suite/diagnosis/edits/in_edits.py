"""Functions that edited text may call beside the specification's own: the event's number, averaged updates, old values.

Each function takes the session's record as its first argument, which the text doesn't write: the session passes it. A
recorder fills the record; it is a defect that changes no number.
"""

from __future__ import annotations

import math
import operator
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType, FunctionType
from typing import Any, cast

from fedspec import population
from fedspec.algorithms.synchronous import model
from fedspec.arith import maximum, numbers
from fedspec.contract import Begin, Event, Gradient
from fedspec.mixing.weighted import weighted_mean
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, around_clients, behind, calling, stepping
from fedspec_suite.diagnosis.defects.lagging import clients_of, steps_of_event
from fedspec_suite.diagnosis.edits.memory import Memory
from fedspec_suite.diagnosis.edits.of_arrays import (
    each_of,
    first_larger,
    halving,
    longer,
    others_alone,
    plain_means,
    reduced,
    row_by_row,
    whole,
    without_own,
)
from fedspec_suite.measure.scenario import Scenario


def in_each_block(kept: Memory, f: Callable[..., Any], *vectors: Any) -> Any:
    """Apply a function to each block of some vectors; if it returns one number, the number fills the block."""
    return each_of(kept.blocks, f, *vectors)


def over_blocks(kept: Memory, f: Callable[[Any], Any], v: Any) -> list[Any]:
    """Return a function's value for each block of a vector, or of the rows of a stack."""
    return [f(v[..., b]) for b in kept.blocks]


def over_clients(kept: Memory, f: Callable[[Any], Any]) -> Any:
    """Return the weighted mean over the clients of a function of their updates."""
    sent, p, mean = kept.averaged
    return mean(f(sent), p)


def one_by_one(kept: Memory, f: Callable[[Any, Any], Any], start: Any) -> Any:
    """Fold a function over the averaged updates, from a start value."""
    for row in kept.averaged[0]:
        start = f(start, row)
    return start


def steps_of(kept: Memory, k: int) -> Any:
    """Return the number of local steps of the k-th client in the event."""
    return kept.steps[k]


def most_steps(kept: Memory) -> Any:
    """Return the largest number of local steps of a client in the event."""
    return max(kept.steps)


def heard(kept: Memory) -> int:
    """Return the number of different clients that have taken part so far, in this event too."""
    return len(kept.heard)


def different(kept: Memory) -> int:
    """Return the number of different clients in the event."""
    return len({*kept.clients})


def moved_mean(kept: Memory, name: str, rows: Any) -> Any:
    """Return a mean that moves by the change of the rows over the number of the event's clients, not over that of all.

    It is zero before the first event.
    """
    before, mean = kept.left.get(("ever", name), (0 * rows, 0 * rows[0]))
    mean = mean + (rows - before).sum(axis=0) / len(kept.clients)
    kept.left["ever", name] = rows, mean
    return mean


def as_set(kept: Memory, name: str) -> Any:
    """Return the set value of a hyper-parameter, whatever value a function receives."""
    return kept.hyper[name]


def programs_values(rule: FrameType) -> dict[str, Any]:
    """Return what the algorithm has where it calls a rule, by name, given the frame of the rule."""
    found: dict[str, Any] = {}
    frame = rule.f_back
    while frame is not None and (module := frame.f_globals.get("__name__", "")) != "fedspec.reference":
        if module.startswith("fedspec.algorithms."):
            found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found


def at_hand(kept: Memory, name: str) -> Any:
    """Return a value that the algorithm has where it calls the rule, by its name there."""
    return programs_values(sys._getframe(1))[name]


def event_number(kept: Memory) -> int:
    """Return the number of the present event, from 1."""
    return kept.number


def of_event_before(kept: Memory, name: str, now: Any, first: Any = 0) -> Any:
    """Return a name's value in the event before; ``first`` times the present one in the first event."""
    kept.told[name, kept.number] = now
    return kept.told.get((name, kept.number - 1), first * now)


def of_state(kept: Memory, path: str) -> Any:
    """Return a field of the session's state before the event, for example ``server.m``."""
    return operator.attrgetter(path)(kept.state)


def _remembered(inner: Running, s: Scenario) -> Running:
    kept = inner.memory

    def call(mean: Callable[..., Any], sent: Any, p: Any, *args: Any, **keywords: Any) -> Any:
        kept.averaged = sent, p, mean
        return mean(sent, p, *args, **keywords)

    return behind({cast(FunctionType, weighted_mean): calling(call)})(inner, s)


REMEMBERED = Defect(words="", session=_remembered)
"""Recorder of the last averaged updates, their weights and the averaging function."""


def time_before(kept: Memory, name: str, now: Any, first: Any = None) -> Any:
    """Return a name's value at the previous call; at the first call, ``first`` if given, else the present value."""
    before = kept.before.get(name, now if first is None else first)
    kept.before[name] = now
    return before


def most_so_far(kept: Memory, name: str, now: Any) -> Any:
    """Return the largest value of a name over all calls in this session."""
    most = kept.before[f"most {name}"] = maximum(kept.before.get(f"most {name}", now), now)
    return most


def at_the_beginning(kept: Memory, name: str, now: Any) -> Any:
    """Return a name's value in the first local step of the round, at the same place in the step."""
    kept.asked[name] = kept.asked.get(name, -1) + 1
    return kept.begun.setdefault((name, kept.asked[name]), now)


def in_the_first_step(kept: Memory, name: str, now: Any) -> Any:
    """Return a name's value at the first call in an event, for peers that take several steps in an event."""
    return kept.begun.setdefault((name, 0), now)


def new_model(kept: Memory) -> Any:
    """Return the model after the event, while the event is still being processed."""
    return kept.made


def mean_change(kept: Memory) -> Any:
    """Return the mean of the event's changes, while the clients still work."""
    if not kept.averaged:
        # The event is taken for the first time, to see its mean.
        return 0 * kept.made
    sent, p, mean = kept.averaged
    return mean(sent, p)


def _foreseen(inner: Running, event: Event, k: int) -> Any:
    """The event taken twice, the second time with the first one's model at hand: the model must not depend on that."""
    state, kept = inner.state, inner.memory
    kept.made = model(state)
    inner.step(event)
    kept.made = model(inner.state)
    inner.state = state
    answer = inner.step(event)
    if any(float(a) != float(b) for a, b in zip(kept.made, model(inner.state), strict=True)):
        raise ArithmeticError("the model depends on itself")
    return answer


FORESEEN = stepping("", _foreseen)
"""Recorder of the model after an event, which it obtains by processing the event twice."""


def handed(kept: Memory, key: tuple[Any, ...], anew: Any) -> Any:
    """Return the value stored under a key; ``anew`` if there is none."""
    return kept.left.get(key, anew)


def hand_on(kept: Memory, key: tuple[Any, ...], value: Any) -> None:
    """Store a value under a key."""
    kept.left[key] = value


def taking_over(kept: Memory, state: Any, field: str, key: tuple[Any, ...]) -> Any:
    """Return a state with a field replaced by the value stored under a key; unchanged if there is none."""
    return replace(state, **{field: kept.left.get(key, getattr(state, field))})


def of_first(kept: Memory, name: str, now: Any) -> Any:
    """Return a name's value at its first use in the event."""
    return _of(kept, 0, name, now)


def of_last(kept: Memory, name: str, now: Any) -> Any:
    """Return a name's value at its last use in the event."""
    return _of(kept, -1, name, now)


def _of(kept: Memory, place: int, name: str, now: Any) -> Any:
    if kept.looking:
        kept.surveyed.setdefault(name, []).append(now)
        return now
    return kept.surveyed[name][place]


def _surveyed(inner: Running, event: Event, k: int) -> Any:
    state, kept = inner.state, inner.memory
    kept.surveyed.clear()
    kept.looking = True
    try:
        inner.step(event)
    finally:
        kept.looking = False
    inner.state = state
    return inner.step(event)


SURVEYING = stepping("", _surveyed)
"""Recorder of all values of a name in an event, for example for its first and its last client."""


def who(kept: Memory) -> int:
    """Return the number of the client that computes."""
    return kept.who


def gathered(kept: Memory, value: Any) -> list[Any]:
    """Append a value to the client's list of values since the last reset, and return the list."""
    kept.gathered.setdefault(kept.turn, []).append(value)
    return kept.gathered[kept.turn]


def used(kept: Memory) -> None:
    """Reset the client's list of gathered values."""
    kept.gathered.pop(kept.turn, None)


def of_last_turn(kept: Memory, name: str, now: Any) -> Any:
    """Return a name's value when the computing client last took part; the present value if it never did.

    Raises:
        LookupError: no client computes by itself, as among peers.
    """
    if not kept.turn:
        raise LookupError("no client takes a turn")
    turn, value, before = kept.left.get(("turn", name, kept.who), (kept.turn, now, now))
    before = before if turn == kept.turn else value
    kept.left["turn", name, kept.who] = kept.turn, now, before
    return before


def of_first_use(kept: Memory, name: str, now: Any) -> Any:
    """Return a name's value at its first use of all."""
    return kept.left.setdefault(("ever", "first", name), now)


def own_last_model(kept: Memory, x: Any) -> Any:
    """Return the local model with which the computing client ended its last round; ``x`` if it never took part."""
    if ("end", kept.who) not in kept.left:
        return x
    received, made = kept.left["end", kept.who]
    # The first that a client returns is its change.
    return received + (made[0] if isinstance(made, tuple) else made)


def own_rounds(kept: Memory) -> int:
    """Return the number of rounds in which the computing client has taken part, with the present one."""
    return int(kept.left.get(("rounds", kept.who), 0))


def step_before(kept: Memory, name: str, now: Any, first: Any) -> Any:
    """Return a name's value in the step before of the same client in this round; ``first`` in its first step."""
    before = kept.left.get((name, kept.turn), first)
    kept.left[name, kept.turn] = now
    return before


def compounded(kept: Memory, factor: Any) -> Any:
    """Return the product of this factor and the client's earlier factors."""
    return math.prod(gathered(kept, factor))


def _in_turn(inner: Running, s: Scenario) -> Running:
    kept = inner.memory
    kept.who, kept.turn = 0, 0
    kept.gathered.clear()

    def taking_turns(client: Callable[..., Any], *given: Any) -> Callable[..., Any]:
        def one(i: Any, x: Any, *rest: Any, **named: Any) -> Any:
            kept.who, kept.turn = i, kept.turn + 1
            kept.left["rounds", i] = own_rounds(kept) + 1
            made = client(i, x, *rest, **named)
            kept.left["end", i] = x, made
            return made

        return one

    def take(inner: Running, event: Event, k: int) -> Any:
        if isinstance(event, Begin):
            kept.turn += 1
        return inner.step(event)

    runs = (population.each, population.each_arrival)
    around = behind({cast(FunctionType, f): around_clients(taking_turns) for f in runs})
    return Stepping(around(inner, s), take)


IN_TURN = Defect(words="", session=_in_turn)
"""Recorder of the client that computes."""


def _noted(inner: Running, s: Scenario) -> Running:
    kept = inner.memory
    # An edited function may have run before the first event.
    kept.before.clear()
    kept.left.clear()
    kept.heard.clear()

    def take(inner: Running, event: Event, k: int) -> Any:
        kept.number, kept.state, kept.steps = k + 1, inner.state, steps_of_event(event)
        kept.clients = clients_of(event)
        kept.heard.update(kept.clients)
        kept.hyper.update(inner.keywords if hasattr(inner, "keywords") else vars(inner.h))
        kept.asked.clear()
        if k == 0 or not isinstance(event, Gradient):
            kept.begun.clear()
        for key in [key for key in kept.left if key[0] == "round"]:
            del kept.left[key]
        return inner.step(event)

    return Stepping(inner, take)


NOTED = Defect(words="", session=_noted)
"""Recorder of an event's number, of the state before it, of steps and hyper-parameters, and of the values of names.

It clears the values of names when a session, or a round, begins. It stands around the recorders that take an event
twice, so that it counts the event once.
"""

AVERAGING = (over_clients, one_by_one)
"""Functions that read the averaged updates."""

NEEDS: dict[Callable[..., Any], Defect] = {
    **dict.fromkeys(AVERAGING, REMEMBERED),
    new_model: FORESEEN,
    **dict.fromkeys((of_first, of_last), SURVEYING),
    **dict.fromkeys((who, gathered, used, compounded, of_last_turn, own_last_model), IN_TURN),
    **dict.fromkeys((own_rounds, step_before), IN_TURN),
    **dict.fromkeys((as_set, steps_of, event_number, of_state, of_event_before, time_before, most_so_far), NOTED),
    **dict.fromkeys((most_steps, heard, different, moved_mean, of_first_use), NOTED),
    **dict.fromkeys((at_the_beginning, in_the_first_step, handed, hand_on, taking_over), NOTED),
}
"""Recorder that each of these functions needs."""

_IN_BLOCKS: tuple[Callable[..., Any], ...] = (in_each_block, over_blocks)

ASKING = {f.__name__: f for f in (*NEEDS, *_IN_BLOCKS)}
"""Functions that read the session's record, by the name that the text calls."""

_GIVEN: tuple[Callable[..., Any], ...] = (
    *(longer, first_larger, whole, numbers, replace, row_by_row),
    *(reduced, without_own, others_alone, plain_means, halving),
)

GIVEN = {f.__name__: f for f in _GIVEN}
"""Functions that don't read the session's record, by the name that the text calls."""


def asked(text: str) -> tuple[Defect, ...]:
    """Return the recorders that a text needs for the functions that it calls."""
    called = [f for f in NEEDS if f"{f.__name__}(" in text]
    return tuple(dict.fromkeys(NEEDS[f] for f in called if re.search(rf"\b{f.__name__}\(", text)))
