"""Elementary functions of one number of any type: rational, decimal, sympy expression, z3 real.

Numbers of other classes bring them as methods. sympy and z3 are imported only when one of their numbers arrives.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from numbers import Rational
from typing import Any

import numpy as np

from fedspec.errors import InexactError

SWEEPS = 16
"""Number of times that each two rows of a matrix are made orthogonal: many more than 50 digits need."""


@functools.cache
def library_of(kind: type) -> str:
    """Name of the package that defines a type."""
    return kind.__module__.split(".")[0]


def _symbolic(*xs: Any) -> str | None:
    kinds: Any = (kind for x in xs if (kind := type(x)) is not float and kind is not int)
    return next((name for kind in kinds if (name := library_of(kind)) in {"sympy", "z3"}), None)


def sqrt(x: Any) -> Any:
    """Square root of a number; exact for a rational.

    Raises:
        InexactError: a rational has an irrational root.
    """
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


def power(x: Any, q: Any) -> Any:
    """Return x^q of positive x; exact for a rational, if q is a multiple of 1/2.

    Raises:
        InexactError: a rational has an irrational power; or x is a z3 real and q isn't a multiple of 1/2.
    """
    kind = _symbolic(x, q)
    if kind == "sympy":
        import sympy

        return sympy.Pow(x, sympy.Rational(q) if isinstance(q, float | Fraction) else q)
    if hasattr(x, "power"):
        return x.power(q)
    if kind == "z3" or isinstance(x, Rational):
        twice = Fraction(2 * q) if isinstance(q, int | float | Fraction) else None
        if twice is None or twice.denominator > 1:
            raise InexactError(
                f"power: {x} to the power {q} is no rational number; choose a multiple of 1/2, "
                f"or run the rule on decimals (fedspec.arith.digits)"
            )
        whole, half = divmod(int(twice), 2)
        # Python's own power of a whole number to a negative one is a float.
        one = x * 0 + 1 if kind else Fraction(1)
        root = sqrt(x) if half else one
        for _ in range(abs(whole)):
            root = root * x if whole > 0 else root / x
        return root
    return x**q


def like(c: float, x: Any) -> Any:
    """Convert a constant exactly to the number type of x."""
    if isinstance(x, int | float | np.floating):
        return c
    return Decimal(c) if isinstance(x, Decimal) else type(x)(Fraction(c))


def exp(x: Any) -> Any:
    """Exponential function; a rational argument must be 0.

    Raises:
        InexactError: x is a rational other than 0, or a z3 real.
    """
    return _transcendental("exp", x, 0, 1)


def log(x: Any) -> Any:
    """Natural logarithm; a rational argument must be 1.

    Raises:
        InexactError: x is a rational other than 1, or a z3 real.
    """
    return x.ln() if isinstance(x, Decimal) else _transcendental("log", x, 1, 0)


def _transcendental(name: str, x: Any, at: int, value: int) -> Any:
    kind = _symbolic(x)
    if kind == "sympy":
        import sympy

        return getattr(sympy, name)(x)
    if kind == "z3" or isinstance(x, Rational):
        if kind is None and x == at:
            return Fraction(value)
        raise InexactError(
            f"{name}: {name} of {x} is no rational number; run the rule on decimals (fedspec.arith.digits) or floats"
        )
    if isinstance(x, np.floating):
        return getattr(np, name)(x)
    return getattr(x, name)() if hasattr(x, name) else getattr(math, name)(x)


def largest_singular(rows: Sequence[Sequence[Any]]) -> Any:
    """Largest singular value of a matrix of decimals, by Jacobi's rotations, or of numbers that bring it as a method.

    Raises:
        InexactError: the numbers are of another type.
    """
    first = rows[0][0]
    if hasattr(first, "largest_singular"):
        return first.largest_singular(rows)
    if not isinstance(first, Decimal):
        raise InexactError(
            f"singular: the largest singular value of {type(first).__name__} numbers is not computed; run the rule on "
            f"decimals (fedspec.arith.digits) or floats"
        )
    # The rows are turned, two at a time, until they are orthogonal: the longest is then as long as the matrix.
    turned = min(([*map(list, rows)], [*map(list, zip(*rows, strict=True))]), key=len)
    for _ in range(SWEEPS):
        for i, j in combinations(range(len(turned)), 2):
            a, b = turned[i], turned[j]
            apart = sum(q * q - p * p for p, q in zip(a, b, strict=True))
            along = 2 * sum(p * q for p, q in zip(a, b, strict=True))
            if along:
                t = along / (apart + (apart * apart + along * along).sqrt().copy_sign(apart))
                c = 1 / (1 + t * t).sqrt()
                turned[i] = [c * (p - t * q) for p, q in zip(a, b, strict=True)]
                turned[j] = [c * (q + t * p) for p, q in zip(a, b, strict=True)]
    return max(sum((p * p for p in row), Decimal(0)) for row in turned).sqrt()


def maximum(a: Any, b: Any) -> Any:
    """Larger of two numbers."""
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


def minimum(a: Any, b: Any) -> Any:
    """Smaller of two numbers."""
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


def sign(x: Any) -> Any:
    """Sign of a number: -1, 0 or 1."""
    match _symbolic(x):
        case "sympy":
            import sympy

            return sympy.sign(x)
        case "z3":
            import z3

            return z3.If(x > 0, z3.RealVal(1), z3.If(x < 0, z3.RealVal(-1), z3.RealVal(0)))
    return x.sign() if hasattr(x, "sign") else (x > 0) - (x < 0)


def ratio(a: Any, b: Any) -> Any:
    """Return a / b if b > 0, else 0."""
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


def where_less(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return x if a < b, else y."""
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


def keep_largest(xs: Sequence[Any], k: int) -> list[Any]:
    """Set all but the k numbers of largest absolute value to 0.

    Of equal sizes, the first ones are kept.
    """
    if k >= len(xs):
        return list(xs)
    sizes = [maximum(x, -x) for x in xs]
    # A comparison of unknowns is no truth value but an expression, or a formula.
    if _symbolic(*xs) or not isinstance(sizes[0] < sizes[-1], bool | np.bool_):
        return [_kept(xs, sizes, j, k) for j in range(len(xs))]
    order = sorted(range(len(xs)), key=lambda j: -sizes[j])
    out = list(xs)
    for i in order[k:]:
        out[i] = xs[i] * 0
    # Numbers that carry their error say of each pair whether rounding may have parted it otherwise.
    if hasattr(xs[0], "where_less"):
        for j, i in product(order[:k], order[k:]):
            out[j], out[i] = (
                where_less(sizes[j], sizes[i], xs[j] * 0, out[j]),
                where_less(sizes[j], sizes[i], xs[i], out[i]),
            )
    return out


def _kept(xs: Sequence[Any], sizes: Sequence[Any], j: int, k: int) -> Any:
    """Number j if fewer than k others come before it, else 0; behind[c] is what it is with c of those looked at."""
    behind = [xs[j]] * k + [xs[j] * 0]
    for i in reversed(range(len(xs))):
        if i < j:
            behind = [where_less(sizes[i], sizes[j], behind[c], behind[c + 1]) for c in range(k)] + behind[-1:]
        elif i > j:
            behind = [where_less(sizes[j], sizes[i], behind[c + 1], behind[c]) for c in range(k)] + behind[-1:]
    return behind[0]
