"""What a step of an algorithm returns: the new state, and beside it what it shows by name."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

from fedspec.arrays import namespace
from fedspec.errors import PluginError

WANTED = "want (state, shown): the new {state}, then what is shown by name, {{}} for nothing"


def keeping(step: Callable[..., Any]) -> Callable[..., Any]:
    """The same step or server, which is called with the record, the state before and more, held to what it returns."""

    @functools.wraps(step)
    def call(h: Any, state: Any, *more: Any) -> Any:
        return pair(step(h, state, *more), step, state)

    return call


def pair(returned: Any, by: Callable[..., Any], before: Any) -> tuple[Any, Mapping[str, Any]]:
    """What a step has returned, if it is a state and what it shows.

    Args:
        returned: whatever it was.
        by: the step.
        before: the state before it.

    Raises:
        PluginError: it is something else; with the function, its file and what is wanted.
    """
    is_pair = isinstance(returned, tuple) and len(returned) == 2
    if is_pair and is_state(returned[0], before) and isinstance(returned[1], Mapping):
        return returned[0], returned[1]
    what = f"({', '.join(map(_kind, returned))})" if isinstance(returned, tuple) else _kind(returned)
    raise PluginError(f"{place(by)} returned {what}; {WANTED.format(state=_kind(before))}")


def check_state(returned: Any, by: Callable[..., Any]) -> Any:
    """What ``init`` or a local rule has returned, if it is a model or a record with one.

    Raises:
        PluginError: it is something else; with the function, its file and what is wanted.
    """
    if not is_state(returned, None):
        raise PluginError(f"{place(by)} returned {_kind(returned)}; want a model x, or a record with a field x")
    return returned


def is_state(value: Any, before: Any) -> bool:
    """Whether something is a state: of the kind of the one before, or a model, or a record that has one."""
    return type(value) is type(before) or namespace(value) is not None or hasattr(value, "x")


def place(function: Callable[..., Any]) -> str:
    """A function as its author finds it: its name, its file and its line."""
    f = inspect.unwrap(function)
    code = getattr(f, "__code__", None)
    where = f" ({os.path.relpath(code.co_filename)}, line {code.co_firstlineno})" if code else ""
    return f"{getattr(f, '__name__', f)}{where}"


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__
