"""Elementary functions over every number type that a rule runs on.

A rule is written once, with ``+ - * /``, integer powers and the functions below, and is then run on

* float32 and float64 arrays of NumPy, or of any library that follows the array API (jax; torch, by array-api-compat),
* object arrays of ``Fraction`` (exact), ``Decimal`` (50 digits, inside :func:`digits`),
* object arrays of sympy expressions and of z3 reals, so that a proof is about the rule itself,
* object arrays of any class that brings ``sqrt``, ``power``, ``maximum``, ``minimum``, ``sign``, ``ratio`` and
  ``where_less`` as methods.

:mod:`fedspec.arrays` defines vectors and makes arrays; :mod:`fedspec.scalars` has the functions of one number. Rules
import all of them from here.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from fedspec import scalars
from fedspec.arrays import (
    Array,
    Column,
    Count,
    Mixing,
    Scalar,
    Sets,
    Shared,
    Stack,
    Vector,
    Weights,
    array,
    check_array,
    compiling,
    concatenate,
    constant,
    entries,
    flat,
    gather,
    has_values,
    is_object,
    matrix,
    namespace,
    numbered,
    numbers,
    product,
    put,
    repeated,
    slack,
    stack,
    transposed,
    zeros,
)

__all__ = [
    "DIGITS",
    "Array",
    "Column",
    "Count",
    "Mixing",
    "Scalar",
    "Sets",
    "Shared",
    "Stack",
    "Vector",
    "Weights",
    "array",
    "ascending",
    "at_scale",
    "check_array",
    "compiling",
    "concatenate",
    "constant",
    "digits",
    "entries",
    "exp",
    "flat",
    "foremost",
    "gather",
    "greatest",
    "has_values",
    "keep_largest",
    "largest",
    "least",
    "log",
    "matrix",
    "maximum",
    "minimum",
    "namespace",
    "norm",
    "numbered",
    "numbers",
    "power",
    "product",
    "put",
    "ratio",
    "repeated",
    "sign",
    "singular",
    "slack",
    "smallest",
    "sqrt",
    "stack",
    "total",
    "transposed",
    "where_less",
    "where_shorter",
    "zeros",
]

N = TypeVar("N")

DIGITS = 50


@contextmanager
def digits(precision: int = DIGITS) -> Iterator[None]:
    """Run the enclosed rules with decimals of the given precision."""
    with decimal.localcontext() as context:
        context.prec = precision
        yield


def _apply(native: Callable[..., Any], general: Callable[..., Any], *xs: Any) -> Any:
    """Apply a function to arrays of a library, or to each number if the arrays hold objects."""
    xp = namespace(*xs)
    if xp is None:
        return general(*xs)
    if any(map(is_object, xs)):
        return np.frompyfunc(general, len(xs), 1)(*xs)
    like = next(x for x in xs if namespace(x) is xp)
    return native(xp, *(x if xp is np or namespace(x) is xp else _wrapped(xp, x, like) for x in xs))


def _wrapped(xp: Any, x: Any, like: Any) -> Any:
    """A number as an array without axes, since not every library takes both."""
    return xp.zeros_like(like[(0,) * like.ndim]) + x


def sqrt(x: N) -> N:
    """Square root, elementwise; exact on rationals, which must have a rational root."""
    root: N = _apply(lambda xp, x: xp.sqrt(x), scalars.sqrt, x)
    return root


def power(x: N, q: Scalar) -> N:
    """Return x^q of positive x, elementwise; exact on rationals if q is a multiple of 1/2 and the root is rational."""
    raised: N = _apply(lambda xp, x, q: x**q, scalars.power, x, q)
    return raised


def exp(x: N) -> N:
    """Exponential function, elementwise; exact rationals other than 0 raise InexactError."""
    raised: N = _apply(lambda xp, x: xp.exp(x), scalars.exp, x)
    return raised


def log(x: N) -> N:
    """Natural logarithm, elementwise; exact rationals other than 1 raise InexactError."""
    found: N = _apply(lambda xp, x: xp.log(x), scalars.log, x)
    return found


def maximum(a: N, b: N | Scalar) -> N:
    """Larger of two numbers, elementwise."""
    larger: N = _apply(lambda xp, a, b: xp.maximum(a, b), scalars.maximum, a, b)
    return larger


def minimum(a: N, b: N | Scalar) -> N:
    """Smaller of two numbers, elementwise."""
    smaller: N = _apply(lambda xp, a, b: xp.minimum(a, b), scalars.minimum, a, b)
    return smaller


def sign(x: N) -> N:
    """Sign of x: -1, 0 or 1, elementwise."""
    direction: N = _apply(lambda xp, x: xp.sign(x), scalars.sign, x)
    return direction


def ratio(a: N, b: N | Scalar) -> N:
    """Return a / b where b > 0 and 0 elsewhere, elementwise: the convention 0/0 = 0."""

    def native(xp: Any, a: Any, b: Any) -> Any:
        return xp.where(b > 0, a / xp.where(b > 0, b, b * 0 + 1), (a + b) * 0)

    quotient: N = _apply(native, scalars.ratio, a, b)
    return quotient


def where_less(a: Any, b: Any, x: N, y: N | Scalar) -> N:
    """Return x where a < b and y elsewhere, elementwise; x and y are both evaluated."""
    chosen: N = _apply(lambda xp, a, b, x, y: xp.where(a < b, x, y), scalars.where_less, a, b, x, y)
    return chosen


def total(x: Vector) -> Scalar:
    """Sum of a vector's coordinates (one number), or of each row of a stack (a column with one number per client)."""
    xp: Any = namespace(x)
    sums: Scalar = xp.sum(x) if x.ndim == 1 else xp.sum(x, axis=-1, keepdims=True)
    return sums


