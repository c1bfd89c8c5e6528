"""FedPD by hand, in fractions, and its refusals."""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from test_spec.control_runs import Run, line
from test_spec.exact import vec

from fedspec.errors import ParameterError, PlanError


@pytest.mark.parametrize(
    ("added", "said"),
    [("to-own", [(3, F(1, 2)), (3, F(1, 4))]), ("to-servers", [(F(5, 2), F(1, 2)), (3, F(1, 2))])],
)
def test_two_rounds_by_hand(added: str, said: list[tuple[F, F]]) -> None:
    """F = y^2 / 2 - 3 y from 2, a rate of 1/2, mu = 1: the client is at 5/2, and its dual 1/2.

    From there the slopes are -1/2, the dual, and -1/2 or 0 of the pull: it goes on to 11/4, or stays.
    """
    run = Run("fedpd", {"eta_l": F(1, 2), "mu": F(1), "dual_added": added}, line(3).clients, (1,), vec(2))
    got = [(run.round((1,))["lam_i"][0][0], run.x[0]) for _ in said]
    assert got == [(lam, x) for x, lam in said]


def test_who_is_missing_and_a_pull_of_nothing_are_refused() -> None:
    with pytest.raises(ParameterError, match="mu: got 0"):
        Run("fedpd", {"eta_l": F(1, 4), "mu": F(0)}, line(4).clients, (1,), vec(7))
    with pytest.raises(PlanError, match="participants"):
        Run("fedpd", {"eta_l": F(1, 4), "mu": F(3)}, line(4, -2).clients, (1, 1), vec(7)).round({0: 1})
