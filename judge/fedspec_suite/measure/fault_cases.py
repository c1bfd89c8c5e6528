"""Cases with a faulty client message, the subject's reaction to it, and the models that each treatment would give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from fedspec.arith import Array
from fedspec.catalogue import find
from fedspec.contract import Blocks, ClientMessage, Messages
from fedspec.errors import FedspecError
from fedspec.faults import KINDS, Treatment
from fedspec.params import flatten, layers, shapes
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.call_graph import Spaces
from fedspec_suite.measure.edited_sessions import Form, form_of
from fedspec_suite.measure.function_copies import Edits
from fedspec_suite.measure.portable_rng import PortableRng
from fedspec_suite.measure.process import SubjectError, SubjectHangs
from fedspec_suite.measure.reaching import WEIGH, OpenMean, flat_model, reach
from fedspec_suite.measure.scenario import Scenario, change_events, sending, with_dtype
from fedspec_suite.measure.seeded_cases import Draws, draw_case
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates

Sent: TypeAlias = tuple[ClientMessage, ...]
Path: TypeAlias = list[Array]
"""Models after the faulty round and after the next round."""


def faulty_round(s: Scenario) -> int:
    """Return the index (from 0) of the faulty round: the last but one, since the round after it shows what is kept."""
    return len(s.events) - 2


def from_the_start(s: Scenario) -> Scenario:
    """Return the same case without its first round: the first round of all is faulty then, in two messages."""
    return replace(s, events=s.events[1:])


def in_another_block(s: Scenario) -> Scenario:
    """Return the case with two more steps in the faulty round: a number that isn't finite is in another block then.

    Whoever goes from block to block has moved some before it meets the number, or not, as the block may be.
    """
    *others, last = _sent(s, faulty_round(s))
    longer = _with(s, (*others, replace(last, steps=last.steps + 2)))
    return longer if _path(longer, 0) else s


GUARDS = {"require_sizes", "require_weights", "check_shares"}
"""Functions by which the specification rejects invalid weights; without them it computes with such weights."""

UNEVEN = 0.739
"""Factor of all changes: with short numbers ``sign(v - Delta^2)`` may be a tie, which rounding breaks."""

COUNTED = 1e-7
"""Largest error of what a message counts."""

CLOSE = {"float64": 1e-8, "float32": 1e-3}
"""Relative difference up to which two models count as equal; the models of two treatments differ by far more."""


def dealt(setting: Setting, number: int) -> Scenario:
    """Return a faultless case: three rounds of three or more messages; one client sends in the first two rounds."""
    model: Mapping[str, tuple[int, ...]] = {"w": (2, 2), "b": (1, 2)} if setting.matrices else {"w": (3,), "b": (2,)}
    model = {"w": model["w"]} if setting.one_block else model
    s = draw_case(Draws(setting, PortableRng(f"faults {number}"), frozenset(), model, full=True))
    s = change_events(s, lambda a: a * UNEVEN)
    at = faulty_round(s)
    before, now = _sent(s, at - 1), _sent(s, at)
    # The client whose message is spoilt comes first of all that sent in the round before.
    known = {m.client for m in before}
    again = sorted(now, key=lambda m: m.client not in known)
    rows = [again[1], again[0], *again[2:]] if _turn(now) % 2 else again
    return with_dtype(_with(s, tuple(rows)), setting.dtype)


def _sent(s: Scenario, k: int) -> Sent:
    event = s.events[k]
    assert isinstance(event, Messages)
    return event.messages


def _with(s: Scenario, messages: Sent) -> Scenario:
    """The scenario with other messages in the faulty round."""
    at = faulty_round(s)
    event = s.events[at]
    assert isinstance(event, Messages)
    return replace(s, events=(*s.events[:at], replace(event, messages=messages), *s.events[at + 1 :]))


def _turn(sent: Sent) -> int:
    """Number by which cases differ in where and how a message is faulty; no fault changes it."""
    return sum(m.steps for m in {m.client: m for m in sent}.values())


def _places(s: Scenario) -> tuple[int, ...]:
    """Indices of the faulty messages: two in the first round of all, else one."""
    return (_turn(_sent(s, at)) % 2,) if (at := faulty_round(s)) else (0, 1)


def _put(s: Scenario, of: Callable[[int], Sequence[ClientMessage]]) -> Scenario:
    """The scenario with ``of`` of the index in the place of each faulty message."""
    sent, places = _sent(s, faulty_round(s)), _places(s)
    return _with(s, tuple(m for k, own in enumerate(sent) for m in (of(k) if k in places else (own,))))


def _spoilt_array(a: Array, value: float, at: int) -> Array:
    out = np.array(a)
    out.reshape(-1)[at] = value
    return out


def _changed(m: ClientMessage, block: int, of: Callable[[Array], Array]) -> ClientMessage:
    """The message with a block changed."""
    name = [*m.delta][block]
    return replace(m, delta={**m.delta, name: of(m.delta[name])})


def faulty(s: Scenario, kind: str) -> Scenario:
    """Return a faultless scenario with a fault of the given kind in one message, or in two of the first round."""
    at = faulty_round(s)
    sent = _sent(s, at)
    turn = _turn(sent)

    def spoilt(m: ClientMessage, k: int) -> ClientMessage:
        # Of two messages one is spoilt at one end and one at the other: a screen has to read all of both.
        block, place = (-((turn // of + k) % 2) for of in (2, 4))
        match kind:
            case "nan":
                return _changed(m, block, lambda a: _spoilt_array(a, np.nan, place))
            case "infinite":
                return _changed(m, block, lambda a: _spoilt_array(a, (-1) ** (turn // 3) * np.inf, place))
            case "shape":
                return _changed(m, block, lambda a: a.reshape(-1)[:1].reshape((1,) * a.ndim))
            case "stale":
                return replace(next(e for e in _sent(s, at - 1) if e.client == m.client), round=at)
            case "no-weight":
                return replace(m, weight=None)  # type: ignore[arg-type]
            case "nan-weight":
                return replace(m, weight=float("nan"))
        return replace(m, weight=-1 - turn % 3)

    match kind:
        case "twice":
            return _with(s, (*sent, *(sent[k] for k in _places(s))))
        case "no-examples":
            return _with(s, tuple(replace(m, weight=0) for m in sent))
        case "no-message":
            return _with(s, ())
    return _put(s, lambda k: (spoilt(sent[k], _places(s).index(k)),))


def _finite(blocks: Blocks) -> Blocks:
    """The blocks with 0 for each number that isn't finite."""
    return {n: np.where(np.isfinite(a), a, 0) for n, a in blocks.items()}


