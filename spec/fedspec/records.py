"""Frozen records that are jax and torch pytrees, so that states, plans and hyper-parameters pass through ``jax.jit``.

A record is a frozen dataclass. Both libraries take such a thing apart (a *pytree*) once they have been told how. So
each is told of every record as soon as it is there; neither is imported here.

Numbers, vectors and records are parts. Names, None, and what counts or orders (annotated ``int``, ``tuple[int, ...]``)
are fixed: loops and choices hang on them, so that another value is another program. A state counts its steps in a
``Count``, which is a part.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeVar, dataclass_transform

K = TypeVar("K", bound=type)

RECORDS: list[type] = []
"""All record classes, in the order of their definition."""

FIXED = re.compile(r"int|str|bool|(Sequence|tuple|Mapping)\[(int|str|slice|tuple\[int|str, Sequence\[int).*")
"""Pattern of the annotations of static fields, which jax and torch don't trace."""


@dataclass_transform(frozen_default=True)
def record(kind: K) -> K:
    """Make a class a frozen dataclass and register it as a pytree of jax and torch."""
    if not hasattr(kind, "__post_init__"):
        kind.__post_init__ = _made  # type: ignore[attr-defined]
    enlist(kind)
    return dataclass(frozen=True)(kind)  # type: ignore[return-value]


def enlist(kind: type) -> None:
    """Register a frozen dataclass as a pytree with jax and torch, now or once they are imported."""
    RECORDS.append(kind)
    for tell in _TOLD.values():
        tell(kind)
    introduce()


def introduce() -> None:
    """Register all records with libraries that were imported since; records call this when they are made."""
    if not _COMING:
        return
    for name in [name for name in _COMING if name in sys.modules]:
        _TOLD[name] = _COMING.pop(name)
        for kind in RECORDS:
            _TOLD[name](kind)


def _made(record: Any) -> None:
    introduce()


def _taken_apart(record: Any) -> tuple[list[str], list[Any], _Rest]:
    """Names of the parts, the parts, and the fixed values with the names of the parts."""
    names, parts, fixed = [], [], []
    for f in fields(record):
        value = getattr(record, f.name)
        note = f.type.__name__ if isinstance(f.type, type) else f.type
        if value is None or isinstance(value, str) or FIXED.fullmatch(note):
            fixed.append((f.name, value))
        else:
            names.append(f.name)
            parts.append(value)
    return names, parts, _Rest(tuple(names), tuple(fixed), None if names else record)


class _Rest(NamedTuple):
    """Remainder of a record: the names of its parts, and its fixed fields; the record itself if it has no parts."""

    names: tuple[str, ...]
    fixed: tuple[tuple[str, Any], ...]
    whole: Any

    def __hash__(self) -> int:
        # What is fixed may be a list, a mapping or slices, which are equal or not and have no hash.
        return hash(self.names)


def _put_together(kind: type, of: _Rest, parts: Any) -> Any:
    """Rebuild the record; nothing is checked, since a transformation may replace numbers by other objects."""
    names, fixed, whole = of
    if whole is not None:
        return whole
    made: Any = object.__new__(kind)
    vars(made).update(fixed, **dict(zip(names, parts, strict=True)))
    return made


def _tell_jax(kind: type) -> None:
    tree = sys.modules["jax.tree_util"]

    def with_keys(record: Any) -> Any:
        names, parts, of = _taken_apart(record)
        return [(tree.GetAttrKey(name), part) for name, part in zip(names, parts, strict=True)], of

    tree.register_pytree_with_keys(
        kind,
        with_keys,
        lambda of, parts: _put_together(kind, of, parts),
        lambda record: _taken_apart(record)[1:],
    )


def _tell_torch(kind: type) -> None:
    tree = sys.modules["torch.utils._pytree"]
    tree.register_pytree_node(
        kind,
        lambda record: _taken_apart(record)[1:],
        lambda parts, of: _put_together(kind, of, parts),
        serialized_type_name=f"{kind.__module__}.{kind.__qualname__}",
    )


_TOLD: dict[str, Callable[[type], None]] = {}
_COMING = {"jax.tree_util": _tell_jax, "torch.utils._pytree": _tell_torch}
