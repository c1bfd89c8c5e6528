"""All mutants: those of ``edits/``, and the mistakes that plugins declare for their own rules."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from fedspec import plugins
from fedspec.catalogue import rows_of
from fedspec.errors import PluginError, UnknownNameError, none_called
from fedspec_suite.mutants import written
from fedspec_suite.mutants.mutant import Mutant, parsed, texts
from fedspec_suite.own import Mistake


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
        raise PluginError(f"plugin: mutant: {m.id} has equal old and new texts; give another new text")


MUTANTS: dict[str, Mutant] = {m.id: m for m in written.mutants()}
OWN: dict[str, Mutant] = {m.id: m for m in _added()}
"""Mutants that plugins declare, which no stored matrix contains."""

for _id, _mutant in OWN.items():
    if _id in MUTANTS:
        raise PluginError(f"plugin: a mutant of fedspec is called {_id!r}; take another id")
    _check(_mutant)
MUTANTS |= OWN


def find(name: str) -> Mutant:
    """Return the mutant with an id.

    Raises:
        UnknownNameError: no mutant has that id.
    """
    if name in MUTANTS:
        return MUTANTS[name]
    raise none_called("mutant", name, MUTANTS, "fedspec mutants list")
