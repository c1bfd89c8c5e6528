"""Opaque vectors of unknown dimension, which allow linear operations on the whole vector and nothing else.

An array of one linear form has a length, entries and an order, and what reads these looks like something linear: of one
entry the sum, the largest and the reverse are the entry itself. Here they raise. A stack has its rows, which are
vectors; numbers beside vectors stay NumPy's arrays of fractions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fedspec_proofs.engines.worst_case.forms import Form, coefficient, form
from fedspec_proofs.engines.worst_case.strict import D, Strict, refuse, refusing


class Whole(Strict):
    """A vector of unknown dimension, or a stack of such vectors.

    Attributes:
        shape: the stack's axes, and the unknown dimension.
        ndim: number of axes of the stack.
        dtype: NumPy's type of objects, as for exact numbers.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: Any) -> None:
        self._rows: Any = rows

    shape = property(lambda self: (*self._rows.shape, D))
    ndim = property(lambda self: self._rows.ndim + 1)
    dtype = np.dtype(object)
    device = None

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return NAMESPACE

    def __len__(self) -> int:
        return len(self._rows) if self._rows.ndim else refuse("how many coordinates there are")

    def __iter__(self) -> Iterator[Any]:
        return iter([self[k] for k in range(len(self))])

    def __getitem__(self, index: Any) -> Any:
        return Whole(_array(self._rows[self._row(index)]))

    def __setitem__(self, index: Any, new: Any) -> None:
        self._rows[self._row(index)] = _whole(new)._rows

    def _row(self, index: Any) -> Any:
        whole = isinstance(index, int | slice | list | np.integer) or (
            isinstance(index, np.ndarray) and index.dtype.kind in "iu"
        )
        return index if whole and self._rows.ndim else refuse("an entry of a vector")

    def __add__(self, other: Any) -> Any:
        return Whole(_pure(_array(self._rows + _whole(other)._rows)))

    def __sub__(self, other: Any) -> Any:
        return self + -_whole(other)

    def __rsub__(self, other: Any) -> Any:
        return _whole(other) + -self

    def __mul__(self, other: Any) -> Any:
        return Whole(_array(self._rows * _numbers(other)))

    def __truediv__(self, other: Any) -> Any:
        return Whole(_array(self._rows / _numbers(other)))

    def __rmatmul__(self, weights: Any) -> Any:
        if not (isinstance(weights, np.ndarray) and self._rows.ndim):
            refuse("an operation that is not linear")
        return Whole(_array(_exact(weights) @ self._rows))

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def copy(self) -> Any:
        """Independent copy."""
        return Whole(self._rows.copy())

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def sum(self, axis: Any = None, **more: Any) -> Any:
        """Sum of a stack's vectors."""
        self._along(axis, more)
        return Whole(_array(self._rows.sum(axis=0)))

    def mean(self, axis: Any = None, **more: Any) -> Any:
        """Mean of a stack's vectors."""
        return self.sum(axis, **more) / len(self)

    def _along(self, axis: Any, more: Any) -> None:
        if axis not in (0, -self.ndim) or not self._rows.ndim or any(v is not None for v in more.values()):
            refuse("a sum over coordinates")

    def reshape(self, *shape: Any) -> Any:
        """Concatenate the vectors of a stack; only (-1,) is allowed as shape."""
        if shape in ((-1,), ((-1,),)) and self._rows.ndim == 1:
            return Laid(self._rows)
        refuse("the entries of a vector")

    def __array_ufunc__(self, ufunc: Any, method: str, *of: Any, **more: Any) -> Any:
        known: dict[Any, Any] = {
            np.add: lambda a, b: a + b if isinstance(a, Whole) else b + a,
            np.subtract: lambda a, b: a - b if isinstance(a, Whole) else b.__rsub__(a),
            np.multiply: lambda a, b: a * b if isinstance(a, Whole) else b * a,
            np.true_divide: lambda a, b: a / b if isinstance(a, Whole) else b.__rtruediv__(a),
            np.matmul: lambda a, b: b.__rmatmul__(a) if isinstance(b, Whole) else refuse("a product of vectors"),
            np.negative: lambda a: -a,
            np.positive: lambda a: a,
        }
        if ufunc not in known or method != "__call__" or more:
            refuse(f"{ufunc.__name__} of a vector")
        return known[ufunc](*of)

    def __array_function__(self, function: Any, types: Any, of: Any, more: Any) -> Any:
        name = function.__name__
        own = name in NAMESPACE.linear and function is getattr(np, name, None)
        return getattr(NAMESPACE, name)(*of, **more) if own else refuse(f"{name} of a vector")

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name) and not name.startswith("__"):
            refuse(f"{name} of a vector")
        raise AttributeError(name)


