"""Rounds of adaptive or bounded clients: in blocks of any size, with repeated draws, as the specification has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.support import DEVICES, DTYPES, assert_close, choices, dyadic, mirrored

from fedspec.catalogue import FAMILIES, Program
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import QuadraticClients as Exact
from fedspec.readings import Strategy
from fedspec_torch import population
from fedspec_torch.problems import QuadraticClients

HYPER = {
    "eta": 0.75,
    "eta_l": 0.125,
    "beta1": 0.875,
    "beta2": 0.9375,
    "beta1_l": 0.5,
    "beta2_l": 0.75,
    "eps": 0.03125,
    "tau": 0.125,
    "v0": 0.0625,
    "v0_l": 0.0625,
    "m0_l": 0.25,
    "eps_s": 1.25,
    "z": 2,
    "epoch": 2,
    "warm_up": 3,
    "clip_norm": 0.5,
    "sigma": 0.25,
}
SHAPES = {"W": (2, 2), "b": (1,)}
N, D = 4, 5
WHO, STEPS = (2, 0, 2, 3, 1, 3), (3, 1, 2, 4, 1, 2)
ROWS = FAMILIES["adaptive on both sides"]
SOLVERS = [str(s) for s in Strategy]


def plans(takes: tuple[str, ...]) -> list[Plan]:
    """Two rounds with repeated draws."""
    n = len(WHO)
    more: dict[str, Any] = {"repeats": True}
    if "strategies" in takes:
        more["strategies"] = tuple((SOLVERS * 2)[:n])
    if "scales" in takes:
        more["scales"] = (0.5, 1.0, 2.0, 1.0, 0.25, 1.0)
    if "noise" in takes:
        more["noise"] = tuple(dyadic(9, D).tolist())
    turned = {k: v[::-1] if k in ("strategies", "scales") else v for k, v in more.items()}
    return [Plan(WHO, STEPS, (1,) * n, **more), Plan(WHO[::-1], STEPS, (1,) * n, **turned)]


@pytest.mark.table(10)
@pytest.mark.long
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "size", [pytest.param(1, marks=pytest.mark.long), 4, pytest.param(100, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("row", ROWS, ids=lambda a: a.id)
def test_blocks_of_any_size(
    row: Any, size: int, dtype: torch.dtype, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(population, "default_block", lambda x: size)
    mirror = mirrored(row)
    assert isinstance(row.run, Program)
    A = dyadic(1, N, D, D) / 4
    H, e, x0 = A @ A.transpose(0, 2, 1) + np.eye(D) / 8, dyadic(2, N, D), dyadic(0, D)
    setup = Setup((1,) * N, SHAPES)
    for options in choices(row):
        h = row.run.hyper(**{n: HYPER[n] for n in row.numbers_under("round", options)}, **options)
        theirs = row.run.init(h, x0, setup)
        ours = mirror.init(h, torch.tensor(x0, dtype=dtype, device=device), setup)
        clients = QuadraticClients(
            torch.tensor(H, dtype=dtype, device=device), torch.tensor(e, dtype=dtype, device=device)
        )
        for plan in plans(row.run.takes):
            theirs, want = row.run.step(h, theirs, Exact(H, e).clients, plan)
            ours, got = mirror.step(h, ours, clients, plan)
            assert set(got) == set(want)
            for name, value in {**want, "x": theirs.x}.items():
                number = np.asarray(value).astype(str(dtype).removeprefix("torch."))
                assert_close({**got, "x": ours.x}[name], number, 64.0, f"{options} {name}")
