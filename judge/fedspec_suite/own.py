"""Records that a plugin file may declare beside its row; this module imports no other module of the suite.

Such a file is imported while the catalogue is put together (:mod:`fedspec.plugins`); whatever needs the catalogue does
not exist yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fedspec.contract import Level


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """Wrong version of a plugin's rule, declared in ``MUTANTS``: a text edit of one function of the plugin file.

    Attributes:
        id: stable slug.
        words: the mistake, as a diagnosis prints it.
        function: the edited function.
        old: a piece of its source, found exactly once.
        new: the piece's replacement; it may use everything in ``fedspec.arith``.
        algorithms: algorithms that it affects; all rows of the file if none is named.
        options: the reading under which the edit is made, where it is not the canonical one.
        survives: reason why only laws that read the rule can tell it from the rule; empty: another law must.
    """

    id: str
    words: str
    function: Callable[..., Any]
    old: str
    new: str
    algorithms: tuple[str, ...] = ()
    options: Mapping[str, str] | None = None
    survives: str = ""


@dataclass(frozen=True, kw_only=True)
class Reduction:
    """Declaration in ``EDGES`` that the algorithm equals another one if some hyper-parameters have given values.

    Attributes:
        target: the other one.
        values: the hyper-parameters, by name.
        cited: source of the reduction, or the reason why it holds.
        levels: levels at which it holds.
        algorithm: the one of the file, where it holds several rows.
        hyper: hyper-parameters that the target has and this one has not, by name.
        options: options of the target that are not canonical, by name.
    """

    target: str
    values: Mapping[str, float]
    cited: str
    levels: tuple[Level, ...] = ("server", "round")
    algorithm: str = ""
    hyper: Mapping[str, float] | None = None
    options: Mapping[str, str] | None = None
