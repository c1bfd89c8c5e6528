"""What other distributions bring, found by their entry points: commands, subjects, options of ``fedspec show``."""

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
"""What distributions of this project bring: the distribution of each, and the extras that it needs to do its work."""


@cache
def installed(group: str) -> Mapping[str, EntryPoint]:
    """What the installed distributions bring, by name."""
    return {point.name: point for point in entry_points(group=group)}


def names(group: str) -> tuple[str, ...]:
    """What there is or could be, this project's first."""
    return tuple(dict.fromkeys([*(name for of, name in OURS if of == group), *installed(group)]))


def found(group: str, name: str, words: str) -> EntryPoint:
    """What is brought under a name.

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
