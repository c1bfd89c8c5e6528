"""Defects that any algorithm can have: wrappers of its inputs, its hyper-parameters, its state and its outputs.

A defect changes what the specification is told (``given``) or how its session runs (``session``); the rule itself is
left alone, so that one defect serves the whole catalogue, in every arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from fedspec.algorithms.synchronous import model, together
from fedspec.catalogue import Method
from fedspec.contract import Begin, Event, Gradient, Quadratics, Round
from fedspec.domains import COUNTS, DECAY, DOMAINS
from fedspec.plan import Messages
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

Running: TypeAlias = Any
"""A session of the specification; its state can be put back."""


@dataclass(frozen=True, kw_only=True)
class Defect:
    """What is wrong, in words, and how to make the specification so.

    Attributes:
        words: what a diagnosis says.
        tail: the equation that it breaks, by the end of its id.
        given: what the specification is told instead.
        session: the session that runs instead, from the one of the specification and the scenario.
        about: the hyper-parameter that it is about, if any.
    """

    words: str
    tail: str = "step"
    given: Callable[[Scenario], Scenario] = lambda s: s
    session: Callable[[Running, Scenario], Running] = lambda inner, s: inner
    about: str = ""


def defects(setting: Setting) -> Iterator[Defect]:
    """Every defect that makes sense in a setting; the likelier ones first."""
    if isinstance(setting.algorithm.run, Method):
        yield from _of_messages(setting)
    if setting.level == "client":
        yield from _OF_GRADIENTS
    if setting.level in {"round", "trace"}:
        yield from _of_clients(setting)
    yield from _of_events()
    yield from _of_state(setting)
    yield from _of_numbers(setting)


# Messages: what the server makes of what the clients send.


def _resent(words: str, tail: str, change: Callable[[Messages, Scenario], Messages]) -> Defect:
    def session(inner: Running, s: Scenario) -> Running:
        server = inner.run.server
        inner.run = replace(inner.run, server=lambda h, state, sent: server(h, state, change(together(sent), s)))
        return inner

    return Defect(words=words, tail=tail, session=session)


def _column(numbers: Sequence[Any], like: Any) -> Any:
    out = np.empty((len(numbers), 1), dtype=like.dtype)
    out[:, 0] = list(numbers)
    return out


def _weighed(m: Messages, by: Sequence[Any], told: bool) -> Messages:
    """Other sizes than n_i; where the server does not look at those, the changes are scaled."""
    if told:
        return replace(m, examples=list(by))
    return replace(m, deltas=m.deltas * _column([b * len(by) for b in by], m.deltas) / sum(by))


def _some(sent: Messages, which: slice) -> Messages:
    return Messages(
        deltas=sent.deltas[which], examples=sent.examples[which], steps=sent.steps[which], a_norms=sent.a_norms[which]
    )


def _last_round(name: str) -> Callable[[Running, Scenario], Running]:
    def session(inner: Running, s: Scenario) -> Running:
        server, kept = inner.run.server, []

        def late(h: Any, state: Any, sent: Any) -> Any:
            now = together(sent)
            kept.append(list(getattr(now, name)))
            before = kept[-2] if len(kept) > 1 else kept[-1]
            return server(h, state, replace(now, **{name: [*before, *kept[-1][len(before) :]][: len(kept[-1])]}))

        inner.run = replace(inner.run, server=late)
        return inner

    return session


def _of_messages(setting: Setting) -> Iterator[Defect]:
    by_examples = setting.options.get("weights", "examples") == "examples"
    yield _resent("the changes have the wrong sign", "delta", lambda m, s: replace(m, deltas=-m.deltas))
    yield _resent("only the last client counts", "delta", lambda m, s: _some(m, slice(-1, None)))
    yield _resent("only the first client counts", "delta", lambda m, s: _some(m, slice(0, 1)))
    yield _resent("the last client is left out", "delta", lambda m, s: _some(m, slice(0, max(1, len(m.steps) - 1))))
    if by_examples:
        yield _resent("all clients weigh alike", "w", lambda m, s: replace(m, examples=[1 for _ in m.examples]))
        yield _resent(
            "the weights are those of other clients (their order is reversed)",
            "w",
            lambda m, s: replace(m, examples=m.examples[::-1]),
        )
        yield _resent("the weights are n_i^2", "w", lambda m, s: replace(m, examples=[n * n for n in m.examples]))
        yield Defect(words="the weights are last round's", tail="w", session=_last_round("examples"))
        yield _resent(
            "the clients weigh by n_i tau_i",
            "w",
            lambda m, s: replace(m, examples=[n * t for n, t in zip(m.examples, m.steps, strict=True)]),
        )
        yield _resent(
            "the weights are not normalised: changes are multiplied by n_i",
            "w",
            lambda m, s: replace(m, deltas=m.deltas * sum(m.examples)),
        )
    yield _resent("the clients weigh by their steps", "w", lambda m, s: _weighed(m, m.steps, by_examples))
    if not by_examples:
        yield _resent("the clients weigh by their examples", "w", lambda m, s: _weighed(m, m.examples, False))
    yield _resent(
        "the changes are added, not averaged", "delta", lambda m, s: replace(m, deltas=m.deltas * len(m.steps))
    )
    yield _resent(
        "the mean is divided by the number of clients once more",
        "delta",
        lambda m, s: replace(m, deltas=m.deltas / len(m.steps)),
    )
    yield _resent(
        "each change is divided by the client's steps",
        "d",
        lambda m, s: replace(m, deltas=m.deltas / _column(m.steps, m.deltas)),
    )
    yield _resent(
        "each change is multiplied by the client's steps",
        "d",
        lambda m, s: replace(m, deltas=m.deltas * _column(m.steps, m.deltas)),
    )
    if setting.level == "round":
        yield _resent("divided by the examples of the whole population", "w", _over_population)
        yield _resent(
            "divided by the number of all clients, not of those that took part",
            "w",
            lambda m, s: replace(m, deltas=m.deltas * len(m.steps) / _clients(s)),
        )
    if setting.algorithm.runs("fednova") or "tau_eff" in setting.algorithm.shows:
        yield _resent("||a_i||_1 is taken for tau_i", "d", lambda m, s: replace(m, a_norms=list(m.steps)))
        yield _resent("||a_i||_1 is squared", "d", lambda m, s: replace(m, a_norms=[a * a for a in m.a_norms]))
        yield _resent("||a_i||_1 is one", "d", lambda m, s: replace(m, a_norms=[1 for _ in m.a_norms]))
        yield Defect(words="||a_i||_1 is last round's", tail="d", session=_last_round("a_norms"))
        yield _resent(
            "||a_i||_1 is one local step short",
            "d",
            lambda m, s: replace(m, a_norms=[max(a - 1, 1) for a in m.a_norms]),
        )


def _clients(s: Scenario) -> int:
    return len(s.case.problem.e) if s.case.problem else 1


def _over_population(m: Messages, s: Scenario) -> Messages:
    everybody = sum(s.case.problem.examples) if s.case.problem else 1
    return replace(m, deltas=m.deltas * sum(m.examples) / everybody)


# Gradients: what a local solver makes of them.


def _regraded(words: str, change: Callable[[Any, Any, int], Any]) -> Defect:
    """A change of every gradient: from it, the one before it (itself at first) and its number."""

    def given(s: Scenario) -> Scenario:
        events: list[Event] = []
        before, k = None, 0
        for e in s.events:
            if isinstance(e, Gradient):
                g = {n: change(a, (before or e.g)[n], k) for n, a in e.g.items()}
                before, k = e.g, k + 1
                events.append(Gradient(g))
            else:
                before, k = None, 0
                events.append(e)
        return replace(s, events=tuple(events))

    return Defect(words=words, given=given)


_OF_GRADIENTS = (
    _regraded("the gradient has the wrong sign", lambda g, before, k: -g),
    _regraded("the gradient is that of the step before", lambda g, before, k: before),
    _regraded("the gradient is doubled", lambda g, before, k: 2 * g),
    _regraded("the gradient is averaged over the coordinates of a block", lambda g, before, k: g * 0 + g.mean()),
    _regraded("the gradient is clipped to [-1, 1]", lambda g, before, k: np.clip(g, -1, 1)),
    _regraded("the gradient is replaced by its sign", lambda g, before, k: np.sign(g)),
    _regraded("the gradient is divided by the number of the step", lambda g, before, k: g / (k + 1)),
)


# Clients: what they minimise, how long, and who takes part.


def _problem(words: str, change: Callable[[Quadratics], Quadratics], tail: str = "step") -> Defect:
    def given(s: Scenario) -> Scenario:
        return replace(s, case=replace(s.case, problem=change(s.case.problem) if s.case.problem else None))

    return Defect(words=words, tail=tail, given=given)


def _rounds(words: str, change: Callable[[Round], Round], tail: str = "step") -> Defect:
    def given(s: Scenario) -> Scenario:
        return replace(s, events=tuple(change(e) if isinstance(e, Round) else e for e in s.events))

    return Defect(words=words, tail=tail, given=given)


def _only(e: Round, which: slice) -> Round:
    return replace(
        e,
        participants=e.participants[which],
        steps=e.steps[which],
        strategies=e.strategies[which],
        scales=e.scales[which],
    )


def _of_clients(setting: Setting) -> Iterator[Defect]:
    yield _problem("the clients go uphill", lambda q: Quadratics(-q.H, -q.e, q.examples))
    if setting.level == "round":
        yield _rounds("all take as many steps as the first", lambda e: replace(e, steps=(e.steps[0],) * len(e.steps)))
        yield _rounds(
            "all take as many steps as the busiest", lambda e: replace(e, steps=(max(e.steps),) * len(e.steps))
        )
        yield _rounds("everybody takes one local step", lambda e: replace(e, steps=(1,) * len(e.steps)))
        yield _rounds("one local step too many", lambda e: replace(e, steps=tuple(t + 1 for t in e.steps)))
        yield _rounds("one local step too few", lambda e: replace(e, steps=tuple(max(t - 1, 1) for t in e.steps)))
        yield _rounds("the steps are those of other clients", lambda e: replace(e, steps=e.steps[::-1]))
        if "everyone" not in setting.takes:
            yield _rounds("only the first participant computes", lambda e: _only(e, slice(0, 1)))
            yield _rounds("only the last participant computes", lambda e: _only(e, slice(-1, None)))
        if not isinstance(setting.algorithm.run, Method):
            yield _problem(
                "all clients weigh alike", lambda q: Quadratics(q.H, q.e, np.ones_like(q.examples)), tail="w"
            )
        if "noise" in setting.takes:
            yield _rounds("the noise has the wrong sign", lambda e: replace(e, noise=tuple(-z for z in e.noise)))
            yield _rounds("no noise is added", lambda e: replace(e, noise=tuple(0 * z for z in e.noise)))
    yield _problem("the gradients are doubled", lambda q: Quadratics(2 * q.H, 2 * q.e, q.examples))


# Events and outputs: how often and how late they count.


class _Wrapped:
    """A session around another; what it is asked for beyond its steps is the other's."""

    def __init__(self, inner: Running) -> None:
        self.__dict__["inner"] = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in {"state", "run"}:
            setattr(self.inner, name, value)
        else:
            self.__dict__[name] = value


