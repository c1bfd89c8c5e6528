"""Servers that read every change, by hand: FedExP, medians, means that are trimmed, Krum, clipping, FedAtt."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.fedatt import FedAtt, init, server
from fedspec.arith import digits, foremost
from fedspec.catalogue import find
from fedspec.entry import Method
from fedspec.plan import Message
from fedspec.readings import Middle, Origin, Weighting


def models(name: str, *rounds: list[Any], examples: tuple[int, ...] = (), reading: str = "", **hyper: Any) -> list[Any]:
    """Server's model after each round, from 0, if each client sends a vector."""
    row = find(name)
    run: Any = row.run
    h, state, found = run.hyper(eta_l=1, **hyper, **(dict(row.reading(reading).fixes) if reading else {})), None, []
    for vectors in rounds:
        sizes = examples or (1,) * len(vectors)
        sent = [Message(np.array([F(v) for v in row]), n, 1, 1) for row, n in zip(vectors, sizes, strict=True)]
        state = run.init(h, sent[0].delta * 0) if state is None else state
        state, _ = run.server(h, state, sent)
        found.append([*(state.x if hasattr(state, "x") else state)])
    return found


def moved(name: str, rows: list[list[Any]], examples: tuple[int, ...] = (), **hyper: Any) -> list[Any]:
    """Server's model after one round, from 0."""
    (x,) = models(name, rows, examples=examples, **hyper)
    return list(x)


def stepped(name: str, *rounds: list[Any], **more: Any) -> list[Any]:
    """Server's model after each round, if its clients send numbers."""
    return [x for (x,) in models(name, *([[v] for v in values] for values in rounds), **more)]


def elected(name: str, values: list[int], examples: tuple[int, ...] = (), reading: str = "", **hyper: Any) -> Any:
    """Server's model after one round of numbers."""
    (x,) = stepped(name, values, examples=examples, reading=reading or "blanchard-2017", **hyper)
    return x


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
    """Fifth of seven values, one and a bit: one is left out at either end, and five are kept."""
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


# Krum and Multi-Krum.


SIX = [3, 6, 10, 23, 24, 28]
"""With f = 1 three others count: 23 has 1 + 25 + 169 = 195, 24 has 1 + 16 + 196 = 213, 10 has 49 + 16 + 169 = 234."""


def test_krum_takes_the_one_with_the_nearest_neighbours() -> None:
    assert elected("krum", SIX, f=1) == 23
    assert elected("krum", SIX, f=1, eta=F(1, 2)) == F(23, 2)
    # Of four others 10 has 234 + 196 = 430, 23 has 484, 24 has 537, 6 has 338 + 289 = 9 + 16 + 289 + 324 = 638.
    assert elected("krum", SIX, f=0) == 10


def test_readings_count_one_more_and_take_no_squares() -> None:
    assert elected("krum", SIX, f=1, reading="byzfl") == 10, "four others count"
    # 23 has 1 + 5 + 13 + 17 = 36 and 24 has 1 + 4 + 14 + 18 = 37; 10 has 4 + 7 + 13 + 14 = 38.
    assert elected("krum", SIX, f=1, reading="byzantine-momentum") == 23


def test_multi_krum_is_the_plain_mean_of_the_best() -> None:
    assert elected("multi-krum", SIX, f=1, keep=1) == 23
    assert elected("multi-krum", SIX, f=1, keep=2) == F(47, 2)
    assert elected("multi-krum", SIX, f=1, keep=3) == F(57, 3)
    assert elected("multi-krum", SIX, f=1, keep=9) == F(94, 6), "of fewer all are kept"


def test_examples_count_in_the_reading_that_weighs_and_nowhere_else() -> None:
    sizes = (1, 1, 1, 1, 3, 1)
    assert elected("multi-krum", SIX, sizes, f=1, keep=2) == F(47, 2)
    assert elected("multi-krum", SIX, sizes, "weighted", f=1, keep=2) == F(95, 4)


