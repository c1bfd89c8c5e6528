"""A scenario: a case and the events of its session; functions to transform it or convert its numbers."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import (
    Begin,
    Blocks,
    Case,
    ClientMessage,
    Event,
    Exchange,
    Gradient,
    Messages,
    Quadratics,
    Round,
)
from fedspec.domains import COUNTS, DECAY, DOMAINS, resting
from fedspec.given import Given
from fedspec.params import flatten
from fedspec.parts import ties
from fedspec_suite.measure.portable_rng import PortableRng
from fedspec_suite.measure.running_error import RUNNING, Running


@dataclass(frozen=True)
class Scenario:
    """Case with the sequence of events of its session."""

    case: Case
    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        """Make arrays again of blocks without an axis, and drop what nobody sends of the case's parts."""
        if any(a.shape == () for a in self.case.x0.values()):
            object.__setattr__(self, "case", replace(self.case, x0=_arrays(self.case.x0)))
            object.__setattr__(self, "events", tuple(with_blocks(e, _arrays) for e in self.events))
        if self.case.parts:
            object.__setattr__(self, "case", _in_parts(self.case))
            object.__setattr__(self, "events", tuple(sent_in_parts(self.case, e) for e in self.events))
        if drawn := {link.partition(" ")[0] for link in self.case.messages} & {"noise", "fixed-random"}:
            object.__setattr__(self, "events", tuple(_drawn(drawn, self.case, e, k) for k, e in enumerate(self.events)))


def _drawn(links: Set[str], case: Case, e: Event, k: int) -> Event:
    """An event with the draws that the case's messages need, one for each coordinate: drawn anew if it has too few."""
    d, rng = sum(a.size for a in case.x0.values()), PortableRng(f"draws {k}")

    def uniform(there: Sequence[Any]) -> tuple[Any, ...]:
        # Odd multiples of 1/64: a change has more bits, so no sum of the two is a whole multiple of a rounding.
        return tuple(there[:d]) if len(there) >= d else tuple(rng.between(0, 31) / 32 + 1 / 64 for _ in range(d))

    if not isinstance(e, Messages | Round):
        return e
    if "noise" in links:
        e = replace(e, noise=e.noise[:d] if len(e.noise) >= d else tuple(rng.array((d,)).tolist()))
    if "fixed-random" in links and isinstance(e, Messages):
        e = replace(e, messages=tuple(replace(m, draws=uniform(m.draws)) for m in e.messages))
    elif "fixed-random" in links and isinstance(e, Round):
        e = replace(e, draws=tuple(map(uniform, e.draws or ((),) * len(e.participants))))
    return e


def _arrays(blocks: Blocks) -> dict[str, Array]:
    return {name: np.asarray(a) for name, a in blocks.items()}


def _in_parts(case: Case) -> Case:
    """Make tied blocks of a case equal, and drop the words of blocks that it lacks; the same object if it is so."""
    tied = ties(case.parts)
    parts = {n: said for n, said in case.parts.items() if {n, tied.get(n, n)} <= {*case.x0}}
    x0 = whole_model(case, case.x0)
    same = parts == case.parts and all(x0[n] is a for n, a in case.x0.items())
    return case if same else replace(case, x0=x0, parts=parts)


def whole_model(case: Case, x: Blocks) -> dict[str, Array]:
    """Give tied blocks of a model equal numbers, and frozen blocks those of the case."""
    tied, here = ties(case.parts), case.parts
    return {n: case.x0[n] if here.get(n) == "frozen" else x.get(tied.get(n, n), a) for n, a in x.items()}


def sent_in_parts(case: Case, e: Event) -> Event:
    """Drop gradients of frozen blocks from an event, and changes of blocks that no client sends."""
    match e:
        case Begin(x=x):
            return Begin(whole_model(case, x))
        case Gradient(g=g):
            return replace(e, g={n: a for n, a in g.items() if case.parts.get(n) != "frozen"})
        case Messages():
            sent = {n for n in case.x0 if case.parts.get(n, "kept") == "kept"}
            return with_blocks(e, lambda blocks: {n: a for n, a in blocks.items() if n in sent})
    return e


