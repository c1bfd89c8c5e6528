"""The one registry: every algorithm by id, found in the files of ``fedspec.client`` and ``fedspec.algorithms``.

A file says ``ROW`` at its end, or ``ROWS`` if it holds several algorithms; no list names the files.
"""

from __future__ import annotations

from collections.abc import Iterator

from fedspec.discovered import said
from fedspec.entry import Algorithm, Family, LocalSolver, Method, Program, Reading, Requirement, Served
from fedspec.errors import none_called

__all__ = [
    "ALIASES",
    "CATALOGUE",
    "FAMILIES",
    "Algorithm",
    "Family",
    "LocalSolver",
    "Method",
    "Program",
    "Reading",
    "Requirement",
    "Served",
    "find",
    "id_of",
]


def _rows() -> Iterator[Algorithm]:
    for package in ("fedspec.client", "fedspec.algorithms"):
        yield from said(package, "ROW")
        for rows in said(package, "ROWS"):
            yield from rows


_ROWS = sorted(_rows(), key=lambda a: (a.place, a.id))

FAMILIES: dict[str, tuple[Algorithm, ...]] = {f.value: tuple(a for a in _ROWS if a.family is f) for f in Family}
"""Every algorithm, by what sets it apart from federated averaging."""

CATALOGUE: dict[str, Algorithm] = {a.id: a for family in FAMILIES.values() for a in family}
"""Every algorithm by its id."""

ALIASES: dict[str, str] = {name: a.id for a in CATALOGUE.values() for name in a.aliases}
"""The ids by the other names that rows say; an id stands for nothing but its own row."""


def id_of(name: str) -> str:
    """The id that another name stands for, however that is spelled; else the name itself."""
    return ALIASES.get(name.lower(), name)


def find(name: str) -> Algorithm:
    """The algorithm of that id, or of that other name.

    Raises:
        UnknownNameError: no row has that name.
    """
    if (id := id_of(name)) in CATALOGUE:
        return CATALOGUE[id]
    raise none_called("algorithm", name, [*CATALOGUE, *ALIASES], "fedspec list")
