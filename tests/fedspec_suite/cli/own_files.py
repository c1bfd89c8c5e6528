"""Which own algorithms a command knows: ``--plugin``, pyproject.toml, the environment, installed packages.

Before anything is imported that needs the catalogue, and handed on by the environment, so that every process that the
command starts knows them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from fedspec.errors import PluginError
from fedspec.plugins import ALONE, VARIABLE
from fedspec_suite.cli.project import table

OPTION = "--plugin"
HELP = "A file (or module) with an own algorithm, for any command; repeatable. See docs/own-algorithms.md."
PRIVATE = ("replay",)
"""Commands that play what somebody else has sent: they run no file but what they are told to."""


def prepare(words: Sequence[str]) -> list[str]:
    """The command line without its ``--plugin``, which the environment holds from now on.

    Raises:
        PluginError: the option has no value, or pyproject.toml names what is no file.
        FedspecError: pyproject.toml cannot be read.
    """
    rest, named = _taken(words)
    command = next((w for w in rest if not w.startswith("-")), "")
    if command in PRIVATE:
        found = [ALONE, *named]
    else:
        found = [*os.environ.get(VARIABLE, "").split(os.pathsep), *_of_project(Path.cwd()), *named]
    if said := os.pathsep.join(filter(None, found)):
        os.environ[VARIABLE] = said
    return rest


def _taken(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The other words, and the values of the option."""
    rest: list[str] = []
    named: list[str] = []
    left = iter(words)
    for word in left:
        if word == "--":
            return [*rest, word, *left], named
        option, given, value = word.partition("=")
        if option != OPTION:
            rest.append(word)
            continue
        value = value if given else next(left, "")
        if not value or value.startswith("-"):
            raise PluginError(f"{OPTION}: names no file; write {OPTION} my_algorithm.py")
        named.append(str(Path(value).resolve()) if value.endswith(".py") else value)
    return rest, named


def _of_project(folder: Path) -> Iterator[str]:
    """What the nearest pyproject.toml names; it may have come with a clone, so each is told before it is run."""
    path, said = table(folder)
    named = said.get("plugins", [])
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise PluginError(
            f'plugin: {path} has plugins = {named!r} under [tool.fedspec]; write plugins = ["my_algorithm.py"]'
        )
    for name in named:
        sys.stderr.write(f"fedspec: running {name}, which {path} names under [tool.fedspec] plugins\n")
        yield str((path.parent / name).resolve()) if name.endswith(".py") else name