def with_x(state: Any, x: Any) -> Any:
    """A state of a session with another model in it."""
    return replace(state, x=x) if is_dataclass(state) and not isinstance(state, type) else x


class _Stepping(_Wrapped):
    """Each event is taken by a function of the session within, the event and how many came before."""

    def __init__(self, inner: Running, take: Callable[[Running, Event, int], Any]) -> None:
        super().__init__(inner)
        self.take, self.count = take, 0

    def step(self, event: Event) -> Any:
        """Take the event."""
        self.count += 1
        return self.take(self.inner, event, self.count - 1)


def _stepping(words: str, take: Callable[[Running, Event, int], Any]) -> Defect:
    return Defect(words=words, session=lambda inner, s: _Stepping(inner, take))


def scaled(words: str, factor: Callable[[Scenario, Event, int], Any]) -> Defect:
    """Every step of the model is multiplied by a factor."""

    def session(inner: Running, s: Scenario) -> Running:
        def take(inner: Running, event: Event, k: int) -> Any:
            if isinstance(event, Begin):
                return inner.step(event)
            before = model(inner.state)
            answer = inner.step(event)
            x = before + factor(s, event, k) * (model(inner.state) - before)
            inner.state = with_x(inner.state, x)
            return {**answer, "x": x}

        return _Stepping(inner, take)

    return Defect(words=words, session=session)


