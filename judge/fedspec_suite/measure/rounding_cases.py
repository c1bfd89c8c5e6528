"""Cases for ill-conditioned rules: changes that agree in most digits, huge changes, ties, small denominators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Arrival, ClientMessage, Event, Gradient, Messages, Round
from fedspec.division import STABILISERS
from fedspec.params import flatten, unflatten
from fedspec_suite.measure.case_parts import above_zero
from fedspec_suite.measure.conditioning import Danger
from fedspec_suite.measure.scenario import Scenario, change_events, with_hyper
from fedspec_suite.measure.setting import Setting

_TINY = 2.0**-30
"""A stabiliser beside which no constant of a program is nothing, and whose square every type has."""

_MILLION = 2**20
"""Examples of each client, but for a few, where clients are alike."""

Changed = Callable[[Array], Array]
"""Transformation of the clients' changes, one row per client."""


def delicate(danger: Danger, setting: Setting, s: Scenario, rng: np.random.Generator) -> Scenario:
    """Turn a scenario whose numbers are multiples of 1/8 into one that provokes the given danger."""
    make = {"near": _near, "unlike": _unlike, "equal": _equal, "small": _small}[danger]
    return make(setting, s, rng)


def _near(setting: Setting, s: Scenario, rng: np.random.Generator) -> Scenario:
    """Make all changes agree except for a few eighths, and so large that these are lost beside their squares."""
    huge, d = 2.0 ** (np.finfo(setting.dtype).nmant // 2 + 2), flatten(s.case.x0).size
    common = np.where(rng.random(d) < 0.5, -huge, huge)
    return _unrounded(_arriving(s, lambda rows: common[: rows.shape[1]] + rows))


def _unlike(setting: Setting, s: Scenario, rng: np.random.Generator) -> Scenario:
    """Make one client's value so large, in every coordinate, that sums lose the other clients' values to rounding."""
    immense = 2.0 ** np.finfo(setting.dtype).nmant

    def one(rows: Array) -> Array:
        there = np.arange(len(rows))[:, None] == rng.integers(len(rows), size=rows.shape[1])
        return np.where(there, rows * immense, rows)

    return _arriving(s, one)


def _equal(setting: Setting, s: Scenario, rng: np.random.Generator) -> Scenario:
    """Make changes of a few whole numbers, twice; if the server compares clients, on one line.

    Clients in the middle of the line are equally near to all others. Every distance is a whole number too, so that sums
    of distances are equal even if roots are taken first.
    """

    def few(rows: Array) -> Array:
        numbers = rng.integers(-2, 3, rows.shape).astype(float)
        if setting.crowd > 1:
            numbers[:] = numbers[:1]
            numbers[:, 0] = rng.permutation(len(rows))
        return numbers

    most = max(len(s.events), setting.reach.rounds)
    twice = replace(change_events(s, model=np.round), events=(s.events * 2)[:most])
    return _unrounded(_arriving(twice, few))


def _small(setting: Setting, s: Scenario, rng: np.random.Generator) -> Scenario:
    """Make changes, and initial second moments, about as small as a small stabiliser."""
    there = [n for n in STABILISERS if n in setting.numbers]
    tiny = float(setting.fixed.get(there[-1], 0.0)) or _TINY
    size = 2.0 ** np.floor(np.log2(tiny) + rng.integers(-4, 5))
    given = {**dict.fromkeys(there, tiny), "v0": tiny**2 * 4.0 ** rng.integers(2)}
    given = {n: v for n, v in given.items() if n in setting.numbers and n not in setting.fixed}
    changed = with_hyper(s, **setting.tied({**s.case.hyper, **given}))
    reading = setting.algorithm.reading(setting.reading)
    if all(r.holds(changed.case.hyper) for r in reading.requires):
        s = changed
    s = _arriving(s, lambda rows: rows * size)
    return s if s.case.problem is None else change_events(s, model=lambda a: (a * size).astype(a.dtype))


def alike(setting: Setting, s: Scenario, *, cancelling: bool = False) -> Scenario:
    """Make clients differ by a millionth in examples, norms and losses, and their gradients from round to round.

    Who asks by ``allclose`` whether two are equal takes these for equal.

    Args:
        setting: the setting of the case.
        s: the case.
        cancelling: True: the last client's change also cancels the sum of the other clients', unless the server
            compares clients.
    """

    def event(e: Event) -> Event:
        if not isinstance(e, Messages):
            return e
        first, near = e.messages[0], [1 + k / _MILLION for k in range(len(e.messages))]
        return Messages(
            tuple(
                replace(
                    m,
                    weight=m.weight and _MILLION + k,
                    a_norm=m.a_norm if setting.steps_only else first.a_norm * near[k],
                    loss=None if first.loss is None else first.loss * near[k],
                )
                for k, m in enumerate(e.messages)
            )
        )

    def cancelled(rows: Array) -> Array:
        return np.concatenate([rows[:-1], -rows[:-1].sum(0, keepdims=True)]) if len(rows) > 1 else rows

    p = s.case.problem
    if p is not None:
        examples = np.where(p.examples > 0, _MILLION + np.arange(len(p.examples)), 0).astype(p.examples.dtype)
        # Losses would be negative under so little curvature.
        curvature = (p.H / _MILLION).astype(p.H.dtype) if p.f is None else p.H
        one = next((e.steps[:1] for e in s.events if isinstance(e, Round)), ())
        same = (replace(e, steps=one * len(e.steps)) if isinstance(e, Round) else e for e in s.events)
        return Scenario(replace(s.case, problem=replace(p, H=curvature, examples=examples)), tuple(same))
    found = replace(s, events=tuple(map(event, s.events)))
    return _arriving(found, cancelled) if cancelling and setting.crowd == 1 else found


def _arriving(s: Scenario, change: Changed) -> Scenario:
    """The case with other changes, gradients or slopes."""

    def changed(sent: Sequence[Mapping[str, Array]]) -> list[dict[str, Array]]:
        rows = np.stack([flatten(blocks) for blocks in sent])
        return [unflatten(row, sent[0]) for row in change(rows.astype(float)).astype(rows.dtype)]

    def event(e: Event) -> Event:
        match e:
            case Messages(messages=messages):
                deltas = changed([m.delta for m in messages])
                return replace(e, messages=tuple(map(_with_change, messages, deltas)))
            case Gradient(g=g):
                return replace(e, g=changed([g])[0])
        return e

    out, p = replace(s, events=tuple(map(event, s.events))), s.case.problem
    if p is None:
        return out
    e = change(p.e.astype(float)).astype(p.e.dtype)
    return replace(out, case=replace(out.case, problem=above_zero(replace(p, e=e))))


def _with_change(m: ClientMessage, delta: Mapping[str, Array]) -> ClientMessage:
    return replace(m, delta=delta)


def _unrounded(s: Scenario) -> Scenario:
    """The case without what would round it: everybody takes one step, on one curvature, and has one example.

    Clients are named in the order of their numbers: where the first of equal ones is taken, that is the least, too.
    """

    def event(e: Event) -> Event:
        match e:
            case Messages(messages=messages):
                names = sorted(m.client for m in messages)
                return replace(
                    e, messages=tuple(replace(m, client=i, weight=1) for i, m in zip(names, messages, strict=True))
                )
            case Round(steps=steps):
                return replace(e, steps=(1,) * len(steps))
            case Arrival():
                return replace(e, steps=1)
        return e

    out, p = replace(s, events=tuple(map(event, s.events))), s.case.problem
    if p is None:
        return out
    H = np.broadcast_to(np.eye(p.H.shape[-1]) / 2, p.H.shape).astype(p.H.dtype)
    plain = above_zero(replace(p, H=H, examples=np.ones_like(p.examples)))
    return replace(out, case=replace(out.case, problem=plain))
