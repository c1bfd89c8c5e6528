"""A mutant as a subject: the specification with one rule edited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import FunctionType

import numpy as np

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Answer, Case, Event, Session, SubjectInfo
from fedspec.reference import SUBJECT
from fedspec_suite.measure.copies import Edits
from fedspec_suite.measure.forms import form_of
from fedspec_suite.mutants.mutant import Mutant, editions, edits


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
