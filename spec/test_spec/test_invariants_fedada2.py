"""SM3's and AdaGrad's accumulators on random covers: their order, what lowers them, and disjoint sets."""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
import pytest

from fedspec.arith import Array
from fedspec.client import agdu as client_agdu
from fedspec.client import sm3_delayed
from fedspec.client.agdu import agdu
from fedspec.client.sm3_delayed import sm3_i_delayed, sm3_ii_delayed
from fedspec.covers import Cover

SM3 = (sm3_i_delayed, sm3_ii_delayed)


def some_cover(rng: np.random.Generator, d: int) -> Cover:
    """Random sets that overlap, and all coordinates in at least one."""
    sets = [tuple(sorted(rng.choice(d, int(rng.integers(1, d + 1)), replace=False).tolist())) for _ in range(3)]
    return Cover((*sets, tuple(range(int(rng.integers(0, d)), d)), tuple(range(d - 1))), d)


def bounds(rule: Any, gradients: Array, cover: Cover, z: int = 1) -> list[tuple[Array, Array]]:
    """Accumulators and bounds after every step, whole numbers: mu and nu of SM3, v and v of AdaGrad."""
    out, d = [], gradients.shape[1]
    state: Any = client_agdu.begin(np.zeros(d)) if rule is agdu else sm3_delayed.begin(np.zeros(d), cover)
    for g in gradients:
        state = rule(state, g, *(() if rule is agdu else (cover,)), eta_l=1.0, eps=1.0, z=z)
        out.append((state.v, state.v) if rule is agdu else (np.asarray(state.mu), state.nu))
    return out


@pytest.mark.table(1)
@pytest.mark.parametrize("z", [1, 2, 3])
def test_accumulators_are_ordered_on_any_cover(z: int) -> None:
    """AdaGrad <= SM3-II <= SM3-I <= ceil(k/z) G^2; none falls; the maximum over a set is its accumulator."""
    rng = np.random.default_rng(z)
    for _ in range(40):
        cover = some_cover(rng, 4)
        g = rng.integers(-9, 10, (7, 4)).astype(float)
        one, two, plain = (bounds(rule, g, cover, z) for rule in (*SM3, agdu))
        for k in range(7):
            assert (plain[k][1] <= two[k][1]).all() and (two[k][1] <= one[k][1]).all()
            assert (one[k][1] <= ceil((k + 1) / z) * np.max(g**2)).all()
            if k % z == 0:
                assert two[k][0].tolist() == [max(two[k][1][list(S)]) for S in cover.sets]
                assert (two[k][1] >= g[k] ** 2).all()
        for run in (one, two):
            assert all((a <= b).all() for (_, a), (_, b) in pairwise(run))
            assert all((a <= b).all() for (a, _), (b, _) in pairwise(run))


@pytest.mark.table(1)
@pytest.mark.parametrize("rule", SM3)
def test_finer_covers_smaller_gradients_and_longer_delays_lower_the_bounds(rule: Any) -> None:
    rng = np.random.default_rng(5)
    lower = 0
    for _ in range(40):
        cover = some_cover(rng, 4)
        g = rng.integers(-9, 10, (6, 4)).astype(float)
        first, *rest = cover.sets
        cut = int(rng.integers(0, len(first)))
        split = Cover((*(S for S in (first[:cut], first[cut:]) if S), *rest), 4)
        more = Cover((*cover.sets, tuple(sorted(rng.choice(4, 2, replace=False).tolist()))), 4)
        whole = bounds(rule, g, cover)
        shrunk = np.sign(g) * np.floor(np.abs(g) * rng.random(g.shape))
        for other in (bounds(rule, g, split), bounds(rule, g, more), bounds(rule, shrunk, cover)):
            assert all((a <= b).all() for (_, a), (_, b) in zip(other, whole, strict=True))
            lower += any((a < b).any() for (_, a), (_, b) in zip(other, whole, strict=True))
        twice = zip(bounds(rule, g, cover, 4), bounds(rule, g, cover, 2), strict=True)
        assert all((a <= b).all() for (_, a), (_, b) in twice)
    assert lower > 60


@pytest.mark.parametrize("rule", SM3)
def test_disjoint_sets_do_not_see_each_other(rule: Any) -> None:
    """Other gradients in the second set leave the path in the first as it is, to the last bit, without a dead zone."""
    rng, cover = np.random.default_rng(9), Cover(((0, 1), (2, 3)), 4)
    g = rng.normal(size=(6, 4))
    paths = []
    for other in (g, np.where(np.arange(4) < 2, g, 3 * g + 1)):
        state = sm3_delayed.begin(np.zeros(4), cover, v0=0.25)
        for row in other:
            state = rule(state, row, cover, eta_l=0.5, eps=0.25, z=2)
        paths.append(state.x)
    assert (paths[0] == paths[1]).tolist() == [True, True, False, False]
