"""Zero over zero, comparisons and lengths mean the same in every arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
import torch
import z3

from fedspec.arith import ascending, digits, exp, log, norm, ratio, singular, sqrt, where_less
from fedspec.errors import InexactError
from fedspec_proofs.engines.reals import Real
from fedspec_suite.measure.running_error import Running, Running64


def kinds(q: Fraction) -> dict[str, Any]:
    """Number in every arithmetic."""
    return {
        "Fraction": q,
        "float": float(q),
        "Running": Running64(q),
        "sympy": sympy.Rational(q.numerator, q.denominator),
        "z3": z3.RealVal(str(q)),
        "Real": Real(q),
    }


@pytest.mark.parametrize("kind", kinds(Fraction(1)))
@pytest.mark.parametrize(("above", "below"), [(3, 4), (-3, 4), (3, 0), (0, 0)])
def test_a_ratio_is_zero_over_zero(kind: str, above: int, below: int) -> None:
    a, b = (np.array([kinds(Fraction(n))[kind]]) for n in (above, below))
    got = ratio(a, b)[0]
    want = Fraction(above, below) if below else Fraction(0)
    assert value(got) == want


@pytest.mark.parametrize("kind", kinds(Fraction(1)))
@pytest.mark.parametrize(("a", "b"), [(1, 2), (2, 1), (1, 1)])
def test_where_less_is_strict(kind: str, a: int, b: int) -> None:
    left, right, x, y = (np.array([kinds(Fraction(n))[kind]]) for n in (a, b, 5, 7))
    assert value(where_less(left, right, x, y)[0]) == (5 if a < b else 7)


@pytest.mark.parametrize("kind", kinds(Fraction(1)))
def test_each_coordinate_is_put_in_order(kind: str) -> None:
    rows = [(3, -1), (-2, 0), (3, 5), (0, -1), (1, 2)]
    got = ascending(np.array([[kinds(Fraction(n))[kind] for n in row] for row in rows]))
    assert [[value(x) for x in row] for row in got] == [[-2, -1], [0, -1], [1, 0], [3, 2], [3, 5]]


def value(got: Any) -> Fraction:
    if isinstance(got, Real):
        got = got.term
    if isinstance(got, z3.ExprRef):
        return Fraction(str(z3.simplify(got)))
    return Fraction(str(got.value if isinstance(got, Running) else got))


def test_where_less_near_a_tie_decides_nothing() -> None:
    near = Running64(1) / 3 * 3
    assert math.isinf(near.where_less(1, 5, 7).bound)
    assert near.where_less(2, 5, 7).bound == 0 and near.where_less(1, 5, 5).value == 5


def test_a_norm_is_exact_or_refused() -> None:
    assert norm(np.array([Fraction(3), Fraction(-4)])) == 5
    assert norm(np.array([3.0, -4.0])) == 5.0
    with pytest.raises(InexactError):
        norm(np.array([Fraction(1), Fraction(1)]))


def test_the_largest_singular_value_is_of_decimals_and_floats() -> None:
    """Beside LAPACK, of wide, tall, equal and zero matrices; as a column of a stack, and of what is not finite."""
    dice = np.random.default_rng(1)
    some = [dice.integers(-9, 10, shape) / 4 for shape in ((1, 1), (1, 4), (3, 1), (2, 3), (5, 4), (3, 7))]
    for X in (*some, np.ones((3, 3)), np.eye(4), np.zeros((2, 2)), np.array([[0.0, 2.0], [-2.0, 0.0]])):
        want = np.linalg.norm(X, 2)
        with digits():
            exact = singular(np.array([[Decimal(a) for a in row] for row in X.tolist()], dtype=object))
        bounded = singular(np.array([[Running64(a) for a in row] for row in X.tolist()], dtype=object))
        stacked = singular(torch.tensor(np.stack([X, 2 * X, -X])))
        assert [float(v) for v in (exact, bounded.value, singular(X))] == pytest.approx([want] * 3)
        assert stacked.tolist() == pytest.approx(np.array([[want], [2 * want], [want]]))
    some[3][0, 0] = np.inf
    assert singular(some[3]) == np.inf
    with pytest.raises(InexactError, match="largest singular value of Fraction"):
        singular(np.array([[Fraction(1)]], dtype=object))


def test_exp_and_log_in_every_number_type_that_can() -> None:
    """By closed forms: exp(log(x)) = x, and log(8) = 3 log(2)."""
    with digits():
        for x in (Decimal(2), Running64(2), sympy.Integer(2), 2.0, np.float32(2)):
            back, thrice = exp(log(x)), log(x * x * x) - 3 * log(x)
            got = [v.value if isinstance(v, Running) else v for v in (back, thrice)]
            assert [float(v) for v in got] == pytest.approx([2, 0], abs=1e-6 if isinstance(x, np.float32) else 1e-14)
    arrays = (np.array([0.5, 3.0]), torch.tensor([0.5, 3.0], dtype=torch.float64))
    assert [np.asarray(exp(log(a))) for a in arrays] == [pytest.approx(np.array([0.5, 3.0]))] * 2
    assert exp(np.array([Fraction(0)], dtype=object))[0] == 1 and log(Fraction(1)) == 0
    for f, x in ((exp, Fraction(1)), (log, Fraction(2)), (exp, z3.Real("x"))):
        with pytest.raises(InexactError, match="no rational number"):
            f(x)


def test_a_root_without_a_fraction_is_an_expression_in_sympy() -> None:
    roots = sqrt(np.array([sympy.Rational(2), sympy.Rational(9, 4)]))
    assert roots[0] ** 2 == 2 and roots[1] == sympy.Rational(3, 2)
