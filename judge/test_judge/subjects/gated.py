"""The specification with a flaw that shows itself only behind a gate: a size, a late round, a magnitude, a boundary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from test_judge.subjects.behind import Behind

from fedspec.contract import Arrival, Begin, Case, Event, Exchange, Gradient, Messages, Round
from fedspec.mixing.remembered import remembered_step

Each = Callable[[Any], Any]


def each(f: Each) -> Callable[[int, Event], Event]:
    """A function is applied to every gradient or change."""

    def event(k: int, e: Event) -> Event:
        match e:
            case Gradient(g=g):
                return Gradient({n: f(a) for n, a in g.items()})
            case Messages(messages=sent):
                return Messages(tuple(replace(m, delta={n: f(a) for n, a in m.delta.items()}) for m in sent))
        return e

    return event


def each_message(e: Event, **change: Callable[[Any], Any]) -> Event:
    """The event with fields of its messages changed."""
    assert isinstance(e, Messages)
    return Messages(tuple(replace(m, **{n: f(getattr(m, n)) for n, f in change.items()}) for m in e.messages))


def in_type(name: str) -> Each:
    """Rounded to another type and back."""
    return lambda a: a.astype(name).astype(a.dtype)


def within(limit: int) -> Each:
    """Coordinates of a block from a limit on do not arrive."""
    return lambda a: np.where(np.arange(a.size).reshape(a.shape) < limit, a, 0).astype(a.dtype)


def first(most: int) -> Callable[[int, Event], Event]:
    """Only the first clients are heard."""

    def event(k: int, e: Event) -> Event:
        match e:
            case Messages(messages=sent):
                return Messages(sent[:most])
            case Round(participants=who, steps=steps):
                return replace(e, participants=who[:most], steps=steps[:most])
        return e

    return event


def third_axis(a: Any) -> Any:
    """A tensor of three axes is read with its last two exchanged."""
    return a.swapaxes(1, 2).reshape(a.shape) if a.ndim == 3 else a


def numbers(**change: Callable[[Any], Any]) -> Callable[[Case], Case]:
    """The case with hyper-parameters changed."""
    return lambda c: replace(c, hyper={**c.hyper, **{n: f(c.hyper[n]) for n, f in change.items()}})


def capped(most: int) -> Callable[[int, Event], Event]:
    """Clients stop after so many steps."""

    def event(k: int, e: Event) -> Event:
        match e:
            case Round(steps=steps):
                return replace(e, steps=tuple(min(k, most) for k in steps))
            case Arrival(steps=k):
                return replace(e, steps=min(k, most))
            case Exchange(computing=computing):
                return replace(e, computing=computing[:most])
        return e

    return event


def overflow(bits: int) -> Callable[[int, Event], Event]:
    """Numbers of examples are kept in so few bits."""
    return lambda k, e: each_message(e, weight=lambda n: int(n) % 2**bits or int(n > 0))


def other_way(e: Event, least: float) -> Event:
    """W is transposed where some neighbour weighs less."""
    assert isinstance(e, Exchange)
    W = e.mixing
    return replace(e, mixing=W.T.copy()) if np.logical_and(W > 0, least > W).any() else e


def forgotten(inner: Any, e: Event, k: int) -> Any:
    """Both moments are lost before the thirteenth round."""
    if k == 12:
        inner.state = replace(inner.state, m=0 * inner.state.m, v=0 * inner.state.v + inner.h.v0)
    return inner.step(e)


def nearly_equal(field: str) -> Callable[[int, Event], Event]:
    """Numbers of clients that ``allclose`` takes for equal are the first one's."""

    def event(k: int, e: Event) -> Event:
        assert isinstance(e, Messages)
        each = [getattr(m, field) for m in e.messages]
        return each_message(e, **{field: lambda v: each[0]}) if np.allclose(each, each[0]) else e

    return event


def first_that_begins(k: int, e: Event) -> Event:
    """A block is the first of its shape whose name begins with its own name."""
    assert isinstance(e, Messages)

    def looked_up(delta: Any) -> Any:
        alike = {n: [m for m in delta if m.startswith(n) and delta[m].shape == a.shape] for n, a in delta.items()}
        return {n: delta[names[0]] for n, names in alike.items()}

    return each_message(e, delta=looked_up)


