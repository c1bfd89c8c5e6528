"""Second routes that plugin files declare under ``STEPS``, ``MOVES`` and ``MAPS``, for the laws that use them.

What nothing would read is refused: a file that says a second route is not judged without it and told nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from fedspec import plugins
from fedspec.catalogue import Algorithm, LocalSolver, Method, rows_of
from fedspec.errors import PluginError

TABLES = {"STEPS": ("past", "h", "o"), "MOVES": ("p", "changes", "h", "o"), "MAPS": ("z", "e")}
"""Parameters of the functions in each table; see docs/own-algorithms.md."""


def table(name: str) -> dict[str, Callable[..., Any]]:
    """Return the entries of a table in all plugins, by algorithm."""
    return plugins.entries(name)


def check() -> None:
    """Raise if an entry of a plugin's table has no matching row, the wrong kind of row, or wrong parameters.

    Raises:
        PluginError: one is for no row of its file, or for one of another kind, or takes other arguments.
    """
    for module in plugins.loaded():
        rows = {row.id: row for row in rows_of(module)}
        for name in TABLES:
            for id, form in getattr(module, name, {}).items():
                where = f"plugin: {name} of {plugins.where(module)} has an entry for {id!r}"
                if id not in rows:
                    raise PluginError(f"{where}, but the file has no such row")
                if wrong := _wrong(name, rows[id], form):
                    raise PluginError(f"{where}: {wrong}")


def kinds(row: Algorithm) -> set[str]:
    """Return the tables that laws use for such a row."""
    if isinstance(row.run, LocalSolver):
        return {"STEPS"}
    if isinstance(row.run, Method):
        return {"STEPS", "MOVES"}
    if row.run.event == "round":
        return {"MAPS"}
    return {"STEPS"} if row.run.event == "arrival" or "peers" in row.run.takes else set()


def _wrong(name: str, row: Algorithm, form: Any) -> str:
    if name not in (read := kinds(row)):
        instead = f"; its second route is {' or '.join(sorted(read))}" if read else ""
        return f"no law reads this table for such an algorithm{instead} (docs/own-algorithms.md)"
    said = ", ".join(TABLES[name])
    if not callable(form):
        return f"got {type(form).__name__}; want a function of {said}"
    try:
        inspect.signature(form).bind(*TABLES[name])
    except TypeError as error:
        return f"it is called with {said}: {error}"
    return ""
