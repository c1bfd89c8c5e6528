"""Equations in which a deviation may originate: perturbing one changes all wrong quantities and no right one.

The search looks at the first event of a case in which a shown quantity deviates. If all that is kept is shown, it was
as claimed before, so that the mistake acts in this event; else it may act in an earlier one, where it moves nothing
that is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedspec.rules import Equation, equations
from fedspec_suite.diagnosis.comparing import Given
from fedspec_suite.diagnosis.defects.state import state_fields
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.seen.digits import compared
from fedspec_suite.diagnosis.variants import CANNOT
from fedspec_suite.measure.bench import WORDS, Shown
from fedspec_suite.measure.verdict import listed
from fedspec_suite.mutants import Mutant, functions
from fedspec_suite.mutants.spoilt import SPOILT, spoils

MOST = 4
"""Largest number of equations that are named."""

CASES = 6
"""Largest number of cases to examine."""

MOVED = 1e-9
"""Least change, relative to the largest number, that counts as an effect of a perturbed equation."""


@dataclass(frozen=True)
class First:
    """First event of a case in which a quantity deviates, with the wrong and the right quantities."""

    sample: int
    event: int
    wrong: frozenset[str]
    right: frozenset[str]


def begins(known: Known, given: Given) -> str:
    """Name the equations in which the deviation may originate; empty if none or all are possible.

    In a case in which no equation would do, several may be wrong, or the mistake leaves right what another value of the
    same equation does not, behind a maximum say: how many cases speak for the equations is said then.
    """
    firsts = [f for k in given if (f := _first(known, k, given[k]))][:CASES]
    running = _running(known)
    hidden = {*state_fields(known.setting)} - {n for answers in given.values() for n in answers[0]}
    each = [{e for e in running if _would(known, e, running[e], f, bool(hidden))} for f in firsts]
    placed = [*filter(None, each)]
    left = set.intersection(*placed) if placed else set()
    if len(running) > 1 and left and left != set(running) and len(at := _at([e for e in running if e in left])) <= MOST:
        share = f"in {len(placed)} of {len(each)} cases " if len(placed) < len(each) else ""
        return f"{share}it begins {listed(at, 'or')}"
    of, shown = known.setting, {n for answers in given.values() for n in answers[0]}
    lacking = [n for n in of.algorithm.shows_at(of.level) if n not in shown]
    return f"to learn at which equation it begins, return {', '.join(lacking)} too" if firsts and lacking else ""


def _at(found: list[Equation]) -> list[str]:
    """The places in words; more than two equations of the clients' steps are one."""
    inside = [e for e in found if e.rule.startswith("fedspec.client.")]
    if len(inside) <= 2 or len(inside) == len(found):
        return [f"{'at ' * (not k)}{e.id}" for k, e in enumerate(found)]
    return ["in what a client does", *(f"at {e.id}" for e in found if e not in inside)]


def _first(known: Known, k: int, answers: list[Shown]) -> First | None:
    """The first event of a case in which something deviates; None where nothing does, or rounding may hide what."""
    wanted = known.exact(known.claimed, k)
    dtype = known.samples[k].case.dtype
    for event, (got, want) in enumerate(zip(answers, wanted or (), strict=False)):
        names = [n for n in got if n in want and n not in WORDS and got[n].shape == want[n].shape]
        found = {n: compared(k, event, got[n], want[n], dtype) for n in names}
        wrong = frozenset(n for n, each in found.items() if each.apart.any())
        right = frozenset(n for n, each in found.items() if each.equal.all())
        if len(wrong) + len(right) < len(found):
            return None
        if wrong:
            return First(k, event, wrong, right)
    return None


def _running(known: Known) -> dict[Equation, Any]:
    """The equations that run at the level, each with the function that holds it, in the order in which they stand."""
    of = known.setting
    options = {**of.algorithm.under, **of.options}
    at = {e: f for f in functions(of.algorithm, of.level) for e in equations(f, options)}
    return {e: at[e] for e in of.algorithm.running(of.options) if e in at}


def _would(known: Known, e: Equation, function: Any, first: First, hidden: bool) -> bool:
    """True if spoiling an equation in one event alone, at its narrowest place that shows, moves just what is wrong.

    The event is the first in which something is, or if something kept is ``hidden`` one before it too.
    """
    acting = range(first.event if not hidden else 0, first.event + 1)
    for mutants in spoils(function, e):
        moves = [moved for m in mutants for at in acting if (moved := _moves(known, m, first, at))]
        if moves:
            return any(moved >= first.wrong and not moved & first.right for moved in moves)
    return False


def _moves(known: Known, mutant: Mutant, first: First, at: int) -> set[str]:
    """Quantities of the first wrong event that a mutant moves which acts in one event alone; none if it moves others.

    Others are what is shown of earlier events.
    """
    acts = False

    def only_then(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda value: change(value) if acts else value

    gated = replace(mutant, given={SPOILT: only_then(mutant.given[SPOILT])})
    v = replace(known.claimed, mutants=(gated,))

    def answers() -> Iterator[Any]:
        nonlocal acts
        session = v.quick(known.samples[first.sample], v.editions()())
        for event in range(first.event + 1):
            acts = event == at
            yield next(session)
        acts = False

    try:
        *earlier, moved = [
            {n for n in first.wrong | first.right if n in after and _apart(after[n], plain[n])}
            for after, plain in zip(answers(), _plain(known, first), strict=True)
        ]
    except CANNOT:
        return set()
    return set() if any(earlier) else moved


def _plain(known: Known, first: First) -> Iterator[Any]:
    session = known.claimed.quick(known.samples[first.sample], known.claimed.editions()())
    return (next(session) for _ in range(first.event + 1))


def _apart(one: Any, other: Any) -> bool:
    one, other = np.asarray(one, dtype=float).reshape(-1), np.asarray(other, dtype=float).reshape(-1)
    size = float(np.abs(other).max(initial=0.0)) + float(np.abs(one).max(initial=0.0))
    return one.shape != other.shape or not bool((np.abs(one - other) <= MOVED * size).all())
