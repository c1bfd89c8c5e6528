"""Servers that read every change, by hand: FedExP, the median, the trimmed mean."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from fedspec.catalogue import find
from fedspec.entry import Method
from fedspec.plan import Message
from fedspec.readings import Middle, Weighting


def moved(name: str, rows: list[list[Any]], examples: tuple[int, ...] = (), **hyper: Any) -> list[Any]:
    """Where a server that begins at 0 goes."""
    run = find(name).run
    assert isinstance(run, Method)
    changes = [np.array([F(v) for v in row]) for row in rows]
    h, x = run.hyper(eta_l=1, **hyper), changes[0] * 0
    sizes = examples or (1,) * len(rows)
    return [*run.server(h, run.init(h, x), [Message(v, n, 1, 1) for v, n in zip(changes, sizes, strict=True)])[0]]


SQUARE = [[2 * (i == j) for j in range(4)] for i in range(4)]
"""Four changes of length 2 at right angles; their mean is 1/2 in each coordinate, and 1 long."""


def test_fedexp_goes_further_where_clients_disagree() -> None:
    """16 over 2 * 4 * (1 + 1/10), 20/11 times the mean; 2 times where eps is 0, as for any four at right angles."""
    assert moved("fedexp", SQUARE, eps=F(1, 10)) == [F(10, 11)] * 4
    assert moved("fedexp", SQUARE, eps=0) == [1] * 4
    assert moved("fedexp", SQUARE[:2], eps=0) == [1, 1, 0, 0], "two are worth no more than their mean"


def test_fedexp_is_the_mean_of_those_who_agree_or_of_one() -> None:
    assert moved("fedexp", [[3, -1]] * 3, eps=F(1, 3)) == [3, -1]
    assert moved("fedexp", [[3, -1]], eps=0) == [3, -1]
    assert moved("fedexp", [[3], [-1]], eps=1000) == [1], "with a large eps the rate is 1"


def test_fedexp_weighted_weighs_both_sums() -> None:
    """p = 1/10 .. 4/10: the mean square is 4, the mean's square 4 (1 + 4 + 9 + 16) / 100 = 6/5, the rate 20/13."""
    weighed = moved("fedexp", SQUARE, (1, 2, 3, 4), eps=F(1, 10), weights=Weighting.EXAMPLES)
    assert weighed == [F(20, 13) * F(n, 5) for n in (1, 2, 3, 4)]
    assert moved("fedexp", SQUARE, (1, 2, 3, 4), eps=F(1, 10)) == [F(10, 11)] * 4


def test_the_middle_of_four_is_a_mean_or_the_lower_one() -> None:
    rows = [[100, -1], [0, -4], [4, 0], [1, -100]]
    assert moved("median", rows) == [F(5, 2), F(-5, 2)]
    assert moved("median", rows, middle=Middle.LOWER) == [1, -4], "which the opposite values do not turn round"
    assert moved("median", rows[1:], eta=2) == [2, -8], "of three it is one of them in either reading"
    assert moved("median", rows[1:], eta=2, middle=Middle.LOWER) == [2, -8]


def test_a_trimmed_mean_divides_by_what_is_kept() -> None:
    """Of seven values a fifth is one and a bit: one is left out at either end, and five are kept."""
    rows = [[v] for v in (100, 3, 0, 5, 1, 4, 2)]
    assert moved("trimmed-mean", rows, trim=F(1, 5)) == [3]
    assert moved("trimmed-mean", rows, trim=0) == [F(115, 7)]
    assert moved("trimmed-mean", rows, trim=F(3, 7)) == [3], "all but the median"
    assert moved("trimmed-mean", rows, trim=F(1, 8), eta=7) == [115], "an eighth of seven is none"


@pytest.mark.parametrize(("trim", "left"), [(0.3, 3), (0.1, 1), (0.29, 2)])
def test_what_is_left_out_is_the_floor_of_a_rounded_product(trim: float, left: int) -> None:
    """0.3 in binary is a little less than 3/10, and ten times it, rounded, is 3."""
    rows = [[v**2] for v in range(10)]
    kept = range(left, 10 - left)
    want = sum(v**2 for v in kept) / len(kept)
    run = find("trimmed-mean").run
    assert isinstance(run, Method)
    sent = [Message(np.array(row, dtype=float), 1, 1, 1) for row in rows]
    x, _ = run.server(run.hyper(eta_l=1, trim=trim), np.zeros(1), sent)
    assert abs(float(x[0]) - want) < 1e-12


def test_one_huge_value_does_not_hide_the_others() -> None:
    """In single precision 1e9 + 3 is 1e9: all less the extremes would leave nothing of the rest."""
    run = find("trimmed-mean").run
    assert isinstance(run, Method)
    sent = [Message(np.array([v], dtype=np.float32), 1, 1, 1) for v in (1.0, 1e9, 2.0, 3.0, 4.0)]
    x, _ = run.server(run.hyper(eta_l=1, trim=0.25), np.zeros(1, np.float32), sent)
    assert x.dtype == np.float32 and x[0] == 3
