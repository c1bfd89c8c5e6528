"""FADAS by hand, in fractions, and beside a loop over numbers as codes have it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.algorithms.fadas import Fadas, init, slowed, step
from fedspec.plan import Arrival, Setup
from fedspec.readings import BiasCorrection, Slowing


@pytest.mark.parametrize(
    ("eta", "tau_max", "tau_c", "over", "capped"),
    [
        ("1/2", 10, 1, "1/20", "1/10"),
        ("1/10000", 10, 1, "1/100000", "1/10000"),
        ("1/2", 2, 1, "1/4", "1/2"),
        ("2", 1, 0, "2", "1"),
        ("2", 3, 3, "2", "2"),
        ("2", 0, 0, "2", "2"),
    ],
)
def test_rates_by_hand(eta: str, tau_max: int, tau_c: int, over: str, capped: str) -> None:
    said = {"tau_max": tau_max, "tau_c": tau_c}
    assert slowed(F(eta), **said) == F(over)
    assert slowed(F(eta), slowing=Slowing.CAPPED, **said) == F(capped)


GIVEN: dict[str, Any] = {"eta_l": 1, "eta": 1, "beta1": F(9, 10), "beta2": F(99, 100), "eps": 0, "tau_c": 1}


@pytest.mark.parametrize(("correction", "moved"), [("moments", "1.846"), ("none", "2.270")])
def test_three_buffers_of_one(correction: str, moved: str) -> None:
    """Changes 0.1, -0.05 and 0.1 of clients that are pulled nowhere else, none of them late."""
    changes = iter((0.1, -0.05, 0.1))
    clients = [lambda k, x: np.array([-next(changes)])]
    h = Fadas(buffer=1, **{**GIVEN, "beta1": 0.9, "beta2": 0.99}, bias_correction=correction)
    state = init(h, np.array([0.0]), Setup((1,), {"w": (1,)}))
    for _ in range(3):
        state, _ = step(h, state, clients, Arrival(0, 1, 0))
    assert f"{state.x[0]:.3f}" == moved


def test_a_buffer_is_as_slow_as_its_latest_update() -> None:
    """F = x^2 / 2 at rate 1: a change is minus the version; each step is one of signs, as long as eta_t."""
    h = Fadas(
        buffer=2, eta_l=1, eta=F(1), beta1=F(0), beta2=F(0), eps=F(0), tau_c=1, bias_correction=BiasCorrection.NONE
    )
    state, clients = init(h, vec(8), Setup((1, 1), {"w": (1,)})), [lambda k, x: x] * 2
    seen = []
    for pair in ((0, 0), (0, 1), (2, 0), (0, 3), (0, 0)):
        for i, delay in enumerate(pair):
            state, shown = step(h, state, clients, Arrival(i, 1, delay))
        seen.append((shown["eta_t"], state.delays))
    # v_hat keeps 8^2: changes are -8, -(7 + 8) / 2, ... over 8.
    assert seen == [(1, ()), (1, ()), (F(1, 2), ()), (F(1, 3), ()), (1, ())]
    assert state.versions[1][0] == 7 and state.versions[2][0] == 7 - F(15, 16)


def looped(arrivals: Sequence[tuple[int, int, int]], *, M: int, eta: float, tau_c: int, over: bool, fix: bool) -> Any:
    """One number after another: a_i y - b_i of client i, lr 1/8, betas 1/2 and 3/4, eps 1/16; the models in turn."""
    slopes, pulls = (1.0, 2.0, 0.5), (1.0, -3.0, 5.0)
    models, m, v, top, kept, late, t = [2.0], 0.0, 0.0, 0.0, 0.0, [], 0
    for i, steps, delay in arrivals:
        y = start = models[-1 - delay]
        for _ in range(steps):
            y -= (slopes[i] * y - pulls[i]) / 8
        kept += (y - start) / M
        late.append(delay)
        if len(late) == M:
            t += 1
            m = m / 2 + kept / 2
            v = 3 * v / 4 + kept * kept / 4
            top = max(top, v)
            lr = eta
            if max(late) > tau_c:
                lr = lr / max(late) if over else min(lr, 1 / max(late))
            up, below = (1 - 0.5**t, 1 - 0.75**t) if fix else (1.0, 1.0)
            models.append(models[-1] + lr * (m / up) / ((top / below) ** 0.5 + 1 / 16))
            kept, late = 0.0, []
    return models


ARRIVALS = [
    (0, 1, 0),
    (1, 3, 0),
    (2, 2, 1),
    (0, 1, 0),
    (0, 2, 2),
    (1, 1, 1),
    (2, 4, 3),
    (1, 1, 0),
    (0, 3, 2),
    (2, 1, 4),
]


@pytest.mark.parametrize("eta", [0.25, 0.75])
@pytest.mark.parametrize("tau_c", [0, 1, 2])
@pytest.mark.parametrize("fix", [True, False])
@pytest.mark.parametrize("slowing", ["over-delay", "capped"])
def test_it_is_the_loop_of_public_codes(slowing: str, fix: bool, tau_c: int, eta: float) -> None:
    clients = [lambda k, x, a=a, b=b: a * x - b for a, b in ((1.0, 1.0), (2.0, -3.0), (0.5, 5.0))]
    given = {"eta_l": 1 / 8, "beta1": 0.5, "beta2": 0.75, "eps": 1 / 16, "slowing": slowing}
    h = Fadas(buffer=2, eta=eta, tau_c=tau_c, **given, bias_correction="moments" if fix else "none")
    state = init(h, np.array([2.0]), Setup((1, 1, 1), {"w": (1,)}))
    for i, steps, delay in ARRIVALS:
        state, _ = step(h, state, clients, Arrival(i, steps, delay))
    want = looped(ARRIVALS, M=2, eta=eta, tau_c=tau_c, over=slowing == "over-delay", fix=fix)
    assert np.allclose([x[0] for x in state.versions], want, rtol=1e-13)
