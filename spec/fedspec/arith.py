"""Elementary functions over every number type that a rule runs on.

A rule is written once, with ``+ - * /``, integer powers and the functions below, and is then run on

* float32 and float64 arrays of NumPy, or of any library that follows the array API (jax; torch, by array-api-compat),
* object arrays of ``Fraction`` (exact), ``Decimal`` (50 digits, inside :func:`digits`),
* object arrays of sympy expressions and of z3 reals, so that a proof is about the rule itself,
* object arrays of any class that brings ``sqrt``, ``maximum``, ``minimum``, ``sign``, ``ratio`` and ``where_less``
  as methods.

A vector may be a stack of vectors, one for each client: the last axis holds the coordinates, whatever stands before it.
sympy, z3 and array-api-compat are imported only when one of their numbers arrives.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import reduce
from numbers import Rational
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from jaxtyping import Shaped

from fedspec.errors import InexactError, ShapeError

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
"""A model, a gradient or a moment as one flat vector of d coordinates; or a stack of them, one for each client."""

Shared: TypeAlias = Shaped[Array, "... d"]
"""A vector that all clients of a stack have in common, such as what the server sent."""

Stack: TypeAlias = Shaped[Array, "n d"]
"""One vector for each of n clients."""

Weights: TypeAlias = Shaped[Array, "n"]
"""One number for each of n clients."""

Mixing: TypeAlias = Shaped[Array, "n n"]
"""Entry [i, j] says how much of client j's model client i takes."""

Sets: TypeAlias = Shaped[Array, "... q"]
"""One number for each of the q sets of a cover; for each client of a stack."""

N = TypeVar("N")

DIGITS = 50


@contextmanager
def digits(precision: int = DIGITS) -> Iterator[None]:
    """Run the enclosed rules with decimals of the given precision."""
    with decimal.localcontext() as context:
        context.prec = precision
        yield


def _library(x: object) -> str:
    return type(x).__module__.partition(".")[0]


def _symbolic(*xs: object) -> str | None:
    return next((name for x in xs if (name := _library(x)) in {"sympy", "z3"}), None)


def _sqrt(x: Any) -> Any:
    # sympy's own rationals have roots as expressions.
    if isinstance(x, Rational) and not _symbolic(x):
        exact = Fraction(x)
        root = Fraction(math.isqrt(exact.numerator), math.isqrt(exact.denominator)) if exact >= 0 else None
        if root is None or root * root != x:
            raise InexactError(
                f"sqrt: {x} has no rational root; choose inputs whose root is rational, "
                f"or run the rule on decimals (fedspec.arith.digits)"
            )
        return root
    match _symbolic(x):
        case "sympy":
            import sympy

            return sympy.sqrt(x)
        case "z3":
            import z3

            return z3.Sqrt(x)
    if isinstance(x, np.floating):
        return np.sqrt(x)
    return x.sqrt() if hasattr(x, "sqrt") else math.sqrt(x)


def _maximum(a: Any, b: Any) -> Any:
    match _symbolic(a, b):
        case "sympy":
            import sympy

            return sympy.Max(a, b)
        case "z3":
            import z3

            return z3.If(a >= b, a, b)
    if hasattr(a, "maximum"):
        return a.maximum(b)
    return b.maximum(a) if hasattr(b, "maximum") else max(a, b)


def _minimum(a: Any, b: Any) -> Any:
    match _symbolic(a, b):
        case "sympy":
            import sympy

            return sympy.Min(a, b)
        case "z3":
            import z3

            return z3.If(a <= b, a, b)
    if hasattr(a, "minimum"):
        return a.minimum(b)
    return b.minimum(a) if hasattr(b, "minimum") else min(a, b)


def _sign(x: Any) -> Any:
    match _symbolic(x):
        case "sympy":
            import sympy

            return sympy.sign(x)
        case "z3":
            import z3

            return z3.If(x > 0, z3.RealVal(1), z3.If(x < 0, z3.RealVal(-1), z3.RealVal(0)))
    return x.sign() if hasattr(x, "sign") else (x > 0) - (x < 0)


def _ratio(a: Any, b: Any) -> Any:
    match _symbolic(a, b):
        case "sympy":
            import sympy

            return sympy.Piecewise((a / b, b > 0), (0, True))
        case "z3":
            import z3

            return z3.If(b > 0, a / b, z3.RealVal(0))
    if hasattr(b, "ratio"):
        return b.ratio(a)
    return a / b if b > 0 else a * 0


def _where_less(a: Any, b: Any, x: Any, y: Any) -> Any:
    match _symbolic(a, b):
        case "sympy":
            import sympy

            return sympy.Piecewise((x, a < b), (y, True))
        case "z3":
            import z3

            return z3.If(a < b, x, y)
    if hasattr(a, "where_less") or hasattr(b, "where_less"):
        return (a - b).where_less(0, x, y)
    return x if a < b else y


