"""A mutant as a subject: the specification with one rule edited, in the text that is printed where that can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Answer, Case, Event, Level, Session, SubjectInfo
from fedspec.reference import SUBJECT
from fedspec_suite.mutants.called import functions
from fedspec_suite.mutants.forms import in_general_form
from fedspec_suite.mutants.mutant import Mutant, applied, editions, source_of


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
    "admu-momentum-delayed",
    "admu-updates-counted",
    "afga-of-all",
    "afga-over-all",
    "afga-rate-twice",
    "cc-fedams-stale-max",
    "cc-fedavgm-stale",
    "dadam-beta3-swapped",
    "dadam-no-max",
    "dadam-only-max",
    "dadam-squared-momentum",
    "dadam-undamped",
    "fed-lamb-norm-epsilon",
    "fed-lamb-not-normalised-without-decay",
    "fedadagrad-first-round-lost",
    "fedadagrad-plain-first-round",
    "fedadam-first-round-lost",
    "fedadam-plain-first-round",
    "fedavgm-no-decay",
    "fedavgm-sign",
    "fednova-momentum-dampened",
    "fednova-momentum-forgets",
    "fednova-momentum-no-decay",
    "fedyogi-first-round-lost",
    "fedyogi-plain-first-round",
    "sm3-ii-adds-up",
    "vrl-sgd-rate-lost",
}
"""Mutants whose text, where the printed one has it too, would be another mistake there or none."""


@cache
def _printed_edit(mutant: Mutant, algorithm: str, level: Level) -> Mutant | None:
    if mutant.id in IN_GENERAL:
        return None
    row = CATALOGUE[algorithm]
    run = functions(replace(row, run=row.run.as_printed()), level)
    names = {f"{f.__module__}.{f.__name__}": f for f in run}
    if mutant.rule in names:
        return mutant
    there = [name for name, f in names.items() if source_of(f).count(mutant.old) == 1]
    return replace(mutant, rule=there[0]) if len(there) == 1 else None


class _Session:
    def __init__(self, mutated: Mutated, case: Case) -> None:
        self.mutant, plain = edit_in(mutated.mutant, case)
        self.after = mutated.edition(self.mutant)
        options = {**case.options, **self.mutant.options}
        with self.edited(), nullcontext() if plain else in_general_form(case.algorithm):
            self.inner = SUBJECT.start(replace(case, options=options))

    @contextmanager
    def edited(self) -> Iterator[None]:
        """The specification under the edit."""
        with applied(self.mutant, self.after), np.errstate(all="ignore"):
            yield

    def step(self, event: Event) -> Answer:
        """Take the event under the edit, and only then: the judge's own reference stays what it is."""
        with self.edited():
            return self.inner.step(event)


class Mutated:
    """The specification with one rule edited, as a subject."""

    def __init__(self, mutant: Mutant) -> None:
        inner = SUBJECT.info
        self.mutant = mutant
        offers = tuple(o for o in inner.offers if o.algorithm in mutant.algorithms)
        self.info: SubjectInfo = replace(inner, variant=f"mutant {mutant.id}", offers=offers)
        self.editions: dict[Mutant, Callable[[], Callable[..., Any]]] = {}

    def edition(self, mutant: Mutant) -> Callable[..., Any]:
        """The edited function for a session; a mutant that outlives its sessions has one for all of them."""
        if mutant not in self.editions:
            self.editions[mutant] = editions(mutant)
        return self.editions[mutant]()

    def start(self, case: Case) -> Session:
        """Begin a session; the options under which the edit is made override the case's."""
        return _Session(self, case)