def at_scale(x: Vector) -> tuple[Scalar, Vector]:
    """Return s > 0 and x / s such that the squares of x / s neither vanish nor overflow; s = 1 if x needs no scaling.

    Exact numbers stay as they are. Of a stack, a column with a scale for each client.
    """
    if is_object(x):
        return 1, x
    xp: Any = namespace(x)
    info = xp.finfo(x.dtype)
    low, high = float(info.smallest_normal) ** 0.5 / float(info.eps), float(info.max) ** 0.5 * float(info.eps)
    largest = xp.max(xp.abs(x), axis=-1, keepdims=True)
    extreme = ((largest > 0) & (largest < low)) | ((largest > high) & (largest < float("inf")))
    s = xp.where(extreme, largest, xp.ones_like(largest))
    return s, x / s


def norm(x: Vector) -> Scalar:
    """Euclidean norm of a vector, or of each row of a stack; exact on rationals if the root is rational.

    Floating-point numbers whose squares would vanish or overflow are scaled first.
    """
    if is_object(x):
        return sqrt(total(x * x))
    xp: Any = namespace(x)
    s, u = at_scale(x)
    length: Any = s * xp.sqrt(xp.sum(u**2, axis=-1, keepdims=True))
    return length[0] if x.ndim == 1 else length  # type: ignore[no-any-return]


def singular(X: Array) -> Any:
    """Largest singular value of a matrix, or of each client's matrix as a column; rationals raise InexactError.

    A matrix that holds NaN or infinity has no finite one, and raises no error.
    """
    if is_object(X):
        if X.ndim == 2:
            return scalars.largest_singular(X.tolist())
        return np.array([[scalars.largest_singular(rows)] for rows in X.tolist()], dtype=object)
    xp: Any = namespace(X)
    length: Any = norm(flat(X))
    finite = xp.isfinite(length)
    known = xp.where(finite if X.ndim == 2 else finite[..., None], X, xp.zeros_like(X))
    # NumPy has matrix_norm from version 2 on.
    found = np.linalg.norm(known, 2, axis=(-2, -1)) if xp is np else xp.linalg.matrix_norm(known, ord=2)
    return xp.where(finite, found if X.ndim == 2 else found[:, None], length)


def where_shorter(u: Vector, length: Scalar, x: Vector, y: Vector) -> Vector:
    """Return x if ||u|| < length, else y, as whole vectors; exact numbers compare squares instead of roots."""
    if is_object(u):
        return where_less(total(u * u), length**2, x, y)
    return where_less(norm(u), length, x, y)


def greatest(xs: Iterable[N]) -> N:
    """Elementwise maximum of one or more numbers or vectors."""
    return reduce(maximum, xs)


def least(xs: Iterable[N]) -> N:
    """Elementwise minimum of one or more numbers or vectors."""
    return reduce(minimum, xs)


