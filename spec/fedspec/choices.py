"""Branches on a condition without a value yet, because a library such as jax traces the computation.

A rule writes ``new if due(t, z) else old``. If t is traced, the condition has no value. The rule is then computed for
both cases, and the condition selects one of the results, number by number.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from fedspec.arrays import has_values, namespace

R = TypeVar("R")

_SUPPOSED: ContextVar[bool | None] = ContextVar("supposed", default=None)


class Open(Exception):
    """Signal that a condition has no value; the caller of the rule catches it and runs :func:`either`."""

    def __init__(self, condition: Any) -> None:
        super().__init__(
            "a condition depends on a traced number outside of a rule; call the rule, or pass a plain number"
        )
        self.condition = condition


def decided(condition: Any) -> bool:
    """Truth value of a condition; for a traced condition, the value that :func:`either` currently assumes.

    Raises:
        Open: the condition has no value, and :func:`either` assumes none.
    """
    if condition.__class__ is bool or has_values(condition):
        return bool(condition)
    supposed = _SUPPOSED.get()
    if supposed is None:
        raise Open(condition)
    return supposed


def either(condition: Any, run: Callable[[], R]) -> R:
    """Run a function with a condition assumed true, then false, and let the condition select between both results."""
    results = []
    for supposed in (True, False):
        token = _SUPPOSED.set(supposed)
        try:
            results.append(run())
        finally:
            _SUPPOSED.reset(token)
    return _taken(condition, *results)  # type: ignore[no-any-return]


def _taken(condition: Any, x: Any, y: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(_taken(condition, *parts) for parts in zip(x, y, strict=True))
    if is_dataclass(x) and not isinstance(x, type):
        return replace(x, **{f.name: _taken(condition, getattr(x, f.name), getattr(y, f.name)) for f in fields(x)})
    return x if x is y else namespace(condition).where(condition, x, y)
