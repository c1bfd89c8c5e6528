"""The arithmetic behind the tolerance: its bound covers rounding, and does not cover much more."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import mpmath
import numpy as np
import pytest

from fedspec.arith import digits, norm, singular
from fedspec.contract import Offer
from fedspec.reference import SUBJECT
from fedspec_suite.measure.bench import THRESHOLD, Bench, bench_of
from fedspec_suite.measure.running_error import REACH, RUNNING, Running, Running32, Running64
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Deviates, Undecided

DTYPES = ("float64", "float32")


def test_integers_stay_exact() -> None:
    three = Running64(3)
    assert three.bound == 0 and (-three).bound == 0 and abs(-three).bound == 0
    # One operation may be off by one rounding of its own result.
    assert (three + 4).bound == 7 and (three * 4).bound == 12 and (three / 4).bound == 0.75
    assert (1 - three) == -2 and (1 / three).bound == pytest.approx(1 / 3)


def third(number: type[Running] = Running64) -> Running:
    with digits():
        return number(1) / 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_there_is_an_arithmetic_for_each_precision(dtype: str) -> None:
    assert RUNNING[dtype].resolution == np.finfo(dtype).eps


def test_numbers_of_two_precisions_do_not_mix() -> None:
    for mixed in (lambda: third() + third(Running32), lambda: third(Running32) < third()):
        with pytest.raises(TypeError, match="Running32"):
            mixed()


@pytest.mark.parametrize("number", RUNNING.values())
def test_the_sign_of_a_tie_is_unsure(number: type[Running]) -> None:
    with digits():
        for gap, sure in ((0.0, False), (number.resolution, False), (1000 * number.resolution, True)):
            difference = third(number) - (third(number) - gap * third(number))
            assert math.isinf(difference.sign().bound) is not sure
    assert Running64(0).sign() == 0 and Running64(0).sign().bound == 0
    assert (Running64(2) - 1).sign() == 1 and (Running64(1) - 2).sign() == -1


@pytest.mark.parametrize("choose", [Running64.maximum, Running64.minimum])
def test_either_side_of_a_maximum_may_win(choose: Any) -> None:
    sharp, blurred = Running64(1, 0.5), Running64(Decimal("1.0000000000001"), 40.0)
    for one, other in ((sharp, blurred), (blurred, sharp)):
        assert choose(one, other).bound == 40.0
    clear = Running64(2, 0.5)
    far = Running64(1 if choose is Running64.maximum else 3, 40.0)
    for one, other in ((clear, far), (far, clear)):
        assert choose(one, other).bound == 0.5


def test_what_cannot_be_bounded_is_infinite() -> None:
    with digits():
        zero = third() * 3 - 1
        # Up to 50 digits this is zero, in floating point it need not be.
        assert math.isinf(Running64(0, 1.0).sqrt().bound)
        assert math.isinf((Running64(1) / 0).bound) and math.isinf((Running64(1) / 0 * 0).bound)
        assert math.isinf((Running64(0) - 1).sqrt().bound)
        assert zero.bound >= 1


def test_dividing_by_what_is_zero_up_to_rounding_is_unsure() -> None:
    with digits():
        nothing = (third() + Decimal("1e-30")) - third()
        assert math.isinf((Running64(1) / nothing).bound)


def bench(dtype: str) -> Bench:
    offer = Offer("fedadam", "server", "reddi-2021")
    return bench_of(SUBJECT, offer, setting_of(offer, dtype))


def vector(*numbers: Running) -> Any:
    out = np.empty(len(numbers), dtype=object)
    out[:] = numbers
    return out


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounding_passes_and_a_thousandth_does_not(dtype: str) -> None:
    number, b = RUNNING[dtype], bench(dtype)
    want = vector(number(1, 1.0), number(4, 8.0))
    got = np.array([1 + number.resolution, 4 - 8 * number.resolution])
    b.compare("x", got, want, "round 1")
    assert 0 < b.measured.worst <= 1
    with pytest.raises(Deviates) as caught:
        b.compare("x", got * [1, 1.001], want, "round 1")
    deviation = caught.value.deviation
    assert (deviation.equation, deviation.component, deviation.where) == ("fedadam.step", 1, "round 1")
    assert deviation.ratio is not None and deviation.ratio > THRESHOLD


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_hopeless_scale_decides_nothing(dtype: str) -> None:
    number = RUNNING[dtype]
    want = vector(number(1, 1 / number.resolution), number(1, 1.0))
    with pytest.raises(Undecided):
        bench(dtype).compare("x", np.array([1.0, 1.0]), want, "round 1")
    with pytest.raises(Undecided):
        bench(dtype).compare("x", np.array([2.0]), vector(number(1, math.inf)), "round 1")


def test_a_wrong_length_deviates() -> None:
    with pytest.raises(Deviates, match="shape"):
        bench("float64").compare("m", np.zeros(2), vector(Running64(1)), "round 1")


EXAMPLES = 50 if os.environ.get("FEDSPEC_PROFILE") == "quick" else 200

ROOT_DIGITS = 80
"""Digits of the roots; the other numbers are exact fractions."""


@dataclass(frozen=True)
class Operand:
    """A number as it should be, as a subject has it, and the bound that it is within so many times."""

    value: Fraction
    has: float
    bound: float

    def running(self, dtype: str) -> Running:
        """As the judge carries it."""
        return RUNNING[dtype](self.value, self.bound)


def exponent(draw: Random, dtype: str) -> int:
    """Ordinary sizes, more often than those near the ends of the type's range."""
    info = np.finfo(dtype)
    low, high = int(info.minexp), int(info.maxexp)
    ends = (low - int(info.nmant), low - 2, low, low + 3, low // 2, high // 2, high - 3)
    return draw.choice((draw.randint(-3, 3), draw.randint(-70, 70), draw.choice(ends)))


def operand(draw: Random, dtype: str, off: float) -> Operand | None:
    """A number of the type, or one that cancellation left almost zero, and what a subject may have in its place; None
    where the type has no such number.
    """
    kind, eps = np.dtype(dtype).type, RUNNING[dtype].resolution
    mantissa = draw.choice((0.0, 0.5, -0.5, 0.75, -0.875, 1 - 2.0**-24, draw.uniform(-1, 1)))
    exact = float(kind(math.ldexp(mantissa, exponent(draw, dtype))))
    size = abs(exact) or math.ldexp(1.0, exponent(draw, dtype))
    large = (1e-4, 0.003, 0.0097, 0.01, 0.02, 1.0, 9.0)
    bound = draw.choice((0.0, draw.choice((0.5, 1.0, 8.0, 1e3)), draw.choice(large) / eps)) * size
    if not math.isfinite(bound):
        return None
    # What remains of a sum of 50-digit numbers that cancel.
    residue = Fraction(draw.choice((0, 1, -3))) * Fraction(bound) / 10**50 if exact == 0 else Fraction(0)
    value, slack = Fraction(exact) + residue, Fraction(off * eps) * Fraction(bound)
    with np.errstate(all="ignore"):
        has = float(kind(exact + draw.randint(-8, 8) / 8 * float(slack)))
    if not math.isfinite(has):
        return None
    return Operand(value, has if abs(Fraction(has) - value) <= slack else exact, bound)


def operands(draw: Random, dtype: str, off: float, count: int) -> list[Operand]:
    """So many, of which two are sometimes the same."""
    found: list[Operand] = []
    while len(found) < count:
        one = found[0] if found and not draw.randrange(8) else operand(draw, dtype, off)
        if one:
            found.append(one)
    return found


def root(x: Fraction) -> Fraction:
    with digits(ROOT_DIGITS):
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).sqrt())


