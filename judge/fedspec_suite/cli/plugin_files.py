"""Plugin files of a command: from ``--plugin``, pyproject.toml, the environment and installed packages.

The command loads them before it imports the catalogue, and passes them on by the environment to every process that it
starts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from fedspec.errors import FedspecError, PluginError
from fedspec.plugins import ALONE, VARIABLE, is_composed
from fedspec_suite.cli import project

OPTION = "--plugin"
HELP = "A file (or module) with an own algorithm, for any command; repeatable. See docs/own-algorithms.md."
ONLY = "--only"
"""Option whose patterns may name a server with another local solver, which no catalogue has until it is named."""

PROJECT, NO_PROJECT = "--project", "--no-project"
PROJECT_HELP = "Trust the pyproject.toml of this folder, whoever owns it."
NO_PROJECT_HELP = "Read no pyproject.toml."
PRIVATE = ("replay",)
"""Commands that replay a file from another person: they load only the plugins named on the command line."""
SHOWS = "report"
"""Command that shows a file from another person: it loads no plugin that pyproject.toml names."""


def prepare(words: Sequence[str]) -> list[str]:
    """Return the command line without ``--plugin`` and ``--project``, and put their values into the environment.

    Raises:
        PluginError: an option has no value.
        FedspecError: the command needs a pyproject.toml that cannot be read.
    """
    rest, named = _taken(words)
    command = command_of(rest)
    if command in PRIVATE:
        found = [ALONE, *named]
    else:
        of_project = _of_project(command) if command else []
        found = [*os.environ.get(VARIABLE, "").split(os.pathsep), *of_project, *named]
    if said := os.pathsep.join(filter(None, found)):
        os.environ[VARIABLE] = said
    return rest


def command_of(words: Sequence[str]) -> str:
    """Return the command if it may read pyproject.toml; empty if it may not.

    None may that asks for help or versions, completes a word, or shows a file that somebody else may have sent.
    """
    options = words[: words.index("--")] if "--" in words else words
    command = next((w for w in words if not w.startswith("-")), "")
    return "" if {"--help", "--version"} & {*options} or command == SHOWS else command


def _taken(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The other words, and the values of ``--plugin``; which project counts, the environment holds from now on."""
    rest: list[str] = []
    named: list[str] = []

    def plugin(value: str) -> None:
        named.append(str(Path(value).resolve()) if value.endswith(".py") else value)

    def trusted(value: str) -> None:
        os.environ[project.VARIABLE] = os.path.abspath(value)

    taken: dict[str, tuple[Callable[[str], None], str]] = {
        OPTION: (plugin, f"names no file; write {OPTION} my_algorithm.py"),
        PROJECT: (trusted, f"names no folder; write {PROJECT} ."),
    }
    left = iter(words)
    for word in left:
        if word == "--":
            return [*rest, word, *left], named
        option, given, value = word.partition("=")
        if word == NO_PROJECT:
            os.environ[project.VARIABLE] = project.NONE
        elif option in taken:
            take, want = taken[option]
            value = value if given else next(left, "")
            if not value or value.startswith("-"):
                raise PluginError(f"{option}: {want}")
            take(value)
        else:
            rest.append(word)
            if option == ONLY:
                value = value if given else next(left, "")
                rest += [] if given else [value]
                named += [id for id in [value.rpartition(":")[2].partition("/")[0]] if is_composed(id)]
    return rest, named


def _of_project(command: str) -> list[str]:
    """List the plugins of the project's pyproject.toml, and print each: the file may have come with a clone.

    Raises:
        FedspecError: the file cannot be read, and the command needs it, or the user has named it.
    """
    try:
        found = project.project(Path.cwd())
        named = found.plugins if found else []
    except FedspecError as error:
        # Without the options of check that stand there its verdict would be about something else.
        if command == "check" or os.environ.get(project.VARIABLE):
            raise
        sys.stderr.write(f"fedspec: {error}; nothing of it is used\n")
        return []
    if found is None:
        return []
    for name in named:
        sys.stderr.write(f"fedspec: running {name}, which {found.path} names under [tool.fedspec] plugins\n")
    return [str((found.path.parent / name).resolve()) if name.endswith(".py") else name for name in named]