def with_blocks(e: Event, f: Callable[[Blocks], Blocks]) -> Event:
    """Apply ``f`` to each model, gradient and change that an event holds."""
    match e:
        case Gradient(g=g):
            return replace(e, g=f(g))
        case Begin(x=x):
            return Begin(f(x))
        case Messages(messages=messages):
            return replace(e, messages=tuple(sending(m, f) for m in messages))
    return e


def mapped(s: Scenario, kind: type[Any], change: Callable[[Any], Event]) -> Scenario:
    """Apply ``change`` to every event of a type."""
    return replace(s, events=tuple(change(e) if isinstance(e, kind) else e for e in s.events))


def each_round(s: Scenario, change: Callable[[Sequence[ClientMessage]], Iterable[ClientMessage]]) -> Scenario:
    """Replace the messages in each round of a scenario by ``change`` of them; other events stay unchanged."""
    return mapped(s, Messages, lambda e: replace(e, messages=tuple(change(e.messages))))


def with_sent(s: Scenario, change: Callable[[ClientMessage], ClientMessage]) -> Scenario:
    """Apply ``change`` to every message of a scenario."""
    return each_round(s, partial(map, change))


def _each(f: Callable[[Array], Array], blocks: Blocks) -> dict[str, Array]:
    return {name: f(a) for name, a in blocks.items()}


def sending(m: ClientMessage, f: Callable[[Blocks], Blocks]) -> ClientMessage:
    """Apply ``f`` to a message's change, and to its change of the control variate if it holds one."""
    return replace(m, delta=f(m.delta), control=None if m.control is None else f(m.control))


def said_by(e: Event) -> Given:
    """Return the hyper-parameters that an event sets to new values."""
    return {} if isinstance(e, Gradient | Begin) else e.hyper


def saying(e: Event, hyper: Given) -> Event:
    """Replace the hyper-parameters that an event sets; gradients and begins of rounds stay unchanged."""
    return e if isinstance(e, Gradient | Begin) or (not hyper and not e.hyper) else replace(e, hyper=hyper)


def change_events(
    s: Scenario,
    change: Callable[[Array], Array] = lambda a: a,
    model: Callable[[Array], Array] = lambda a: a,
) -> Scenario:
    """Apply ``model`` to every model (x0, Begin) and ``change`` to every gradient and client change."""

    def event(e: Event) -> Event:
        return with_blocks(e, partial(_each, model if isinstance(e, Begin) else change))

    return Scenario(replace(s.case, x0=_each(model, s.case.x0)), tuple(map(event, s.events)))


def with_hyper(s: Scenario, **values: Any) -> Scenario:
    """Replace hyper-parameters of a scenario."""
    return replace(s, case=replace(s.case, hyper={**s.case.hyper, **values}))


def with_gradients(s: Scenario, *links: str) -> Scenario:
    """Replace the chain of transformations that each gradient of a scenario goes through."""
    return replace(s, case=replace(s.case, gradients=links))


def with_messages(s: Scenario, *links: str) -> Scenario:
    """Replace the chain of a scenario's messages."""
    return replace(s, case=replace(s.case, messages=links))


def with_parts(s: Scenario, parts: Mapping[str, str]) -> Scenario:
    """Replace the words of a scenario's blocks."""
    return replace(s, case=replace(s.case, parts=parts))


def with_steps(s: Scenario, *links: str) -> Scenario:
    """Replace the changes of the model around each step of a scenario."""
    return replace(s, case=replace(s.case, steps=links))


def problem_of(s: Scenario) -> Quadratics:
    """Return the clients' objectives of a scenario."""
    assert s.case.problem is not None
    return s.case.problem


def picked(p: Quadratics, rows: Sequence[int]) -> Quadratics:
    """Return the objectives of the clients ``rows``, in this order, with their sample sizes."""
    some = list(rows)
    return Quadratics(p.H[some], p.e[some], p.examples[some], None if p.f is None else p.f[some])


