"""Mutants: all named wrong implementations by id, and the subject that runs one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Answer, Case, Event, Session, SubjectInfo
from fedspec.parts import PartsSession
from fedspec.reference import SUBJECT
from fedspec_suite.measure.call_graph import functions, held, names
from fedspec_suite.measure.edited_sessions import form_of
from fedspec_suite.measure.function_copies import Edits
from fedspec_suite.mutants.mutant import (
    Mutant,
    Thread,
    blamed,
    edited,
    editions,
    edits,
    fresh,
    original,
    parsed,
    texts,
)

if TYPE_CHECKING:
    from fedspec_suite.mutants.listed import MUTANTS, OWN, find

__all__ = [
    "MUTANTS",
    "OWN",
    "Mutant",
    "Mutated",
    "Thread",
    "blamed",
    "edited",
    "editions",
    "edits",
    "find",
    "fresh",
    "functions",
    "held",
    "names",
    "original",
    "parsed",
    "started",
    "texts",
]

_LISTED = ("MUTANTS", "OWN", "find")


def __getattr__(name: str) -> Any:
    """Import ``listed`` when one of its names is first used."""
    if name in _LISTED:
        return getattr(import_module("fedspec_suite.mutants.listed"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Session:
    """A session whose numbers may be anything, and nobody is warned of."""

    def __init__(self, inner: Session) -> None:
        self.inner = inner

    def step(self, event: Event) -> Answer:
        with np.errstate(all="ignore"):
            return self.inner.step(event)


class Mutated:
    """Subject: the specification with one edited rule; sessions share it unless it leaks per session."""

    def __init__(self, mutant: Mutant) -> None:
        inner = SUBJECT.info
        self.mutant = mutant
        offers = tuple(o for o in inner.offers if o.algorithm in mutant.algorithms)
        self.info: SubjectInfo = replace(inner, variant=f"mutant {mutant.id}", claims=offers)
        self.edition: Callable[[], FunctionType] = editions(mutant)

    def start(self, case: Case) -> Session:
        """Begin a session. If the mutant and the case set the same option, the mutant's value wins."""
        after = edits({self.mutant: self.edition()})
        with np.errstate(all="ignore"):
            return _Session(started(replace(case, options={**case.options, **self.mutant.options}), after))


def started(case: Case, after: Edits) -> Session:
    """Start a session of the specification with edited functions."""
    form = form_of(CATALOGUE[case.algorithm], case.level)

    def begin(case: Case) -> Session:
        return form.started(case, after, False, lambda kind, row, case: kind(row, case))

    return PartsSession.begun(case, begin)
