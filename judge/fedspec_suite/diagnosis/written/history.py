"""Numbers that a rule is not given and a wrong one may keep: the event's number, the first model, the input before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fedspec_suite.diagnosis.edits.in_edits import event_number
from fedspec_suite.diagnosis.edits.memory import Memory


def x_0(kept: Memory, x: Any) -> Any:
    """The model that the session began with."""
    return kept.left.setdefault(("x_0",), x)


def old(kept: Memory, v: Any) -> Any:
    """An input of the event before; zero in the first event."""
    kept.left[("input", kept.number)] = v
    return kept.left.get(("input", kept.number - 1), 0 * v)


ASKED: Mapping[str, Callable[..., Any]] = {"event_number": event_number, "x_0": x_0, "old": old}
"""Functions with which an edited rule asks its session."""


def texts_of(arguments: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Calls that ask for them, by text: the function and the argument that it is given.

    Args:
        arguments: the arguments of a rule.
    """
    model = "state.x" if "state" in arguments else "x"
    inputs = [n for n in ("delta", "g") if n in arguments]
    found = {f"x_0({model})": ("x_0", model), **{f"old({n})": ("old", n) for n in inputs}}
    return (
        found
        if "t" in arguments or hasattr(arguments.get("state"), "t")
        else {**found, "event_number()": ("event_number", "")}
    )