def by_mpmath(f: Callable[..., Any]) -> Callable[[Fraction], Fraction]:
    """A function to 80 digits, by another library than Python's decimals."""

    def exact(x: Fraction) -> Fraction:
        if f is mpmath.exp and x < -10_000:
            # Its digits would fill the memory.
            return Fraction(0)
        x = min(x, Fraction(10_000)) if f is mpmath.exp else x
        with mpmath.workdps(ROOT_DIGITS):
            return Fraction(str(f(mpmath.mpf(x.numerator) / x.denominator)))

    return exact


def quotient(a: Any, b: Any) -> Any:
    return a / b if b > 0 else a * 0


@dataclass(frozen=True)
class Operation:
    """Operation on running numbers, on fractions and on floats."""

    running: Callable[..., Running]
    exact: Callable[..., Fraction]
    floats: Callable[..., Any]
    operands: int


def alike(f: Callable[..., Any], operands: int = 2) -> Operation:
    return Operation(f, f, f, operands)


def rooted(f: Callable[..., Any]) -> Operation:
    """Root of an operation whose result may be negative."""
    return Operation(lambda a, b: f(a, b).sqrt(), lambda a, b: root(f(a, b)), lambda a, b: np.sqrt(f(a, b)), 2)


def larger_root(a: Any, b: Any) -> Any:
    return np.sqrt(np.maximum(a, b))


def smaller_root(a: Any, b: Any) -> Any:
    return np.sqrt(np.minimum(a, b))


