"""Mutants as data: every named wrong implementation, by id."""

from __future__ import annotations

from fedspec.errors import UnknownNameError
from fedspec_suite.mutants import client, server
from fedspec_suite.mutants.mutant import Mutant, Mutated, applied, blamed, edited

__all__ = ["MUTANTS", "Mutant", "Mutated", "applied", "blamed", "edited", "find"]

MUTANTS: dict[str, Mutant] = {m.id: m for m in (*server.MUTANTS, *client.MUTANTS)}


def find(name: str) -> Mutant:
    """The mutant of that id.

    Raises:
        UnknownNameError: there is none.
    """
    if name in MUTANTS:
        return MUTANTS[name]
    raise UnknownNameError(f"mutant: unknown {name!r}; known: {', '.join(MUTANTS)}")
