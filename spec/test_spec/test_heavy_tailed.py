"""The heavy-tailed noise of FedAda2's App. A: quantiles, draws and refusals."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
import sympy
from test_spec.exact import vec

from fedspec.errors import ParameterError, PlanError
from fedspec.problems.heavy_tailed import cauchy, draw_cauchy, draw_student, noisy, student_2

pytestmark = pytest.mark.long


def test_the_quantile_of_student_2_inverts_its_distribution() -> None:
    xi = student_2(vec(F(8, 9), F(1, 9)))
    assert list(xi) == [F(7, 4), F(-7, 4)]
    # P(t_2 <= 7/4) = 1/2 + (7/4) / (2 (9/4)), since 2 + (7/4)^2 = (9/4)^2
    assert F(1, 2) + F(7, 4) / (2 * F(9, 4)) == F(8, 9)
    y = sympy.Symbol("y", positive=True)
    distribution = sympy.Rational(1, 2) + y / (2 * sympy.sqrt(2 + y**2))
    assert sympy.simplify(sympy.diff(distribution, y) - (2 + y**2) ** sympy.Rational(-3, 2)) == 0


@pytest.mark.parametrize("kind", ["student", "cauchy"])
def test_draws_follow_their_distribution(kind: str) -> None:
    """Kolmogorov and Smirnov at one in ten thousand, on a fixed seed."""
    n = 4000
    rng = np.random.default_rng(11)
    drawn = np.sort(draw_student(rng, 2, (n,)) if kind == "student" else draw_cauchy(rng, 0.25, (n,)))
    student, lorentz = 0.5 + drawn / (2 * np.sqrt(2 + drawn**2)), 0.5 + np.arctan(drawn / 0.25) / np.pi
    below = student if kind == "student" else lorentz
    gap = np.max(np.abs(below - (np.arange(n) + 0.5) / n))
    assert gap < 2.23 / np.sqrt(n)


def test_draws_come_from_the_given_generator() -> None:
    for nu in (2, 3):
        a, b = (draw_student(np.random.default_rng(3), nu, (2, 5)) for _ in range(2))
        assert a.shape == (2, 5) and (a == b).all()
    assert cauchy(np.array([0.5]), gamma=0.3)[0] == 0


def test_what_is_refused() -> None:
    gradient = noisy([vec(1)])
    assert list(gradient(0, vec(2))) == [3]
    with pytest.raises(PlanError, match="1 draws, and local step 2"):
        gradient(1, vec(2))
    with pytest.raises(ParameterError, match=r"nu: got 1\.5"):
        draw_student(np.random.default_rng(0), 1.5, (1,))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="gamma: got 0"):
        draw_cauchy(np.random.default_rng(0), 0, (1,))