def beside(p: Quadratics, more: Quadratics) -> Quadratics:
    """Concatenate the clients of two problems."""
    f = None if p.f is None or more.f is None else np.concatenate([p.f, more.f])
    H, e, n = (np.concatenate([getattr(p, part), getattr(more, part)]) for part in ("H", "e", "examples"))
    return Quadratics(H, e, n, f)


def losing(s: Scenario, factor: float) -> Scenario:
    """Multiply the losses in a scenario's messages, if they hold some, by a factor."""
    return with_sent(s, lambda m: m if m.loss is None else replace(m, loss=m.loss * factor))


def posed(s: Scenario, x0: Mapping[str, Array] | None = None, **changes: Array) -> Scenario:
    """Replace the objectives of a scenario, and its initial model if ``x0`` is given."""
    problem = replace(problem_of(s), **changes)
    return replace(s, case=replace(s.case, problem=problem, x0=s.case.x0 if x0 is None else x0))


def in_one_coordinate(s: Scenario) -> Scenario:
    """Restrict the model, objectives and draws of a scenario to the first coordinate."""
    p = problem_of(s)
    events = (replace(e, draws=tuple(u[:1] for u in e.draws)) if isinstance(e, Round) else e for e in s.events)
    alone = posed(s, x0={"w": flatten(s.case.x0)[:1]}, H=p.H[:, :1, :1], e=p.e[:, :1])
    return replace(alone, events=tuple(events))


def louder(s: Scenario) -> Scenario:
    """Multiply the objectives of a scenario, and with them all gradients, by 4."""
    p, h = problem_of(s), s.case.hyper
    louder = posed(s, H=p.H * 4, e=p.e * 4)
    if p.f is None:
        return louder
    return with_hyper(posed(louder, f=p.f * 4), **({"guard": h["guard"] * 4} if "guard" in h else {}))


def linear(s: Scenario) -> Scenario:
    """Set the curvature of the objectives to 0: client i's gradient is -e_i everywhere."""
    return posed(s, H=problem_of(s).H * 0)


def at_rest(s: Scenario) -> Scenario:
    """Set the clients' initial momentum to zero, if the algorithm has one, so that m_0 alone drives the model."""
    return with_hyper(s, m0_l=0.0) if "m0_l" in s.case.hyper else s


def with_dtype(s: Scenario, dtype: str) -> Scenario:
    """Cast a scenario to another floating-point type; its numbers are exact in both."""
    cast = change_events(s, lambda a: a.astype(dtype), lambda a: a.astype(dtype))
    cast = mapped(cast, Exchange, lambda e: replace(e, mixing=e.mixing.astype(dtype)))
    problem = s.case.problem
    if problem is not None:
        f = None if problem.f is None else problem.f.astype(dtype)
        problem = Quadratics(problem.H.astype(dtype), problem.e.astype(dtype), problem.examples, f)
    return replace(cast, case=replace(cast.case, dtype=dtype, problem=problem))


def lift(s: Scenario, number: Callable[[Any], Any]) -> Scenario:
    """Convert every number of a scenario by ``number`` (Fraction, Running64, ...) from its exact value."""
    return _lifted(s, lambda x: number(Fraction(x)))


