"""Accumulation vectors that lack an entry where their lengths are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, cast

from fedspec.mixing.accumulation import accumulation
from fedspec_suite.diagnosis.defects.defect import Defect, behind
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions

SHORT: Mapping[str, Callable[[list[Any]], list[Any]]] = {"first": lambda a: a[1:], "last": lambda a: a[:-1]}

ALONE: Mapping[str, Callable[[list[Any]], list[Any]]] = {
    "": lambda a: [0 * a[0]],
    ", unless it is the only one": lambda a: a,
    ", and is one where it is the only one": lambda a: [0 * a[0] + 1],
}
"""What is left of a single entry."""


def of(setting: Setting) -> Iterator[Defect]:
    """Where ||a_i||_1 is the sum of a vector."""
    found = functions(setting.algorithm, setting.level)
    if cast(FunctionType, accumulation) not in found:
        return
    for which, short in SHORT.items():
        for unless, alone in ALONE.items():

            def around(there: Callable[..., Any], short: Any = short, alone: Any = alone) -> Callable[..., Any]:
                def vector(*given: Any, **named: Any) -> list[Any]:
                    a = there(*given, **named)
                    left: list[Any] = short(a) or alone(a)
                    return left

                return vector

            words = f"||a_i||_1 lacks the {which} entry of a_i{unless}"
            yield Defect(words=words, tail="d", session=behind({cast(FunctionType, accumulation): around}))
