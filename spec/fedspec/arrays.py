"""Array operations for every library and number type: the meaning of shapes, making, joining and indexing arrays.

A vector may be a stack of vectors, one for each client: the last axis holds the coordinates, after any other axes.
array-api-compat is imported only when a torch array arrives.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Sequence
from numbers import Rational
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from jaxtyping import Shaped

from fedspec.errors import ShapeError
from fedspec.scalars import library_of

if TYPE_CHECKING:
    Array: TypeAlias = npt.NDArray[Any]
    Scalar: TypeAlias = float
    Count: TypeAlias = int
else:
    Array = Any
    Scalar = Any
    Count = Any
"""Array: of NumPy, or of any library that follows the array API. Scalar: a real number of the arithmetic in use: float,
Fraction, Decimal, sympy expression, z3 real. Count: a whole number; of a stack, an array with one for each client. To
the type checker they all behave as NumPy's arrays, float and int do."""

Vector: TypeAlias = Shaped[Array, "... d"]
"""A flat vector of d coordinates (a model, gradient or moment), or a stack of such vectors, one for each client."""

Shared: TypeAlias = Shaped[Array, "... d"]
"""A vector that all clients of a stack share, such as the server's model."""

Stack: TypeAlias = Shaped[Array, "n d"]
"""Matrix of n vectors, one row for each client."""

Column: TypeAlias = Shaped[Array, "n 1"]
"""Numbers, one for each of n clients, as a column of shape [n, 1]."""

Weights: TypeAlias = Shaped[Array, "n"]
"""Numbers, one for each of n clients, as a vector of shape [n]."""

Mixing: TypeAlias = Shaped[Array, "n n"]
"""Mixing matrix: entry [i, j] is the weight of client j's model in client i's average."""

Sets: TypeAlias = Shaped[Array, "... q"]
"""Numbers, one for each of the q sets of a cover; for a stack, a row of them for each client."""


@functools.cache
def _spoken(kind: Any) -> str:
    """Kind of library that instances of a type belong to: NumPy, the standard (``__array_namespace__``), or torch."""
    if issubclass(kind, np.ndarray):
        return "numpy"
    if hasattr(kind, "__array_namespace__"):
        return "standard"
    return "torch" if library_of(kind) == "torch" else ""


def namespace(*xs: Any) -> Any:
    """Library of the first array among the arguments: NumPy or an array-API namespace; None if none is an array."""
    for x in xs:
        kind: Any = type(x)
        if kind is float or kind is int:
            continue
        match _spoken(kind):
            case "numpy":
                return np
            case "standard":
                return x.__array_namespace__()
            case "torch":
                from array_api_compat import torch

                return torch
    return None


def _is_torch(x: Any) -> bool:
    kind: Any = type(x)
    return library_of(kind) == "torch"


@functools.cache
def _traced(kind: type) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and issubclass(kind, jax.core.Tracer)


def compiling() -> bool:
    """True if ``torch.compile`` or ``torch.fx`` is tracing the call; even shapes then have no values."""
    torch = sys.modules.get("torch")
    if torch is None or torch.compiler.is_compiling():
        return torch is not None
    # Newer versions of torch log a warning where the older name is asked.
    tracing = torch.fx._symbolic_trace
    asked = getattr(tracing, "is_fx_symbolic_tracing", tracing.is_fx_tracing)
    return bool(asked())


def has_values(x: Any) -> bool:
    """True if the numbers of an array can be read; False while a library traces the computation."""
    if isinstance(x, np.ndarray):
        return True
    if compiling():
        return False
    if x.__class__ is float or x.__class__ is int:
        return True
    if not _is_torch(x):
        return not (_traced(x.__class__) or getattr(x, "is_meta", False))
    torch = sys.modules["torch"]
    return not (
        x.is_meta or torch._C._functorch.is_functorch_wrapped_tensor(x) or isinstance(x, torch._subclasses.FakeTensor)
    )


def entries(x: Any) -> list[Any]:
    """Flat list of an array's numbers; empty if the array is traced and has no values."""
    return np.ravel(x.tolist()).tolist() if has_values(x) else []


def is_object(x: object) -> bool:
    """True for a NumPy array of dtype object: exact numbers, symbols, or numbers with an error bound."""
    return isinstance(x, np.ndarray) and x.dtype == object


def gather(x: Vector, places: Shaped[np.ndarray, "..."]) -> Array:
    """Coordinates of x at the indices ``places``, in the shape of ``places``; for a stack, of each client."""
    xp: Any = namespace(x)
    if xp is np or _is_torch(x):
        return x[..., places]
    flat = xp.take(x, xp.asarray(places.reshape(-1)), axis=-1)
    found: Array = xp.reshape(flat, (*x.shape[:-1], *places.shape))
    return found


def array(xs: Sequence[Any] | np.ndarray[Any, Any], like: Array) -> Array:
    """A vector of the given numbers in the arithmetic (library and dtype) of ``like``."""
    xp: Any = namespace(like)
    if isinstance(xs, np.ndarray) and xs.dtype != object and like.dtype != object:
        # As many as a large model has, which no list of Python's holds.
        whole: Array = xp.asarray(xs, dtype=like.dtype, **({} if xp is np else {"device": like.device}))
        return whole
    if xp is not np:
        if not all(map(has_values, xs)):
            return xp.stack([xp.zeros_like(like[(0,) * like.ndim]) + x for x in xs])  # type: ignore[no-any-return]
        # Beside exact numbers of another library numbers stay exact.
        said = [*xs] if like.dtype == object else [float(x) for x in xs]
        made: Array = xp.asarray(said, dtype=like.dtype, device=getattr(like, "device", None))
        return made
    out = np.empty(len(xs), dtype=like.dtype)
    for j, x in enumerate(xs):
        out[j] = x
    return out


