"""Base class for vectors of unknown dimension: every operation that reads coordinates raises and is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn


class NotWholeError(TypeError):
    """A rule performs an operation that is not linear in the whole vector."""


_CAUGHT: ContextVar[list[NotWholeError] | None] = ContextVar("caught", default=None)


@contextmanager
def watching() -> Iterator[list[NotWholeError]]:
    """Context that records every refused operation, even if the rule catches the error."""
    caught: list[NotWholeError] = []
    token = _CAUGHT.set(caught)
    try:
        yield caught
    finally:
        _CAUGHT.reset(token)


def refuse(words: str) -> NoReturn:
    """Raise the error for a refused operation, and record it for :func:`watching`.

    Raises:
        NotWholeError: always; :func:`watching` also records it.
    """
    error = NotWholeError(words)
    if (caught := _CAUGHT.get()) is not None:
        caught.append(error)
    raise error


def refusing(words: str) -> Any:
    """Make a method that raises for every call."""

    def refused(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(words)

    return refused


class Strict:
    """Base class that refuses comparison, conversion, hashing and every other operation that reads a value."""

    __slots__ = ()

    __bool__ = refusing("the truth of a vector")
    __lt__ = __le__ = __gt__ = __ge__ = refusing("the order of a vector")
    __float__ = __int__ = __index__ = __complex__ = __round__ = refusing("a vector as a number")
    __hash__ = refusing("the hash of a vector")
    __contains__ = refusing("what a vector contains")
    __abs__ = __pow__ = __rpow__ = __mod__ = __floordiv__ = __divmod__ = refusing("an operation that is not linear")
    __rtruediv__ = __rfloordiv__ = __rmod__ = __matmul__ = refusing("an operation that is not linear")
    __array__ = refusing("the entries of a vector")
    __reduce_ex__ = refusing("a copy of a vector in bytes")

    def __eq__(self, other: object) -> bool:
        refuse("whether vectors are equal")

    def __ne__(self, other: object) -> bool:
        refuse("whether vectors are equal")

    def __repr__(self) -> str:
        return "<a vector of unknown dimension>"


class Dimension(Strict):
    """Symbolic number of coordinates; every operation that depends on its value is refused."""

    __slots__ = ()

    __bool__ = __len__ = refusing("how many coordinates there are")
    __lt__ = __le__ = __gt__ = __ge__ = __float__ = __int__ = __index__ = __bool__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __bool__
    __pow__ = __mod__ = __floordiv__ = __rmod__ = __rfloordiv__ = __bool__

    def __repr__(self) -> str:
        return "d"

    def __hash__(self) -> int:
        # Shapes are looked up by the rules' own checks.
        return 0

    def __eq__(self, other: object) -> bool:
        if other is not self:
            refuse("how many coordinates there are")
        return True

    def __ne__(self, other: object) -> bool:
        return not self == other


D = Dimension()