def test_of_equal_scores_the_first_is_taken() -> None:
    assert elected("krum", [0, 5, 4, 1], f=1) == 0, "one other counts, and two pairs are as near"
    assert elected("krum", [5, 4, 1, 0], f=1) == 5
    assert elected("krum", [7], f=3) == 7
    assert elected("krum", [7, 2], f=0) == 7


@pytest.mark.parametrize("dtype", ["float64", "float32", "object"])
def test_the_foremost_are_those_of_the_smallest_keys_in_their_order(dtype: str) -> None:
    keys = np.array([[3], [1], [2], [1], [0]]).astype(dtype)
    X = np.array([[0, 9], [1, 8], [2, 7], [3, 6], [4, 5]]).astype(dtype)
    assert foremost(keys, X, 1).tolist() == [[4, 5]]
    assert foremost(keys, X, 4).tolist() == [[4, 5], [1, 8], [3, 6], [2, 7]]
    assert foremost(keys, X, 5).tolist() == X.tolist(), "all of them are as they stand"


# The geometric median and centred clipping.


def test_of_two_places_the_shares_are_powers() -> None:
    """Three at 0 and one at 16: the mean is 4; a pass makes 3/4 : 12/4, 9 to 1, and another 27 to 1."""
    sent: list[Any] = [0, 0, 0, 16]
    assert stepped("geometric-median", sent, smooth=F(1, 100), passes=1) == [F(16, 10)]
    assert stepped("geometric-median", sent, smooth=F(1, 100), passes=2) == [F(16, 28)]
    assert stepped("geometric-median", [0, 16], examples=(3, 1), smooth=F(1, 100), passes=2) == [F(16, 28)]


def test_what_is_nearer_than_nu_counts_as_nu() -> None:
    """From 4 the distances are 4 and 12; with nu = 6 they count as 6 and 12: 3/6 to 1/12, 6 to 1."""
    assert stepped("geometric-median", [0, 0, 0, 16], smooth=6, passes=1) == [F(16, 7)]
    assert stepped("geometric-median", [0, 0, 0, 16], smooth=12, passes=3) == [4], "the mean"


def test_from_zero_the_first_pass_sees_lengths() -> None:
    """Lengths 2 and 6 count as 1/2 and 1/6: 3 to 1, at (3 * 2 + 6) / 4."""
    zero: Any = {"weights": Weighting.UNIFORM, "origin": Origin.ZERO}
    assert stepped("geometric-median", [2, 6], examples=(1, 9), smooth=1, passes=1, **zero) == [3]
    assert stepped("geometric-median", [0, 6], smooth=1, passes=1, eta=2, **zero) == [F(12, 7)], "0 is nu away"


@pytest.mark.parametrize(
    ("hyper", "want"),
    [
        ({"smooth": 1e-5, "passes": 4}, 0.872541),
        ({"smooth": 0.1, "passes": 3, "weights": Weighting.UNIFORM, "origin": Origin.ZERO}, 0.566477),
        ({"smooth": 1e-9, "passes": 400}, (3 + 3**0.5) / 6),
    ],
)
def test_a_square_and_one_far_away(hyper: dict[str, Any], want: float) -> None:
    """The corners of the unit square and (10, 10): the median is on the diagonal, and few passes are not there yet."""
    run: Any = find("geometric-median").run
    sent = [Message(np.array(v, float), 1, 1, 1) for v in ([0, 0], [1, 0], [0, 1], [1, 1], [10, 10])]
    x, _ = run.server(run.hyper(eta_l=1, **hyper), np.zeros(2), sent)
    assert np.abs(x - want).max() < 1e-6