def namespace(*xs: object) -> Any:
    """The library of the first array among the arguments: NumPy, or one that follows the array API; or None."""
    for x in xs:
        if isinstance(x, np.ndarray):
            return np
        if hasattr(x, "__array_namespace__"):
            return x.__array_namespace__()
        if _library(x) == "torch":
            import array_api_compat

            return array_api_compat.array_namespace(x)
    return None


def _is_object(x: object) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == object


def _apply(native: Callable[..., Any], general: Callable[..., Any], *xs: Any) -> Any:
    """The function over arrays of one library, or over each number where they hold objects."""
    xp = namespace(*xs)
    if xp is None:
        return general(*xs)
    if any(map(_is_object, xs)):
        return np.frompyfunc(general, len(xs), 1)(*xs)
    like = next(x for x in xs if namespace(x) is xp)
    return native(xp, *(x if xp is np or namespace(x) is xp else _wrapped(xp, x, like) for x in xs))


def _wrapped(xp: Any, x: Any, like: Any) -> Any:
    """A number as an array without axes, since not every library takes both."""
    return xp.zeros_like(like[(0,) * like.ndim]) + x


def sqrt(x: N) -> N:
    """Square root, elementwise; exact on rationals, which must have a rational root."""
    root: N = _apply(lambda xp, x: xp.sqrt(x), _sqrt, x)
    return root


def maximum(a: N, b: N | Scalar) -> N:
    """The larger of two numbers, elementwise."""
    larger: N = _apply(lambda xp, a, b: xp.maximum(a, b), _maximum, a, b)
    return larger


def minimum(a: N, b: N | Scalar) -> N:
    """The smaller of two numbers, elementwise."""
    smaller: N = _apply(lambda xp, a, b: xp.minimum(a, b), _minimum, a, b)
    return smaller


def sign(x: N) -> N:
    """-1, 0 or 1, elementwise."""
    direction: N = _apply(lambda xp, x: xp.sign(x), _sign, x)
    return direction


def ratio(a: N, b: N | Scalar) -> N:
    """A / b where b > 0, and 0 elsewhere, elementwise: the convention 0/0 = 0."""
    quotient: N = _apply(lambda xp, a, b: xp.where(b > 0, a / xp.where(b > 0, b, b * 0 + 1), (a + b) * 0), _ratio, a, b)
    return quotient


def where_less(a: Any, b: Any, x: N, y: N | Scalar) -> N:
    """X where a < b, y elsewhere, elementwise; both are computed, whichever is taken."""
    chosen: N = _apply(lambda xp, a, b, x, y: xp.where(a < b, x, y), _where_less, a, b, x, y)
    return chosen


def total(x: Vector) -> Scalar:
    """The sum over the coordinates: one number; of a stack, a column with a number for each client."""
    xp: Any = namespace(x)
    sums: Scalar = xp.sum(x) if x.ndim == 1 else xp.sum(x, axis=-1, keepdims=True)
    return sums


def at_scale(x: Vector) -> tuple[Scalar, Vector]:
    """A scale s > 0 and x / s, whose squares neither vanish nor overflow; s = 1 where those of x do not either.

    Exact numbers stay as they are. Of a stack, a column with a scale for each client.
    """
    if _is_object(x):
        return 1, x
    xp: Any = namespace(x)
    info = xp.finfo(x.dtype)
    low, high = float(info.smallest_normal) ** 0.5 / float(info.eps), float(info.max) ** 0.5 * float(info.eps)
    largest = xp.max(xp.abs(x), axis=-1, keepdims=True)
    extreme = ((largest > 0) & (largest < low)) | ((largest > high) & (largest < float("inf")))
    s = xp.where(extreme, largest, xp.ones_like(largest))
    return s, x / s


def norm(x: Vector) -> Scalar:
    """The Euclidean length, of a stack one for each client; exact on rationals whose squares add up to a square.

    Floating-point numbers whose squares would vanish or overflow are scaled first.
    """
    if _is_object(x):
        return sqrt(total(x * x))
    xp: Any = namespace(x)
    s, u = at_scale(x)
    length: Any = s * xp.sqrt(xp.sum(u**2, axis=-1, keepdims=True))
    return length[0] if x.ndim == 1 else length  # type: ignore[no-any-return]


def where_shorter(u: Vector, length: Scalar, x: Vector, y: Vector) -> Vector:
    """X where ||u|| < length, y elsewhere, for the whole vector at once; exact numbers compare squares, not roots."""
    if _is_object(u):
        return where_less(total(u * u), length**2, x, y)
    return where_less(norm(u), length, x, y)


def greatest(xs: Iterable[N]) -> N:
    """The largest of at least one number or vector."""
    return reduce(maximum, xs)


