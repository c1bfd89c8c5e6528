"""The benchmarks compare what computes the same: a row that ends with another loss is void."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import fedspec_bench
from fedspec_bench.algorithms import HYPER, RAGGED, client_steps
from fedspec_bench.job import Job
from fedspec_bench.micro import allocated
from fedspec_bench.networks import NETWORKS, WORKLOADS
from fedspec_bench.peers.mirror import peer as mirror
from fedspec_bench.peers.spec import peer as spec
from fedspec_bench.peers.torch_optim import peer as torch_optim
from fedspec_bench.peers.torch_optim.networks import network
from fedspec_bench.rows import Row, verdict
from fedspec_bench.side_by_side import judged
from fedspec_bench.suite import BARE, COHORT, groups
from fedspec_bench.table import cells
from fedspec_bench.targets import TARGETS, Results
from fedspec_bench.worker import STATUS
from fedspec_bench.workloads import Workload, gradient
from fedspec_torch import Federation, cohorts, simulate

pytestmark = pytest.mark.table(1)

SMALL = (("clients", 4), ("examples", 24), ("batch", 8), ("steps", 3))
ROUNDS = 2


def loss(peer: Any, job: Job) -> float:
    threads = torch.get_num_threads()
    trainer = peer.start(job)
    for _ in range(ROUNDS):
        trainer.round()
    torch.set_num_threads(threads)
    return job.work.loss(trainer.model())


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("workload", ["lr", "mlp"])
def test_ours_the_loop_and_the_specification_end_with_one_loss(workload: str) -> None:
    """And whoever takes another rate, one step fewer or the examples in another order does not."""
    job = Job("", workload, changes=SMALL)
    start, reference = job.work.loss(job.work.start), loss(spec, job)
    assert start - reference > 0.02
    for peer, variant in ((mirror, ""), (mirror, "any-module"), (torch_optim, "")):
        assert not verdict(loss(peer, replace(job, variant=variant)), reference, start)
    for change in (("eta_l", 0.101), ("steps", 2), ("batch", 12)):
        wrong = loss(torch_optim, replace(job, changes=(*SMALL, change)))
        assert "another computation" in verdict(wrong, reference, start), change
    assert "no reference" in verdict(reference, None, start)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [a for a in HYPER if a != "fedavg"])
def test_every_algorithm_ends_with_the_loss_of_the_specification(algorithm: str) -> None:
    steps = RAGGED if algorithm == "fednova" else 3
    job = Job("", "lr", algorithm=algorithm, changes=(*SMALL[:3], ("steps", steps)))
    start, reference = job.work.loss(job.work.start), loss(spec, job)
    assert abs(start - reference) > 1e-3
    assert not verdict(loss(mirror, job), reference, start)
    assert client_steps(job, 0) > 0


def rows(*losses: tuple[str, float]) -> list[Row]:
    return judged([Row(Job(peer, "lr"), (0.1,), (0.1,), (1000,), loss=value) for peer, value in losses])


def test_a_row_with_another_loss_is_void_and_used_nowhere() -> None:
    start = WORKLOADS["lr"].loss(WORKLOADS["lr"].start)
    same, other, _ = found = rows(("mirror", start - 1), ("torch_optim", start - 0.9), ("spec", start - 1))
    assert same.counts and not other.counts and "another computation" in other.void
    results = Results([found], {"1": [{"mm_gflops": 100.0}]}, {})
    assert results.rate("mirror", "lr") == 10_000
    with pytest.raises(LookupError):
        results.rate("torch_optim", "lr")
    assert cells(other, results)[-1].startswith("void: ends with loss")
    assert all(target.line(results)[-1] == "-" for target in TARGETS)


def test_on_a_gpu_rates_are_those_of_the_gpu_and_nobody_on_a_cpu_is_beaten_by_it() -> None:
    """Every target whose rows ran on the GPU finds them; those of peers that ran on the CPU are not measured."""
    asked = [[job for job in group.jobs if job.peer != "spec"] for group in groups(quick=False, device="cuda")]
    counts = {"cuda": (2000,), "cpu": (1000,)}
    found = [[Row(job, (0.1,), (0.1,), counts[job.device], loss=1.0) for job in jobs] for jobs in asked]
    results = Results(found, {"1": [{"mm_gflops": 100.0}]}, {}, "cuda")
    assert results.rate("mirror", "mlp") == 20_000
    said = {line[0]: line[2] for line in (target.line(results) for target in TARGETS)}
    for name in (
        "any module over the torch.optim loop, LR",
        f"LR, cohort {COHORT} over cohort 100",
        "MLP, FedNova with K_i in 1..20 over equal K",
        "MLP, SM3 clients (FedAda2) over SGD clients",
    ):
        assert said[name] == "1"
    assert said["MLP, share of torch.mm"] != "not measured"
    for name in ("LR, client-steps/s over JAX by hand", "MLP over pfl", "two cores over one, MLP"):
        assert said[name] == "not measured"
    here, there = (next(row for row in found[0] if row.job.peer == peer) for peer in ("mirror", "jax"))
    assert cells(here, results)[3].endswith("%") and cells(there, results)[3] == "-"


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_bare_run_asks_for_nobody_who_needs_an_environment(device: str) -> None:
    chosen = list(groups(quick=False, device=device, bare=True))
    assert {job.peer for group in chosen for job in group.jobs} == set(BARE)
    ours = {job.device for group in chosen for job in group.jobs if job.peer in ("mirror", "torch_optim")}
    assert ours == {device}
    for group in chosen:
        assert len({job.workload for job in group.jobs}) == 1 and any(job.peer == "spec" for job in group.jobs)


def test_nothing_counts_where_the_specification_did_not_run() -> None:
    assert not any(row.counts for row in rows(("mirror", 1.0)))


def test_the_gradient_in_numpy_is_the_slope_of_the_loss() -> None:
    work = replace(WORKLOADS["mlp"], clients=1, examples=8)
    assert isinstance(work, Workload)
    inputs, targets = (part[0] for part in work.data)
    x = work.start.astype(float)
    g = gradient(work, x, inputs.astype(float), targets)
    rng = np.random.default_rng(3)
    for _ in range(3):
        u = rng.standard_normal(len(x))
        slope = (work.loss(x + 1e-6 * u) - work.loss(x - 1e-6 * u)) / 2e-6
        assert abs(slope - g @ u) < 1e-6 * np.linalg.norm(g) * np.linalg.norm(u)


def test_the_most_that_a_call_holds_at_a_time() -> None:
    def call() -> None:
        first = torch.empty(1000)
        del first
        torch.empty(300)

    assert allocated(call) == 4000


@pytest.mark.parametrize(("algorithm", "most"), [("fedavg", 1.6), ("fednova", 1.9)])
def test_a_round_holds_one_block_at_a_time(algorithm: str, most: float) -> None:
    """Beside the models that it keeps for its steps: the changes of a block, and a few vectors."""
    torch.manual_seed(0)
    data = [(torch.randn(2, 200), torch.randint(0, 500, (2,))) for _ in range(32)]
    federation = Federation(nn.Linear(200, 500), nn.functional.cross_entropy, data, batch_size=2, way="layered")
    run = simulate(algorithm, federation, plan=cohorts(None), block=8, eta_l=0.1)
    run.step()
    vector = 4 * len(federation.x0)
    # After the second round two clients are looked at again, in two ways: some two dozen vectors, whatever the block.
    assert allocated(run.step) < 24 * vector
    assert allocated(run.step) < most * 8 * vector


MEMORY = """
from fedspec_bench.worker import memory, memory_held
passing = bytearray(b"x") * (300 << 20)
del passing
base = memory_held()
rounds = bytearray(b"x") * (50 << 20)
del rounds
print((memory("VmHWM") - base) / 2**20)
"""


@pytest.mark.skipif(not STATUS.exists(), reason="elsewhere than on Linux nobody tells what a process holds")
def test_what_rounds_add_to_memory_does_not_hide_behind_the_set_up() -> None:
    """Making the data held 300 MiB for a moment, rounds 50."""
    ran = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(ran.stdout) == pytest.approx(50, abs=5)


SEVERAL = [pytest.param(name, marks=[] if name in ("cnn", "lora") else pytest.mark.outside) for name in NETWORKS]
FEW = (("clients", 2), ("examples", 16), ("batch", 8), ("steps", 2))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["fedavg", "fedada2"])
@pytest.mark.parametrize("workload", SEVERAL)
def test_ours_and_the_loop_train_real_modules_alike(workload: str, algorithm: str) -> None:
    job = Job("", workload, algorithm=algorithm, changes=FEW)
    start, reference = job.work.loss(job.work.start), loss(spec, job)
    assert abs(start - reference) > 1e-3
    for peer in (mirror, torch_optim):
        assert not verdict(loss(peer, job), reference, start)
    wrong = loss(torch_optim, replace(job, changes=(*FEW, ("steps", 1))))
    assert "another computation" in verdict(wrong, reference, start)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("workload", SEVERAL)
def test_real_modules_in_jax_are_those_in_torch(workload: str) -> None:
    networks = importlib.import_module("fedspec_bench.peers.jax.networks")
    work = replace(NETWORKS[workload], clients=1, examples=4)
    x, batch = work.start, work.data[0][0]
    told = np.asarray(networks.forward(work)(networks.parts(x, work.shapes), batch))
    want = network(work)(torch.from_numpy(batch)).detach().numpy()
    np.testing.assert_allclose(told, want, rtol=1e-4, atol=1e-5)


BARE_ENVIRONMENT = """
import sys

class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {"fedspec", "fedspec_torch", "fedspec_suite"}:
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
sys.path.insert(0, sys.argv[1])
from fedspec_bench.job import Job
from fedspec_bench.peers.torch_optim.networks import module
print(sum(p.numel() for p in module(Job("pfl", "lr").work).parameters()))
"""


def test_peers_in_environments_of_their_own_need_no_fedspec() -> None:
    """pfl and Flower train the same modules, and see nothing but what their pins hold."""
    folder = str(Path(fedspec_bench.__file__).parents[1])
    asked = [sys.executable, "-I", "-c", BARE_ENVIRONMENT, folder]
    ran = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["650"], ran.stderr
