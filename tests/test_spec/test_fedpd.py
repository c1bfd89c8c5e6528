"""FedPD by hand, in fractions, and beside a loop over numbers whose batches have gradients of their own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F

import pytest
from test_spec.control_runs import Run, batches, gradient, line
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


def test_where_all_is_solved_the_duals_are_the_slopes_left() -> None:
    """With curvatures 1, mu = 3 and a rate of 1/4 each step solves: the minimum of the sum is 1, where e_i - 1 pull."""
    run = Run("fedpd", {"eta_l": F(1, 4), "mu": F(3)}, line(4, -2, 1).clients, (5, 1, 2), vec(7))
    for _ in range(100):
        lam = run.round((2, 1, 3))["lam_i"]
    assert abs(run.x[0] - 1) < 1e-9
    assert all(abs(lam_i[0] - want) < 1e-9 for lam_i, want in zip(lam, (3, -3, 0), strict=True))


def looped(rounds: Sequence[tuple[int, ...]], *, lr: F, eta: F, own: bool) -> list[F]:
    """One number after another, as the paper has it, with eta for 1 / mu."""
    centre, at, dual, models = F(3), [F(3)] * 3, [F(0)] * 3, []
    for steps in rounds:
        sent = []
        for i, tau in enumerate(steps):
            for k in range(tau):
                at[i] -= lr * (gradient(i, k, at[i]) + dual[i] + (at[i] - centre) / eta)
            dual[i] += (at[i] - centre) / eta
            sent.append((at[i] if own else centre) + eta * dual[i])
        centre = sum(sent) / 3
        models.append(centre)
    return models


@pytest.mark.parametrize("added", ["to-own", "to-servers"])
def test_it_is_the_loop_over_batches(added: str) -> None:
    clients = batches()
    run = Run("fedpd", {"eta_l": F(1, 8), "mu": F(3, 2), "dual_added": added}, clients, (2, 1, 5), vec(3))
    rounds = [(3, 1, 2), (1, 2, 3), (2, 2, 1), (1, 3, 3)]
    assert [run.rounds([steps])[0] for steps in rounds] == looped(
        rounds, lr=F(1, 8), eta=F(2, 3), own=added == "to-own"
    )


def test_who_is_missing_and_a_pull_of_nothing_are_refused() -> None:
    with pytest.raises(ParameterError, match="mu: got 0"):
        Run("fedpd", {"eta_l": F(1, 4), "mu": F(0)}, line(4).clients, (1,), vec(7))
    with pytest.raises(PlanError, match="participants"):
        Run("fedpd", {"eta_l": F(1, 4), "mu": F(3)}, line(4, -2).clients, (1, 1), vec(7)).round({0: 1})
