"""Local steps in compiled loops, held to the other ways, and to what they must say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.fused_cases import CASES, Case
from test_mirror.kinds import Around
from test_mirror.support import ended
from torch import nn

from fedspec_torch import Federation, cohorts
from fedspec_torch.federation.autotune import Choice
from fedspec_torch.local.runs import run_in_place
from fedspec_torch.local.solvers import along
from fedspec_torch.refusals import LayersError
from fedspec_torch.ways import loops

SIZES = {
    **CASES,
    "three layers": Case((7, 11, 9, 4), 6, (5, 3, 3, 2), bias=(True, False, True), shuffled=False),
    "room for half of a layer": Case((600, 40, 3), 4, (3, 2, 2, 1), shuffled=False),
}


@pytest.mark.table(5)
@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("way", ["layered", "looped", "stacked"])
def test_its_models_and_losses_are_those_of_other_ways(name: str, way: str) -> None:
    want, losses = SIZES[name].trained(way, torch.float64)
    # Of what a client's run has changed: the models themselves may be much larger.
    moved = np.abs(want - SIZES[name].federation("looped", torch.float64).x0.numpy()).max()
    for dtype, share in ((torch.float64, 1e-11), (torch.float32, 2e-6)):
        got, told = SIZES[name].trained("compiled", dtype)
        assert np.abs(got - want).max() <= share * moved and np.allclose(told, losses, rtol=share, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("place", [0, 20, -1])
def test_what_is_no_number_stays_none(dtype: torch.dtype, place: int) -> None:
    federation = SIZES["three layers"].federation("compiled", dtype)
    x = federation.x0.repeat(2, 1)
    x[1, place] = float("nan")
    clients = federation.in_round(0)
    g = clients.oracle([0, 1])(0, x)
    assert g[0].isfinite().all() and np.isfinite(clients.losses[0]) and np.isnan(clients.losses[1])
    assert g[1].isnan().any()


@pytest.mark.parametrize(
    ("module", "loss", "pair", "words"),
    [
        (nn.Sequential(nn.ReLU(), nn.Linear(3, 2)), "cross_entropy", (3, 0), "an activation before the first layer"),
        (nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Tanh()), "mse_loss", (3, 2), "or two after one"),
        (nn.Linear(3, 2), "cross_entropy", (4, 0), "4 features in torch.float32, not 3 in torch.float32"),
        (nn.Linear(3, 2).double(), "cross_entropy", (3, 0), "3 features in torch.float32, not 3 in torch.float64"),
        (nn.Linear(3, 2), "cross_entropy", (3, 2), "no class numbers in int64"),
        (nn.Linear(3, 2), "mse_loss", (3, 1), "without a target for each output"),
    ],
)
def test_what_it_does_not_take_is_refused_by_name(module: Any, loss: str, pair: tuple[int, int], words: str) -> None:
    features, outputs = pair
    data = [(torch.ones(4, features), torch.ones(4, outputs) if outputs else torch.zeros(4).long())]
    federation = Federation(module, getattr(nn.functional, loss), data, batch_size=2, way="compiled")
    with pytest.raises(LayersError, match=words):
        federation.in_round(0).oracle([0])(0, federation.x0[None])


def test_a_missing_package_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "missing_packages", lambda: ("numba",))
    with pytest.raises(LayersError, match=r"numba not installed: pip install '\./impl\[fast\]'"):
        CASES["odd"].trained("compiled")
    federation = CASES["odd"].federation(None)
    federation.in_round(0).oracle([0, 1])(0, federation.x0.repeat(2, 1))
    (choice,) = federation.choices.values()
    assert choice.name != "compiled" and "compiled refused (numba not installed" in choice.why


@pytest.mark.parametrize("precision", [None, "bf16"])
def test_whole_runs_alone_are_those_step_by_step(precision: str | None) -> None:
    """Gradients of a module that nobody can look into: a parameter used twice, one that is frozen, one not seen."""
    torch.manual_seed(3)
    parts = {"one": nn.Linear(5, 5), "two": nn.Linear(5, 3), "unseen": nn.Parameter(torch.ones(2))}
    module: Any = Around(lambda self, x: self.two(self.one(self.one(x)).tanh()), **parts)
    module.one.bias.requires_grad_(False)
    before = [p.clone() for p in module.parameters()]
    data = [(torch.randn(n, 5), torch.randint(3, (n,))) for n in (7, 4, 9)]
    ends = []
    for way in ("looped", "stacked"):
        fed = Federation(module, nn.functional.cross_entropy, data, batch_size=4, way=way, precision=precision)
        run = ended("fedavg", fed, plan=cohorts(None, steps=(1, 5), seed=1), eta_l=0.5)
        ends.append((run.x, [done.loss for done in run.history]))
    exact = precision is None
    assert torch.allclose(ends[0][0], ends[1][0], rtol=1e-5 if exact else 0.1, atol=1e-6 if exact else 0.02)
    assert ends[0][1] == pytest.approx(ends[1][1], rel=1e-5 if exact else 0.02)
    assert all(torch.equal(p, b) for p, b in zip(module.parameters(), before, strict=True))


def test_a_run_that_was_chosen_elsewhere_is_taken_in_place_where_it_is_not_offered() -> None:
    """A saved run knows the way of another machine, a GPU's kernel say."""
    ends = []
    for elsewhere in ("", "fused", "alone"):
        federation = CASES["odd"].federation(None)
        federation.choices[3] = Choice("compiled", "measured elsewhere", elsewhere or "in place")
        x = federation.x0.expand(4, -1)
        ends.append(run_in_place(along(lambda k: 0.5), x, federation.in_round(0).oracle([0, 1, 2, 3]), 3)[0].clone())
    assert all(torch.equal(end, ends[0]) for end in ends[1:])