def limited_rate(inner: Any, e: Event, k: int) -> Any:
    """The rate is shown as 1000 where it is larger."""
    answer = inner.step(e)
    return {**answer, "rate": np.minimum(answer["rate"], 1000)}


def expired(most: int, *fields: str) -> Callable[[Any, Any, int], Any]:
    """The memory of a client that was away for so many rounds begins anew."""
    last: dict[int, int] = {}

    def take(inner: Any, e: Any, k: int) -> Any:
        if k == 0:
            last.clear()
        kept = {n: getattr(inner.state, n).copy() for n in fields}
        for rows in kept.values():
            rows[[i for i, there in last.items() if k - there > most]] = 0
        inner.state = replace(inner.state, **kept)
        last.update(dict.fromkeys(e.participants, k))
        return inner.step(e)

    return take


def counted_to(most: int) -> Callable[[Any, Any, int], Any]:
    """Steps of a client are counted up to a number."""

    def take(inner: Any, e: Any, k: int) -> Any:
        answer = inner.step(e)
        inner.state = replace(inner.state, t=tuple(min(t, most) for t in inner.state.t))
        return answer

    return take


def kept_if_close(inner: Any, e: Any, k: int) -> Any:
    """A gradient that ``allclose`` takes for the stored one isn't stored."""
    before = inner.state
    answer, new = inner.step(e), inner.state.g_i
    rows = np.array([old if np.allclose(old, row) else row for old, row in zip(before.g_i, new, strict=True)])
    x, _ = remembered_step(before.x, rows, eta_l=inner.h.eta_l)
    inner.state = replace(before, x=x, g_i=rows)
    return {**answer, "x": x}


def without_last_alone(e: Any) -> Event:
    """Messages are added up by eights, and a last group of one is lost."""
    sent = e.messages
    return Messages(sent[:-1] if len(sent) > 1 and len(sent) % 8 == 1 else sent)


def by_short_number(e: Any) -> Event:
    """The last of the clients whose numbers end in the same three digits is heard."""
    return Messages(tuple({m.client % 1000: m for m in e.messages}.values()))


def but_for_norms(e: Any) -> Event:
    """Blocks with a norm in their name stay."""
    return each_message(e, delta=lambda blocks: {n: a * ("norm" not in n) for n, a in blocks.items()})


def neighbours(least: float = 0.0, most: int = 1000) -> Callable[[int, Any], Event]:
    """Only the first neighbours are heard, and of these whoever weighs enough; what is left of W is spread."""

    def event(k: int, e: Any) -> Event:
        W = e.mixing
        left = np.where((least <= W) & ((W > 0).cumsum(axis=1) <= most), 0, W)
        rows, columns = left.sum(axis=1), left.sum(axis=0)
        return replace(e, mixing=(W - left + np.outer(rows, columns) / (left.sum() or 1)).astype(W.dtype))

    return event