class Laid(Strict):
    """Concatenated vectors, which can only be split into a stack again."""

    __slots__ = ("_rows",)

    shape, ndim, dtype = (D,), 1, np.dtype(object)

    def __init__(self, rows: Any) -> None:
        self._rows: Any = rows

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return NAMESPACE

    def __len__(self) -> int:
        # As many models as there are, of whatever length.
        return len(self._rows)

    def reshape(self, *shape: Any) -> Any:
        """Split into a stack of the vectors."""
        if shape not in ((len(self), -1), ((len(self), -1),)):
            refuse("the entries of a vector")
        return Whole(self._rows.copy())

    __iter__ = __getitem__ = refusing("an entry of a vector")
    __array_ufunc__ = None


class _Namespace:
    """Linear functions of an array library."""

    linear = ("stack", "sum", "mean", "zeros_like", "copy", "concatenate", "concat")

    @staticmethod
    def stack(xs: Sequence[Any], axis: int = 0) -> Any:
        if axis != 0:
            refuse("the entries of a vector")
        return Whole(np.stack([_whole(x)._rows for x in xs]))

    @staticmethod
    def sum(x: Any, axis: Any = None, **more: Any) -> Any:
        return x.sum(axis, **more)

    @staticmethod
    def mean(x: Any, axis: Any = None, **more: Any) -> Any:
        return x.mean(axis, **more)

    @staticmethod
    def zeros_like(x: Any) -> Any:
        return x * 0

    @staticmethod
    def copy(x: Any) -> Any:
        return x.copy()

    @staticmethod
    def concat(xs: Sequence[Any], axis: int = 0) -> Any:
        if any(not isinstance(x, Whole) or x._rows.ndim for x in xs):
            refuse("the entries of a vector")
        return Laid(np.array([x._rows[()] for x in xs], dtype=object))

    concatenate = concat

    @staticmethod
    def isdtype(dtype: Any, kind: Any) -> bool:
        return True

    @staticmethod
    def asarray(xs: Any, dtype: Any = None, device: Any = None) -> Any:
        return _exact(np.array(xs, dtype=object))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return refusing(f"{name} of a vector").__get__(self)


NAMESPACE = _Namespace()


def whole(x: Form) -> Any:
    """Wrap a form as an opaque vector."""
    return Whole(_array(x))


def form_of(x: Any) -> Form:
    """Linear form of an opaque vector.

    Raises:
        NotWholeError: the argument isn't a vector.
    """
    if not isinstance(x, Whole) or x._rows.ndim:
        refuse("something else in the place of a vector")
    found: Form = x._rows[()]
    return refuse("a number at each coordinate") if found.constant else found


def _array(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x
    out = np.empty((), dtype=object)
    out[()] = x
    return out


def _whole(x: Any) -> Whole:
    """A vector; for a number the one that has it at every coordinate."""
    if isinstance(x, Whole):
        return x
    if isinstance(x, Laid | np.ndarray):
        refuse(f"a vector and {_said(x)} added")
    return Whole(_array(form({}, _number(x))))


def _pure(rows: Any) -> Any:
    """Rows, if no number is added to a vector's coordinates; the number that a sum begins with is zero."""
    if any(x.parts and x.constant for x in rows.flat):
        refuse("a number added to each coordinate")
    return rows


def _numbers(x: Any) -> Any:
    """A number, or a column of numbers, one for each row of a stack."""
    if isinstance(x, Whole | Laid):
        refuse("a product of vectors")
    if not isinstance(x, np.ndarray) or not x.ndim:
        return _number(x[()] if isinstance(x, np.ndarray) else x)
    if x.shape[-1] != 1:
        refuse("a number for each coordinate")
    return _exact(x[..., 0])


def _exact(x: Any) -> Any:
    out = np.empty(x.shape, dtype=object)
    for place in np.ndindex(x.shape):
        out[place] = _number(x[place])
    return out


def _number(x: Any) -> Any:
    if isinstance(x, float | np.floating):
        refuse(f"the number {x} is rounded: write it as a fraction, or give it by --set")
    try:
        return coefficient(x)
    except TypeError:
        refuse(f"a vector times {_said(x)}")


def _said(x: Any) -> str:
    return f"an array of shape {x.shape}" if isinstance(x, np.ndarray) else f"{x!r}"
