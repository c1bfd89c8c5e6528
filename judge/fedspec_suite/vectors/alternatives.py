"""Variants that a case can distinguish from the rule: mutants of a row, its other readings, systematic edits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fedspec.arith import Array
from fedspec.catalogue import CATALOGUE
from fedspec.contract import Begin
from fedspec.reference import SUBJECT
from fedspec_suite.diagnosis.variants import CANNOT, Variant, single, systematic
from fedspec_suite.measure.bench import THRESHOLD, Bench, Shown, bench_of, decides, reference
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario, describe, with_dtype
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Deviates, Undecided
from fedspec_suite.vectors.rows import Row, all_rows, can_show

DTYPES = ("float64", "float32")

CLEARLY = 2.0
"""A rival counts as distinguished if its error is this many times the allowed error, so that rounding can't decide."""

WIDE_ONLY = " in float64"
"""Suffix of the name of a quantity whose deviation shows in float64 only."""

PLAYS = 2
"""Number of times a vector is played in a row; a state that outlives its session shows in the second."""


@dataclass(frozen=True, eq=False)
class Want:
    """Expected values of a case, and the allowed errors.

    Attributes:
        digits: after each event, by name, the numbers in 50 digits.
        values: the same as floats.
        scales: the error bounds, in units of epsilon: the larger of those of the types.
        dtypes: the floating-point types in which the case decides.
    """

    digits: tuple[Mapping[str, Any], ...]
    values: tuple[Mapping[str, Any], ...]
    scales: tuple[Mapping[str, Any], ...]
    dtypes: tuple[str, ...] = DTYPES


def want_of(r: Row, s: Scenario) -> Want | None:
    """Compute the rule's values in a case; None if rounding errors could hide a deviation."""
    wide, narrow = (_decided(r, s, dtype) for dtype in DTYPES)
    if wide is None:
        return None
    names = [("x",) if isinstance(e, Begin) else r.shown for e in s.events]
    shown = [{n: answer[n] for n in names[k] if n in answer} for k, answer in enumerate(wide)]
    values = tuple({n: [v.value for v in numbers] for n, numbers in each.items()} for each in shown)
    floats = tuple({n: [float(v) for v in numbers] for n, numbers in each.items()} for each in values)

    def larger(*told: list[Shown]) -> tuple[dict[str, Any], ...]:
        return tuple(
            {n: np.max([bounds_of(a[k][n]) for a in told], axis=0) for n in each} for k, each in enumerate(shown)
        )

    if narrow is not None:
        scales, info = larger(wide, narrow), np.finfo(DTYPES[1])
        # Errors that float32 carries with their signs can be much smaller than those that float64 bounds by size.
        if all(decides(shown[k][n], bounds, info) for k, each in enumerate(scales) for n, bounds in each.items()):
            return Want(values, floats, scales)
    return Want(values, floats, larger(wide), DTYPES[:1])


def _decided(r: Row, s: Scenario, dtype: str) -> list[Shown] | None:
    """The rule in running numbers of a type; None where they decide nothing there."""
    bench = r.bench if dtype == DTYPES[0] else _narrow(r)
    try:
        answers = reference(with_dtype(s, dtype))
        for answer in answers:
            for name in r.shown:
                if name in answer:
                    bench.compare(name, np.array([float(x) for x in answer[name]]), answer[name], "")
    except (Undecided, *CANNOT):
        return None
    return answers


@cache
def _narrow(r: Row) -> Bench:
    return bench_of(SUBJECT, r.offer, setting_of(r.offer, DTYPES[1]))


@dataclass(frozen=True, eq=False)
class Rival:
    """Alternative that a case must distinguish from the rule: a mutant, a reading, an option or an edit.

    Attributes:
        id: a mutant's id, ``reading:NAME`` or ``option:NAME=VALUE``; of a systematic edit its words.
        words: description of the mistake.
        equation: the equation in which it differs.
        variant: the variant to run.
    """

    id: str
    words: str
    equation: str
    variant: Variant = field(repr=False)


@cache
def rivals(r: Row) -> tuple[Rival, ...]:
    """Return the other readings and options of a row, and the mutants that can show on it."""
    known = [
        v for v in single(r.setting) if v.kind == "reading" or (v.kind == "mutant" and can_show(v.mutants[0].id, r))
    ]
    return tuple(Rival(id_of_variant(v), _words(v), v.equation, v) for v in known)


def _words(v: Variant) -> str:
    """Words for a variant; a reading has its first name in them."""
    id = id_of_variant(v)
    return id.replace(":", " ", 1) if id.startswith("reading:") else v.words