def _silent(m: ClientMessage) -> ClientMessage:
    """The message with a change of zero."""
    return sending(m, lambda blocks: {n: 0 * a for n, a in blocks.items()})


def implied(s: Scenario, kind: str, treatment: Treatment) -> Path | None:
    """Return the models that a treatment of the fault gives; None if the treatment is meaningless for the scenario."""
    bad, at = faulty(s, kind), faulty_round(s)
    sent, good = _sent(bad, at), _sent(s, at)
    whole = kind in ("no-message", "no-examples")
    match treatment:
        case Treatment.SKIPS | Treatment.DROPS if whole or treatment is Treatment.DROPS:
            if not at:
                # The model before the first round is given.
                after = _path(replace(s, events=s.events[1:]), 0)
                return after and [flatten(s.case.x0), after[0]]
            held = _path(s, at - 1)
            after = _path(replace(s, events=(*s.events[:at], *s.events[at + 1 :])), at)
            return held and after and [held[0], after[0]]
        case Treatment.SKIPS:
            return _path(s if kind == "twice" else _put(s, lambda k: ()), at)
        case Treatment.DIVISOR if whole:
            return _path(_with(s, tuple(map(_silent, good))), at)
        case Treatment.DIVISOR if kind == "twice":
            return _path(_with(s, (*good, *map(_silent, sent[len(good) :]))), at)
        case Treatment.DIVISOR:
            # The message that is spoilt may have no shape to set to zero.
            return _path(_put(s, lambda k: (replace(_silent(good[k]), weight=sent[k].weight),)), at)
        case Treatment.ZEROES:
            return _path(_put(s, lambda k: (sending(sent[k], _finite),)), at)
        case Treatment.ONE if whole:
            return _path(_with(s, tuple(replace(m, weight=1) for m in good)), at)
        case Treatment.ONE:
            return _path(_put(s, lambda k: (replace(sent[k], weight=1),)), at)
        case Treatment.PASSES if kind == "shape":
            like = s.case.x0

            def spread(m: ClientMessage) -> ClientMessage:
                one = {n: a if a.shape == like[n].shape else a.reshape(-1)[0] for n, a in m.delta.items()}
                return replace(m, delta={n: np.full_like(like[n], a) for n, a in one.items()})

            return _path(_put(s, lambda k: (spread(sent[k]),)), at)
    nothing = [np.full_like(flatten(s.case.x0), np.nan)] * 2 if whole or kind == "nan-weight" else None
    return _path(bad, at) or nothing


