"""LAMB as a local solver on numbers worked by hand, exactly."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.arith import Array
from fedspec.client.lamb_solver import Averages, begin, lamb, lamb_ratio
from fedspec.readings import Phi, ZeroLayer


def test_two_steps_of_the_ratio() -> None:
    """beta1 = 1/2, beta2 = 5/11, gradients 2 and 4: m = 1 and 5/2, which is 10/3 over 3/4; v is 49/4 over 96/121."""
    own, kw = Averages(vec(0), vec(0), 0), {"beta1": F(1, 2), "beta2": F(5, 11), "eps": F(1, 2)}
    own, r = lamb_ratio(own, vec(2), **kw)
    assert (own.m[0], own.v[0], own.t, r[0]) == (1, F(24, 11), 1, F(2) / (2 + F(1, 2)))
    own, r = lamb_ratio(own, vec(4), **kw)
    assert (own.m[0], own.v[0], own.t, r[0]) == (F(5, 2), F(1176, 121), 2, F(10, 3) / (F(7, 2) + F(1, 2)))


@pytest.mark.parametrize(
    ("correction", "m", "r"), [("moments", F(5, 2), F(5, 6)), ("none", F(5, 2), F(5, 8)), ("in-place", 4, 1)]
)
def test_what_becomes_of_the_correction(correction: Any, m: Any, r: Any) -> None:
    """beta1 = 1/2, beta2 = 0, gradients 2 and 4: the second m is 1/2 + 2, or in place (2/2 + 2) / (3/4); v = 16."""
    own, kw = Averages(vec(0), vec(0), 0), {"beta1": F(1, 2), "beta2": F(0), "eps": F(0)}
    for g in (2, 4):
        own, ratio = lamb_ratio(own, vec(g), bias_correction=correction, **kw)
    assert (own.m[0], own.v[0], ratio[0]) == (m, 16, r)


def test_every_layer_moves_by_its_own_length() -> None:
    """r = (1, 1, -1): the first layer is (2, 3) with q = (3, 4), the second is 6 with q = 5."""
    state = begin(vec(2, 3, 6))
    kw = {"eta_l": F(1, 10), "beta1": F(1, 2), "beta2": F(1, 2), "eps": F(0), "lam": F(1)}
    after = lamb(state, vec(7, 9, -4), (slice(0, 2), slice(2, 3)), **kw, phi=Phi.CONSTANT)
    assert list(after.x) == [2 - F(3, 50), 3 - F(4, 50), 6 - F(1, 10)]
    state = begin(vec(6))
    moved = [
        lamb(state, vec(-4), (slice(0, 1),), **kw, phi=phi, phi_m=F(4), phi_M=F(5)).x[0]
        for phi in (Phi.IDENTITY, Phi.CLIP)
    ]
    assert moved == [6 - F(6, 10), 6 - F(5, 10)]


def test_nothing_moves_a_layer_at_zero_and_decay_alone_shortens_one() -> None:
    kw = {"eta_l": F(1, 10), "beta1": F(0), "beta2": F(0), "eps": F(1), "lam": F(1, 4)}
    state = begin(vec(0, 3, 4))
    for k in range(1, 4):
        state = lamb(state, vec(3, 0, 0), (slice(0, 1), slice(1, 3)), **kw)
        assert list(state.x) == [0, 3 * F(9, 10) ** k, 4 * F(9, 10) ** k]


def test_where_the_ratio_is_one_a_layer_at_zero_moves_by_its_whole_direction() -> None:
    """r = 3/4 in the first layer, which is zero; the decay alone turns the second one, as before."""
    kw: dict[str, Any] = {"eta_l": F(1, 10), "beta1": F(0), "beta2": F(0), "eps": F(1), "lam": F(1, 4)}
    after = lamb(begin(vec(0, 3, 4)), vec(3, 0, 0), (slice(0, 1), slice(1, 3)), **kw, zero_layer=ZeroLayer.RATIO_ONE)
    assert list(after.x) == [-F(3, 40), 3 * F(9, 10), 4 * F(9, 10)]
    # From then on it has a length: q = 3/4 - 3/160, and a step of eta_l ||x|| against it.
    layers = (slice(0, 1), slice(1, 3))
    assert lamb(after, vec(3, 0, 0), layers, **kw, zero_layer=ZeroLayer.RATIO_ONE).x[0] == -F(3, 40) * F(11, 10)
    nothing = lamb(begin(vec(0, 3, 4)), vec(0, 0, 0), layers, **kw, zero_layer=ZeroLayer.RATIO_ONE)
    assert nothing.x[0] == 0


def test_a_package_that_has_the_ratio_one_is_told_from_one_that_stays() -> None:
    """A trust ratio as packages write it, in plain NumPy: ||x|| / ||q|| where both are above 0, else 1."""

    def package(x: Array, g: Array, eta_l: float, eps: float) -> Array:
        q = g / (np.abs(g) + eps)
        of_x, of_q = np.linalg.norm(x), np.linalg.norm(q)
        return np.asarray(x - eta_l * (of_x / of_q if of_x > 0 and of_q > 0 else 1.0) * q)

    kw: dict[str, Any] = {"eta_l": 0.5, "beta1": 0.0, "beta2": 0.0, "eps": 0.25}
    g, whole = np.array([0.5, -2.0]), (slice(0, 2),)
    for x in (np.zeros(2), np.array([3.0, 4.0])):
        got = {zero: lamb(begin(x), g, whole, **kw, zero_layer=zero).x for zero in ZeroLayer}
        np.testing.assert_allclose(got[ZeroLayer.RATIO_ONE], package(x, g, 0.5, 0.25), rtol=1e-14)
        assert np.array_equal(got[ZeroLayer.STAYS], got[ZeroLayer.RATIO_ONE]) == bool(x.any())