def id_of_variant(v: Variant) -> str:
    """Return the id of a variant in vectors: the mutant's id, the reading or the options; else its description."""
    if v.kind == "mutant":
        return v.mutants[0].id
    if v.kind != "reading":
        return v.words
    (names,) = v.names
    if "reading" in names:
        return f"reading:{CATALOGUE[v.algorithm].reading(names['reading']).stored}"
    return "option:" + ",".join(f"{n}={value}" for n, value in sorted(names.items()))


def edits(r: Row) -> tuple[Rival, ...]:
    """Return systematic edits of the functions that a row runs; vectors do not list them."""
    found = _edits(r.offer.algorithm, r.offer.level)
    options = r.setting.options
    return tuple(Rival(v.words, v.words, v.equation, replace(v, options=options)) for v in found)


@cache
def _edits(algorithm: str, level: str) -> tuple[Variant, ...]:
    """Systematic edits of an algorithm's first row at a level; the functions do not depend on the reading."""
    first = next(r for r in all_rows() if (r.offer.algorithm, r.offer.level) == (algorithm, level))
    return tuple(systematic(first.setting))


Edit: TypeAlias = tuple[str, str, str]
"""Systematic edit: function, old text, new text."""


def edit_of(rival: Rival) -> Edit:
    """Return the edit that a rival makes."""
    (m,) = rival.variant.mutants
    return m.rule, m.old, m.new


class Kill(NamedTuple):
    """Evidence that a case distinguishes a rival: the quantity that differs, and its total under the rival.

    Attributes:
        place: the name in which it is seen (``x``, ``v``), and ``in float64`` behind it where the deviation is too
            small for narrower types; ``x`` comes before other names.
        total: sum of the numbers of that name under the rival, after the last event; NaN if the rival fails in between.
    """

    place: str
    total: float


def separated(r: Row, s: Scenario, want: Want, among: Sequence[Rival]) -> dict[str, Kill]:
    """Return the rivals that a case distinguishes from the rule, by id, with the evidence."""
    return {rival.id: kill for rival in among if (kill := _kill(r, s, want, rival))}


def _kill(r: Row, s: Scenario, want: Want, rival: Rival) -> Kill | None:
    """Compute how a case shows a rival; None if it does not, or if the rival cannot be run."""
    seen, totals = set[str](), dict[str, float]()
    try:
        for k, name, got in answers(r, s, want, rival):
            seen |= _off(name, got, want.values[k][name], want.scales[k][name], want.dtypes)
            totals[name] = added(got)
    except (SubjectError, Deviates, *CANNOT):
        totals.clear()
    order = [f"{name}{tail}" for names in (r.shown[:1], r.shown[1:]) for tail in ("", WIDE_ONLY) for name in names]
    place = next((place for place in order if place in seen), "")
    return Kill(place, totals.get(place.removesuffix(WIDE_ONLY), math.nan)) if place else None


def answers(r: Row, s: Scenario, want: Want, rival: Rival) -> Iterator[tuple[int, str, Array]]:
    """Run a rival on a case and yield its answers: event number, name and numbers."""
    editions = rival.variant.editions()
    # What is remembered for good shows when the same case is played again.
    for _ in range(PLAYS if any(m.leaks for m in rival.variant.mutants) else 1):
        for k, answer in enumerate(rival.variant.quick(s, editions())):
            told = {name: answer[name] for name in want.values[k] if name in answer}
            for name, got in r.bench.read(told, s, k, describe(s.events[k])).items():
                yield k, name, got


def added(numbers: Any) -> float:
    """Return the sum of some numbers, or 0 if they cancel up to rounding."""
    with np.errstate(all="ignore"):
        total = float(np.sum(numbers))
        return 0.0 if abs(total) < 1e-6 * float(np.abs(numbers).max()) else total


def _off(name: str, got: Any, values: Sequence[float], scale: Any, dtypes: Sequence[str]) -> set[str]:
    """The place in which an answer is clearly off, if in one."""
    wanted = np.array(values)
    if got.shape != wanted.shape:
        return {name}
    distance = np.abs(got - wanted)
    off = [not (distance <= CLEARLY * THRESHOLD * (eps * scale + tiny)).all() for eps, tiny in map(limits_of, dtypes)]
    return {name} if all(off) else {f"{name}{WIDE_ONLY}"} if any(off) else set()


@cache
def limits_of(dtype: str) -> tuple[float, float]:
    """Return epsilon and the smallest normal number of a dtype."""
    info = np.finfo(dtype)
    return float(info.eps), float(info.tiny)
