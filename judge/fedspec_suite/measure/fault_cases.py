"""Cases with a faulty client message, the subject's reaction to it, and the models that each treatment would give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from fedspec.arith import Array
from fedspec.catalogue import find
from fedspec.contract import ClientMessage, Messages
from fedspec.errors import FedspecError
from fedspec.faults import KINDS, Treatment
from fedspec.params import flatten
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

AT = 1
"""Index (from 0) of the faulty round of three: the round before it builds up state, and the round after it shows it."""

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
    before, now = _sent(s, AT - 1), _sent(s, AT)
    # The client whose message is spoilt comes first of all that sent in the round before.
    known = {m.client for m in before}
    again = sorted(now, key=lambda m: m.client not in known)
    rows = [again[1], again[0], *again[2:]] if _place(now) else again
    return with_dtype(_with(s, tuple(rows)), setting.dtype)


def _sent(s: Scenario, k: int) -> Sent:
    event = s.events[k]
    assert isinstance(event, Messages)
    return event.messages


def _with(s: Scenario, messages: Sent) -> Scenario:
    """The scenario with other messages in the faulty round."""
    event = s.events[AT]
    assert isinstance(event, Messages)
    return replace(s, events=(*s.events[:AT], replace(event, messages=messages), *s.events[AT + 1 :]))


def _turn(sent: Sent) -> int:
    """Number by which cases differ in where and how a message is faulty; no fault changes it."""
    return sum(m.steps for m in {m.client: m for m in sent}.values())


def _place(sent: Sent) -> int:
    """Index of the faulty message in its round."""
    return _turn(sent) % 2


def _spoilt_array(a: Array, value: float, at: int) -> Array:
    out = np.array(a)
    out.reshape(-1)[at] = value
    return out


def _changed(m: ClientMessage, turn: int, of: Any) -> ClientMessage:
    """The message with its first or last block changed."""
    names = [*m.delta]
    name = names[-(turn // 2 % 2)]
    return replace(m, delta={**m.delta, name: of(m.delta[name])})


def faulty(s: Scenario, kind: str) -> Scenario:
    """Return a faultless scenario with a fault of the given kind in its second round."""
    sent = _sent(s, AT)
    turn, place = _turn(sent), _place(sent)
    good, at = sent[place], -(turn // 4 % 2)
    one: dict[str, Any] = {
        "nan": lambda: _changed(good, turn, lambda a: _spoilt_array(a, np.nan, at)),
        "infinite": lambda: _changed(good, turn, lambda a: _spoilt_array(a, (-1) ** (turn // 3) * np.inf, at)),
        "shape": lambda: _changed(good, turn, lambda a: a.reshape(-1)[:1].reshape((1,) * a.ndim)),
        "stale": lambda: replace(next(m for m in _sent(s, AT - 1) if m.client == good.client), round=AT),
        "no-weight": lambda: replace(good, weight=None),  # type: ignore[arg-type]
        "nan-weight": lambda: replace(good, weight=float("nan")),
        "negative-weight": lambda: replace(good, weight=-1 - turn % 3),
    }
    match kind:
        case "twice":
            return _with(s, (*sent, good))
        case "no-examples":
            return _with(s, tuple(replace(m, weight=0) for m in sent))
        case "no-message":
            return _with(s, ())
    return _with(s, (*sent[:place], one[kind](), *sent[place + 1 :]))


def _silent(m: ClientMessage) -> ClientMessage:
    """The message with a change of zero."""
    return sending(m, lambda blocks: {n: 0 * a for n, a in blocks.items()})


def implied(s: Scenario, kind: str, treatment: Treatment) -> Path | None:
    """Return the models that a treatment of the fault gives; None if the treatment is meaningless for the scenario."""
    bad = faulty(s, kind)
    sent, good = _sent(bad, AT), _sent(s, AT)
    whole, place = kind in ("no-message", "no-examples"), len(good) if kind == "twice" else _place(good)
    match treatment:
        case Treatment.SKIPS | Treatment.DROPS if whole or treatment is Treatment.DROPS:
            held = _path(_with(s, good), AT - 1)
            shorter = replace(s, events=(*s.events[:AT], *s.events[AT + 1 :]))
            after = _path(shorter, AT)
            return held and after and [held[0], after[0]]
        case Treatment.SKIPS:
            return _path(_with(s, (*sent[:place], *sent[place + 1 :])), AT)
        case Treatment.DIVISOR if whole:
            return _path(_with(s, tuple(map(_silent, good))), AT)
        case Treatment.DIVISOR:
            # The message that is spoilt may have no shape to set to zero.
            silent = replace(_silent(good[_place(good)]), weight=sent[place].weight)
            return _path(_with(s, (*sent[:place], silent, *sent[place + 1 :])), AT)
        case Treatment.ZEROES:
            finite = _changed(sent[place], _turn(good), lambda a: np.where(np.isfinite(a), a, 0))
            return _path(_with(s, (*sent[:place], finite, *sent[place + 1 :])), AT)
        case Treatment.ONE if whole:
            return _path(_with(s, tuple(replace(m, weight=1) for m in good)), AT)
        case Treatment.ONE:
            return _path(_with(s, (*sent[:place], replace(sent[place], weight=1), *sent[place + 1 :])), AT)
        case Treatment.PASSES if kind == "shape":
            like = s.case.x0
            spread = {n: a if a.shape == like[n].shape else a.reshape(-1)[0] for n, a in sent[place].delta.items()}
            full = replace(sent[place], delta={n: np.full_like(like[n], a) for n, a in spread.items()})
            return _path(_with(s, (*sent[:place], full, *sent[place + 1 :])), AT)
    nothing = [np.full_like(flatten(s.case.x0), np.nan)] * 2 if whole or kind == "nan-weight" else None
    return _path(bad, AT) or nothing


def kinds(s: Scenario) -> tuple[str, ...]:
    """Return the kinds of faults that are visible in a scenario; without faults of weights if the rule reads none."""
    sent = _sent(s, AT)
    heavier = _with(s, tuple(replace(m, weight=m.weight + 5 * (k == _place(sent))) for k, m in enumerate(sent)))
    a, b = _path(s, AT), _path(heavier, AT)
    unread = a is not None and b is not None and np.array_equal(a[0], b[0])
    return tuple(kind for kind in KINDS if not (unread and kind in WEIGHTS))


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


def _in_coordinates(s: Scenario, kind: str, x: Array, wanted: Mapping[Treatment, Path], dtype: str) -> str:
    """The treatment in the coordinates of a change that aren't finite, and that in the others; empty if none fits."""
    if kind not in ("nan", "infinite"):
        return ""
    bad = ~np.isfinite(flatten(_sent(faulty(s, kind), AT)[_place(_sent(s, AT))].delta))

    def of(there: Array) -> Treatment | None:
        return next((t for t, want in wanted.items() if _alike([x[there]], [want[0][there]], dtype)), None)

    one, other = of(bad), of(~bad)
    return f"in the coordinates that aren't finite {one}, in the others {other}" if one and other else ""


