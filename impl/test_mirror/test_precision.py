"""Gradients in bfloat16 of a model in float32: what is rounded, what is not, and how far off it is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from fedspec.catalogue import find
from fedspec.contract import Offer
from fedspec.errors import UnknownNameError
from fedspec_suite.diagnosis.comparing import farthest
from fedspec_suite.measure.bench import THRESHOLD
from fedspec_torch import Federation, cohorts, simulate
from fedspec_torch.federation.federation import ModuleError
from fedspec_torch.judged.subject import SUBJECT
from fedspec_torch.refusals import LayersError


def federation(precision: str | None = "bf16", **more: Any) -> Federation:
    """Three clients with a small network."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    data = [(torch.randn(10, 6), torch.randint(3, (10,))) for _ in range(3)]
    return Federation(model, nn.functional.cross_entropy, data, batch_size=4, precision=precision, **more)


@pytest.mark.parametrize("way", ["stacked", "vmapped", "looped"])
def test_a_gradient_has_eight_bits_and_a_model_all(way: str) -> None:
    exact, rounded = federation(None, way=way), federation(way=way)
    x = exact.x0.repeat(3, 1)
    want, got = (f.oracle([0, 1, 2])(0, x) for f in (exact, rounded))
    off = float((got - want).norm() / want.norm())
    assert got.dtype == torch.float32
    assert 2.0**-12 < off < 2.0**-5


def test_a_step_below_eight_bits_is_not_lost() -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    fed = Federation(model, lambda output, target: output.mean(), [(torch.ones(1, 1), torch.ones(1))], precision="bf16")
    run = simulate("fedavg", fed, plan=cohorts(1), rounds=1, eta_l=2.0**-12)
    run.step()
    assert float(run.x) == 1 - 2.0**-12 != float(run.x.bfloat16())


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize(
    "name", ["fedavg", *(pytest.param(n, marks=pytest.mark.long) for n in ("fedada2", "fed-lamb", "afga", "cc-fedams"))]
)
def test_it_is_no_float32_and_within_the_bound_of_bfloat16(name: str) -> None:
    a = find(name)
    offer = Offer(name, "trace" if "trace" in a.levels else "round", a.readings[0].name, variant="engine in bf16")
    assert THRESHOLD < farthest(SUBJECT, offer, "float32") < THRESHOLD * 2**16


def test_what_cannot_be_rounded_so_is_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match="precision: got 'fp8'; known: bf16"):
        federation("fp8")
    with pytest.raises(UnknownNameError, match=r"'fp16', in which small gradients become 0 .*GradScaler.*give bf16"):
        federation("fp16")
    with pytest.raises(ModuleError, match=r"bf16 needs .* float32; this one is in torch\.float64"):
        Federation(nn.Linear(2, 1).double(), nn.functional.mse_loss, [], precision="bf16", batch_size=1)
    with pytest.raises(LayersError, match="bf16 is not written out"):
        federation(way="layered").oracle([0])(0, federation().x0[None])
