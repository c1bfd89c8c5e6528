"""Accumulation vectors and their sums against the specification's, run exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from test_mirror.support import assert_close

from fedspec.errors import PlanError
from fedspec.mixing import accumulation as spec
from fedspec.readings import Solver
from fedspec_torch.accumulation import a_norm, accumulation

HYPER = [
    {"alpha": Fraction(0), "rho": Fraction(0), "gamma": Fraction(1)},
    {"alpha": Fraction(1, 16), "rho": Fraction(7, 8), "gamma": Fraction(1, 2)},
    {"alpha": Fraction(1, 4), "rho": Fraction(3, 4), "gamma": Fraction(3, 2)},
]
STEPS = (5, 1, 2, 9, 2)


@pytest.mark.parametrize("hyper", HYPER, ids=("plain", "usual", "alpha+rho=1"))
@pytest.mark.parametrize("solver", Solver)
def test_equals_the_exact_one(solver: Solver, hyper: dict[str, Fraction]) -> None:
    numbers = {n: float(v) for n, v in hyper.items()}
    for tau in STEPS:
        want = np.array([float(a) for a in spec.accumulation(solver, tau, **hyper)])  # type: ignore[arg-type]
        assert_close(accumulation(solver, tau, **numbers), want, float(np.abs(want).max()))
    norms = np.array([float(spec.a_norm(solver, tau, **hyper)) for tau in STEPS])  # type: ignore[arg-type]
    assert_close(a_norm(solver, STEPS, **numbers), norms, float(np.abs(norms).max()))


@pytest.mark.parametrize("tau", [0, -1, 1.5])
def test_steps_are_whole_numbers(tau: int) -> None:
    with pytest.raises(PlanError, match="local steps"):
        accumulation(Solver.SGD, tau)
    with pytest.raises(PlanError, match="local steps"):
        a_norm(Solver.SGD, (1, tau))


def test_float64_on_the_cpu() -> None:
    assert a_norm(Solver.SGD, STEPS).dtype is torch.float64
