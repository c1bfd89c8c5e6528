"""The arithmetic behind the tolerance: its bound covers rounding, and does not cover much more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, seed, settings
from hypothesis import strategies as st

from fedspec.arith import digits
from fedspec.contract import Offer
from fedspec.reference import SUBJECT
from fedspec_suite.measure.bench import THRESHOLD, Bench, bench_of
from fedspec_suite.measure.running import RUNNING, Running, Running32, Running64
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Deviates, Undecided

DTYPES = ("float64", "float32")


@dataclass(frozen=True)
class Node:
    """An expression: an operation on nodes, or a leaf."""

    op: str
    children: tuple[Any, ...]

    def value(self, leaf: Any, sqrt: Any, larger: Any, smaller: Any) -> Any:
        """Evaluate in the arithmetic whose leaves ``leaf`` makes."""
        if self.op == "leaf":
            return leaf(Fraction(*self.children))
        a, *rest = [c.value(leaf, sqrt, larger, smaller) for c in self.children]
        b = rest[0] if rest else a
        match self.op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "/":
                return a / b
            case "neg":
                return -a
            case "square":
                return a**2
            case "cube":
                return a**3
            case "max":
                return larger(a, b)
            case "min":
                return smaller(a, b)
        return sqrt(a)


leaves = st.builds(lambda n: Node("leaf", (n, 8)), st.integers(-64, 64))
rational = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda op, a, b: Node(op, (a, b)), st.sampled_from(["+", "-", "*", "/", "max", "min"]), inner, inner),
        st.builds(lambda op, a: Node(op, (a,)), st.sampled_from(["neg", "square", "cube"]), inner),
    ),
    max_leaves=10,
)
rooted = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda op, a, b: Node(op, (a, b)), st.sampled_from(["+", "-", "*", "/", "max"]), inner, inner),
        st.builds(lambda a, b: Node("sqrt", (Node("+", (Node("square", (a,)), Node("square", (b,)))),)), inner, inner),
    ),
    max_leaves=10,
)


def exact(tree: Node) -> Fraction:
    try:
        return tree.value(Fraction, None, max, min)
    except ZeroDivisionError:
        assume(False)
        raise


def running(tree: Node, dtype: str) -> Running:
    number = RUNNING[dtype]
    with digits():
        return tree.value(number, number.sqrt, number.maximum, number.minimum)


def rounded(tree: Node, dtype: str) -> float:
    kind = np.dtype(dtype).type
    with np.errstate(all="ignore"):
        return float(tree.value(lambda q: kind(float(q)), np.sqrt, np.maximum, np.minimum))


@pytest.mark.parametrize("dtype", DTYPES)
@seed(1)
@settings(max_examples=150, deadline=None, database=None)
@given(tree=rational)
def test_the_value_is_exact_and_the_bound_covers_rounding(dtype: str, tree: Node) -> None:
    eps = float(np.finfo(dtype).eps)
    want, got = exact(tree), running(tree, dtype)
    assume(math.isfinite(got.bound))
    assert abs(Fraction(got.value) - want) <= Fraction(1, 10**40) * max(1, abs(want))
    error = abs(Fraction(rounded(tree, dtype)) - want)
    assert error <= Fraction(eps * got.bound)


@pytest.mark.parametrize("dtype", DTYPES)
@seed(2)
@settings(max_examples=150, deadline=None, database=None)
@given(tree=rooted)
def test_the_bound_covers_rounding_under_roots(dtype: str, tree: Node) -> None:
    eps = float(np.finfo(dtype).eps)
    got = running(tree, dtype)
    assume(math.isfinite(got.bound))
    error = abs(Decimal(rounded(tree, dtype)) - got.value)
    assert error <= Decimal(eps * got.bound)


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


expressions = st.lists(rooted, min_size=1, max_size=3)


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize("dtype", DTYPES)
@seed(3)
@settings(max_examples=100, deadline=None, database=None)
@given(trees=expressions)
def test_rounding_passes_and_a_thousandth_does_not(dtype: str, trees: list[Node]) -> None:
    eps = float(np.finfo(dtype).eps)
    want = vector(*(running(t, dtype) for t in trees))
    got = np.array([rounded(t, dtype) for t in trees])
    b = bench(dtype)
    try:
        b.compare("x", got, want, "round 1")
    except Undecided:
        return
    assert b.measured.worst <= 1
    largest = int(np.argmax(np.abs(got)))
    assume(abs(got[largest]) > 0)
    off = got.copy()
    off[largest] *= 1.001
    # Well-conditioned components show an error of a thousandth.
    assume(want[largest].bound * eps * THRESHOLD < 2e-4 * abs(float(want[largest])))
    with pytest.raises(Deviates) as caught:
        b.compare("x", off, want, "round 1")
    deviation = caught.value.deviation
    assert (deviation.equation, deviation.component, deviation.where) == ("fedadam.step", largest, "round 1")
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