def test_differences_from_the_centre_are_clipped_and_the_centre_stays() -> None:
    """From 0: 1 and 10 are clipped to 1 and 2, v = 3/2. From there -1/2 and 17/2 are clipped to -1/2 and 2: v = 9/4."""
    sent: list[Any] = [1, 10]
    assert stepped("centred-clipping", sent, clip_norm=2, passes=1) == [F(3, 2)]
    assert stepped("centred-clipping", sent, clip_norm=2, passes=2) == [F(9, 4)]
    assert stepped("centred-clipping", sent, sent, clip_norm=2, passes=1) == [F(3, 2), F(3, 2) + F(9, 4)]
    assert stepped("centred-clipping", sent, sent, clip_norm=2, passes=1, eta=2) == [3, 3 + F(9, 2)]


def test_wide_enough_it_is_the_mean_and_what_is_agreed_is_reached_straight() -> None:
    assert stepped("centred-clipping", [1, 10], [4], clip_norm=100, passes=1) == [F(11, 2), F(19, 2)]
    assert stepped("centred-clipping", [-5, -5], [-5], clip_norm=3, passes=1) == [-3, -8]
    assert stepped("centred-clipping", [0], clip_norm=3, passes=2) == [0], "0 has no direction"


LN2 = Decimal(2).ln()


def attended(changes: list[list[Decimal | int]], shapes: tuple[tuple[int, ...], ...], length: str) -> list[float]:
    """The model after a round from zero at rate 10, with clients of 1, 2, ... examples."""
    with digits():
        rows = [np.array([Decimal(a) for a in row], dtype=object) for row in changes]
        h = FedAtt(eta_l=Decimal(1), eta=Decimal(10), length=length)  # type: ignore[arg-type]
        sent = [Message(row, k + 1, 1, 1) for k, row in enumerate(rows)]
        state, shown = server(h, init(h, rows[0] * 0, shapes), sent)
        assert [float(a) * 10 for a in shown["delta"]] == pytest.approx([float(a) for a in state.x])
        return [float(a) for a in state.x]


def test_shares_of_two_layers_in_fedatt() -> None:
    """Lengths 0 and ln 2 give shares 1/3 and 2/3; ln 3 and 0 give 3/4 and 1/4, whoever has more examples."""
    x = attended([[0, Decimal(3).ln()], [-LN2, 0]], ((1,), ()), "frobenius")
    assert x == pytest.approx([-20 / 3 * float(LN2), 7.5 * float(Decimal(3).ln())])


@pytest.mark.parametrize(("length", "share"), [("frobenius", 4 / 5), ("spectral", 2 / 3)])
@pytest.mark.parametrize(
    ("shape", "squares"), [((2, 2), [0, 3]), ((3, 3), [0, 4, 8]), ((4, 5), [0, 6, 12, 18]), ((5, 4), [0, 5, 10, 15])]
)
def test_a_matrix_has_two_lengths(length: str, share: float, shape: tuple[int, int], squares: list[int]) -> None:
    """A diagonal of ln 2, n times: its largest singular value is ln 2, its root of squares sqrt(n) ln 2."""
    size = shape[0] * shape[1]
    diagonal: list[Decimal | int] = [LN2 if j in squares else 0 for j in range(size)]
    x = attended([[0] * size, diagonal], (shape,), length)
    share = 1 / (1 + 2 ** -(len(squares) ** 0.5)) if length == "frobenius" else share
    assert [x[j] for j in squares] == pytest.approx([10 * share * float(LN2)] * len(squares))


def test_the_largest_length_prevents_overflow() -> None:
    """exp(1000) is no float: the client that moved by 1000 has all of the share, and equal ones have halves."""
    far = [np.array([1000.0]), np.array([1.0])]
    h = FedAtt(eta_l=1, eta=1)
    assert server(h, init(h, far[0] * 0), [Message(a, 1, 1, 1) for a in far])[0].x == 1000.0
    alike = [np.array([1000.0]), np.array([-1000.0]), np.array([600.0])]
    assert server(h, init(h, far[0] * 0), [Message(a, 1, 1, 1) for a in alike])[0].x == pytest.approx(0)