def kinds(s: Scenario) -> tuple[str, ...]:
    """Return the kinds of faults that are visible in a scenario.

    Without faults of weights if the rule reads none, and without older messages in the first round.
    """
    sent, at = _sent(s, faulty_round(s)), faulty_round(s)
    heavier = _put(s, lambda k: (replace(sent[k], weight=sent[k].weight + 5 * (k == _places(s)[0])),))
    a, b = _path(s, at), _path(heavier, at)
    unread = a is not None and b is not None and np.array_equal(a[0], b[0])
    return tuple(k for k in KINDS if not (unread and k in WEIGHTS) and (at or k != "stale"))


WEIGHTS = {"no-weight", "nan-weight", "negative-weight", "no-examples"}
"""Kinds of faults that concern weights only."""


@cache
def _unguarded(form: Form) -> Form:
    """A form of the specification that takes sample sizes which are none."""

    def without(names: Spaces) -> None:
        for space in names.values():
            for guard in GUARDS & {*space}:
                space[guard] = lambda *given: None

    return form.changed(without)


def _path(s: Scenario, start: int) -> Path | None:
    """The specification's models in floats from an event on; None where it refuses the case."""
    form = _unguarded(form_of(find(s.case.algorithm), "server"))
    out = []
    with np.errstate(all="ignore"):
        try:
            session = form.kind(form.row, s.case)
            for event in s.events:
                out.append(np.asarray(session.step(event)["x"], dtype=float))
        except (ArithmeticError, FedspecError, TypeError, ValueError):
            return None
    return out[start : start + 2]


def _spoilt(s: Scenario, kind: str) -> Array:
    """The coordinates of the faulty message that aren't finite."""
    sent = _sent(faulty(s, kind), faulty_round(s))
    return ~np.isfinite(flatten(sent[_places(s)[0]].delta))


def spoilt_block(s: Scenario, kind: str) -> str:
    """Return the name of the block of the first faulty message that holds a number which isn't finite."""
    delta = _sent(faulty(s, kind), faulty_round(s))[_places(s)[0]].delta
    return next(n for n, a in delta.items() if not np.isfinite(a).all())


def _in_coordinates(s: Scenario, kind: str, x: Array, wanted: Mapping[Treatment, Path], dtype: str) -> str:
    """The treatment in the coordinates of a change that aren't finite, and that in the others; empty if none fits."""
    if kind not in ("nan", "infinite"):
        return ""
    bad = _spoilt(s, kind)

    def of(there: Array) -> Treatment | None:
        return next((t for t, want in wanted.items() if _alike([x[there]], [want[0][there]], dtype)), None)

    one, other = of(bad), of(~bad)
    if one and other:
        return f"in the coordinates that aren't finite {one}, in the others {other}"
    blocks = zip(s.case.x0, layers(shapes(s.case.x0)), strict=True)
    found = [(name, of(np.isin(np.arange(len(x)), np.arange(len(x))[b]))) for name, b in blocks]
    return ", ".join(f"in block {name} {t}" for name, t in found) if all(t for _, t in found) else ""