def least(xs: Iterable[N]) -> N:
    """The smallest of at least one number or vector."""
    return reduce(minimum, xs)


def gather(x: Vector, places: Shaped[np.ndarray, "..."]) -> Array:
    """The coordinates of x at some places, as an array of the shape of ``places``; of a stack, for each client."""
    xp: Any = namespace(x)
    if xp is np or _library(x) == "torch":
        return x[..., places]
    flat = xp.take(x, xp.asarray(places.reshape(-1)), axis=-1)
    found: Array = xp.reshape(flat, (*x.shape[:-1], *places.shape))
    return found


def largest(x: Array) -> Array:
    """The largest along the last axis."""
    xp: Any = namespace(x)
    found: Array = greatest(np.moveaxis(x, -1, 0)) if _is_object(x) else xp.max(x, axis=-1)
    return found


def smallest(x: Array) -> Array:
    """The smallest along the last axis."""
    xp: Any = namespace(x)
    found: Array = least(np.moveaxis(x, -1, 0)) if _is_object(x) else xp.min(x, axis=-1)
    return found


def array(xs: Sequence[Any], like: Array) -> Array:
    """A vector of the given numbers in the arithmetic (library and dtype) of ``like``."""
    xp: Any = namespace(like)
    if xp is not np:
        made: Array = xp.asarray([float(x) for x in xs], dtype=like.dtype, device=like.device)
        return made
    out = np.empty(len(xs), dtype=like.dtype)
    for j, x in enumerate(xs):
        out[j] = x
    return out


def stack(xs: Sequence[Vector]) -> Stack:
    """One vector for each client as a stack."""
    xp: Any = namespace(xs[0])
    rows: Stack = xp.stack(xs)
    return rows


def concatenate(xs: Sequence[Vector]) -> Vector:
    """Vectors end to end; stacks of the same clients side by side."""
    xp: Any = namespace(xs[0])
    joined: Vector = np.concatenate(xs, axis=-1) if xp is np else xp.concat(xs, axis=-1)
    return joined


def put(rows: Stack, places: Sequence[int], new: Stack) -> Stack:
    """A copy of a stack in which the rows at some places are new."""
    xp: Any = namespace(rows)
    copy: Any = rows.copy() if xp is np else xp.asarray(rows, copy=True)
    copy[list(places)] = new
    return copy  # type: ignore[no-any-return]


_NOT_REAL = (bool, np.bool_, complex, np.complexfloating, str, bytes, type(None), list, tuple, np.ndarray)


def check_array(name: str, value: object) -> None:
    """Refuse what is not an array of reals: lists have no arithmetic, integers would be rounded silently.

    Raises:
        ShapeError: the value is a list, a number, an array of integers, or the like; or an entry is no real number.
    """
    dtype: Any = getattr(value, "dtype", None)
    xp = namespace(value)
    real = dtype.kind in "fO" if xp is np else xp is not None and xp.isdtype(dtype, "real floating")
    if real and _is_object(value):
        strangers = [kind for kind in set(map(type, value.flat)) if issubclass(kind, _NOT_REAL)]  # type: ignore[attr-defined]
        if strangers:
            raise ShapeError(f"{name}: an entry is of type {strangers[0].__name__}; give real numbers of one kind")
    if not real:
        what = f"an array of {dtype}" if xp else type(value).__name__
        raise ShapeError(f"{name}: got {what}; give an array of floats, or a NumPy array of objects for exact numbers")


def constant(value: Scalar, like: Vector, size: int | None = None) -> Array:
    """The vector whose every coordinate is ``value``, typed as ``like`` and shaped as it, or with ``size`` coordinates.

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
    made: Array = xp.zeros_like(xp.broadcast_to(like[..., :1], shape)) + value
    return made


def zeros(like: Vector, size: int | None = None) -> Array:
    """The zero vector, typed as ``like`` and shaped as it, or with ``size`` coordinates.

    Raises:
        ShapeError: ``like`` is not an array of reals.
    """
    check_array("x", like)
    if _is_object(like):
        return like * 0 if size is None else gather(like, np.zeros(size, dtype=int)) * 0
    return constant(0, like, size)


def numbers(xs: Sequence[Any], like: Array) -> Array:
    """Whole numbers (sample sizes, step counts) as a vector in the arithmetic of ``like``."""
    return array([like.flat[0] * 0 + x for x in xs] if _is_object(like) else xs, like)


def slack(like: Array) -> float:
    """How far a sum of such numbers may be from its exact value: not at all in rationals, some roundings elsewhere."""
    if _is_object(like):
        exact = all(isinstance(x, Rational) for x in like.flat)
        return 0.0 if exact else 4 * len(like) * float(np.finfo(float).eps)
    xp: Any = namespace(like)
    return 4 * len(like) * float(xp.finfo(like.dtype).eps)