FAR: dict[str, dict[str, Behind]] = {
    "far-numbers": {
        "norms nearly equal": Behind("fednova", "server", event=nearly_equal("a_norm")),
        "examples nearly equal": Behind("fedavg", "server", event=nearly_equal("weight")),
        "a rate of at most 1000": Behind("fedexp", "server", take=limited_rate),
        "eta at most 1000": Behind("fedadam", "server", case=numbers(eta=lambda v: min(v, 1e3))),
        "v0 or tau^2 beside corrected moments": Behind(
            "fedadam",
            "server",
            reading="kingma-ba",
            case=lambda c: replace(c, hyper={**c.hyper, "v0": c.hyper["v0"] or c.hyper["tau"] ** 2}),
        ),
        "gradients nearly equal": Behind("mifa", "round", take=kept_if_close),
        "a small mu is none": Behind("fedprox", "round", case=numbers(mu=lambda v: v if v > 1e-5 else 0.0)),
        "sgd in float16": Behind("sgd", "client", event=each(in_type("float16"))),
        "momentum in float32": Behind("momentum", "client", event=each(in_type("float32"))),
        "changes travel as float16": Behind("fedavg", "server", event=each(in_type("float16"))),
        "changes in steps of 2^-8": Behind("fedavg", "server", event=each(lambda a: np.round(a * 256) / 256)),
        "a rate in float32": Behind("sgd", "client", case=numbers(eta_l=lambda v: float(np.float32(v)))),
        "eps or 1e-8": Behind("adam", "client", case=numbers(eps=lambda v: v or 1e-8)),
        "tau or 1e-3": Behind("fedadam", "server", case=numbers(tau=lambda v: v or 1e-3)),
        "beta at most 0.99": Behind("fedavgm", "server", case=numbers(beta=lambda v: min(v, 0.99))),
        "a small rho is 0.9": Behind("momentum", "client", case=numbers(rho=lambda v: v if v >= 0.2 else 0.9)),
        "clips at 1000": Behind("sgd", "client", event=each(lambda a: np.clip(a, -1e3, 1e3))),
        "drops what is below 1e-5": Behind("fedavg", "server", event=each(lambda a: np.where(abs(a) < 1e-5, 0, a))),
        "examples in eight bits": Behind("fedavg", "server", event=overflow(8)),
        "examples in sixteen bits": Behind("fednova", "server", event=overflow(16)),
        "at most ten steps of a late client": Behind("cc-fedavg", "trace", event=capped(10)),
        "at most ten steps of peers": Behind("dsgd", "trace", event=capped(10)),
        "at most ten steps among neighbours": Behind("afga", "trace", event=capped(10)),
        "clients by number": Behind(
            "fedavg",
            "server",
            event=lambda k, e: Messages(tuple(m for m in e.messages if m.client < 256) or e.messages),
        ),
    },
    "far-coordinates": {
        "a name that begins alike": Behind("fedavg", "server", event=first_that_begins),
        "norms left out": Behind("fedavg", "server", event=lambda k, e: but_for_norms(e)),
        "a limit of 64 coordinates": Behind("sgd", "client", event=each(within(64))),
        "a limit of 512 coordinates": Behind("adam", "client", event=each(within(512))),
        "three axes exchanged": Behind("fedavg", "server", event=each(third_axis)),
    },
    "far-rounds": {
        "memory of a client that expires after ten rounds": Behind("scaffold", "round", take=expired(10, "c_i")),
        "gradients that expire after forty rounds": Behind("mifa", "round", take=expired(40, "g_i")),
        "moments that expire after five rounds": Behind("diloco", "round", take=expired(5, "m_i", "v_i")),
        "a corrected moment counts to a hundred": Behind("diloco", "round", take=counted_to(100)),
        "nothing moves after ten rounds": Behind(
            "fedavg",
            "round",
            event=lambda k, e: replace(e, steps=e.steps[:1], participants=e.participants[:1]) if k >= 10 else e,
        ),
        "state lost after twelve rounds": Behind("fedadam", "server", take=forgotten),
        "a late beginning is missed": Behind(
            "sm3-ii",
            "client",
            event=lambda k, e: Begin({n: a * 0 for n, a in e.x.items()}) if isinstance(e, Begin) and k > 20 else e,
        ),
        "at most ten steps": Behind("fednova", "round", event=capped(10)),
        "delays of at most four": Behind(
            "fedbuff", "trace", event=lambda k, e: replace(e, delay=min(e.delay, 4)) if isinstance(e, Arrival) else e
        ),
    },
    "far-clients": {
        "a last group of one": Behind("fedavg", "server", event=lambda k, e: without_last_alone(e)),
        "numbers of clients modulo 1000": Behind("fedavg", "server", event=lambda k, e: by_short_number(e)),
        "neighbours that weigh less than a thousandth": Behind("dsgd", "trace", event=neighbours(1e-3)),
        "at most 32 neighbours": Behind("dsgd", "trace", event=neighbours(most=32)),
        "at most twenty clients to choose of": Behind("krum", "server", event=first(20)),
        "W transposed where a neighbour weighs little": Behind("dsgd", "trace", event=lambda k, e: other_way(e, 0.02)),
        "examples in thirty bits": Behind("fedavg", "server", event=overflow(29)),
        "at most twenty clients": Behind("fedavg", "server", event=first(20)),
        "at most twenty clients in a round": Behind("fedavg", "round", event=first(20)),
        "scaffold for four": Behind("scaffold", "round", event=first(4)),
    },
}
GATES = {name: (law, subject) for law, named in FAR.items() for name, subject in named.items()}
"""The law of large cases that must see each, and the subject."""
