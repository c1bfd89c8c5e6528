"""The one registry: every algorithm by id."""

from __future__ import annotations

from fedspec.catalogue.entry import Algorithm, Method, Reading, Requirement, Solver
from fedspec.catalogue.methods import METHODS
from fedspec.catalogue.solvers import SOLVERS
from fedspec.errors import UnknownNameError

__all__ = ["CATALOGUE", "Algorithm", "Method", "Reading", "Requirement", "Solver", "find"]

CATALOGUE: dict[str, Algorithm] = {a.id: a for a in (*SOLVERS, *METHODS)}
"""Every algorithm by its id."""


def find(name: str) -> Algorithm:
    """The algorithm of that id.

    Raises:
        UnknownNameError: there is none.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    raise UnknownNameError(f"algorithm: unknown {name!r}; known: {', '.join(CATALOGUE)}")
