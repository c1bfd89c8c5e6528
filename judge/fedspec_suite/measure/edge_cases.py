"""A few cases for each feature of ``measure.edge_features`` in each setting; checks, diagnoses and vectors use them.

``fedspec check`` plays them after the cases that a comparison with the rule draws, ``fedspec identify`` compares on
them, and some of them are vectors. Their numbers are short dyadic rationals, exact in every floating-point type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import cycle
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Arrival, Begin, ClientMessage, Event, Exchange, Gradient, Messages, Round
from fedspec.errors import FedspecError
from fedspec_suite.measure.bench import specified
from fedspec_suite.measure.edge_features import alone, everyone, participants, weighted
from fedspec_suite.measure.portable_rng import PortableRng
from fedspec_suite.measure.scenario import (
    Scenario,
    arranged,
    first_clients,
    picked,
    sending,
    with_blocks,
    with_dtype,
    with_hyper,
)
from fedspec_suite.measure.seeded_cases import Draws, draw_case
from fedspec_suite.measure.setting import Setting

_MODEL = {"body.0.weight": (2, 1), "body.0.bias": (), "bn1.running_mean": (1,), "conv1.weight": (1, 2, 1, 1)}
_MATRICES = {"body.0.weight": (2, 2), "head.weight": (1, 2), "conv1.weight": (3, 1)}
_SCALES = (1.0, 8.0, 0.0625, 2.0)
"""Blocks as torch names and shapes them; and what the numbers of each are multiplied by, so that norms are unlike."""

_LABELS = (2**53 - 1, 40, 2**31, 7, 2**32 + 3, 0, 65_536, 300)
"""Numbers of clients as a framework gives them: neither consecutive nor in order, up to what JSON holds exactly."""


@lru_cache(maxsize=64)
def edge_cases(setting: Setting) -> tuple[Scenario, ...]:
    """Return the edge cases of a setting that the specification can run; they are the same for every subject."""
    return tuple(s for s in (*all_edge_cases(setting), *_computed(setting), *_idle(setting)) if runs(s))


@lru_cache(maxsize=64)
def all_edge_cases(setting: Setting) -> tuple[Scenario, ...]:
    """Return the edge cases, including those that the specification cannot run; vectors refer to a case by position."""
    typed = (replace(s, case=replace(s.case, dtype=setting.dtype)) for s in _made(setting))
    return tuple(with_dtype(s, setting.dtype) for s in typed)


def runs(s: Scenario) -> bool:
    """True if the specification accepts every event of a case."""
    try:
        session = specified(s)
        for e in s.events:
            session.step(e)
    except FedspecError:
        return False
    return True


def _made(setting: Setting) -> Iterator[Scenario]:
    models = _as_models_look(_short(_base(setting, "models", _model(setting))))
    yield _some_blocks_short(setting, models, 1.1875)
    absent = _absent(setting, _base(setting, "absent", _few(setting)))
    yield _some_blocks_short(setting, absent, 1.5 * absent.case.hyper.get("eta_l", 1))
    yield _nothing_moves(_short(_base(setting, "zeros", _few(setting))))
    plain = _one_step_each(_base(setting, "single", {"w": (2, 2) if setting.matrices else (3,)}))
    yield _single(plain) if alone(setting) else plain


def plain_case(setting: Setting, model: Mapping[str, tuple[int, ...]]) -> Scenario:
    """Return a case without unusual features: each client has examples and takes one local step."""
    s = _one_step_each(_base(setting, "plain", model))
    return with_dtype(replace(s, case=replace(s.case, dtype=setting.dtype)), setting.dtype)


def _model(setting: Setting) -> Mapping[str, tuple[int, ...]]:
    if setting.one_block:
        return {"w": (4,)} if _vector(setting) else {"body.0.weight": (2, 2)}
    return _MATRICES if setting.matrices else _MODEL


def _some_blocks_short(setting: Setting, s: Scenario, eps_s: float) -> Scenario:
    """The case with a dead zone that some blocks of a step are shorter than and the whole step is not."""
    return with_hyper(s, eps_s=eps_s) if "eps_s" in s.case.hyper.keys() - setting.fixed else s


def _few(setting: Setting) -> Mapping[str, tuple[int, ...]]:
    """A layer and its bias."""
    shape = {"fc.weight": (2, 1), "fc.bias": (1, 1) if setting.matrices else ()}
    if setting.one_block:
        return {"w": (2,)} if _vector(setting) else {"fc.weight": (2, 1)}
    return shape


def _vector(setting: Setting) -> bool:
    """True if a single block is a vector: the variable of the problem."""
    return setting.level in {"round", "trace"} and "layers" not in setting.takes


def _short(s: Scenario) -> Scenario:
    """The case with two rounds, three among peers, two or three steps in each of two rounds, or four arrivals."""
    if s.case.level != "client":
        return replace(s, events=s.events[: {Arrival: 4, Exchange: 3}.get(type(s.events[0]), 2)])
    begins = next(k for k, e in enumerate(s.events) if isinstance(e, Begin))
    return replace(s, events=(*s.events[:2], *s.events[begins : begins + 3]))


def _computed(setting: Setting) -> Iterator[Scenario]:
    """A case at level client whose second round begins where the first one ended: at numbers with many digits."""
    if setting.level != "client" or setting.matrices or setting.parts:
        return
    s = plain_case(setting, {"w": (2, 2) if setting.one_block else (3,)})
    first, _, again = s.events
    yield replace(s, events=(first, again, Begin(_after(s, (first, again))), again))


def _idle(setting: Setting) -> Iterator[Scenario]:
    """A case among peers with a server whose second round has no local steps.

    The change of such a round is zero, up to an error that no vector can tell from a deviation.
    """
    s = _base(setting, "absent", _few(setting))
    if s.case.level == "trace" and isinstance(s.events[0], Exchange) and s.events[0].senders:
        s = _each(s, lambda k, e: replace(e, computing=()) if k == 1 else e)
        yield with_dtype(replace(s, case=replace(s.case, dtype=setting.dtype)), setting.dtype)


def _after(s: Scenario, events: Sequence[Event]) -> dict[str, Array]:
    """The model after some events, by the rule in floating point."""
    session = specified(s)
    x = [session.step(e)["x"] for e in events][-1]
    ((name, like),) = s.case.x0.items()
    return {name: np.asarray(x, dtype=like.dtype).reshape(like.shape)}


def _base(setting: Setting, which: str, model: Mapping[str, tuple[int, ...]]) -> Scenario:
    """A case with as many rounds and clients as dealt cases have at most, and blocks of unlike scales."""
    dice = PortableRng(f"{setting.algorithm.id} {setting.level} {which}")
    s = draw_case(Draws(setting, dice, frozenset(), model, full=True))
    if "kept" in s.case.hyper.keys() - setting.fixed:
        # Something is left out of every message.
        s = with_hyper(s, kept=1)
    return s if "peers" in setting.takes else _unlike(s)


def _unlike(s: Scenario) -> Scenario:
    """The case with the numbers of each block multiplied by another power of two."""
    scales = dict(zip(s.case.x0, cycle(_SCALES), strict=False))

    def times(blocks: Mapping[str, Array]) -> dict[str, Array]:
        return {n: a * scales[n] for n, a in blocks.items()}

    case, p = replace(s.case, x0=times(s.case.x0)), s.case.problem
    if p is not None:
        each = np.concatenate([np.full(a.size, scales[n]) for n, a in s.case.x0.items()])
        # Slopes that are no steeper keep the objectives above zero.
        case = replace(case, problem=replace(p, e=p.e * (each if p.f is None else each / each.max())))
    return Scenario(case, tuple(with_blocks(e, times) for e in s.events))


def _each(s: Scenario, change: Callable[[int, Any], Any]) -> Scenario:
    return replace(s, events=tuple(change(k, e) for k, e in enumerate(s.events)))


def _as_models_look(s: Scenario) -> Scenario:
    """Blocks as torch has them, clients numbered as frameworks do, unequal steps, two equal clients."""

    def message(m: ClientMessage, first: ClientMessage, k: int, n: int) -> ClientMessage:
        norm = k + 1 if m.a_norm == m.steps else m.a_norm
        named = replace(m, client=_LABELS[m.client % len(_LABELS)], steps=k + 1, a_norm=norm)
        return named if k < n - 1 else replace(named, delta=first.delta, control=first.control, loss=first.loss)

    def event(k: int, e: Event) -> Event:
        match e:
            case Messages(messages=sent):
                named = [message(m, sent[0], j, len(sent)) for j, m in enumerate(sent)]
                return replace(e, messages=tuple(named))
            case Round(participants=who, steps=steps):
                uneven = steps if len(set(steps)) == 1 else tuple(1 + (j + k) % 4 for j in range(len(steps)))
                return replace(arranged(e, range(len(who))[::-1]), steps=uneven)
            case Gradient(g=g) if k == 1:
                return replace(e, g={n: np.zeros_like(a) for n, a in g.items()})
        return e

    return _twins(_each(s, event))


def _twins(s: Scenario) -> Scenario:
    """The case in which the last client has the objective of the first."""
    p = s.case.problem
    if p is None or len(p.e) < 2:
        return s
    rows = [*range(len(p.e) - 1), 0]
    twins = replace(picked(p, rows), examples=p.examples)
    return replace(s, case=replace(s.case, problem=twins))


def _absent(setting: Setting, s: Scenario) -> Scenario:
    """The second round has a single participant; in the others one without examples takes part."""

    def event(k: int, e: Any) -> Any:
        if k == 1 and setting.crowd == 1 and not everyone(setting) and participants(e):
            return first_clients(e, 1)
        if isinstance(e, Messages) and weighted(setting):
            # The first round has it last, the third one first.
            none = 0 if k == 2 else len(e.messages) - 1
            return replace(
                e, messages=tuple(replace(m, weight=0) if j == none else m for j, m in enumerate(e.messages))
            )
        return e

    absent, p = _each(s, event), s.case.problem
    if p is None or len(p.e) < 2 or not weighted(setting):
        return absent
    examples = p.examples.copy()
    examples[-1] = 0
    return replace(absent, case=replace(s.case, problem=replace(p, examples=examples)))


def _nothing_moves(s: Scenario) -> Scenario:
    """A model of zeros; the second round changes nothing, or no round does."""

    def none(blocks: Mapping[str, Array]) -> dict[str, Array]:
        return {n: np.zeros_like(a) for n, a in blocks.items()}

    def event(k: int, e: Any) -> Any:
        match e:
            case Gradient(g=g) if k == 0:
                return replace(e, g=none(g))
            case Messages(messages=sent) if k == 1:
                return replace(e, messages=tuple(sending(m, none) for m in sent))
        return e

    case, p = replace(s.case, x0=none(s.case.x0)), s.case.problem
    if p is not None:
        case = replace(case, problem=replace(p, e=np.zeros_like(p.e)))
    return _each(replace(s, case=case), event)


def _one_step_each(s: Scenario) -> Scenario:
    """Everybody takes a single local step in every round."""

    def event(k: int, e: Any) -> Any:
        match e:
            case Messages(messages=sent):
                free = (1 if m.a_norm == m.steps else m.a_norm for m in sent)
                return replace(
                    e, messages=tuple(replace(m, steps=1, a_norm=a) for m, a in zip(sent, free, strict=True))
                )
            case Round(steps=steps):
                return replace(e, steps=(1,) * len(steps))
            case Arrival():
                return replace(e, steps=1)
            case Exchange(computing=computing):
                return replace(e, computing=computing[:1])
        return e

    if s.case.level != "client":
        return _each(s, event)
    # Every round is one gradient.
    first = next(e for e in s.events if isinstance(e, Gradient))
    again = replace(first, g={n: -a for n, a in first.g.items()})
    return replace(s, events=(first, Begin(s.case.x0), again))


def _single(s: Scenario) -> Scenario:
    """The first client alone."""

    def event(k: int, e: Any) -> Any:
        match e:
            case Messages(messages=(m, *_)):
                return replace(e, messages=(replace(m, client=0),))
            case Round():
                return replace(arranged(e, [0]), participants=(0,))
            case Arrival():
                return replace(e, client=0)
            case Exchange(senders=senders, computing=computing, mixing=W, clusters=clusters):
                alone = tuple((0,) for _ in computing)
                return replace(
                    e,
                    senders=senders and (0,),
                    computing=alone,
                    mixing=W[:1, :1] * 0 + 1,
                    clusters=((0,),) * bool(clusters),
                )
        return e

    one, p, case = _each(s, event), s.case.problem, s.case
    if p is not None:
        case = replace(case, problem=picked(p, [0]))
        if p.e.shape != case.x0[next(iter(case.x0))].shape:
            return replace(one, case=case)
        case = replace(case, x0={n: a[:1] for n, a in case.x0.items()})
    return replace(one, case=replace(case, population=case.population and 1))