def stack(xs: Sequence[Vector]) -> Stack:
    """Stack vectors as the rows of a matrix, one row for each client."""
    xp: Any = namespace(xs[0])
    rows: Stack = xp.stack(xs)
    return rows


def repeated(x: Vector, n: int) -> Stack:
    """Stack of n copies of a vector as a broadcast view, in the memory of one vector."""
    xp: Any = namespace(x)
    rows: Stack = xp.broadcast_to(x, (n, *x.shape))
    return rows


def concatenate(xs: Sequence[Vector]) -> Vector:
    """Concatenate arrays along the last axis: vectors end to end, stacks of the same clients side by side."""
    xp: Any = namespace(xs[0])
    joined: Vector = np.concatenate(xs, axis=-1) if xp is np else xp.concat(xs, axis=-1)
    return joined


def put(rows: Stack, places: Sequence[int], new: Stack) -> Stack:
    """Return a copy of a stack with the rows at the indices ``places`` replaced by ``new``."""
    it: Any = rows
    if hasattr(it, "at"):
        return it.at[numbered(places, it)].set(new)  # type: ignore[no-any-return]
    copy = it.copy() if hasattr(it, "copy") else it.clone()
    copy[list(places)] = new
    return copy  # type: ignore[no-any-return]


def numbered(places: Iterable[int], like: Stack | None) -> Any:
    """Row indices in the type that the library of ``like`` indexes with: an array for jax, else a list."""
    return np.array([*places], dtype=int) if hasattr(like, "at") else list(places)


_NOT_REAL = (bool, np.bool_, complex, np.complexfloating, str, bytes, type(None), list, tuple, np.ndarray)


def check_array(name: str, value: Any) -> None:
    """Raise ShapeError unless a value is an array of reals: lists have no arithmetic, integers would be rounded.

    Raises:
        ShapeError: the value is a list, a number, an array of integers, or the like; or an entry is no real number.
    """
    dtype: Any = getattr(value, "dtype", None)
    xp = namespace(value)
    real = dtype.kind in "fO" if xp is np else xp is not None and xp.isdtype(dtype, "real floating")
    if real and is_object(value):
        strangers = [kind for kind in set(map(type, value.flat)) if issubclass(kind, _NOT_REAL)]
        if strangers:
            raise ShapeError(f"{name}: an entry is of type {strangers[0].__name__}; give real numbers of one kind")
    if not real:
        what = f"an array of {dtype}" if xp else type(value).__name__
        raise ShapeError(f"{name}: got {what}; give an array of floats, or a NumPy array of objects for exact numbers")


def constant(value: Scalar, like: Vector, size: int | None = None) -> Array:
    """Vector whose coordinates all equal ``value``, in the dtype and shape of ``like``, or with ``size`` coordinates.

    Raises:
        ShapeError: ``like`` is not an array of reals.
    """
    check_array("x", like)
    xp: Any = namespace(like)
    shape = like.shape if size is None else (*like.shape[:-1], size)
    if xp is np:
        out = np.empty(shape, like.dtype)
        out.fill(value)
        return out
    nothing: Array = xp.zeros_like(like if size is None else xp.broadcast_to(like[..., :1], shape))
    # A sum is a second vector.
    return nothing if isinstance(value, int) and value == 0 else nothing + value


def zeros(like: Vector, size: int | None = None) -> Array:
    """Zero vector in the dtype and shape of ``like``, or with ``size`` coordinates.

    Raises:
        ShapeError: ``like`` is not an array of reals.
    """
    check_array("x", like)
    if is_object(like):
        return like * 0 if size is None else gather(like, np.zeros(size, dtype=int)) * 0
    return constant(0, like, size)


def numbers(xs: Sequence[Any], like: Array) -> Array:
    """Convert whole numbers (sample sizes, step counts) to a vector in the arithmetic of ``like``."""
    return array([like.flat[0] * 0 + x for x in xs] if is_object(like) else xs, like)


def slack(like: Array) -> float:
    """Tolerance for rounding errors in a sum of the entries of ``like``: 0 for rationals, else 4 len(like) epsilons."""
    if is_object(like):
        exact = all(isinstance(x, Rational) for x in like.flat)
        return 0.0 if exact else 4 * len(like) * float(np.finfo(float).eps)
    xp: Any = namespace(like)
    return 4 * len(like) * float(xp.finfo(like.dtype).eps)


def matrix(x: Vector, shape: tuple[int, int]) -> Array:
    """Reshape a vector to a matrix, in row-major order; for a stack, the vector of each client."""
    xp: Any = namespace(x)
    laid: Array = xp.reshape(x, (*x.shape[:-1], *shape))
    return laid


def flat(X: Array) -> Vector:
    """Flatten a matrix to a vector, in row-major order; for a stack, the matrix of each client."""
    xp: Any = namespace(X)
    laid: Vector = xp.reshape(X, (*X.shape[:-2], X.shape[-2] * X.shape[-1]))
    return laid


def transposed(X: Array) -> Array:
    """Transpose of a matrix; for a stack, of each client's matrix."""
    xp: Any = namespace(X)
    turned: Array = np.swapaxes(X, -1, -2) if xp is np else xp.matrix_transpose(X)
    return turned


def product(A: Array, B: Array) -> Array:
    """Product of two matrices; for stacks, of each client's matrices."""
    xp: Any = namespace(A)
    found: Array = xp.matmul(A, B)
    return found
