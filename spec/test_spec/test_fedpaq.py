"""FedPAQ and its quantiser by hand, in fractions; the mean over all draws in closed form."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from math import floor

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.algorithms.fedpaq import FedPaq, init, step
from fedspec.client.quantise import quantise, quantise_by_largest
from fedspec.errors import PlanError
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import constant


def test_a_vector_of_length_five_on_two_levels() -> None:
    """a = 2 (3, 4) / 5 = (6/5, 8/5): the second level from u < 1/5 and from u < 3/5 on, 5 or 5/2 each."""
    v = vec(3, -4)
    for u, want in (
        ((0, 0), (5, -5)),
        ((F(1, 5), F(1, 5)), (F(5, 2), -5)),
        ((F(3, 5), F(3, 5)), (F(5, 2), F(-5, 2))),
    ):
        assert list(quantise(v, vec(*u), levels=2)) == list(want)


def test_the_largest_entry_is_on_the_last_level() -> None:
    """a = 3 (1, 2, 0) / 2 = (3/2, 3, 0)."""
    v = vec(-1, 2, 0)
    assert list(quantise_by_largest(v, vec(F(1, 4), F(63, 64), 0), levels=3)) == [F(-4, 3), 2, 0]
    assert list(quantise_by_largest(v, vec(F(1, 2), 0, 0), levels=3)) == [F(-2, 3), 2, 0]


def test_nothing_is_sent_as_nothing() -> None:
    for rounded in (quantise, quantise_by_largest):
        assert list(rounded(vec(0, 0), vec(0, F(1, 2)), levels=4)) == [0, 0]
        assert rounded(np.zeros(2), np.zeros(2), levels=4).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("v", [vec(3, 4), vec(-4, 3), vec(0, -2), vec(F(5, 13), F(12, 13))], ids=str)
@pytest.mark.parametrize("s", [1, 2, 3, 5])
def test_the_mean_over_all_draws_is_the_vector_and_its_spread_is_known(v: np.ndarray, s: int) -> None:
    """Q jumps at u = p alone, the part of a beyond its floor: the mean is p Q(u < p) + (1 - p) Q(u >= p).

    The mean square distance is (R / s)^2 sum_j p_j (1 - p_j), over all 2^d outcomes.
    """
    for rounded, R in ((quantise, F(sum(x * x for x in v)) ** F(1, 2)), (quantise_by_largest, max(map(abs, v)))):
        R = F(R).limit_denominator(1000)
        p = [s * abs(x) / R - floor(s * abs(x) / R) for x in v]
        mean, spread = vec(0, 0), F(0)
        for ups in product((True, False), repeat=2):
            # Half of p is below it, what lies between p and 1 is not.
            u = vec(*(p_j / 2 if up else (p_j + 1) / 2 for p_j, up in zip(p, ups, strict=True)))
            chance = np.prod([p_j if up else 1 - p_j for p_j, up in zip(p, ups, strict=True)])
            Q = rounded(v, u, levels=s)
            mean, spread = mean + chance * Q, spread + chance * sum((Q - v) ** 2)
        assert list(mean) == list(v)
        assert spread == (R / s) ** 2 * sum(p_j * (1 - p_j) for p_j in p)


def test_a_round() -> None:
    """From (1, 1), eta_l = 1: one step along -(3, 4) and two along (0, 1) change by (-3, -4) and (0, 2).

    On one level the first is R = 5 times 1 or 0: a = (3/5, 4/5), u = (1/2, 9/10) give (-5, 0). The second is 2 whole.
    """
    h = FedPaq(eta_l=F(1), levels=1)
    plan = Plan((0, 2), (1, 2), (1, 7), draws=((F(1, 2), F(9, 10)), (F(0), F(9, 10))))
    clients = [constant(g) for g in (vec(3, 4), vec(9, 9), vec(0, -1))]
    state, shown = step(h, init(h, vec(1, 1), Setup((1, 1, 7), {"w": (2,)})), clients, plan)
    assert list(shown["delta"]) == [F(-5, 2), 1] and list(state.x) == [F(-3, 2), 2]


def test_draws_are_asked_for() -> None:
    h, x, clients = FedPaq(eta_l=1.0, levels=2), np.ones(2), [constant(np.ones(2))]
    start = init(h, x, Setup((1,), {"w": (2,)}))
    with pytest.raises(PlanError, match="draws: the list is empty"):
        step(h, start, clients, Plan((0,), (1,), (1,)))
    with pytest.raises(PlanError, match=r"draws: got \[1\] for 2 coordinates"):
        step(h, start, clients, Plan((0,), (1,), (1,), draws=((0.5,),)))
    with pytest.raises(PlanError, match="participant 0 has 1"):
        Plan((0,), (1,), (1,), draws=((0.5, 1.0),))
    with pytest.raises(PlanError, match="draws: 1 for 2 participants"):
        Plan((0, 1), (1, 1), (1, 1), draws=((0.5, 0.5),))
