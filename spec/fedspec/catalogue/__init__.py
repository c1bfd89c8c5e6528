"""Registry of every algorithm by id, discovered in the files of ``fedspec.client`` and ``fedspec.algorithms``.

A file says ``ROW`` at its end, or ``ROWS`` if it holds several algorithms; no list names the files. Plugins
(:mod:`fedspec.plugins`) say theirs in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType

from fedspec import plugins
from fedspec.checked_rows import check_printed, check_row
from fedspec.composed import declare_beside, with_solver
from fedspec.discovered import said
from fedspec.entry import Algorithm, Family, LocalSolver, Method, Program, Reading, Requirement, Served
from fedspec.errors import PluginError, UnknownNameError, none_called
from fedspec.hyper import Hyper

__all__ = [
    "ADDED",
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
    "elsewhere",
    "find",
    "id_of",
    "join",
    "rows_of",
]


def rows_of(module: ModuleType) -> tuple[Algorithm, ...]:
    """Rows that a module defines as ``ROW`` or ``ROWS``."""
    several = getattr(module, "ROWS", ())
    return (
        *([module.ROW] if hasattr(module, "ROW") else []),
        *([several] if isinstance(several, Algorithm) else several),
    )


def _rows() -> Iterator[Algorithm]:
    for package in ("fedspec.client", "fedspec.algorithms"):
        yield from said(package, "ROW")
        for rows in said(package, "ROWS"):
            yield from rows


def _added(ours: list[Algorithm]) -> Iterator[Algorithm]:
    """The rows of plugins.

    Raises:
        PluginError: a plugin has no row, or the name of a row is already in use.
    """
    taken = {name: "fedspec" for a in ours for name in (a.id, *a.aliases)}
    for module in plugins.loaded():
        where = plugins.where(module)
        rows = rows_of(module)
        if not rows:
            raise PluginError(
                f"plugin: {where} defines no ROW; end the file with `ROW = Algorithm(...)` (fedspec.entry)"
            )
        for row in rows:
            check_row(row, where)
        check_printed(module, rows, where)
        for row in rows:
            for name in (row.id, *row.aliases):
                if name in taken:
                    raise PluginError(f"plugin: {where} calls its algorithm {name!r}, as {taken[name]} does; rename it")
                taken[name] = where
            yield row


_OURS = [*_rows()]
_ADDED = [*_added(_OURS)]
_ROWS = sorted([*_OURS, *_ADDED], key=lambda a: (a.place, a.id))

for _row in _ROWS:
    if isinstance(_row.run, LocalSolver):
        declare_beside(_row)

ADDED = frozenset(a.id for a in _ADDED)
"""Ids of the plugins' algorithms."""

FAMILIES: dict[str, tuple[Algorithm, ...]] = {f.value: tuple(a for a in _ROWS if a.family is f) for f in Family}
"""Every algorithm, grouped by its difference from federated averaging."""

CATALOGUE: dict[str, Algorithm] = {a.id: a for family in FAMILIES.values() for a in family}
"""Every algorithm by its id."""

ALIASES: dict[str, str] = {name: a.id for a in CATALOGUE.values() for name in a.aliases}
"""Ids by alias, as rows declare them; an id is an alias of no other row."""


def id_of(name: str) -> str:
    """Return the id for a name in any spelling, such as FedAvg, multi_krum or RFA; else the name itself.

    Names that versions of a paper give to several rows aren't spellings of any of them, for example FedAda2. FedAMS and
    Fed-AMS are two different rows.
    """
    if name in CATALOGUE:
        return name
    known = {**dict(zip(CATALOGUE, CATALOGUE, strict=True)), **ALIASES}
    exact, bare = known.get(name.lower()), _bare(name)
    alike = {exact} if exact else {id for other, id in known.items() if _bare(other) == bare}
    of_versions = {alias.partition("@")[0] for alias in ALIASES if "@" in alias}
    told = len(alike) == 1 and (name.lower() in ALIASES or not alike & of_versions)
    return alike.pop() if told else name


def _bare(name: str) -> str:
    """A name without case, and without what separates its parts."""
    return re.sub(r"[\s_.-]", "", name.lower())


LORA = ("lora", "fedit", "ffa", "ffalora", "rolora", "flora", "fedex", "fedexlora")
"""Names of rules that mix low-rank adapters, without case and what separates their parts."""


def elsewhere(name: str) -> str:
    """Message with the module and command of an algorithm that has no row; empty if the name isn't one of these."""
    if _bare(name) not in LORA:
        return ""
    return f"{name!r} mixes matrices and is no row; fedspec.mixing.lora has it; `fedspec lora` judges (docs/lora.md)"


def join(row: Algorithm) -> Algorithm:
    """Add an algorithm to the catalogue of this process, unless it is there already.

    Raises:
        PluginError: another algorithm already has this id or one of these aliases.
    """
    if isinstance(row.run, LocalSolver):
        declare_beside(row)
    if CATALOGUE.get(row.id) is not row:
        check_row(row, "its own making")
        for name in (row.id, *row.aliases):
            if (id := id_of(name)) in CATALOGUE:
                raise PluginError(f"algorithm: {name!r} is the name of {CATALOGUE[id].title} already; take another")
        CATALOGUE[row.id] = row
        ALIASES.update(dict.fromkeys(row.aliases, row.id))
        FAMILIES[row.family.value] += (row,)
    return row


def __getattr__(name: str) -> type[Hyper]:
    """Return the hyper-parameter record of a composed row (a server with another local solver), by the row's id."""
    if plugins.BETWEEN in name and isinstance(run := find(name).run, Method):
        return run.hyper
    raise AttributeError(f"module 'fedspec.catalogue' has no attribute {name!r}")


def find(name: str | Algorithm) -> Algorithm:
    """Return the algorithm of an id or alias; ``fedadam-with-yogi`` is FedAdam with clients that run Yogi.

    A row that is not in the catalogue yet joins it.

    Raises:
        UnknownNameError: no row has that name.
        PluginError: the name of a row is already in use.
        ParameterError: the server doesn't accept another local solver.
    """
    if isinstance(name, Algorithm):
        return join(name)
    if (id := id_of(name)) in CATALOGUE:
        return CATALOGUE[id]
    server, between, solver = name.partition(plugins.BETWEEN)
    if between:
        return join(with_solver(find(server), find(solver)))
    if said := elsewhere(name):
        raise UnknownNameError(f"algorithm: {said}")
    error = none_called("algorithm", name, [*CATALOGUE, *ALIASES], "fedspec list")
    raise UnknownNameError(f"{error}; to use your own algorithm, add --plugin FILE")


for _name in plugins.composed():
    find(_name)
