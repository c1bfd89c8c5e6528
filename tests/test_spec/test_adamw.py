"""AdamW on numbers worked by hand, exactly; tests/test_use compares it with torch's."""

from __future__ import annotations

import math
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.catalogue import CATALOGUE
from fedspec.client.adamw import adamw, begin, general_adamw
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
    """One gradient 2 from 10: a step of 2/25 beside a decay of half of it, or of a twentieth."""
    assert general_adamw(begin(vec(10)), vec(2), **KW, decay=Decay(decay)).x[0] == x


def test_a_reading_is_the_printed_algorithm_2() -> None:
    """Lines 7 to 12 with numbers of their own, eta_t = 1, and no other reading of the row."""
    options = CATALOGUE["adamw"].resolve("loshchilov-2019", {})
    given = {n: kind(options[n]) for n, kind in CATALOGUE["adamw"].options.items()}
    alpha, beta1, beta2, eps, decay = 0.25, 0.5, 0.75, 0.125, 0.0625
    theta, m, v, state = 3.0, 0.0, 0.0, begin(np.array([3.0]))
    others = {r.name: begin(np.array([3.0])) for r in CATALOGUE["adamw"].readings if r.name != "loshchilov-2019"}
    numbers = {"eta_l": alpha, "beta1": beta1, "beta2": beta2, "eps": eps, "wd": decay}
    for t, g in enumerate((2.0, -1.0, 4.0), 1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        m_hat, v_hat = m / (1 - beta1**t), v / (1 - beta2**t)
        theta = theta - (alpha * m_hat / (math.sqrt(v_hat) + eps) + decay * theta)
        state = general_adamw(state, np.array([g]), **numbers, **given)
        assert state.x[0] == pytest.approx(theta, rel=1e-14)
        for name, other in others.items():
            chosen = CATALOGUE["adamw"].resolve(name, {})
            kinds = CATALOGUE["adamw"].options.items()
            others[name] = general_adamw(other, np.array([g]), **numbers, **{n: kind(chosen[n]) for n, kind in kinds})
    assert all(abs(other.x[0] - theta) > 1e-3 for other in others.values())


def test_no_moment_sees_the_decay() -> None:
    """Without a gradient 19/20 are left of the model at every step, and the moments stay empty."""
    state = begin(vec(10, -4))
    for k in range(1, 4):
        state = adamw(state, vec(0, 0), **KW)
        assert [*state.x] == [10 * F(19, 20) ** k, -4 * F(19, 20) ** k]
        assert not any([*state.m, *state.v])