def largest(x: Array) -> Array:
    """Maximum along the last axis."""
    xp: Any = namespace(x)
    found: Array = greatest(np.moveaxis(x, -1, 0)) if is_object(x) else xp.max(x, axis=-1)
    return found


def smallest(x: Array) -> Array:
    """Minimum along the last axis."""
    xp: Any = namespace(x)
    found: Array = least(np.moveaxis(x, -1, 0)) if is_object(x) else xp.min(x, axis=-1)
    return found


def ascending(X: Stack) -> Stack:
    """Sort each coordinate of a stack across its rows: row k holds the k-th smallest number of each coordinate."""
    if not is_object(X):
        xp: Any = namespace(X)
        ordered: Stack = xp.sort(X, axis=0)
        return ordered
    # Nothing is compared: the smaller and the larger of two say themselves what they are.
    rows = list(X)
    for last in range(len(rows) - 1, 0, -1):
        for j in range(last):
            rows[j], rows[j + 1] = minimum(rows[j], rows[j + 1]), maximum(rows[j], rows[j + 1])
    return stack(rows)


def _order(x: Array) -> Array:
    """The places of numbers from the smallest to the largest, of equal ones the first; of a stack in each row."""
    xp: Any = namespace(x)
    stable: dict[str, Any] = {"kind": "stable"} if xp is np else {"stable": True}
    places: Array = xp.argsort(x, axis=-1, **stable)
    return places


def _numpy_reads(x: Any) -> bool:
    """True if NumPy can read an array's numbers without a copy: they are on the CPU, and not in half precision."""
    if not isinstance(x, np.ndarray) and hasattr(type(x), "__array_namespace__"):
        # A stack whose rows lie elsewhere says how it is computed with.
        return False
    on_cpu = str(getattr(x, "device", "cpu")) == "cpu" and not getattr(x, "requires_grad", False)
    return on_cpu and has_values(x) and x.dtype.itemsize >= np.dtype(np.float32).itemsize


def keep_largest(x: Vector, k: int) -> Vector:
    """Set all but the k entries of largest absolute value to 0, in a vector or in each row of a stack.

    Among entries of equal size the first ones are kept: the whole specification breaks ties by this rule.
    """
    if is_object(x):
        rows = [scalars.keep_largest([*row], k) for row in x.reshape(-1, x.shape[-1])]
        return np.array(rows, dtype=object).reshape(x.shape)
    xp: Any = namespace(x)
    sizes = xp.abs(x)
    # To sort 10^7 numbers twice takes 4 s, and to find the k-th largest of them 0.02 s.
    kept = xp.asarray(_foremost_sizes(np.asarray(sizes), k)) if _numpy_reads(sizes) else _order(_order(-sizes)) < k
    chosen: Vector = xp.where(kept, x, xp.zeros_like(x))
    return chosen


def _foremost_sizes(sizes: Array, k: int) -> Array:
    """True at the k largest of some sizes, of equal ones the first, and a NaN last; of a stack in each row."""
    if not 0 < k < sizes.shape[-1]:
        return np.full(sizes.shape, k > 0)
    sizes = np.where(sizes >= 0, sizes, -1)
    least = np.partition(sizes, -k, axis=-1)[..., -k, None]
    kept = sizes >= least
    for row in np.ndindex(sizes.shape[:-1]):
        equal = np.flatnonzero(sizes[row] == least[row])
        kept[row][equal[len(equal) + k - np.count_nonzero(kept[row]) :]] = False
    return kept


def foremost(keys: Column, X: Stack, m: int) -> Stack:
    """Return the m rows of X with the smallest keys, sorted by key, ties in row order; X if it has at most m rows."""
    if m >= X.shape[0]:
        return X
    if not is_object(X):
        xp: Any = namespace(X)
        first: Stack = xp.take(X, _order(keys[:, 0])[:m], axis=0)
        return first
    # The smallest of the rest is brought forward, past one neighbour after another; those that are equal stay.
    beside, rows = list(keys), list(X)
    for front in range(m):
        for j in reversed(range(front, len(rows) - 1)):
            a, b, x, y = *beside[j : j + 2], *rows[j : j + 2]
            rows[j], rows[j + 1] = where_less(b, a, y, x), where_less(b, a, x, y)
            beside[j], beside[j + 1] = minimum(b, a), maximum(a, b)
    return stack(rows[:m])
