"""What edited text may use beside the specification: the blocks of the model, what was averaged, the event's number."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any, cast

from fedspec import population
from fedspec.algorithms.synchronous import model
from fedspec.arith import maximum, numbers
from fedspec.contract import Begin, Event, Gradient, Messages
from fedspec.mixing.weighted import weighted_mean
from fedspec_suite.judge.defects.defect import Defect, Running, Stepping, around_clients, behind, stepping
from fedspec_suite.judge.of_arrays import (
    first_larger,
    first_larger_blocks,
    in_each_block,
    longer,
    longer_blocks,
    others_alone,
    plain_means,
    row_by_row,
    set_firsts,
    set_means,
    set_sums,
    whole,
    without_own,
)
from fedspec_suite.measure.scenario import Scenario

NUMBER = [1]
"""Which event is taken."""

AVERAGED: list[Any] = []
"""What was averaged last: the stack, the weights and how."""


def over_clients(f: Callable[[Any], Any]) -> Any:
    """The mean over the clients of a function of what each of them sent."""
    sent, p, mean = AVERAGED
    return mean(f(sent), p)


def one_by_one(f: Callable[[Any, Any], Any], start: Any) -> Any:
    """What a function makes of something and each update that was averaged, one after another."""
    for row in AVERAGED[0]:
        start = f(start, row)
    return start


def by_means_so_far(f: Callable[[Any, Any], Any], start: Any) -> Any:
    """The same of the mean of each update and those before it."""
    total: Any = 0
    for k, row in enumerate(AVERAGED[0], 1):
        total = total + row
        start = f(start, total / k)
    return start


STEPS = [1]
"""How many local steps each client of the event takes."""


def steps_of(k: int) -> Any:
    """The number of local steps of the k-th client of the event."""
    return STEPS[k]


def _stepped(inner: Running, event: Event, k: int) -> Any:
    told = [m.steps for m in event.messages] if isinstance(event, Messages) else getattr(event, "steps", 1)
    STEPS[:] = [*told] if isinstance(told, list | tuple) else [told]
    return inner.step(event)


WALKED = stepping("", _stepped)
"""What makes known how many steps the clients take."""


SET: dict[str, Any] = {}
"""The hyper-parameters of the case that runs."""


def as_set(name: str) -> Any:
    """A hyper-parameter as it is set, whatever a function is given for it."""
    return SET[name]


def _setting(inner: Running, event: Event, k: int) -> Any:
    SET.update(inner.keywords if hasattr(inner, "keywords") else vars(inner.h))
    return inner.step(event)


TOLD = stepping("", _setting)
"""What makes the hyper-parameters known everywhere."""


def event_number() -> int:
    """The number of the event that is taken, from 1."""
    return NUMBER[0]


def _counted(inner: Running, event: Event, k: int) -> Any:
    NUMBER[:] = [k + 1]
    return inner.step(event)


COUNTED = stepping("", _counted)
"""What makes it known which event is taken."""


def _remembering(mean: Callable[..., Any]) -> Callable[..., Any]:
    def call(sent: Any, p: Any, *args: Any, **keywords: Any) -> Any:
        AVERAGED[:] = sent, p, mean
        return mean(sent, p, *args, **keywords)

    return call


REMEMBERED = Defect(words="", session=behind({cast(FunctionType, weighted_mean): _remembering}))
"""What makes it known what was averaged."""

BEFORE: dict[str, Any] = {}
"""What names were when they were last asked for in this session."""


def time_before(name: str, now: Any, first: Any = None) -> Any:
    """What a name was the time before; the first time as it is, or what it is then."""
    before = BEFORE.get(name, now if first is None else first)
    BEFORE[name] = now
    return before


def _forgetting(inner: Running, s: Scenario) -> Running:
    BEFORE.clear()
    return inner


def most_so_far(name: str, now: Any) -> Any:
    """The largest that a number has been whenever it was asked for in this session."""
    BEFORE[f"most {name}"] = maximum(BEFORE.get(f"most {name}", now), now)
    return BEFORE[f"most {name}"]


TIMED = Defect(words="", session=_forgetting)
"""What makes it known what names were, to nobody but the session."""

BEGUN: dict[tuple[str, int], Any] = {}
"""What names were when the round began, by how often they were asked for in its first step before that."""

ASKED: dict[str, int] = {}
"""How often a name was asked for in the step that is taken."""


def at_the_beginning(name: str, now: Any) -> Any:
    """What a name was in the first local step of the round."""
    ASKED[name] = ASKED.get(name, -1) + 1
    return BEGUN.setdefault((name, ASKED[name]), now)


def in_the_first_step(name: str, now: Any) -> Any:
    """What a name was when it was asked for first in the event, among peers who take several steps in one."""
    return BEGUN.setdefault((name, 0), now)


def _kept_for_a_round(inner: Running, event: Event, k: int) -> Any:
    ASKED.clear()
    if k == 0 or isinstance(event, Begin) or not isinstance(event, Gradient):
        BEGUN.clear()
    return inner.step(event)


OF_ROUND = stepping("", _kept_for_a_round)
"""What makes known what a name was when a round of local steps began."""

MADE: list[Any] = []
"""The model that comes out of the event that is taken."""


def new_model() -> Any:
    """The model that comes out of the event, while it is taken."""
    return MADE[0]


def _foreseen(inner: Running, event: Event, k: int) -> Any:
    """The event taken twice, the second time with the first one's model at hand: the model must not depend on that."""
    state = inner.state
    MADE[:] = [model(state)]
    inner.step(event)
    MADE[:] = [model(inner.state)]
    inner.state = state
    answer = inner.step(event)
    if any(float(a) != float(b) for a, b in zip(MADE[0], model(inner.state), strict=True)):
        raise ArithmeticError("the model depends on itself")
    return answer


