"""Record of a generic defect, and helpers that wrap a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial, wraps
from typing import Any, TypeAlias

from fedspec.contract import Begin, Event, Round
from fedspec_suite.measure.function_copies import Around
from fedspec_suite.measure.scenario import Scenario, mapped

Running: TypeAlias = Any
"""Session of the specification: its state can be replaced, functions in its copy (``spec``) can be wrapped, and
edited text reads its record (``memory``).
"""


@dataclass(frozen=True, kw_only=True)
class Defect:
    """Generic mistake: its description, and how to make the specification commit it.

    Attributes:
        words: description in a diagnosis.
        tail: the equation that it breaks, by the end of its id; empty: it stands in none.
        given: the scenario that the specification gets, from the true one.
        session: the session that runs instead, from the one of the specification and the scenario.
        about: the hyper-parameter that it is about, if any.
        claim: fields of a claim, by name, under which it is right; empty if no claim says it.
    """

    words: str
    tail: str = ""
    given: Callable[[Scenario], Scenario] = lambda s: s
    session: Callable[[Running, Scenario], Running] = lambda inner, s: inner
    about: str = ""
    claim: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)


def with_x(state: Any, x: Any) -> Any:
    """Replace the model inside a session's state, also in a nested record or as the last version."""
    if not is_dataclass(state) or isinstance(state, type):
        return x
    names = {f.name for f in fields(state)}
    if "x" in names:
        return replace(state, x=x)
    if "X" in names and "server" not in names:
        return replace(state, X=x)
    changed: dict[str, Any] = {}
    if "versions" in names:
        changed["versions"] = (*state.versions[:-1], x)  # type: ignore[attr-defined]
    if "server" in names:
        changed["server"] = with_x(state.server, x)  # type: ignore[attr-defined]
    return replace(state, **changed)


def _holder(state: Any, name: str) -> str:
    """Name of the record inside a state that has a field; empty if the state itself has it."""
    held = {f.name for f in fields(state)}
    inner = (n for n in held if is_dataclass(getattr(state, n)) and hasattr(getattr(state, n), name))
    return "" if name in held else next(inner)


def part(state: Any, name: str) -> Any:
    """Return a field of a state, or of a record inside it."""
    holder = _holder(state, name)
    return getattr(getattr(state, holder) if holder else state, name)


def with_part(state: Any, name: str, value: Any) -> Any:
    """Replace a field of a state, or of a record inside it."""
    if holder := _holder(state, name):
        return replace(state, **{holder: with_part(getattr(state, holder), name, value)})
    return replace(state, **{name: value})


def with_shown(answer: Any, name: str, value: Any, event: Event) -> Any:
    """Replace a value in an answer, if the answer contains it; reduced to the participants if the answer is."""
    if name not in answer:
        return answer
    if isinstance(event, Round) and len(value) != len(answer[name]) == len(event.participants):
        value = value[list(event.participants)]
    return {**answer, name: value}


def step_with(inner: Running, event: Event, **other: Any) -> Any:
    """Return the answer to an event for which some of the session's attributes are replaced."""
    kept = {n: getattr(inner, n) for n in other}
    for n, value in other.items():
        setattr(inner, n, value)
    try:
        return inner.step(event)
    finally:
        for n, value in kept.items():
            setattr(inner, n, value)


def with_gradients_of(inner: Running, change: Callable[..., Any]) -> Running:
    """Replace each client's gradient by a function that gets the gradient first, then the step and the model."""
    inner.clients = [partial(change, gradient) for gradient in inner.clients]
    return inner


def of_events(words: str, kind: type[Event], change: Callable[[Any], Event], tail: str = "") -> Defect:
    """Return a defect that changes every event of a type."""
    return Defect(words=words, tail=tail, given=lambda s: mapped(s, kind, change))


class Stepping:
    """Session that passes each event to a function of the inner session, the event and the number of earlier events.

    Whatever else is read from it or put back is the session's within, however deep that is.
    """

    inner: Running
    take: Callable[[Running, Event, int], Any]
    count: int

    def __init__(self, inner: Running, take: Callable[[Running, Event, int], Any]) -> None:
        vars(self).update(inner=inner, take=take, count=0)

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["inner"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.inner, name, value)

    def step(self, event: Event) -> Any:
        """Take the event by calling ``take``."""
        before = self.count
        vars(self)["count"] = before + 1
        return self.take(self.inner, event, before)


def each_event(take: Callable[[Running, Event, int], Any]) -> Callable[[Running, Scenario], Running]:
    """Wrap a session so that ``take`` processes each event."""
    return lambda inner, s: Stepping(inner, take)


def stepping(words: str, take: Callable[[Running, Event, int], Any], tail: str = "") -> Defect:
    """Return a defect that changes how each event is processed."""
    return Defect(words=words, tail=tail, session=each_event(take))


def beginning(begin: Callable[[Running], None], *, at_first: bool = True) -> Callable[[Running, Scenario], Running]:
    """Wrap a session so that ``begin`` changes it at the start (unless ``at_first`` is false) and after each Begin."""

    def take(inner: Running, event: Event, k: int) -> Any:
        answer = inner.step(event)
        if isinstance(event, Begin):
            begin(inner)
        return answer

    def session(inner: Running, s: Scenario) -> Running:
        if at_first:
            begin(inner)
        return Stepping(inner, take)

    return session


def began(
    name: str, start: Callable[[Running], Any], *, at_first: bool = True
) -> Callable[[Running, Scenario], Running]:
    """Wrap a session so that a field starts at another value, at the start and after each Begin."""

    def begin(inner: Running) -> None:
        now = part(inner.state, name)
        inner.state = with_part(inner.state, name, 0 * now + start(inner))

    return beginning(begin, at_first=at_first)


def calling(instead: Callable[..., Any], *given: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a wrapper by which ``instead`` runs in a function's place: it gets the function, then the arguments.

    What is ``given`` comes before the function.
    """
    return lambda there: wraps(there)(partial(instead, *given, there))


OfClient: TypeAlias = Callable[..., Callable[..., Any]]
"""Function that returns a replacement of a client, given the client and the arguments of the function running it."""


def around_clients(of_client: OfClient) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a wrapper for the function that runs clients, which replaces each client."""

    def run(there: Callable[..., Any], client: Callable[..., Any], *given: Any) -> Any:
        return there(wraps(client)(of_client(client, *given)), *given)

    return calling(run)


def behind(functions: Around | Callable[[Running], Around]) -> Callable[[Running, Scenario], Running]:
    """Wrap a session so that functions of the specification are wrapped while it takes an event.

    Args:
        functions: the wrappers, or a function that gives them from the session before each event.
    """

    def take(inner: Running, event: Event, k: int) -> Any:
        with inner.spec.behind(functions(inner) if callable(functions) else functions):
            return inner.step(event)

    return each_event(take)
