"""Errors for division by a second moment of zero: a stabiliser of 0 raises ParameterError instead of giving NaN.

The papers ask eps > 0 and tau > 0 where they divide. A stabiliser of 0 is allowed all the same, since some of them have
none (Reddi et al., 2018), set it to 0 (Fed-LAMB, L561) or keep v_0 above 0 in its place. What a rule then divides by 0
is found when it is done: floating-point numbers go on as NaN or infinity, exact ones raise by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from fedspec.errors import ParameterError

STABILISERS = ("eps", "tau")


def stabiliser_of_zero(given: Mapping[str, Any]) -> str:
    """Name of the stabiliser among a rule's arguments that is 0; empty if there is none."""
    for name in STABILISERS:
        if isinstance(value := given.get(name), float | int | np.floating) and value == 0:
            return name
    return ""


def refuse_division_by_zero(name: str, rule: str, given: Mapping[str, Any], result: Any) -> None:
    """Raise ParameterError if a rule, given finite arrays, returns a model or direction with NaN or infinity.

    Args:
        name: the name of the stabiliser that is 0.
        rule: the function of the rule.
        given: the arguments of the rule's call.
        result: the result of the rule's call.

    Raises:
        ParameterError: a coordinate of the result is NaN or infinite.
    """
    if not all(np.isfinite(array).all() for value in given.values() for array in _arrays(value, moved=False)):
        return
    for array in _arrays(result, moved=True):
        if not (finite := np.isfinite(array)).all():
            at = [int(j) for j in np.argwhere(~finite)[0]]
            raise ParameterError(
                f"{name}: got 0, and {rule} divides by 0 at coordinate {at[0] if len(at) == 1 else at}; "
                f"give {name} > 0, or second moments that begin above 0"
            )


def _arrays(value: Any, moved: bool) -> Iterator[np.ndarray[Any, Any]]:
    """The floating-point arrays of NumPy in a value; of a record that was made, the model alone, which is x or X."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _arrays(part, moved)
    elif is_dataclass(value):
        for f in fields(value):
            if not moved or f.name in ("x", "X"):
                yield from _arrays(getattr(value, f.name), moved)
