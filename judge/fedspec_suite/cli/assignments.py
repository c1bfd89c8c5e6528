"""Parsers of ``--set`` and ``--tune``, which assign hyper-parameters and options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from fedspec.catalogue import id_of
from fedspec.entry import Algorithm
from fedspec.errors import ParameterError

Settings: TypeAlias = dict[str, dict[str, Any]]
"""Values by the id of an algorithm and the name of a hyper-parameter or option."""


def number_or_word(text: str) -> Any:
    """Parse the value behind the equals sign as an int, a float, or else a word."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def several(text: str) -> tuple[Any, ...]:
    """Parse comma-separated values behind the equals sign."""
    return tuple(map(number_or_word, filter(None, (word.strip() for word in text.split(",")))))


def assigned(option: str, settings: Sequence[str], rows: Sequence[Algorithm], read: Callable[[str], Any]) -> Settings:
    """Map each algorithm to its settings, given as ``NAME=VALUE`` or ``ALGORITHM:NAME=VALUE``.

    What is said of it alone goes before what is said of all.

    Raises:
        ParameterError: one has no equals sign, or nobody has a parameter of that name.
    """
    found: Settings = {row.id: {} for row in rows}
    for setting in sorted(settings, key=lambda s: ":" in s.partition("=")[0]):
        left, equals, value = setting.partition("=")
        *only, name = left.split(":", 1)
        if not equals:
            example = "eta_l=0.1" if read is number_or_word else "eta_l=0.01,0.1"
            raise ParameterError(f"{option} {setting}: expected NAME=VALUE, such as {example}, or ALGORITHM:NAME=VALUE")
        asked = [row for row in rows if row.id in (map(id_of, only) if only else found)]
        takers = [row.id for row in asked if name in row.parameters]
        if not takers:
            known = ", ".join(dict.fromkeys(n for row in asked or rows for n in row.parameters))
            ids = ", ".join(row.id for row in rows)
            raise ParameterError(f"{option} {left}: none of {ids} has it; known: {known}")
        for taker in takers:
            found[taker][name] = (read(value), bool(only))
    return found
