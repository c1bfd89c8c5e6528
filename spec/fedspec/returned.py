"""Checks of an algorithm step's result: the new state, and the shown intermediates by name."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

from fedspec.arrays import namespace
from fedspec.errors import PluginError

WANTED = "want (state, shown): the new {state}, then a dict of intermediates by name, {{}} if there are none"


def keeping(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a step or server function so that its result is checked to be a state and intermediates."""

    @functools.wraps(step)
    def call(h: Any, state: Any, *more: Any) -> Any:
        return pair(step(h, state, *more), step, state)

    return call


def pair(returned: Any, by: Callable[..., Any], before: Any) -> tuple[Any, Mapping[str, Any]]:
    """Check that a step returned a state and a mapping of intermediates, and return both.

    Args:
        returned: the step's result.
        by: the step's function.
        before: the state before the step.

    Raises:
        PluginError: the result is something else; the message has the function, its file and the required result.
    """
    is_pair = isinstance(returned, tuple) and len(returned) == 2
    if is_pair and is_state(returned[0], before) and isinstance(returned[1], Mapping):
        return returned[0], returned[1]
    what = f"({', '.join(map(_kind, returned))})" if isinstance(returned, tuple) else _kind(returned)
    raise PluginError(f"{place(by)} returned {what}; {WANTED.format(state=_kind(before))}")


def check_state(returned: Any, by: Callable[..., Any]) -> Any:
    """Return what ``init`` or a local rule returned if it is a model or a record with one; else raise PluginError.

    Raises:
        PluginError: the result is something else; the message has the function, its file and the required result.
    """
    if not is_state(returned, None):
        raise PluginError(f"{place(by)} returned {_kind(returned)}; want a model x, or a record with a field x")
    return returned


def is_state(value: Any, before: Any) -> bool:
    """True if a value has the type of the previous state, is an array, or has an attribute ``x``."""
    return type(value) is type(before) or namespace(value) is not None or hasattr(value, "x")


def place(function: Callable[..., Any]) -> str:
    """Name, file and line of a function, for messages."""
    f = inspect.unwrap(function)
    code = getattr(f, "__code__", None)
    where = f" ({os.path.relpath(code.co_filename)}, line {code.co_firstlineno})" if code else ""
    return f"{getattr(f, '__name__', f)}{where}"


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__