def _counted(s: Scenario, kind: str, x: Array) -> str:
    """Shares of the changes in the faulty round, solved for from the model; empty if no sum of changes gives it."""
    mean = OpenMean()
    form = _unguarded(form_of(find(s.case.algorithm), "server"))
    edits: Edits = {WEIGH: mean.in_place}
    session: Any = form.started(s.case, edits, False, lambda kind, row, case: kind(row, case))
    for event in s.events[:AT]:
        session.step(event)
    before = {**vars(session)}

    def taken(y: Array | None) -> Array:
        vars(session).update(before)
        mean.now = y
        mean.calls.clear()
        return flat_model(session.step(s.events[AT]))

    bad = _sent(faulty(s, kind), AT)
    try:
        plain = taken(None)
        ((p, rows),) = mean.calls
        sent = [*bad, *_sent(s, AT)][: len(rows)] if kind != "shape" else _sent(s, AT)
        own = np.array([np.nan_to_num(flatten(m.delta), nan=0, posinf=0, neginf=0) for m in sent])
        y = reach(taken, x, p @ rows, plain)
        b = np.linalg.lstsq(own.T, y, rcond=None)[0]
    except (ArithmeticError, FedspecError, KeyError, TypeError, ValueError):
        return ""
    if len(own) >= own.shape[1] or not np.allclose(b @ own, y, rtol=COUNTED, atol=COUNTED):
        return ""
    b, due = (", ".join(_fraction(float(v)) for v in column) for column in (b, p))
    return f"its messages count {b}; without the fault {due}; the spoilt one is number {_place(_sent(s, AT)) + 1}"


def _fraction(v: float) -> str:
    near = Fraction(v).limit_denominator(1000)
    return str(near) if abs(float(near) - v) < COUNTED else f"{v:.4g}"


def played(bench: Bench, s: Scenario) -> Path | str:
    """Return the subject's models after the faulty round and the next round, or its error message.

    Raises:
        SubjectHangs: it does not answer in time.
    """
    session, out = bench.subject.start(s.case), []
    for k, event in enumerate(s.events[: AT + 2]):
        try:
            with np.errstate(all="ignore"):
                answer = bench.read(session.step(event), s, k, "round")
        except SubjectHangs:
            raise
        except (SubjectError, Deviates) as error:
            when = {AT: "", AT + 1: "in the next round: "}.get(k, "in a round without faults: ")
            return f"{when}{str(error).removeprefix('adapter: ')}"
        out.append(answer["x"])
    getattr(session, "stop", lambda: None)()
    return out[AT:]


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
        first = next(iter(s.case.x0.values()))
        if kind in ("nan", "infinite") and not np.isfinite(got[0][first.size - 1]):
            # Rules that compare numbers leave open what they make of NaN; other numbers of the model may change too.
            return (Treatment.PASSES,), ""
        alone, want = played(bench, s), _path(s, AT)
        if isinstance(alone, str) or not want or not _alike(alone, want, bench.dtype):
            return (), "without a fault it doesn't follow the rule either, as the other checks of `fedspec check` say"
        if said := _in_coordinates(s, kind, got[0], wanted, bench.dtype) or _counted(s, kind, got[0]):
            return (), said
    return tuple(found), f"x = {np.array2string(got[0], precision=4, separator=', ', threshold=8)}"
