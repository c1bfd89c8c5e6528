"""The mutants of ``edits/``, where a file stands for a module of the specification and a table for a function in it.

``edits/client/adam.toml`` has the edits of ``fedspec.client.adam``, those of its function ``adam`` as
``[[adam]]``: keys and their meaning are the fields of :class:`Mutant`. A file or a table joins by being there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from fedspec.errors import FedspecError
from fedspec_suite.mutants.mutant import Mutant, Thread


def mutants() -> Iterator[Mutant]:
    """All of them, by the names of the files, and in a file as they stand."""
    return _of_folder(files(__package__).joinpath("edits"), "fedspec")


def _of_folder(folder: Traversable, package: str) -> Iterator[Mutant]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        module = f"{package}.{entry.name.removesuffix('.toml')}"
        if entry.is_dir():
            yield from _of_folder(entry, module)
        elif entry.name.endswith(".toml"):
            yield from read(entry.read_text(encoding="utf-8"), module)


def read(text: str, module: str) -> Iterator[Mutant]:
    """The mutants of one file.

    Raises:
        FedspecError: it is no TOML, or a key is missing or not known.
    """
    try:
        for function, entries in tomllib.loads(text).items():
            yield from (_mutant(f"{module}.{function}", **entry) for entry in entries)
    except (KeyError, TypeError, ValueError) as error:
        raise FedspecError(f"mutants: the edits of {module}: {error!r}; see mutants/written.py") from error


def _mutant(rule: str, *, algorithms: list[str], seen: list[dict[str, Any]] | None = None, **more: Any) -> Mutant:
    threads = tuple(Thread(**{**thread, "read": str(thread["read"])}) for thread in seen or ())
    return Mutant(rule=rule, algorithms=tuple(algorithms), seen=threads, **more)