OPERATIONS = {
    "+": alike(lambda a, b: a + b),
    "-": alike(lambda a, b: a - b),
    "*": alike(lambda a, b: a * b),
    "/": alike(lambda a, b: a / b),
    "reversed": Operation(
        lambda a: 1 - 1 / (2 - (3 + a)), lambda a: 1 + 1 / (1 + a), lambda a: 1 - 1 / (2 - (3 + a)), 1
    ),
    "neg": alike(lambda a: -a, 1),
    "abs": alike(abs, 1),
    "square": alike(lambda a: a**2, 1),
    "product with itself": alike(lambda a: a * a, 1),
    "cube": alike(lambda a: a**3, 1),
    "inverse square": alike(lambda a: a**-2, 1),
    "power of a power": alike(lambda a, b: (a**0 + b**1) ** 4),
    "sqrt": Operation(lambda a: a.sqrt(), root, np.sqrt, 1),
    "root of a square": Operation(lambda a: (a**2).sqrt(), abs, lambda a: np.sqrt(a * a), 1),
    "root of a sum": rooted(lambda a, b: a + b),
    "root of a difference": rooted(lambda a, b: a - b),
    "root of a product": rooted(lambda a, b: a * b),
    "root of a quotient": rooted(lambda a, b: a / b),
    "root of a cube": Operation(lambda a: (a**3).sqrt(), lambda a: root(a**3), lambda a: np.sqrt(a * a * a), 1),
    "root of the larger": Operation(lambda a, b: a.maximum(b).sqrt(), lambda a, b: root(max(a, b)), larger_root, 2),
    "root of the smaller": Operation(lambda a, b: a.minimum(b).sqrt(), lambda a, b: root(min(a, b)), smaller_root, 2),
    "root of a mean": Operation(
        lambda a, b: (b * b / 3 + 0.25 * a**2).sqrt(),
        lambda a, b: root(b * b / 3 + a * a / 4),
        lambda a, b: np.sqrt(b * b / type(b)(3) + type(b)(0.25) * a * a),
        2,
    ),
    "norm": Operation(
        lambda a, b: norm(np.array([a, b, a], dtype=object)),
        lambda a, b: root(2 * a * a + b * b),
        lambda a, b: np.sqrt(a * a + b * b + a * a),
        2,
    ),
    "largest singular value": Operation(
        lambda a, b, c, d: singular(np.array([[a, b], [c, d]], dtype=object)),
        lambda a, b, c, d: root(
            (a * a + b * b + c * c + d * d + root((a * a + b * b - c * c - d * d) ** 2 + 4 * (a * c + b * d) ** 2)) / 2
        ),
        lambda a, b, c, d: np.linalg.norm(np.array([[a, b], [c, d]]), 2),
        4,
    ),
    "exp": Operation(lambda a: a.exp(), by_mpmath(mpmath.exp), np.exp, 1),
    "log": Operation(lambda a: abs(a).log(), lambda a: by_mpmath(mpmath.log)(abs(a)), lambda a: np.log(abs(a)), 1),
    "softmax": Operation(
        lambda a, b: a.exp() / (a.exp() + b.exp()),
        lambda a, b: 1 / (1 + by_mpmath(mpmath.exp)(b - a)),
        lambda a, b: np.exp(a) / (np.exp(a) + np.exp(b)),
        2,
    ),
    "maximum": Operation(lambda a, b: a.maximum(b), max, np.maximum, 2),
    "minimum": Operation(lambda a, b: a.minimum(b), min, np.minimum, 2),
    "sign": Operation(lambda a: a.sign(), lambda a: Fraction((a > 0) - (a < 0)), np.sign, 1),
    "ratio": Operation(lambda a, b: b.ratio(a), quotient, quotient, 2),
    "where less": Operation(
        lambda a, b, x, y: a.where_less(b, x, y), *(2 * (lambda a, b, x, y: x if a < b else y,)), 4
    ),
    "clipped": Operation(
        lambda a, b: (b / a**2).minimum(1),
        lambda a, b: min(b / a**2, Fraction(1)),
        lambda a, b: np.minimum(b / (a * a), type(a)(1)),
        2,
    ),
}
"""By name; some are chains whose middle is known to be at least zero."""


def flushed(x: Any, operands: list[Operand], dtype: str) -> float:
    """Result of hardware without subnormal numbers, unless it is an operand again."""
    chosen = abs(float(x)) in {abs(o.has) for o in operands}
    return 0.0 if not chosen and abs(float(x)) < float(np.finfo(dtype).tiny) else float(x)


@pytest.mark.table(10)
@pytest.mark.parametrize("dtype", list(RUNNING))
@pytest.mark.parametrize("name", OPERATIONS)
def test_what_is_off_by_some_bounds_stays_so(name: str, dtype: str) -> None:
    op, number, kind, draw = OPERATIONS[name], RUNNING[dtype], np.dtype(dtype).type, Random(f"{name} {dtype}")
    for _ in range(EXAMPLES):
        off = draw.choice((1.0, 4.0, 30.0, REACH))
        xs = operands(draw, dtype, off, op.operands)
        with digits():
            result = op.running(*(x.running(dtype) for x in xs))
        if not math.isfinite(result.bound):
            # Nothing is said, so nothing can be wrong.
            continue
        with np.errstate(all="ignore"):
            got = float(op.floats(*(kind(x.has) for x in xs)))
        assert math.isfinite(got), xs
        got = draw.choice((got, flushed(got, xs, dtype)))
        want = op.exact(*(x.value for x in xs))
        assert abs(Fraction(result.value) - want) <= abs(want) / 10**40 + sum(abs(x.value) for x in xs) / 10**40
        error = abs(Fraction(got) - want)
        assert error <= Fraction(off * number.resolution) * Fraction(result.bound), (off, got, xs)


@pytest.mark.parametrize("number", RUNNING.values())
def test_a_root_is_bounded_by_what_is_left_of_its_number(number: type[Running]) -> None:
    """A subject has 1/10 instead of 1: its root is off by 1 - sqrt(1/10), more than half the error."""
    one = number(1, 0.9 / (REACH * number.resolution))
    assert REACH * number.resolution * one.sqrt().bound >= 1 - math.sqrt(0.1)
