"""Covers as tensor operations, and SM3 over them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch
from test_mirror.federations import hyper
from test_mirror.support import DEVICES, dyadic

from fedspec.catalogue import find
from fedspec.covers import AnyCover, Cover, named_cover
from fedspec.plan import Setup
from fedspec.readings import CoverName

SHAPES = (
    {"w": (7,)},
    {"w": (3, 4)},
    {"w": (2, 3, 4)},
    {"a": (3, 4), "b": (5,), "c": (2, 1, 3), "d": (1,)},
    {"a": (), "b": (3, 2)},
)
OVERLAPPING = Cover(((0, 1, 2), (2, 3, 4, 5), (5, 0), (6,), (1, 6, 4), (6,)), 7)


def assert_same(sets: AnyCover, cover: Cover, device: str = "cpu") -> None:
    values, mu = dyadic(0, 3, cover.d), dyadic(1, 3, len(cover.sets))
    greatest = sets.greatest(torch.tensor(values, device=device))
    least = sets.least(torch.tensor(mu, device=device))
    assert sets.q == len(cover.sets)
    np.testing.assert_array_equal(greatest.cpu(), np.stack([values[:, list(s)].max(1) for s in cover.sets], 1))
    np.testing.assert_array_equal(least.cpu(), np.stack([mu[:, cover.holding(j)].min(1) for j in range(cover.d)], 1))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", CoverName)
def test_named_covers_are_their_sets(name: CoverName, shapes: dict[str, tuple[int, ...]], device: str) -> None:
    cover = named_cover(name, shapes)
    assert_same(cover, cover.listed, device)
    assert_same(cover.listed, cover.listed, device)


@pytest.mark.parametrize("device", DEVICES)
def test_any_overlapping_cover(device: str) -> None:
    assert_same(OVERLAPPING, OVERLAPPING, device)


@pytest.mark.parametrize("algorithm", ["fedada2", "fedblended", "dp-joint"])
def test_a_state_over_tensors_holds_no_coordinate_in_python(algorithm: str) -> None:
    """Tensors are not among what is counted: what is left is as much for a million coordinates as for one."""
    row, shapes = find(algorithm), {"w": (1000, 999), "b": (1000,)}
    x, h = torch.zeros(10**6), row.run.hyper(**hyper(row))  # type: ignore[union-attr]
    tracemalloc.start()
    try:
        state = row.run.init(h, x, Setup((1,), shapes))  # type: ignore[call-arg, union-attr]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert state.cover.q == 2999
    assert most < 100_000
