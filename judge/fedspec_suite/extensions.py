"""Entry points by which other distributions add commands, subjects and options of ``fedspec show``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from fedspec.errors import FedspecError, to_install

COMMANDS = "fedspec.commands"
"""Entry-point group of commands; each entry point names the object that adds its command to the command line.

Only names of :mod:`fedspec_suite.cli.manual` are looked up, since its lines of the help import nothing.
"""

SUBJECTS = "fedspec.subjects"
"""Entry-point group of the subjects that ``fedspec check`` accepts by a single word, without ``py:``."""

SHOW = "fedspec.show"
"""Entry-point group of options of ``fedspec show``; each names a module with ``parts`` and ``show``."""

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
    """Entry points of the installed distributions in a group, by name."""
    return {point.name: point for point in entry_points(group=group)}


def names(group: str) -> tuple[str, ...]:
    """Names of a group that are installed or that this project's distributions could install, the latter first."""
    return tuple(dict.fromkeys([*(name for of, name in OURS if of == group), *installed(group)]))


def found(group: str, name: str, words: str) -> EntryPoint:
    """Return the entry point of a name, or raise an error that tells which distribution to install.

    Args:
        group: one of the groups above.
        name: one of its :func:`names`.
        words: the user's request, for the message.

    Raises:
        FedspecError: the distribution that brings it is not installed.
    """
    if name not in installed(group):
        distribution, extras = OURS[group, name]
        raise FedspecError(
            f"{words}: it comes with {distribution}, which is not installed; {to_install(extras, distribution)}"
        )
    return installed(group)[name]
