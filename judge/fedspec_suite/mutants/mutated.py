"""A mutant as a subject: the specification with one rule edited, in the text that is printed where that can be."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import FunctionType

import numpy as np

from fedspec import arith
from fedspec.catalogue import CATALOGUE
from fedspec.contract import Answer, Case, Event, Level, Session, SubjectInfo
from fedspec.reference import SUBJECT
from fedspec_suite.measure.copies import Edits
from fedspec_suite.measure.forms import form_of
from fedspec_suite.mutants.called import functions
from fedspec_suite.mutants.mutant import Mutant, editions, edits, loaded, parsed, source_of, stored


def edit_in(mutant: Mutant, case: Case) -> tuple[Mutant, bool]:
    """The edit in the text that runs, and whether that is the printed one.

    It is the one that runs for anybody, unless it says in other words what is edited: then the form with options runs.
    """
    row = CATALOGUE[case.algorithm]
    if not row.run.plain or row.run_under({**case.options, **mutant.options}, case.hyper) is row.run:
        return mutant, False
    found = _printed_edit(mutant, case.algorithm, case.level)
    return (found, True) if found else (mutant, False)


IN_GENERAL = {
    "afga-of-all",
    "afga-over-all",
    "cc-fedavgm-stale",
    "fedavgm-no-decay",
    "fednova-momentum-forgets",
    "fednova-momentum-no-decay",
    "sm3-ii-adds-up",
}
"""Mutants whose text, where the printed one has it too, would be another mistake there or none."""


@cache
def _printed_edit(mutant: Mutant, algorithm: str, level: Level) -> Mutant | None:
    if mutant.id in IN_GENERAL:
        return None
    row = CATALOGUE[algorithm]
    run = functions(replace(row, run=row.run.as_printed()), level)
    # A field that is called as a function is does not call it.
    called = {n for f in run for n in loaded(parsed(source_of(f)))}
    names = {f"{f.__module__}.{f.__name__}": f for f in run if f is run[0] or f.__name__ in called}
    if mutant.rule in names:
        return mutant
    there = [name for name, f in names.items() if source_of(f).count(mutant.old) == 1]
    found = [replace(mutant, rule=name) for name in there if not _unknown(mutant, names[name])]
    return found[0] if len(there) == len(found) == 1 else None


def _unknown(mutant: Mutant, function: FunctionType) -> set[str]:
    """What the edited text of a function would read that is not there: another name, or a number within its record."""
    text = parsed(source_of(function).replace(mutant.old, mutant.new))
    given = {a.arg for n in ast.walk(text) if isinstance(n, ast.arguments) for a in (*n.args, *n.kwonlyargs)}
    there = {*vars(builtins), *vars(arith), *inspect.unwrap(function).__globals__, *mutant.given}
    return loaded(text) - stored(text) - given - there


class _Session:
    """A session whose numbers may be anything, and nobody is warned of."""

    def __init__(self, inner: Session) -> None:
        self.inner = inner

    def step(self, event: Event) -> Answer:
        with np.errstate(all="ignore"):
            return self.inner.step(event)


class Mutated:
    """The specification with one rule edited, as a subject."""

    def __init__(self, mutant: Mutant) -> None:
        inner = SUBJECT.info
        self.mutant = mutant
        offers = tuple(o for o in inner.offers if o.algorithm in mutant.algorithms)
        self.info: SubjectInfo = replace(inner, variant=f"mutant {mutant.id}", offers=offers)
        self.editions: dict[Mutant, Callable[[], FunctionType]] = {}

    def edition(self, mutant: Mutant) -> FunctionType:
        """The edited function for a session; a mutant that outlives its sessions has one for all of them."""
        if mutant not in self.editions:
            self.editions[mutant] = editions(mutant)
        return self.editions[mutant]()

    def start(self, case: Case) -> Session:
        """Begin a session; the options under which the edit is made override the case's."""
        mutant, plain = edit_in(self.mutant, case)
        after = edits({mutant: self.edition(mutant)})
        with np.errstate(all="ignore"):
            return _Session(started(replace(case, options={**case.options, **mutant.options}), after, plain))


def started(case: Case, after: Edits, plain: bool = False) -> Session:
    """A session of the specification under edits, in the printed form of its row or in that with options."""
    form = form_of(CATALOGUE[case.algorithm], case.level, "plain" if plain else "general")
    return form.started(case, after, False, lambda kind, row, case: kind(row, case))
