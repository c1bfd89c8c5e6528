"""AdamW on numbers worked by hand, exactly; impl/test_use compares it with torch's."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest
from test_spec.exact import vec

from fedspec.client.adamw import adamw, begin
from fedspec.readings import Decay

KW: dict[str, Any] = {"eta_l": F(1, 10), "beta1": F(1, 2), "beta2": F(5, 11), "eps": F(1, 2), "wd": F(1, 2)}


@pytest.mark.parametrize(
    ("decay", "x"), [("rate", F(942, 100)), ("alone", 5 - F(8, 100)), ("after", (10 - F(8, 100)) * F(19, 20))]
)
def test_what_decays(decay: str, x: F) -> None:
    """Gradient 2 once, from 10: a step of 2/25 beside a decay of half of it, or of a twentieth."""
    assert adamw(begin(vec(10)), vec(2), **KW, decay=Decay(decay)).x[0] == x