FORESEEN = stepping("", _foreseen)
"""What makes the model of an event known before it is made."""

LEFT: dict[tuple[Any, ...], Any] = {}
"""What clients have left: by how long it lives (``round`` or longer), its name, and whose it is, if that matters."""


def handed(key: tuple[Any, ...], anew: Any) -> Any:
    """What was left under a key; what is made anew where nothing was."""
    return LEFT.get(key, anew)


def hand_on(key: tuple[Any, ...], value: Any) -> None:
    """Leave something to who comes next."""
    LEFT[key] = value


def taking_over(state: Any, field: str, key: tuple[Any, ...]) -> Any:
    """A state with what the last client left."""
    return replace(state, **{field: LEFT.get(key, getattr(state, field))})


def _handing(inner: Running, s: Scenario) -> Running:
    LEFT.clear()

    def take(inner: Running, event: Event, k: int) -> Any:
        for key in [key for key in LEFT if key[0] == "round"]:
            del LEFT[key]
        return inner.step(event)

    return Stepping(inner, take)


HANDING = Defect(words="", session=_handing)
"""What makes clients leave something to others of their session alone."""

SURVEYED: dict[str, list[Any]] = {}
"""What names were in the event that is taken, in turn, when it was taken for the first time."""

LOOKING = [False]
"""Whether the event is taken only to see what names are in it."""


def of_first(name: str, now: Any) -> Any:
    """What a name is when it is first asked for in the event."""
    return _of(0, name, now)


def of_last(name: str, now: Any) -> Any:
    """What a name is when it is last asked for in the event."""
    return _of(-1, name, now)


def _of(place: int, name: str, now: Any) -> Any:
    if LOOKING[0]:
        SURVEYED.setdefault(name, []).append(now)
        return now
    return SURVEYED[name][place]


def _surveyed(inner: Running, event: Event, k: int) -> Any:
    state = inner.state
    SURVEYED.clear()
    LOOKING[0] = True
    try:
        inner.step(event)
    finally:
        LOOKING[0] = False
    inner.state = state
    return inner.step(event)


SURVEYING = stepping("", _surveyed)
"""What makes known what a name is for the first or the last client of an event."""

TURN = [0, 0]
"""Which client computes, and how many have begun in this session."""

GATHERED: dict[int, list[Any]] = {}
"""By how many clients have begun: what was gathered since it was used last."""


def who() -> int:
    """The number of the client that computes."""
    return TURN[0]


def gathered(value: Any) -> list[Any]:
    """What the client has gathered since it was used, with this."""
    GATHERED.setdefault(TURN[1], []).append(value)
    return GATHERED[TURN[1]]


def used() -> None:
    """What was gathered is used: the next begins anew."""
    GATHERED.pop(TURN[1], None)


def compounded(factor: Any) -> Any:
    """The product of this factor and those before it, since a client has begun."""
    return math.prod(gathered(factor))


def _taking_turns(client: Callable[..., Any], *given: Any) -> Callable[..., Any]:
    def one(i: Any, *rest: Any, **named: Any) -> Any:
        TURN[:] = [i, TURN[1] + 1]
        return client(i, *rest, **named)

    return one


def _in_turn(inner: Running, s: Scenario) -> Running:
    TURN[:] = [0, 0]
    GATHERED.clear()
    runs = (population.each, population.each_arrival)
    around = behind({cast(FunctionType, f): around_clients(_taking_turns) for f in runs})

    def take(inner: Running, event: Event, k: int) -> Any:
        if isinstance(event, Begin):
            TURN[1] += 1
        return inner.step(event)

    return Stepping(around(inner, s), take)


IN_TURN = Defect(words="", session=_in_turn)
"""What makes known who computes."""

AVERAGING = (over_clients, one_by_one, by_means_so_far)
"""What asks what was averaged."""

NEEDS = {
    as_set: TOLD,
    steps_of: WALKED,
    **dict.fromkeys(AVERAGING, REMEMBERED),
    event_number: COUNTED,
    **dict.fromkeys((time_before, most_so_far), TIMED),
    **dict.fromkeys((at_the_beginning, in_the_first_step), OF_ROUND),
    new_model: FORESEEN,
    **dict.fromkeys((of_first, of_last), SURVEYING),
    **dict.fromkeys((handed, hand_on, taking_over), HANDING),
    **dict.fromkeys((who, gathered, used, compounded), IN_TURN),
}
"""By what an edited text calls, what makes known what that answers."""

WITHOUT_SESSION = (
    in_each_block,
    *(longer, longer_blocks, first_larger, first_larger_blocks),
    whole,
    numbers,
    replace,
    row_by_row,
    *(set_sums, set_means, set_firsts),
    *(without_own, others_alone, plain_means),
)

GIVEN = {f.__name__: f for f in (*WITHOUT_SESSION, *NEEDS)}
"""By the name that the text has for it."""


def asked(text: str) -> tuple[Defect, ...]:
    """What a text asks for that a session makes known."""
    called = [f for f in NEEDS if f"{f.__name__}(" in text]
    return tuple(dict.fromkeys(NEEDS[f] for f in called if re.search(rf"\b{f.__name__}\(", text)))
