"""Presets: values and grids of hyper-parameters that a paper prints, by algorithm, each with its place in the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from fedspec.errors import ParameterError, UnknownNameError
from fedspec.parsing import parse_toml

Values = Mapping[str, Any]
"""Values, or lists of values to try, by the name of a hyper-parameter or option."""


@dataclass(frozen=True)
class Preset:
    """Values and grids of a table or section of a paper.

    Attributes:
        place: the paper, and the table or section.
        set: values by algorithm.
        tune: values to try by algorithm.
        reading: readings by algorithm; the canonical one for all other algorithms.
    """

    place: str
    set: Mapping[str, Values] = field(default_factory=dict)
    tune: Mapping[str, Values] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict)

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Ids of the algorithms with values or grids."""
        return tuple(dict.fromkeys((*self.set, *self.tune)))


@cache
def presets() -> Mapping[str, Preset]:
    """Return the built-in presets by name."""
    text = (resources.files(__package__) / "presets.toml").read_text(encoding="utf-8")
    return {name: Preset(**entries) for name, entries in parse_toml(text).items()}


def preset(name: str) -> Preset:
    """Return the built-in preset of that name.

    Raises:
        UnknownNameError: no preset has that name.
    """
    if name not in presets():
        raise UnknownNameError(f"preset: none is called {name!r}; known: {', '.join(presets())}")
    return presets()[name]


def with_preset(name: str, algorithm: str, given: Values, grid: Values) -> tuple[dict[str, Any], dict[str, Any]]:
    """Add a preset's values and grid of an algorithm to given ones, which take precedence.

    Raises:
        UnknownNameError: no preset has that name.
        ParameterError: the preset has nothing for the algorithm.
    """
    found = preset(name)
    if algorithm not in found.algorithms:
        raise ParameterError(
            f"preset {name}: {found.place} has no values for {algorithm}; it has some for {', '.join(found.algorithms)}"
        )
    own, tried = found.set.get(algorithm, {}), found.tune.get(algorithm, {})
    return (
        {n: v for n, v in own.items() if n not in grid} | dict(given),
        {n: tuple(v) for n, v in tried.items() if n not in given} | dict(grid),
    )