def _lost(inner: Running, event: Event, k: int) -> Any:
    if k:
        return inner.step(event)
    return {"x": model(inner.state)}


def _allocates(inner: Running, event: Event, k: int) -> Any:
    before = model(inner.state)
    answer = inner.step(event)
    if k:
        return answer
    inner.state = with_x(inner.state, before)
    return {**answer, "x": before}


def _twice(inner: Running, event: Event, k: int) -> Any:
    inner.step(event)
    return inner.step(event)


def _first_twice(inner: Running, event: Event, k: int) -> Any:
    return _twice(inner, event, k) if k == 0 else inner.step(event)


def _odd(inner: Running, event: Event, k: int) -> Any:
    return inner.step(event) if k % 2 == 0 else {"x": model(inner.state)}


def _late(inner: Running, s: Scenario) -> Running:
    kept = [model(inner.state)]

    def take(inner: Running, event: Event, k: int) -> Any:
        answer = inner.step(event)
        kept.append(model(inner.state))
        return {**answer, "x": kept[-2]}

    return _Stepping(inner, take)


def _still(inner: Running, event: Event, k: int) -> Any:
    before = model(inner.state)
    answer = inner.step(event)
    if not isinstance(event, Begin):
        inner.state = with_x(inner.state, before)
    return {**answer, "x": model(inner.state)}


