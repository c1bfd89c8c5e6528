"""AdamW on numbers worked by hand, exactly; tests/test_use compares it with torch's."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest
from test_spec.exact import vec

from fedspec.client.adamw import adamw, begin
from fedspec.readings import Decay

KW: dict[str, Any] = {"eta_l": F(1, 10), "beta1": F(1, 2), "beta2": F(5, 11), "eps": F(1, 2), "wd": F(1, 2)}


def test_two_steps() -> None:
    """Gradients 2 and 4 from 10: Adam's ratios are 2 / (5/2) and (10/3) / 4, and 19/20 of the model stay."""
    state = begin(vec(10))
    for g, x in ((2, F(942, 100)), (4, F(942, 100) * F(19, 20) - F(1, 12))):
        state = adamw(state, vec(g), **KW)
        assert state.x[0] == x
    assert (state.m[0], state.v[0], state.t) == (F(5, 2), F(1176, 121), 2)


@pytest.mark.parametrize(
    ("decay", "x"), [("rate", F(942, 100)), ("alone", 5 - F(8, 100)), ("after", (10 - F(8, 100)) * F(19, 20))]
)
def test_what_decays(decay: str, x: F) -> None:
    """Gradient 2 once, from 10: a step of 2/25 beside a decay of half of it, or of a twentieth."""
    assert adamw(begin(vec(10)), vec(2), **KW, decay=Decay(decay)).x[0] == x


def test_no_moment_sees_the_decay() -> None:
    """Without a gradient 19/20 are left of the model at every step, and the moments stay empty."""
    state = begin(vec(10, -4))
    for k in range(1, 4):
        state = adamw(state, vec(0, 0), **KW)
        assert [*state.x] == [10 * F(19, 20) ** k, -4 * F(19, 20) ** k]
        assert not any([*state.m, *state.v])
