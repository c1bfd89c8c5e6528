"""Mutants as data: every named wrong implementation, by id."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FunctionType

import numpy as np

from fedspec import plugins
from fedspec.catalogue import CATALOGUE, rows_of
from fedspec.contract import Answer, Case, Event, Session, SubjectInfo
from fedspec.errors import PluginError, UnknownNameError, none_called
from fedspec.reference import SUBJECT
from fedspec_suite.measure.copies import Edits
from fedspec_suite.measure.forms import form_of
from fedspec_suite.measure.reached import functions, held, names
from fedspec_suite.mutants import written
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
from fedspec_suite.own import Mistake

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


def _added() -> Iterator[Mutant]:
    """The mistakes that plugins say."""
    for module in plugins.loaded():
        for m in getattr(module, "MUTANTS", ()):
            if not isinstance(m, Mistake):
                where = plugins.where(module)
                raise PluginError(f"plugin: MUTANTS of {where} holds {m!r}; want fedspec_suite.own.Mistake")
            f, named = inspect.unwrap(m.function), tuple(a.id for a in rows_of(module))
            yield Mutant(
                id=m.id,
                words=m.words,
                algorithms=m.algorithms or named,
                rule=f"{f.__module__}.{f.__name__}",
                old=m.old,
                new=m.new,
                options=m.options or {},
                survives=m.survives,
            )


def _check(m: Mutant) -> None:
    """Refuse a mistake that edits nothing, or whose text cannot be run."""
    try:
        before, after = texts(m)
        parsed(after.replace("@rule\n", ""))
    except (UnknownNameError, SyntaxError) as error:
        raise PluginError(f"plugin: the text of mistake {m.id} cannot be run: {error}") from error
    if before == after:
        raise PluginError(f"plugin: mutant: {m.id} puts there what stands there; say another text")


MUTANTS: dict[str, Mutant] = {m.id: m for m in written.mutants()}
OWN: dict[str, Mutant] = {m.id: m for m in _added()}
"""Those of plugins, which are in no stored matrix."""

for _id, _mutant in OWN.items():
    if _id in MUTANTS:
        raise PluginError(f"plugin: a mutant of fedspec is called {_id!r}; take another id")
    _check(_mutant)
MUTANTS |= OWN


def find(name: str) -> Mutant:
    """The mutant of that id.

    Raises:
        UnknownNameError: no mutant has that id.
    """
    if name in MUTANTS:
        return MUTANTS[name]
    raise none_called("mutant", name, MUTANTS, "fedspec mutants list")


class _Session:
    """A session whose numbers may be anything, and nobody is warned of."""

    def __init__(self, inner: Session) -> None:
        self.inner = inner

    def step(self, event: Event) -> Answer:
        with np.errstate(all="ignore"):
            return self.inner.step(event)


class Mutated:
    """The specification with one rule edited, as a subject; a mutant that outlives its sessions has one for all."""

    def __init__(self, mutant: Mutant) -> None:
        inner = SUBJECT.info
        self.mutant = mutant
        offers = tuple(o for o in inner.offers if o.algorithm in mutant.algorithms)
        self.info: SubjectInfo = replace(inner, variant=f"mutant {mutant.id}", offers=offers)
        self.edition: Callable[[], FunctionType] = editions(mutant)

    def start(self, case: Case) -> Session:
        """Begin a session; the options under which the edit is made override the case's."""
        after = edits({self.mutant: self.edition()})
        with np.errstate(all="ignore"):
            return _Session(started(replace(case, options={**case.options, **self.mutant.options}), after))


def started(case: Case, after: Edits) -> Session:
    """A session of the specification under edits."""
    form = form_of(CATALOGUE[case.algorithm], case.level)
    return form.started(case, after, False, lambda kind, row, case: kind(row, case))