def _zero(inner: Running, event: Event, k: int) -> Any:
    answer = inner.step(event)
    return {**answer, "x": answer["x"] * 0}


def _of_events() -> Iterator[Defect]:
    yield Defect(words="every answer is one event late", session=_late)
    yield _stepping("the model never moves", _still)
    yield _stepping("every answer is zero", _zero)
    yield scaled("every step goes the wrong way", lambda s, e, k: -1)
    yield scaled("every step is doubled", lambda s, e, k: 2)
    yield _stepping("the first event is lost: the model and the state stay", _lost)
    yield _stepping("the first event moves the state, not the model", _allocates)
    yield _stepping("every event is taken twice", _twice)
    yield _stepping("the first event is taken twice", _first_twice)
    yield _stepping("every second event is lost", _odd)


# State: what is kept, and for how long.


def _state_fields(setting: Setting) -> tuple[str, ...]:
    """What the specification keeps beside the model, as far as a state is a record."""
    run = setting.algorithm.run
    init = getattr(run, "begin", None) or getattr(run, "init", None)
    kind = getattr(init, "__annotations__", {}).get("return", "")
    found = vars(__import__(init.__module__, fromlist=["_"])).get(kind) if isinstance(kind, str) and init else kind
    return tuple(f.name for f in fields(found) if f.name != "x") if found and is_dataclass(found) else ()


def _forgets(name: str) -> Callable[[Running, Scenario], Running]:
    def session(inner: Running, s: Scenario) -> Running:
        first = getattr(inner.state, name)

        def take(inner: Running, event: Event, k: int) -> Any:
            if not isinstance(event, Begin):
                inner.state = replace(inner.state, **{name: first})
            return inner.step(event)

        return _Stepping(inner, take)

    return session


def _forgets_all(inner: Running, s: Scenario) -> Running:
    first = inner.state

    def take(inner: Running, event: Event, k: int) -> Any:
        if not isinstance(event, Begin):
            inner.state = with_x(first, model(inner.state))
        return inner.step(event)

    return _Stepping(inner, take)


def _keeps(name: str) -> Callable[[Running, Scenario], Running]:
    def take(inner: Running, event: Event, k: int) -> Any:
        before = getattr(inner.state, name)
        answer = inner.step(event)
        if isinstance(event, Begin):
            inner.state = replace(inner.state, **{name: before})
        return answer

    return lambda inner, s: _Stepping(inner, take)


def _keeps_all(inner: Running, s: Scenario) -> Running:
    def take(inner: Running, event: Event, k: int) -> Any:
        before, answer = inner.state, inner.step(event)
        if isinstance(event, Begin):
            inner.state = with_x(before, model(inner.state))
        return answer

    return _Stepping(inner, take)


def _ahead(by: int) -> Callable[[Running, Scenario], Running]:
    def session(inner: Running, s: Scenario) -> Running:
        inner.state = replace(inner.state, t=inner.state.t + by)
        return inner

    return session


