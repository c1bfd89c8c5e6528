"""Rules that a row runs and names that it shows, derived from its functions instead of listed by hand.

For example, FedAvgM enters ``averaged_momentum`` under ``momentum_sum=average`` alone, and shows ``delta`` and ``v``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar, overload

from fedspec import arrays
from fedspec.deciding import UNKNOWN, defaults_of, options_of
from fedspec.entering import RECORD, Function, Read, read, unwrapped
from fedspec.rules import printed

T = TypeVar("T")

SHOWN_FIELDS = {"round": ("Scalar", "Vector"), "exchange": ("Scalar", "Vector", "Stack"), "arrival": ()}
"""Types of the state fields that a session shows, by event."""


class ReadOff(Generic[T]):
    """Descriptor of a field that is computed from the other fields on first access, unless it is set."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        self.find = find

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, of: None, owner: type) -> None: ...

    @overload
    def __get__(self, of: object, owner: type) -> T: ...

    def __get__(self, of: object | None, owner: type) -> T | None:
        if of is None:
            return None
        if vars(of)[self.name] is None:
            vars(of)[self.name] = self.find(of)
        found: T = vars(of)[self.name]
        return found

    def __set__(self, of: object, value: T | None) -> None:
        vars(of)[self.name] = value


def entered(functions: Iterable[Function], options: Mapping[str, Any] | None = None) -> Read:
    """Return rules, returned keys and read attributes of functions, under options that may be left at ``UNKNOWN``.

    A function that is no rule takes the record of hyper-parameters and options first.
    """
    found, chosen = Read(), options or {}
    for function in functions:
        f = unwrapped(function)
        own = {n: v for n in options_of(f) if (v := chosen.get(n, UNKNOWN)) is not UNKNOWN}
        record = {} if printed(f) else dict.fromkeys([*defaults_of(f)][:1], RECORD)
        found.add(read(function, tuple((own | record).items()), tuple(chosen.items())))
    return found


def shown_names(begin: Function | None, steps: Iterable[Function], event: str = "round") -> tuple[str, ...]:
    """Names that the steps return, then the shown fields of the state type that ``begin`` is annotated with."""
    note = unwrapped(begin).__annotations__.get("return") if begin else None
    state = unwrapped(begin).__globals__.get(note) if begin and isinstance(note, str) else note
    kinds = (*SHOWN_FIELDS[event], *(getattr(arrays, kind) for kind in SHOWN_FIELDS[event]))
    there = [g.name for g in fields(state) if g.type in kinds] if is_dataclass(state) else []
    return tuple(dict.fromkeys(n for n in (*entered(steps).keys, *there) if n != "x"))
