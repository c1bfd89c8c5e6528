"""Named wrong implementations: an edit of a rule's text, the public defect it comes from, and how to run it.

An edit replaces one piece of the rule's source by another; both must be found exactly once, so that a rule that
is rewritten takes its mutants with it or breaks the tests.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Answer, Case, Event, Session, SubjectInfo
from fedspec.errors import UnknownNameError
from fedspec.reference import Reference
from fedspec.rules import equations


@dataclass(frozen=True, eq=False)
class Mutant:
    """An edit of one rule.

    Attributes:
        id: stable slug.
        words: what is wrong, as a diagnosis prints it.
        algorithms: where it shows.
        rule: dotted name of the function that is edited.
        old: a piece of its source, found exactly once.
        new: what stands there instead.
        options: the reading under which the edit is made, where it is not the canonical one.
        seen: where such a defect was discussed in public; empty for a systematic one.
    """

    id: str
    words: str
    algorithms: tuple[str, ...]
    rule: str
    old: str
    new: str
    options: Mapping[str, str] = field(default_factory=dict)
    seen: str = ""


@cache
def _places(mutant: Mutant) -> list[tuple[ModuleType, str]]:
    """Where the rule that a mutant edits is known, and under which name."""
    before, _ = edited(mutant)
    modules = [m for n, m in list(sys.modules.items()) if n.partition(".")[0] == "fedspec"]
    return [(module, key) for module in modules for key, value in vars(module).items() if value is before]


@cache
def edited(mutant: Mutant) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The function that a mutant edits, before and after.

    Raises:
        UnknownNameError: the edit's text is not found exactly once in the rule.
    """
    module_name, _, name = mutant.rule.rpartition(".")
    module = sys.modules[module_name]
    before = cast(FunctionType, getattr(module, name))
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(before)))
    if source.count(mutant.old) != 1:
        raise UnknownNameError(
            f"mutant: {mutant.id} edits {mutant.old!r}, found {source.count(mutant.old)} times in {mutant.rule}"
        )
    source = source.replace(mutant.old, mutant.new).replace("@rule\n", "")
    space: dict[str, Any] = dict(vars(module))
    # Annotations stay strings, as in the module the text comes from.
    exec(compile(f"from __future__ import annotations\n{source}", f"<mutant {mutant.id}>", "exec"), space)
    return before, cast(Callable[..., Any], space[name])


def blamed(mutant: Mutant) -> str:
    """The id of the equation that a mutant breaks: the one whose left side the edited statement assigns."""
    before, _ = edited(mutant)
    ids = [e.id for e in equations(before)]
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(before)))
    line = next(line for line in source.splitlines() if mutant.old.splitlines()[0].strip() in line)
    assigned = line.partition("=")[0].strip()
    tail = "step" if assigned == "x" else assigned
    return next((i for i in ids if i.endswith(f".{tail}")), ids[-1] if ids else "")


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The specification with the mutant's rule edited, wherever it is used, until the block ends."""
    before, after = edited(mutant)
    places = _places(mutant)
    rows = {i: a for i, a in CATALOGUE.items() if before in vars(a.run).values()}
    try:
        for module, name in places:
            setattr(module, name, after)
        for i, a in rows.items():
            swapped: dict[str, Any] = {n: after for n, v in vars(a.run).items() if v is before}
            CATALOGUE[i] = replace(a, run=replace(a.run, **swapped))
        yield
    finally:
        for module, name in places:
            setattr(module, name, before)
        CATALOGUE.update(rows)


class _Session:
    def __init__(self, mutant: Mutant, case: Case) -> None:
        self.mutant = mutant
        with applied(mutant), np.errstate(all="ignore"):
            self.inner = Reference().start(replace(case, options={**case.options, **mutant.options}))

    def step(self, event: Event) -> Answer:
        """Take the event under the edit, and only then: the judge's own reference stays what it is."""
        with applied(self.mutant), np.errstate(all="ignore"):
            return self.inner.step(event)


class Mutated:
    """The specification with one rule edited, as a subject."""

    def __init__(self, mutant: Mutant) -> None:
        inner = Reference().info
        self.mutant = mutant
        offers = tuple(o for o in inner.offers if o.algorithm in mutant.algorithms)
        self.info: SubjectInfo = replace(inner, variant=f"mutant {mutant.id}", offers=offers)

    def start(self, case: Case) -> Session:
        """Begin a session; the options under which the edit is made override the case's."""
        return _Session(self.mutant, case)
