"""Commands, subjects and options of ``fedspec show`` that other distributions bring, found by their entry points."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from fedspec.errors import FedspecError, to_install

COMMANDS = "fedspec.commands"
"""The group of commands; each names what adds it to the command line.

Only names of :mod:`fedspec_suite.cli.manual` are looked up, since its lines of the help import nothing.
"""

SUBJECTS = "fedspec.subjects"
"""The group of subjects that ``fedspec check`` knows by one word; each names a subject, as ``py:`` does."""

SHOW = "fedspec.show"
"""The group of options of ``fedspec show``; each names a module with ``parts`` and ``show``."""

OURS: Mapping[tuple[str, str], tuple[str, str]] = {
    (COMMANDS, "simulate"): ("fedspec-torch", "simulate"),
    (COMMANDS, "reproduce"): ("fedspec-torch", "simulate"),
    (COMMANDS, "claims"): ("fedspec-proofs", "solvers"),
    (COMMANDS, "worst-case"): ("fedspec-proofs", "certify"),
    (SUBJECTS, "torch"): ("fedspec-torch", ""),
    (SHOW, "mirror"): ("fedspec-torch", ""),
}
"""The distribution of this project that brings each name, and the extras that the distribution needs for it."""


@cache
def installed(group: str) -> Mapping[str, EntryPoint]:
    """Entry points of the installed distributions, by name."""
    return {point.name: point for point in entry_points(group=group)}


def names(group: str) -> tuple[str, ...]:
    """Names that are installed or could be, this project's first."""
    return tuple(dict.fromkeys([*(name for of, name in OURS if of == group), *installed(group)]))


def found(group: str, name: str, words: str) -> EntryPoint:
    """The entry point of a name.

    Args:
        group: one of the groups above.
        name: one of its :func:`names`.
        words: what the user asked for, for the message.

    Raises:
        FedspecError: the distribution that brings it is not installed.
    """
    if name not in installed(group):
        distribution, extras = OURS[group, name]
        raise FedspecError(
            f"{words}: it comes with {distribution}, which is not installed; {to_install(extras, distribution)}"
        )
    return installed(group)[name]
