"""The one registry: every algorithm by id, found in the files of ``fedspec.client`` and ``fedspec.algorithms``.

A file says ``ROW`` at its end, or ``ROWS`` if it holds several algorithms; no list names the files.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import fedspec.algorithms
import fedspec.client
from fedspec.entry import Algorithm, Family, LocalSolver, Method, Program, Reading, Requirement
from fedspec.errors import UnknownNameError

__all__ = [
    "CATALOGUE",
    "FAMILIES",
    "Algorithm",
    "Family",
    "LocalSolver",
    "Method",
    "Program",
    "Reading",
    "Requirement",
    "find",
]


def _rows() -> Iterator[Algorithm]:
    for package in (fedspec.client, fedspec.algorithms):
        for file in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            said = vars(import_module(file.name))
            yield from said.get("ROWS", ())
            if "ROW" in said:
                yield said["ROW"]


_ROWS = sorted(_rows(), key=lambda a: (a.place, a.id))

FAMILIES: dict[str, tuple[Algorithm, ...]] = {f.value: tuple(a for a in _ROWS if a.family is f) for f in Family}
"""Every algorithm, by what sets it apart from federated averaging."""

CATALOGUE: dict[str, Algorithm] = {a.id: a for family in FAMILIES.values() for a in family}
"""Every algorithm by its id."""


def find(name: str) -> Algorithm:
    """The algorithm of that id.

    Raises:
        UnknownNameError: there is none.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    raise UnknownNameError(f"algorithm: unknown {name!r}; known: {', '.join(CATALOGUE)}")