# A schedule may have made a rate 0.
@resting()
def _lifted(s: Scenario, number: Callable[[Any], Any]) -> Scenario:
    """Convert every number of a scenario from its float, or whole number."""

    def vector(a: Array) -> Array:
        out = np.empty(a.shape, dtype=object)
        flat = out.reshape(-1)
        for j, x in enumerate(np.asarray(a, dtype=float).reshape(-1).tolist()):
            flat[j] = number(x)
        return out

    lifted = change_events(s, vector, vector)

    def said(hyper: Given) -> Given:
        return {n: tuple(map(number, v)) if isinstance(v, tuple) else number(v) for n, v in hyper.items()}

    def event(e: Event) -> Event:
        e = saying(e, said(said_by(e)))
        match e:
            case Messages(messages=messages):
                sent = (
                    replace(
                        m,
                        weight=number(m.weight),
                        a_norm=number(m.a_norm),
                        loss=None if m.loss is None else number(m.loss),
                        draws=tuple(map(number, m.draws)),
                    )
                    for m in messages
                )
                return replace(e, messages=tuple(sent), noise=tuple(map(number, e.noise)))
            case Gradient(eta_l=eta_l, tokens=tokens):
                return replace(e, eta_l=None if eta_l is None else number(eta_l), tokens=tuple(map(number, tokens)))
            case Round(scales=scales, noise=noise, draws=draws):
                scales = tuple(map(number, scales))
                rows = tuple(tuple(map(number, u)) for u in draws)
                return replace(e, scales=scales, noise=tuple(map(number, noise)), draws=rows)
            case Exchange(mixing=mixing):
                return replace(e, mixing=vector(mixing))
        return e

    events = tuple(map(event, lifted.events))
    hyper: Mapping[str, Any] = {n: v if n in COUNTS else number(v) for n, v in s.case.hyper.items()}
    problem = s.case.problem
    if problem is not None:
        f = None if problem.f is None else vector(problem.f)
        problem = Quadratics(vector(problem.H), vector(problem.e), vector(problem.examples), f)
    return Scenario(replace(lifted.case, hyper=hyper, problem=problem, dtype="object"), events)


def running(s: Scenario, numbers: Mapping[str, type[Running]] = RUNNING) -> Scenario:
    """Convert a scenario to the running arithmetic of its floating-point type, or to an arithmetic based on it.

    What is no number of that type (a rate of 0.1, or 10^9 examples, in float32) begins with the error of rounding it. A
    decay of zero is known to a rounding of one: v + (1 - beta) (g^2 - v) is right too, and rounds what it takes away.
    """
    number, dtype, precision = numbers[s.case.dtype], s.case.dtype, decimal.getcontext().prec

    def leaf(x: float) -> Any:
        return number(*_known_to(x, dtype, precision))

    zero = {n: number(0).near(1.0) for n, v in s.case.hyper.items() if v == 0 and DOMAINS[n].domain is DECAY}
    return with_hyper(_lifted(s, leaf), **zero)


# Most numbers of small cases are the same few.
@lru_cache(maxsize=1 << 14)
def _known_to(x: float, dtype: str, precision: int) -> tuple[Decimal, float]:
    """A float as a decimal of the digits that the context has, and how far that of another type may be from it."""
    exact, rounded = Fraction(x), float(np.dtype(dtype).type(float(x)))
    return Decimal(exact.numerator) / Decimal(exact.denominator), 0.0 if rounded == exact else abs(float(x))


COLUMNS = ("participants", "steps", "strategies", "scales", "draws")
"""Fields of a round with one entry per participant; the last three may be empty."""


def first_clients(e: Event, n: int) -> Event:
    """Keep only the first ``n`` clients of a round; other events stay unchanged."""
    match e:
        case Messages(messages=sent):
            return replace(e, messages=sent[:n])
        case Round():
            return arranged(e, range(len(e.participants))[:n])
    return e


def arranged(e: Round, places: Sequence[int]) -> Round:
    """Keep the participants at the given places of a round, in this order, with their entries in every field."""
    columns: dict[str, Any] = {f: tuple(getattr(e, f)[k] for k in places if getattr(e, f)) for f in COLUMNS}
    hyper = {
        name: tuple(said[k] for k in places) if isinstance(said, tuple) else said for name, said in e.hyper.items()
    }
    return replace(e, **columns, hyper=hyper)


def describe(e: Event) -> str:
    """Return the name of an event's type in reports: step, begin, arrival or round."""
    words = {"Gradient": "step", "Begin": "begin", "Arrival": "arrival"}
    return words.get(type(e).__name__, "round")
