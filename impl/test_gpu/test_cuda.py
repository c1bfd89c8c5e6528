"""The mirror on a GPU: every way, the fused kernel, whole runs, saved runs and memory, held to the CPU.

One command on a machine that has torch, Triton, NumPy and pytest is in docs/training.md; no other test and no conftest
is needed. FEDSPEC_DEVICE names another device: with ``cpu`` (and TRITON_INTERPRET=1) these tests show that they
run, and nothing of a GPU.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror import fused_cases
from test_mirror.federations import TRAINABLE, hyper, quadratic, schedule
from test_mirror.fused_cases import CASES, RUNS
from test_mirror.support import ended
from torch import nn

from fedspec_torch import Federation, cohorts, resume, simulate
from fedspec_torch.federation.autotune import Choice
from fedspec_torch.federation.federation import on
from fedspec_torch.local.runs import run_in_place
from fedspec_torch.local.solvers import along
from fedspec_torch.refusals import LayersError
from fedspec_torch.ways.graphs import Recording, recordings
from fedspec_torch.ways.table import methods

DEVICE = os.environ.get("FEDSPEC_DEVICE", "cuda")

if DEVICE != "cpu" and not torch.cuda.is_available():
    pytest.skip(f"torch {torch.__version__} finds no CUDA device", allow_module_level=True)

pytestmark = pytest.mark.gpu
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")

MODULES = {
    "linear": lambda: nn.Linear(6, 3),
    "two layers": lambda: nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 3)),
    "tanh": lambda: nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4, bias=False), nn.ReLU(), nn.Linear(4, 3)),
    "convolution": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 6)), nn.Conv1d(1, 4, 3), nn.GELU(), nn.Flatten(), nn.Linear(16, 3)
    ),
    "image": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)
    ),
}


def ways_of(name: str) -> list[str]:
    """Ways that take such a module on a GPU."""
    chain, image = name in ("linear", "two layers", "tanh"), name == "image"
    others = {"compiled": False, "layered": chain, "channels_last": image}
    return [way for way in methods() if others.get(way, True)]


def federation(name: str, way: str | None, dtype: torch.dtype, **more: Any) -> Federation:
    torch.manual_seed(0)
    module = MODULES[name]().to(dtype)
    data = [(torch.randn(12, 6).to(dtype), torch.randint(3, (12,))) for _ in range(5)]
    return Federation(module, nn.functional.cross_entropy, data, batch_size=5, way=way, **more)


@pytest.fixture(autouse=True)
def products_in_full() -> Iterator[None]:
    """cuDNN rounds float32 to tf32 unless it is told not to."""
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield


def assert_near(got: Any, want: Any, rtol: float) -> None:
    """In the norm: a float32 product in another order differs in its small entries."""
    got, want = (np.asarray(torch.as_tensor(x).cpu(), float) for x in (got, want))
    assert got.shape == want.shape and np.linalg.norm(got - want) <= rtol * np.linalg.norm(want)


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-12), (torch.float32, 1e-5)], ids=str)
@pytest.mark.parametrize(("name", "way"), [(name, way) for name in MODULES for way in ways_of(name)])
def test_every_way_gives_the_gradients_of_the_cpu(name: str, way: str, dtype: torch.dtype, rtol: float) -> None:
    ours, theirs = on(federation(name, way, dtype), DEVICE), federation(name, "looped", torch.float64)
    who, x = (4, 0, 2), theirs.x0 + 0.25 * torch.randn(3, len(theirs.x0)).double()
    clients, others = ours.in_round(1), theirs.in_round(1)
    for k in range(3):
        g = clients.oracle(who)(k, x.to(DEVICE, dtype))
        assert g.device.type == torch.device(DEVICE).type
        assert_near(g, others.oracle(who)(k, x), rtol)
    assert_near([float(clients.losses[i]) for i in who], [float(others.losses[i]) for i in who], rtol)


@pytest.mark.parametrize("tau", [4, (5, 3, 3, 1)], ids=str)
@pytest.mark.parametrize("name", ["linear", "two layers", "tanh"])
def test_whole_local_runs_in_place(name: str, tau: Any) -> None:
    ends = []
    for fed in (on(federation(name, "layered", torch.float64), DEVICE), federation(name, "looped", torch.float64)):
        x = fed.x0.expand(4, -1)
        ends.append(run_in_place(along(lambda k: 0.5**k), x, fed.oracle((3, 1, 0, 4)), tau)[0].cpu())
    assert_near(ends[0], ends[1], 1e-12)


@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox", "fedadam", "fedada2", "joint-local", "fedadaadam"])
def test_recorded_runs_are_those_step_by_step(algorithm: str) -> None:
    """As CUDA graphs; on a CPU nothing is recorded, which shows that the test runs."""
    row = next(row for row in TRAINABLE if row.id == algorithm)
    ends = []
    for way in (None, "layered"):
        fed = on(federation("tanh", way, torch.float64), DEVICE)
        if way is None:
            fed.ways._agreed.add("layered")
            fed.choices.update({size: Choice("layered", "told", "in place") for size in range(1, 5)})
        *_, run = (ended(row.id, fed, plan=cohorts(4, steps=3), rounds=5, **hyper(row)) for _ in range(2))
        ends.append(([r.loss for r in run.history], run.x))
        known = recordings(fed.network, fed.x0[None]).values()
        assert any(isinstance(found, Recording) for found in known) == (way is None and DEVICE != "cpu"), known
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=1e-12)
    assert_near(ends[0][1], ends[1][1], 1e-12)


@needs_triton
@pytest.mark.parametrize("name", CASES)
def test_the_fused_kernel_as_the_cpu_in_float64(name: str) -> None:
    models, losses = CASES[name].trained("fused", device=DEVICE)
    want, first = CASES[name].trained("looped", torch.float64)
    begin = CASES[name].federation("looped", torch.float64).x0.numpy()
    assert_near(models - begin, want - begin, 1e-4)
    assert_near(models, want, 1e-5)
    np.testing.assert_allclose(losses, first, rtol=1e-5)


@needs_triton
@pytest.mark.parametrize("algorithm", RUNS)
def test_whole_runs_by_the_fused_kernel(algorithm: str) -> None:
    x, losses = fused_cases.simulated(algorithm, "fused", device=DEVICE)
    want, told = fused_cases.simulated(algorithm, "looped", torch.float64)
    assert_near(x, want, 1e-5)
    np.testing.assert_allclose(losses, told, rtol=1e-5)


@needs_triton
@pytest.mark.parametrize("clients", [1, 100, 3000])
def test_many_clients_by_the_fused_kernel(clients: int) -> None:
    """Clients of the benchmark's sizes, as the layers that are written out; every row is written."""
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    inputs, targets = torch.randn(clients, 40, 64), torch.randint(10, (clients, 40))
    few = 1 if DEVICE == "cpu" else clients
    ends = []
    for way in ("fused", "layered"):
        data = list(zip(inputs[:few], targets[:few], strict=True))
        fed = on(Federation(module, nn.functional.cross_entropy, data, batch_size=32, way=way), DEVICE)
        fed.network.buffer(fed.x0.expand(few, -1)).fill_(torch.nan)
        tau = tuple(10 - 9 * i // few for i in range(few))
        x = fed.x0.expand(few, -1)
        ends.append(run_in_place(along(lambda k: 0.1), x, fed.oracle(range(few)), tau)[0].clone() - fed.x0)
    assert_near(ends[0], ends[1], 1e-3)


@needs_triton
def test_the_kernel_is_measured_beside_the_layers_and_comes_to_their_models() -> None:
    fed = on(CASES["mlp"].federation(None), DEVICE)
    simulate("fedavg", fed, plan=cohorts(None, steps=3), rounds=1, eta_l=0.25).step()
    for choice in fed.choices.values():
        assert "models are" not in choice.why
        # On a CPU compiled loops take part too.
        assert DEVICE == "cpu" or (choice.run in ("fused", "in place") if choice.name == "layered" else not choice.run)


@pytest.mark.parametrize("way", ["looped", "stacked"])
@pytest.mark.parametrize("row", TRAINABLE, ids=lambda row: row.id)
def test_runs_of_every_algorithm_as_on_the_cpu(row: Any, way: str) -> None:
    ends = []
    for device in (DEVICE, "cpu"):
        fed = on(quadratic(batch_size=3, way=way)[0], device)
        ends.append(ended(row.id, fed, plan=schedule(row), **hyper(row)))
    assert_near(*(run.x for run in ends), 1e-9)
    np.testing.assert_allclose(*([r.loss for r in run.history] for run in ends), rtol=1e-9)


@pytest.mark.parametrize("algorithm", ["fedavg", "scaffold", "fed-lamb", "fedada2", "afga", "cc-fedams"])
def test_runs_of_layers_that_are_written_out_as_on_the_cpu(algorithm: str) -> None:
    row = next(row for row in TRAINABLE if row.id == algorithm)
    feds = [on(federation("tanh", "layered", torch.float64), device) for device in (DEVICE, "cpu")]
    assert_near(*(ended(row.id, fed, plan=schedule(row, clients=5), **hyper(row)).x for fed in feds), 1e-9)


def test_gradients_in_bfloat16_are_near_those_in_float32() -> None:
    feds = [federation("convolution", "stacked", torch.float32, precision=precision) for precision in ("bf16", None)]
    ends = [ended("fedavg", on(fed, DEVICE), plan=cohorts(None, steps=2), eta_l=0.1).x for fed in feds]
    assert ends[0].dtype == torch.float32
    assert_near(*ends, 0.02)


@pytest.mark.skipif(DEVICE == "cpu", reason="compiled is a way of the CPU")
def test_loops_of_the_cpu_are_refused_there() -> None:
    fed = on(federation("tanh", "compiled", torch.float64), DEVICE)
    with pytest.raises(LayersError, match=r"compiled: .*(on cuda|not installed)"):
        simulate("fedavg", fed, plan=cohorts(None), rounds=1, eta_l=0.1).step()


def test_a_saved_run_goes_on_on_the_device(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    ends = []
    for stops in (True, False):
        fed = on(federation("tanh", "layered", torch.float64), DEVICE)
        run = simulate("fedadam", fed, plan=cohorts(3, steps=(1, 4)), rounds=4, **RUNS["fedadam"], eta_l=0.25)
        run.step()
        if stops:
            run.save(tmp_path / "run")
            run = resume(tmp_path / "run", on(federation("tanh", "layered", torch.float64), DEVICE))
        list(run)
        ends.append(run.x)
    # Products are added in the order of the library, which promises none from one call to the next.
    assert_near(*ends, 1e-12)


@pytest.mark.skipif(DEVICE == "cpu", reason="torch counts what a GPU holds")
@pytest.mark.parametrize("way", ["layered", "fused"])
@pytest.mark.parametrize("algorithm", ["fedavg", "fednova"])
def test_a_round_holds_no_more_than_three_blocks(algorithm: str, way: str) -> None:
    """Beside model and data, and the block that the first round leaves."""
    if way == "fused" and find_spec("triton") is None:
        pytest.skip("triton is not installed")
    torch.manual_seed(0)
    data = [(torch.randn(4, 64), torch.randint(0, 10, (4,))) for _ in range(512)]
    module = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    fed = on(Federation(module, nn.functional.cross_entropy, data, batch_size=4, way=way), DEVICE)
    run = simulate(algorithm, fed, plan=cohorts(None), block=128, eta_l=0.1)
    run.step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run.step()
    torch.cuda.synchronize()
    assert torch.cuda.max_memory_allocated() - before < 3 * 128 * 4 * len(fed.x0)
