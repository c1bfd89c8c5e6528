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
        words: what is wrong, as a diagnosis prints it.
        function: what is edited.
        old: a piece of its source, found exactly once.
        new: what stands there instead; it may use everything in ``fedspec.arith``.
        algorithms: where it shows; all rows of the file where it does not say.
        options: the reading under which the edit is made, where it is not the canonical one.
        survives: why no law but those that read the rule can tell it from the rule; empty: one must.
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
        cited: where that is said, or why it is so.
        levels: where it holds.
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
