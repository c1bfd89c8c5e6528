"""Reader of the mutants in ``edits/``: a file for each module of the specification, a table ``[function.id]`` for each.

For example, ``[adam.fedadam-stale-v]`` in ``edits/client/adam.toml`` edits ``fedspec.client.adam.adam``. The keys of a
table are the fields of :class:`Mutant`. Without ``algorithms``, a mutant belongs to each algorithm that runs the
function. A file or a table joins by being there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import FunctionType
from typing import Any

from fedspec import plugins
from fedspec.catalogue import CATALOGUE, rows_of
from fedspec.errors import FedspecError
from fedspec_suite.measure.call_graph import functions
from fedspec_suite.mutants.mutant import Mutant, Thread, function_named


def mutants() -> Iterator[Mutant]:
    """Yield the mutants of all files, ordered by file name and by position in the file."""
    return _of_folder(files(__package__).joinpath("edits"), "fedspec")


def _of_folder(folder: Traversable, package: str) -> Iterator[Mutant]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        module = f"{package}.{entry.name.removesuffix('.toml')}"
        if entry.is_dir():
            yield from _of_folder(entry, module)
        elif entry.name.endswith(".toml"):
            yield from read(entry.read_text(encoding="utf-8"), module)


def read(text: str, module: str) -> Iterator[Mutant]:
    """Yield the mutants of one file.

    Raises:
        FedspecError: it is no TOML, or a key is missing or not known.
    """
    try:
        for function, mistakes in tomllib.loads(text).items():
            rule = f"{module}.{function}"
            yield from (_mutant(rule, id=name, **said) for name, said in mistakes.items())
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FedspecError(f"mutants: the edits of {module}: {error!r}; see mutants/written.py") from error


def _mutant(
    rule: str, *, algorithms: list[str] | None = None, seen: list[dict[str, Any]] | None = None, **more: Any
) -> Mutant:
    threads = tuple(Thread(**{**thread, "read": str(thread["read"])}) for thread in seen or ())
    return Mutant(
        rule=rule, algorithms=_runners(rule) if algorithms is None else tuple(algorithms), seen=threads, **more
    )


def _runners(rule: str) -> tuple[str, ...]:
    """The algorithms of the catalogue, but those of plugins, that run a function at some level."""
    function, running = function_named(rule), _running()
    if function not in running:
        raise ValueError(f"no algorithm runs {rule}")
    return running[function]


@cache
def _running() -> dict[FunctionType, tuple[str, ...]]:
    own = {row.id for module in plugins.loaded() for row in rows_of(module)}
    found: dict[FunctionType, dict[str, None]] = {}
    for row in CATALOGUE.values():
        for function in () if row.id in own else {f for level in row.levels for f in functions(row, level)}:
            found.setdefault(function, {})[row.id] = None
    return {function: tuple(ids) for function, ids in found.items()}