def _last_good(s: Scenario, kind: str, got: Path, dtype: str) -> str:
    """Words for a message in whose place its sender's earlier one counts; else empty."""
    at = faulty_round(s)
    earlier = {m.client: m for m in _sent(s, at - 1)} if at else {}
    sent = _sent(s, at)
    if not all(sent[k].client in earlier for k in _places(s)):
        return ""

    def of(k: int) -> Sent:
        old = earlier[sent[k].client]
        return (replace(sent[k], delta=old.delta, weight=old.weight, steps=old.steps),)

    want = _path(_put(s, of), at)
    return "the sender's message of the round before counts in its place" if want and _alike(got, want, dtype) else ""


def _as_largest(s: Scenario, kind: str, got: Path, dtype: str) -> str:
    """Words for infinite numbers that count as the largest finite ones; else empty."""
    if kind != "infinite":
        return ""
    sent, most = _sent(faulty(s, kind), faulty_round(s)), float(np.finfo(dtype).max)

    def largest(blocks: Blocks) -> Blocks:
        return {n: np.clip(a, -most, most) for n, a in blocks.items()}

    want = _path(_put(s, lambda k: (sending(sent[k], largest),)), faulty_round(s))
    same = want and all(np.allclose(a, b, rtol=CLOSE[dtype], atol=0) for a, b in zip(got, want, strict=True))
    return f"an infinite number counts as {most:.2g}, the largest of its type" if same else ""


def _afterwards(s: Scenario, kind: str, got: Path, wanted: Mapping[Treatment, Path], dtype: str) -> str:
    """Words for a treatment that fits in the faulty round, but not in the round after it; empty if none fits."""
    fitting = next((t for t, want in wanted.items() if _alike(got[:1], want[:1], dtype)), None)
    if not fitting:
        return ""
    *before, last = s.events
    assert isinstance(last, Messages)
    senders = {_sent(s, faulty_round(s))[k].client for k in _places(s)}
    rest = tuple(m for m in last.messages if m.client not in senders)
    barred = implied(replace(s, events=(*before, replace(last, messages=rest))), kind, fitting) if rest else None
    if len(rest) < len(last.messages) and barred and _alike(got, barred, dtype):
        return f"{fitting} in that round; in the next round it leaves out the sender's message, which is right"
    return f"{fitting} in that round, but the model of the next round is another"


def _one_of_two(s: Scenario, kind: str, got: Path, dtype: str) -> str:
    """Words for the message that is skipped of two that hold such numbers, if the other passes on; else empty."""
    places, bad = _places(s), faulty(s, kind)
    if kind not in ("nan", "infinite") or len(places) < 2:
        return ""
    sent, at = _sent(bad, faulty_round(s)), faulty_round(s)
    told = [
        f"message {k + 1} ({n}[{np.flatnonzero(~np.isfinite(a.reshape(-1)))[0]}])"
        for k in places
        for n, a in sent[k].delta.items()
        if not np.isfinite(a).all()
    ]
    for k, other in ((0, 1), (1, 0)):
        want = _path(_with(bad, tuple(m for j, m in enumerate(sent) if j != places[k])), at)
        if want and _alike(got, want, dtype):
            return f"skips {told[k]}, passes {told[other]} on"
    return ""


