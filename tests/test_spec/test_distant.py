"""The geometric median and centred clipping, by hand."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from fedspec.catalogue import find
from fedspec.plan import Message
from fedspec.readings import Origin, Weighting


def stepped(name: str, *rounds: list[Any], examples: tuple[int, ...] = (), **hyper: Any) -> list[Any]:
    """Where a server that begins at 0 is after each round, whose clients send numbers."""
    run: Any = find(name).run
    h, state, found = run.hyper(eta_l=1, **hyper), None, []
    for values in rounds:
        sizes = examples or (1,) * len(values)
        sent = [Message(np.array([F(v)]), n, 1, 1) for v, n in zip(values, sizes, strict=True)]
        state = run.init(h, sent[0].delta * 0) if state is None else state
        state, _ = run.server(h, state, sent)
        found.append((state.x if hasattr(state, "x") else state)[0])
    return found


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
