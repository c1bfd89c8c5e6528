"""The specification with a flaw that shows itself only behind a gate: a size, a late round, a magnitude, a boundary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedspec.contract import Arrival, Begin, Blocks, Case, Event, Exchange, Gradient, Messages, Round, SubjectInfo
from fedspec.reference import SUBJECT as REFERENCE

Each = Callable[[Any], Any]


@dataclass(frozen=True)
class Gate:
    """A flaw: what it does to the case, to event k and to the answer to it."""

    algorithm: str
    level: str
    law: str
    case: Callable[[Case], Case] = lambda case: case
    event: Callable[[int, Event], Event] = lambda k, e: e
    answer: Callable[[int, dict[str, Any]], dict[str, Any]] = lambda k, a: a
    restart: Callable[[int, Event], bool] = lambda k, e: False
    options: Mapping[str, str] | None = None


def arrays(e: Event, f: Each) -> Event:
    """The event with a function applied to every gradient or change."""
    match e:
        case Gradient(g=g):
            return Gradient({n: f(a) for n, a in g.items()})
        case Messages(messages=sent):
            return Messages(tuple(replace(m, delta={n: f(a) for n, a in m.delta.items()}) for m in sent))
    return e


def each_message(e: Event, **change: Callable[[Any], Any]) -> Event:
    """The event with fields of its messages changed."""
    assert isinstance(e, Messages)
    return Messages(tuple(replace(m, **{n: f(getattr(m, n)) for n, f in change.items()}) for m in e.messages))


def in_type(name: str) -> Each:
    """Rounded to another type and back."""
    return lambda a: a.astype(name).astype(a.dtype)


def beyond(limit: int) -> Callable[[Blocks], Blocks]:
    """Coordinates from a limit on do not arrive, block by block."""
    return lambda g: {
        n: np.where(np.arange(a.size).reshape(a.shape) < limit, a, 0).astype(a.dtype) for n, a in g.items()
    }


def first(e: Event, most: int) -> Event:
    """Only the first clients are heard."""
    match e:
        case Messages(messages=sent):
            return Messages(sent[:most])
        case Round(participants=who, steps=steps):
            return replace(e, participants=who[:most], steps=steps[:most])
    return e


def third_axis(a: Any) -> Any:
    """A tensor of three axes is read with its last two exchanged."""
    return a.swapaxes(1, 2).reshape(a.shape) if a.ndim == 3 else a


def numbers(**change: Callable[[Any], Any]) -> Callable[[Case], Case]:
    """The case with hyper-parameters changed."""
    return lambda c: replace(c, hyper={**c.hyper, **{n: f(c.hyper[n]) for n, f in change.items()}})


def capped(e: Event, most: int) -> Event:
    """Clients stop after so many steps."""
    match e:
        case Round(steps=steps):
            return replace(e, steps=tuple(min(k, most) for k in steps))
        case Messages():
            return each_message(e, steps=lambda k: min(k, most))
        case Arrival(steps=k):
            return replace(e, steps=min(k, most))
        case Exchange(computing=computing):
            return replace(e, computing=computing[:most])
    return e


def overflow(bits: int) -> Callable[[int, Event], Event]:
    """Numbers of examples are kept in so few bits."""
    return lambda k, e: each_message(e, weight=lambda n: int(n) % 2**bits or int(n > 0))


def other_way(e: Event, least: float) -> Event:
    """W is transposed where some neighbour weighs less."""
    assert isinstance(e, Exchange)
    W = e.mixing
    return replace(e, mixing=W.T.copy()) if np.logical_and(W > 0, least > W).any() else e


GATES: dict[str, Gate] = {
    "W transposed where a neighbour weighs little": Gate(
        "dsgd", "trace", "far-clients", event=lambda k, e: other_way(e, 0.02)
    ),
    "sgd in float16": Gate("sgd", "client", "far-numbers", event=lambda k, e: arrays(e, in_type("float16"))),
    "momentum in float32": Gate("momentum", "client", "far-numbers", event=lambda k, e: arrays(e, in_type("float32"))),
    "changes travel as float16": Gate(
        "fedavg", "server", "far-numbers", event=lambda k, e: arrays(e, in_type("float16"))
    ),
    "changes in steps of 2^-8": Gate(
        "fedavg", "server", "far-numbers", event=lambda k, e: arrays(e, lambda a: np.round(a * 256) / 256)
    ),
    "a rate in float32": Gate("sgd", "client", "far-numbers", case=numbers(eta_l=lambda v: float(np.float32(v)))),
    "eps or 1e-8": Gate("adam", "client", "far-numbers", case=numbers(eps=lambda v: v or 1e-8)),
    "tau or 1e-3": Gate("fedadam", "server", "far-numbers", case=numbers(tau=lambda v: v or 1e-3)),
    "beta at most 0.99": Gate("fedavgm", "server", "far-numbers", case=numbers(beta=lambda v: min(v, 0.99))),
    "a small rho is 0.9": Gate("momentum", "client", "far-numbers", case=numbers(rho=lambda v: v if v >= 0.2 else 0.9)),
    "clips at 1000": Gate(
        "sgd", "client", "far-numbers", event=lambda k, e: arrays(e, lambda a: np.clip(a, -1e3, 1e3))
    ),
    "drops what is below 1e-5": Gate(
        "fedavg", "server", "far-numbers", event=lambda k, e: arrays(e, lambda a: np.where(abs(a) < 1e-5, 0, a))
    ),
    "examples in eight bits": Gate("fedavg", "server", "far-numbers", event=overflow(8)),
    "examples in sixteen bits": Gate("fednova", "server", "far-numbers", event=overflow(16)),
    "examples in thirty bits": Gate("fedavg", "server", "far-clients", event=overflow(29)),
    "a limit of 64 coordinates": Gate(
        "sgd",
        "client",
        "far-coordinates",
        event=lambda k, e: Gradient(beyond(64)(e.g)) if isinstance(e, Gradient) else e,
    ),
    "a limit of 512 coordinates": Gate(
        "adam",
        "client",
        "far-coordinates",
        event=lambda k, e: Gradient(beyond(512)(e.g)) if isinstance(e, Gradient) else e,
    ),
    "three axes exchanged": Gate("fedavg", "server", "far-coordinates", event=lambda k, e: arrays(e, third_axis)),
    "nothing moves after ten rounds": Gate(
        "fedavg",
        "round",
        "far-rounds",
        event=lambda k, e: (
            replace(e, steps=e.steps[:1], participants=e.participants[:1]) if k >= 10 and isinstance(e, Round) else e
        ),
    ),
    "state lost after twelve rounds": Gate("fedadam", "server", "far-rounds", restart=lambda k, e: k == 12),
    "a late beginning is missed": Gate(
        "sm3-ii",
        "client",
        "far-rounds",
        event=lambda k, e: Begin({n: a * 0 for n, a in e.x.items()}) if isinstance(e, Begin) and k > 20 else e,
    ),
    "at most ten steps": Gate("fednova", "round", "far-rounds", event=lambda k, e: capped(e, 10)),
    "at most ten steps of a late client": Gate("cc-fedavg", "trace", "far-numbers", event=lambda k, e: capped(e, 10)),
    "at most ten steps of peers": Gate("dsgd", "trace", "far-numbers", event=lambda k, e: capped(e, 10)),
    "at most ten steps among neighbours": Gate("afga", "trace", "far-numbers", event=lambda k, e: capped(e, 10)),
    "at most twenty clients": Gate("fedavg", "server", "far-clients", event=lambda k, e: first(e, 20)),
    "at most twenty clients in a round": Gate("fedavg", "round", "far-clients", event=lambda k, e: first(e, 20)),
    "scaffold for four": Gate("scaffold", "round", "far-clients", event=lambda k, e: first(e, 4)),
    "delays of at most four": Gate(
        "fedbuff",
        "trace",
        "far-rounds",
        event=lambda k, e: replace(e, delay=min(e.delay, 4)) if isinstance(e, Arrival) else e,
    ),
    "clients by number": Gate(
        "fedavg",
        "server",
        "far-numbers",
        event=lambda k, e: (
            Messages(tuple(m for m in e.messages if m.client < 256) or e.messages) if isinstance(e, Messages) else e
        ),
    ),
}


class Session:
    """One session of the specification behind the gate."""

    def __init__(self, gate: Gate, case: Case) -> None:
        self.gate, self.k = gate, 0
        self.given = gate.case(case)
        self.inner = REFERENCE.start(self.given)
        self.x = case.x0

    def step(self, e: Event) -> dict[str, Any]:
        if self.gate.restart(self.k, e):
            self.inner = REFERENCE.start(replace(self.given, x0=self.x))
        answer = dict(self.inner.step(self.gate.event(self.k, e)))
        self.x, self.k = like(answer["x"], self.given.x0), self.k + 1
        return self.gate.answer(self.k, answer)


def like(x: Any, x0: Blocks) -> Blocks:
    """A flat model as blocks."""
    if isinstance(x, Mapping):
        return x
    ends = np.cumsum([a.size for a in x0.values()])[:-1]
    return {n: p.reshape(a.shape) for (n, a), p in zip(x0.items(), np.split(x, ends), strict=True)}


class Gated:
    """The specification with one gated flaw."""

    def __init__(self, name: str) -> None:
        self.gate = GATES[name]
        mine = (o for o in REFERENCE.info.offers if (o.algorithm, o.level) == (self.gate.algorithm, self.gate.level))
        self.info = SubjectInfo(name, "1", (next(mine),))

    def start(self, case: Case) -> Session:
        return Session(self.gate, case)