def _counted(s: Scenario, kind: str, x: Array) -> str:
    """Shares of the changes in the faulty round, solved for from the model; empty if no sum of changes gives it."""
    mean = OpenMean()
    form = _unguarded(form_of(find(s.case.algorithm), "server"))
    edits: Edits = {WEIGH: mean.in_place}
    session: Any = form.started(s.case, edits, False, lambda kind, row, case: kind(row, case))
    at = faulty_round(s)
    for event in s.events[:at]:
        session.step(event)
    before = {**vars(session)}

    def taken(y: Array | None) -> Array:
        vars(session).update(before)
        mean.now = y
        mean.calls.clear()
        return flat_model(session.step(s.events[at]))

    bad = _sent(faulty(s, kind), at)
    try:
        plain = taken(None)
        ((p, rows),) = mean.calls
        sent = [*bad, *_sent(s, at)][: len(rows)] if kind != "shape" else _sent(s, at)
        own = np.array([np.nan_to_num(flatten(m.delta), nan=0, posinf=0, neginf=0) for m in sent])
        y = reach(taken, x, p @ rows, plain)
        b = np.linalg.lstsq(own.T, y, rcond=None)[0]
    except (ArithmeticError, FedspecError, KeyError, TypeError, ValueError):
        return ""
    if len(own) >= own.shape[1] or not np.allclose(b @ own, y, rtol=COUNTED, atol=COUNTED):
        return ""
    b, due = (", ".join(_fraction(float(v)) for v in column) for column in (b, p))
    spoilt = " and ".join(str(k + 1) for k in _places(s))
    return f"its messages count {b}; without the fault {due}; spoilt: number {spoilt}"


def _fraction(v: float) -> str:
    near = Fraction(v).limit_denominator(1000)
    return str(near) if abs(float(near) - v) < COUNTED else f"{v:.4g}"


def played(bench: Bench, s: Scenario) -> Path | str:
    """Return the subject's models after the faulty round and the next round, or its error message.

    Raises:
        SubjectHangs: it does not answer in time.
    """
    session, out, at = bench.subject.start(s.case), [], faulty_round(s)
    for k, event in enumerate(s.events):
        try:
            with np.errstate(all="ignore"):
                answer = bench.read(session.step(event), s, k, "round")
        except SubjectHangs:
            raise
        except (SubjectError, Deviates) as error:
            when = {at: "", at + 1: "in the next round: "}.get(k, "in a round without faults: ")
            return f"{when}{str(error).removeprefix('adapter: ')}"
        out.append(answer["x"])
    getattr(session, "stop", lambda: None)()
    return out[at:]


def _alike(got: Path, want: Path, dtype: str) -> bool:
    """True if two paths have finite numbers in the same places, and these are equal but for rounding."""
    for a, b in zip(got, want, strict=True):
        there = np.isfinite(b)
        if a.shape != b.shape or (np.isfinite(a) != there).any():
            return False
        most = np.abs(b[there]).max(initial=1.0)
        if (np.abs(a[there] - b[there]) > CLOSE[dtype] * most).any():
            return False
    return True


def observed(bench: Bench, s: Scenario, kind: str) -> tuple[tuple[Treatment, ...], str]:
    """Return the treatments that match the subject's reaction to a fault, and its error or models in words."""
    got = played(bench, faulty(s, kind))
    if isinstance(got, str):
        return (Treatment.RAISES,) if not got.startswith("in ") else (), got
    wanted: dict[Treatment, Path] = {
        t: path for t in KINDS[kind][1] if t is not Treatment.RAISES and (path := implied(s, kind, t))
    }
    found = [t for t, want in wanted.items() if _alike(got, want, bench.dtype)]
    if not found:
        if kind in ("nan", "infinite") and not np.isfinite(got[0][_spoilt(s, kind)]).any():
            # Rules that compare numbers leave open what they make of NaN; other numbers of the model may change too.
            return (Treatment.PASSES,), ""
        alone, want = played(bench, s), _path(s, faulty_round(s))
        if isinstance(alone, str) or not want or not _alike(alone, want, bench.dtype):
            return (), "without a fault it doesn't follow the rule either, as the other checks of `fedspec check` say"
        said = _afterwards(s, kind, got, wanted, bench.dtype) or _one_of_two(s, kind, got, bench.dtype)
        said = said or _as_largest(s, kind, got, bench.dtype) or _last_good(s, kind, got, bench.dtype)
        said = said or _in_coordinates(s, kind, got[0], wanted, bench.dtype)
        if said := said or _counted(s, kind, got[0]):
            return (), said
    return tuple(found), f"x = {np.array2string(got[0], precision=4, separator=', ', threshold=8)}"
