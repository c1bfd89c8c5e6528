"""Usual cases in which a rule takes a side that few of them take: the larger of two numbers, or the other of two steps.

A rate that is max(1, ...) may be 1 in all cases of a quick check, and a step may never be short enough to be left out.
The usual cases are drawn on until such a side is taken in two of them; ``fedspec check`` and ``fedspec identify`` play
these, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, TypeAlias

import numpy as np

from fedspec.catalogue import find
from fedspec.domains import COUNTS, DOMAINS, NONNEGATIVE, POSITIVE
from fedspec.errors import FedspecError
from fedspec.parts import PartsSession
from fedspec_suite.measure.call_graph import Spaces, functions, names
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.edge_cases import edge_cases
from fedspec_suite.measure.edited_sessions import Form, form_of
from fedspec_suite.measure.scenario import Scenario, with_dtype, with_hyper
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import Setting

SPLITS = {"maximum", "minimum", "where_less"}
"""Functions that choose between two numbers; the first two arguments are compared."""

DRAWN, SEED = 96, 11
"""Number of cases that are drawn, and their seed."""

RARE = 8
"""A side that more than one case in this many takes is not rare: twelve cases hardly miss it."""

KEPT = 2
"""Number of cases kept for each rare side."""

STRIDE, FAR = 8, (2.0**-8, 2.0**8)
"""Stride through the drawn cases, and factors that stretch a hyper-parameter, for a side that no drawn case takes."""

Side: TypeAlias = tuple[str, int, str, int]
"""Function, line and name of a call, and 1 if the first number is the larger one, else 0."""

_TAKEN: set[Side] = set()
"""Sides taken since the set was cleared."""


def special_cases(setting: Setting) -> tuple[Scenario, ...]:
    """Return the edge cases of a setting, and its rare cases: what every comparison plays after the usual cases."""
    return (*edge_cases(setting), *rare_cases(setting))


def rare_cases(setting: Setting) -> tuple[Scenario, ...]:
    """Return cases in which rules take sides that few usual cases take; none if every side is usual."""
    found = (replace(s, case=replace(s.case, dtype=setting.dtype)) for s in _rare(replace(setting, dtype="float64")))
    return tuple(with_dtype(s, setting.dtype) for s in found)


@lru_cache(maxsize=64)
def _rare(setting: Setting) -> tuple[Scenario, ...]:
    if not any(SPLITS & {*names(f)} for f in functions(setting.algorithm, setting.level)):
        return ()
    drawn = draw_cases(scenarios(setting), DRAWN, SEED)
    by_side = _by_side(drawn)
    rare = {side: found[:KEPT] for side, found in by_side.items() if len(found) * RARE < len(drawn)}
    never = {(place, line, name, 1 - side) for place, line, name, side in by_side} - by_side.keys()
    beyond = _by_side(list(_stretched(setting, drawn[::STRIDE]))) if never else {}
    rare |= {side: beyond[side][:KEPT] for side in sorted(never & beyond.keys())}
    return tuple({id(s): s for found in rare.values() for s in found}.values())


def _by_side(cases: Sequence[Scenario]) -> dict[Side, list[Scenario]]:
    """The cases in which each side is taken."""
    found: dict[Side, list[Scenario]] = {}
    for s in cases:
        for side in sorted(_sides(s)):
            found.setdefault(side, []).append(s)
    return found


def _stretched(setting: Setting, cases: Sequence[Scenario]) -> Iterator[Scenario]:
    """Cases with one hyper-parameter far smaller or larger than usual."""
    for s in cases:
        for name, value in s.case.hyper.items():
            if name not in (*setting.fixed, *COUNTS) and DOMAINS[name].domain in (NONNEGATIVE, POSITIVE):
                yield from (with_hyper(s, **{name: value * by}) for by in FAR)


def _sides(s: Scenario) -> set[Side]:
    """The sides that the specification takes in a case; none if it refuses the case."""
    form = _noting(form_of(find(s.case.algorithm), s.case.level))
    _TAKEN.clear()
    with np.errstate(all="ignore"):
        try:
            session = PartsSession.begun(s.case, lambda case: form.kind(form.row, case))
            for event in s.events:
                session.step(event)
        except (ArithmeticError, FedspecError, TypeError, ValueError):
            return set()
    return {*_TAKEN}


@cache
def _noting(form: Form) -> Form:
    """A form of the specification whose rules note the sides that they take."""

    def change(spaces: Spaces) -> None:
        for module, space in spaces.items():
            for name in SPLITS & {*space} if module != "fedspec.arith" else ():
                space[name] = _noted(space[name])

    return form.changed(change)


def _noted(there: Callable[..., Any]) -> Callable[..., Any]:
    def run(a: Any, b: Any, *given: Any) -> Any:
        # The line that calls is the place.
        caller = sys._getframe(1)
        place = caller.f_code.co_name, caller.f_lineno, there.__name__
        first, second = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
        _TAKEN.update((*place, side) for side, taken in ((0, first < second), (1, first > second)) if taken.any())
        return there(a, b, *given)

    return run
