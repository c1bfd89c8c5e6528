"""Numbers that know what they were made from, and matrices that know what they moved: for counting floats."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from fedspec.arith import Array

Path = tuple[str, ...]
Origins = frozenset[Path]


def made_from_both(f: Callable[[float, float], float]) -> Callable[[Any, Any], Any]:
    """A method whose result is made from both operands."""
    return lambda self, other: self._with(other, f)


def of_the_values(f: Callable[[float, float], bool]) -> Callable[[Any, Any], bool]:
    """A comparison."""
    return lambda self, other: f(self.value, float(other))


class Traced:
    """A float and the numbers of the state that it was made from; times a plain 0 it is made from nothing."""

    __slots__ = ("of", "value")

    def __init__(self, value: float, of: Origins = frozenset()) -> None:
        self.value, self.of = value, of

    def _with(self, other: Any, f: Callable[[float, float], float]) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Traced):
            other = Traced(float(other))
        return Traced(f(self.value, other.value), self.of | other.of)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, int | float) and other == 0:
            return Traced(0.0)
        return self._with(other, operator.mul)

    __add__ = __radd__ = made_from_both(operator.add)
    __rmul__ = __mul__
    __sub__, __rsub__ = made_from_both(operator.sub), made_from_both(lambda a, b: b - a)
    __truediv__, __rtruediv__ = made_from_both(operator.truediv), made_from_both(lambda a, b: b / a)
    power, maximum, minimum = made_from_both(operator.pow), made_from_both(max), made_from_both(min)
    ratio = made_from_both(lambda a, b: b / a if a > 0 else 0.0)
    __lt__, __le__, __gt__, __ge__ = map(of_the_values, (operator.lt, operator.le, operator.gt, operator.ge))

    def __pow__(self, n: int) -> Traced:
        return Traced(self.value**n, self.of)

    def __neg__(self) -> Traced:
        return Traced(-self.value, self.of)

    def __abs__(self) -> Traced:
        return Traced(abs(self.value), self.of)

    def __float__(self) -> float:
        return self.value

    def sqrt(self) -> Traced:
        return Traced(math.sqrt(self.value), self.of)

    def sign(self) -> Traced:
        return Traced(math.copysign(1, self.value), self.of)

    def where_less(self, other: Any, x: Any, y: Any) -> Any:
        picked = x if self < other else y
        of = (v.of for v in (self, other, x, y) if isinstance(v, Traced))
        return Traced(float(picked), frozenset().union(*of))


def origins(values: Any) -> Origins:
    """Origins of some numbers."""
    return frozenset().union(*(v.of for v in np.ravel(np.asarray(values)) if isinstance(v, Traced)))


def traced(a: Array, path: Path) -> Array:
    """An array of small positive numbers, each of which is its own origin."""
    out = np.empty(a.shape, dtype=object)
    for j, place in enumerate(np.ndindex(a.shape)):
        where = (*path, *map(str, place))
        out[place] = Traced(0.25 + 0.0625 * j, frozenset({where}))
    return out


def trace_state(state: Any, skip: frozenset[str] = frozenset({"p", "cover", "layers"}), path: Path = ()) -> Any:
    """A state of which every number is traced; what is known before the first round, or counted, is left."""
    if isinstance(state, np.ndarray):
        return traced(state, path)
    if is_dataclass(state) and not isinstance(state, type):
        inner = {f.name: getattr(state, f.name) for f in fields(state) if f.name not in skip}
        return replace(state, **{name: trace_state(v, skip, (*path, name)) for name, v in inner.items()})
    if isinstance(state, tuple):
        return tuple(trace_state(v, skip, (*path, str(j))) for j, v in enumerate(state))
    return state


class CountedMatrix(np.ndarray[Any, Any]):
    """A mixing matrix that counts the floats that its products move between clients."""

    moved: list[int]

    def __array_finalize__(self, made_from: Any) -> None:
        self.moved = getattr(made_from, "moved", [])

    def __matmul__(self, X: Any) -> Any:
        W = np.asarray(self)
        self.moved.append(int(np.count_nonzero(W - np.diag(np.diag(W)))) * X.shape[1])
        return W @ X


def counted(W: Array) -> CountedMatrix:
    """The matrix, with nothing counted yet."""
    out = W.view(CountedMatrix)
    out.moved = []
    return out


def sizes(**given: int) -> Mapping[str, int]:
    """Sizes by their symbols, ``E`` for ``|E|``."""
    return {("|E|" if name == "E" else name): size for name, size in given.items()}
