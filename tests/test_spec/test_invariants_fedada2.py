"""Statements of FedAda2's local solvers that no law takes up: the order of accumulators, how far clients go."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction as F
from itertools import pairwise
from math import ceil, log, sqrt
from typing import Any

import numpy as np
import pytest

from fedspec.arith import Array
from fedspec.client import admu as client_admu
from fedspec.client import agdu as client_agdu
from fedspec.client import sm3_delayed
from fedspec.client.admu import admu
from fedspec.client.agdu import agdu
from fedspec.client.sm3_delayed import sm3_i_delayed, sm3_ii_delayed
from fedspec.covers import Cover

TINY = 1e-12
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


def test_without_decays_adam_takes_the_gradient_over_its_size() -> None:
    """beta1 = 0: m is the gradient, whatever z; and with beta2 = 0 and z = 1 a step is g / (|g| + eps)."""
    state, seldom, x = client_admu.begin(np.array([F(0)])), client_admu.begin(np.array([F(0)])), F(0)
    for g in (F(3), F(-1, 4), F(5)):
        state = admu(state, np.array([g]), eta_l=F(1), beta1=F(0), beta2=F(0), eps=F(1, 2))
        seldom = admu(seldom, np.array([g]), eta_l=F(1), beta1=F(0), beta2=F(3, 4), eps=F(1, 2), z=3)
        x -= g / (abs(g) + F(1, 2))
        assert (state.m[0], seldom.m[0], state.x[0]) == (g, g, x)


def walks(rule: Any, K: int, z: int, v0: float, eps: float) -> Iterator[float]:
    """How far random gradients within [-1, 1] move a coordinate: Delta / eta_l."""
    rng = np.random.default_rng(K + 10 * z)
    begin = client_agdu.begin if rule is agdu else client_admu.begin
    decays = {} if rule is agdu else {"beta1": 0.9, "beta2": 0.999}
    for _ in range(30):
        state = begin(np.zeros(40), v0=v0)
        late = np.arange(K)[:, None] % z > 0
        scale = np.where(late, 1.0, rng.choice((0.0, 0.05, 1.0), (K, 40)))
        for g in rng.uniform(-0.2, 1, (K, 40)) * scale:
            state = rule(state, g, eta_l=1.0, eps=eps, z=z, **decays)
        yield float(np.abs(state.x).max())


@pytest.mark.parametrize(("K", "z", "v0"), [(1, 1, 0.0), (6, 1, 0.0), (6, 2, 0.25), (9, 4, 0.0)])
def test_how_far_a_client_can_go(K: int, z: int, v0: float) -> None:
    """Lemma 15 without its stray eta_l, Lemma 30, and K G / eps for Adam in place of Lemma 28; G = 1."""
    eps, n = 0.25, ceil(K / z)
    late = (K - n) / (sqrt(v0) + eps)
    far = max(walks(agdu, K, z, v0, eps))
    assert far <= sqrt(n * log(1 + n / eps**2)) + late + TINY
    assert far <= n + late + TINY and far > 0.5
    assert max(walks(admu, K, z, 0.0, eps)) <= K / eps + TINY


def test_the_printed_bounds_are_broken() -> None:
    """Gradients that come only where v is not updated: Lemma 15 has eta_l once too often, Lemma 28 no correction."""
    eta_l, n, eps = 0.01, 2, 0.1
    state = client_agdu.begin(np.zeros(1))
    for g in (0, 1, 0, 1):
        state = agdu(state, np.array([float(g)]), eta_l=eta_l, eps=eps, z=2)
    printed = eta_l * (sqrt(n * log(1 + n / eps**2)) + eta_l * (4 - n) / eps)
    assert abs(state.x[0]) == pytest.approx(0.2) and abs(state.x[0]) > printed
    assert abs(state.x[0]) <= eta_l * (sqrt(n * log(1 + n / eps**2)) + (4 - n) / eps)
    other = client_admu.begin(np.zeros(1))
    for g in (0, 1):
        other = admu(other, np.array([float(g)]), eta_l=1.0, beta1=0.9, beta2=0.999, eps=1e-3, z=2)
    # n = 1 update: K sqrt(1) + K (1 - beta1^K) / eps.
    assert abs(other.x[0]) > 2 + 2 * (1 - 0.9**2) / 1e-3


def test_a_larger_start_shortens_every_step() -> None:
    """For given gradients; the change itself need not shrink, since steps may cancel."""
    gradients = np.random.default_rng(2).normal(size=(6, 20))
    for rule, begin, more in (
        (agdu, client_agdu.begin, {}),
        (admu, client_admu.begin, {"beta1": 0.5, "beta2": 0.75}),
    ):
        paths = []
        for v0 in (0.0, 0.5, 8.0):
            states = [begin(np.zeros(20), v0=v0)]
            for g in gradients:
                states.append(rule(states[-1], g, eta_l=1.0, eps=0.25, z=2, **more))
            paths.append(np.abs(np.diff([s.x for s in states], axis=0)))
        assert (paths[0] >= paths[1] - TINY).all() and (paths[1] >= paths[2] - TINY).all()