def _anchored(inner: Running, s: Scenario) -> Running:
    def take(inner: Running, event: Event, k: int) -> Any:
        anchor, answer = inner.anchor, inner.step(event)
        if isinstance(event, Begin):
            inner.anchor = anchor
        return answer

    return _Stepping(inner, take)


def _of_state(setting: Setting) -> Iterator[Defect]:
    names = _state_fields(setting)
    vectors = [n for n in names if n != "t"]
    if len(names) > 1:
        yield Defect(words="all state but the model is forgotten before every event", session=_forgets_all)
    for n in vectors:
        yield Defect(words=f"{n} is forgotten before every event", tail=n, session=_forgets(n))
    if "t" in names:
        yield Defect(words="the count of events stands still", session=_forgets("t"))
        yield Defect(words="the count of events is one ahead", session=_ahead(1))
    if setting.level == "client":
        if names:
            yield Defect(words="the state lives on when a new round begins", session=_keeps_all)
        for n in vectors if len(names) > 1 else ():
            yield Defect(words=f"{n} lives on when a new round begins", tail=n, session=_keeps(n))
        if "mu" in setting.numbers:
            yield Defect(words="the proximal term pulls to the model of the first round", session=_anchored)


# Numbers: hyper-parameters that are not what they are said to be.


def _other(words: str, name: str, change: Callable[[Mapping[str, Any]], Any]) -> Defect:
    return Defect(words=words, given=lambda s: with_hyper(s, **{name: change(s.case.hyper)}), about=name)


def _of_numbers(setting: Setting) -> Iterator[Defect]:
    free = [n for n in setting.numbers if n not in setting.fixed]
    for a, b in combinations([n for n in free if n not in COUNTS], 2):
        if DOMAINS[a].domain is DOMAINS[b].domain:
            yield Defect(
                words=f"{a} and {b} are exchanged",
                about=a,
                given=lambda s, a=a, b=b: with_hyper(s, **{a: s.case.hyper[b], b: s.case.hyper[a]}),  # type: ignore[misc]
            )
    for n in free:
        domain = DOMAINS[n].domain
        if n in COUNTS:
            yield _other(f"{n} is one too large", n, lambda h, n=n: h[n] + 1)  # type: ignore[misc]
            if domain.holds(1):
                yield _other(f"{n} is ignored (taken as 1)", n, lambda h: 1)
            continue
        values = {0.0: "0", 1.0: "1"}
        for value, said in values.items():
            if domain.holds(value):
                yield _other(f"{n} is ignored (taken as {said})", n, lambda h, v=value: v)  # type: ignore[misc]
        yield _other(f"{n} is squared", n, lambda h, n=n: h[n] ** 2)  # type: ignore[misc]
        yield _other(f"the root of {n} is taken", n, lambda h, n=n: h[n] ** 0.5)  # type: ignore[misc]
        if domain is DECAY:
            yield _other(f"1 - {n} stands for {n}", n, lambda h, n=n: 1 - h[n] or 0.0)  # type: ignore[misc]
        else:
            yield _other(f"{n} is doubled", n, lambda h, n=n: 2 * h[n])  # type: ignore[misc]
            yield _other(f"{n} is halved", n, lambda h, n=n: h[n] / 2)  # type: ignore[misc]
        for value in _USUAL.get(n, ()):
            if n in {"eps", "tau"}:
                yield _other(
                    f"{n} = 0 is taken for {value:g}",
                    n,
                    lambda h, n=n, v=value: h[n] or v,  # type: ignore[misc]
                )
            yield _other(f"{n} is fixed at {value:g}", n, lambda h, v=value: v)  # type: ignore[misc]
    if "v0" in free:
        for below in ("tau", "eps"):
            if below in setting.numbers:
                yield _other(f"v0 is ignored (taken as {below}^2)", "v0", lambda h, b=below: h[b] ** 2)  # type: ignore[misc]


_USUAL: Mapping[str, tuple[float, ...]] = {
    "eps": (1e-8, 1e-6, 1e-3),
    "tau": (1e-8, 1e-9, 1e-3),
    "beta1": (0.9,),
    "beta2": (0.99, 0.999),
    "beta": (0.9,),
    "rho": (0.9,),
    "eta": (0.1, 0.01),
    "v0": (1e-6,),
}
"""What packages take where nothing is said."""
