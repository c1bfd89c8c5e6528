"""Single operations compared with the hardware limit that bounds them; each function runs in a pinned process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from fedspec.catalogue import find
from fedspec.mixing.topology import ring
from fedspec.plan import Exchange
from fedspec.readings import Epsilon
from fedspec_bench.job import Job
from fedspec_bench.machine import seconds, wait
from fedspec_bench.networks import WORKLOADS
from fedspec_bench.peers.mirror.peer import Mirror
from fedspec_bench.targets import HOLDING
from fedspec_torch import Federation, cohorts, simulate
from fedspec_torch.fast_paths.gossip import links
from fedspec_torch.fast_paths.servers import adagrad_, adam_, amsgrad_
from fedspec_torch.population import default_block
from fedspec_torch.sums.running import weighed
from fedspec_torch.ways.layered import workspace

ROOT = Path(__file__).resolve().parents[2]

D = 10**7

SERVERS: dict[str, tuple[int, Callable[..., Any], dict[str, float]]] = {
    "fedadagrad": (28, adagrad_, {"eta": 0.1, "beta1": 0.9, "tau": 1e-3}),
    "fedadam": (28, adam_, {"eta": 0.1, "beta1": 0.9, "beta2": 0.99, "tau": 1e-3}),
    "fedamsgrad": (
        36,
        partial(amsgrad_, epsilon=Epsilon.INSIDE),
        {"eta": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3},
    ),
}
"""For each server: bytes that a step must move for a float32 coordinate (x, m, v and v_hat in and out, Delta in),
the step, and its numbers.
"""


def servers(device: str = "cpu", cores: int = 1) -> dict[str, float]:
    """Return each server step's speed in GB/s, counting only the bytes that it must move, at d = 1e7."""
    torch.set_num_threads(cores)
    place = torch.device(device)
    return {
        name: size * D / 1e9 / server(name, step, numbers, place) for name, (size, step, numbers) in SERVERS.items()
    }


def server(name: str, step: Callable[..., Any], numbers: dict[str, float], place: torch.device) -> float:
    """Return the seconds of one server step from the second round on, for a given change."""
    run: Any = find(name).run
    start = {"v0": 1e-6} if "v0" in find(name).numbers else {}
    held = [run.init(run.hyper(eta_l=0.1, **numbers, **start), torch.rand(D, device=place))]
    delta = torch.rand(D, device=place) - 0.5

    def work() -> None:
        held[0] = step(held[0], delta, **numbers)

    return seconds(work, device=place, least=1.0, repeats=5)


def mixing(device: str = "cpu", cores: int = 1) -> dict[str, float]:
    """Return milliseconds of a weighted mean and of dense and ring gossip, n = 100, d = 2e5, and of plain products."""
    torch.set_num_threads(cores)
    place = torch.device(device)
    X: Any
    p: Any
    dense: Any
    sparse: Any
    X, p = torch.rand(100, 200_000, device=place), torch.full((100,), 0.01, device=place)
    out, rng = torch.empty_like(X), np.random.default_rng(0)
    dense = torch.tensor(np.mean([np.eye(100)[rng.permutation(100)] for _ in range(200)], 0), dtype=X.dtype).to(place)
    sparse = torch.tensor(ring(100), dtype=X.dtype, device=place)
    rows, w = X.cpu().numpy(), p.cpu().numpy()
    works: dict[str, Callable[[], object]] = {
        "gemv": (lambda: w @ rows) if place.type == "cpu" else (lambda: p @ X),
        "mean": lambda: weighed(p, X),
        "gemm": lambda: torch.mm(dense, X, out=out),
        "dense": lambda: links(Exchange((), ((),), dense), 100).times(X, out),
        "ring": lambda: links(Exchange((), ((),), sparse), 100).mixed(X, out),
        "copy": lambda: out.copy_(X),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(5):
        for name, work in works.items():
            times[name].append(1e3 * seconds(work, device=place, least=0.1, repeats=3))
    return {name: median(found) for name, found in times.items()}


def population(device: str = "cpu", cores: int = 1, large: int = 10**6) -> dict[str, float]:
    """Return seconds of a round with 1000 participants of 1e3 and of 1e6 clients, logistic regression, generated
    data.
    """
    torch.set_num_threads(cores)
    place = torch.device(device)
    work = WORKLOADS["lr"]
    inputs, targets = (torch.from_numpy(part).to(place) for part in work.data)
    runs, times = {}, {}
    for n in (1000, large):
        model = nn.Linear(work.sizes[0], work.sizes[1]).to(place)
        federation = Federation(
            model,
            nn.functional.cross_entropy,
            lambda i: (inputs[i % 100], targets[i % 100]),
            batch_size=work.batch,
            examples=(work.examples,) * n,
            way="layered",
        )
        runs[n], times[n] = simulate("fedavg", federation, plan=cohorts(1000, steps=10), eta_l=0.1), list[float]()
        runs[n].step()
    for _ in range(5):
        for n, run in runs.items():
            begun = time.perf_counter()
            run.step()
            wait(place)
            times[n].append(time.perf_counter() - begun)
    return {"small": median(times[1000]), "large": median(times[large])}


def memory(device: str = "cpu", cores: int = 1, clients: int = 40) -> dict[str, float]:
    """Return each algorithm's memory of a 2NN round, apart from model and data, in units of one block's stack.

    Read from torch's own records of its allocations, since freed memory stays with the process. Measured from the
    second round on, when data are in order and the way to gradients is chosen.
    """
    torch.set_num_threads(cores)
    found = {}
    for algorithm in HOLDING:
        changes = (("clients", clients), ("steps", 2))
        trainer = Mirror(Job("mirror", "2nn", algorithm=algorithm, device=device, changes=changes))
        object.__setattr__(trainer.federation, "way", "layered")
        trainer.round()
        d = trainer.federation.x0.numel()
        unit = 4 * d * min(clients, default_block(trainer.federation.x0))
        kept = workspace(trainer.federation.network, trainer.federation.x0.expand(1, -1), WORKLOADS["2nn"].batch)
        found[algorithm] = (allocated(trainer.round, device) + bytes_of({**vars(kept), "parts": ()})) / unit
    return found


def allocated(call: Callable[[], object], device: str = "cpu") -> int:
    """Return the peak bytes of tensors that a call allocates on a device."""
    if device != "cpu":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        call()
        return torch.cuda.max_memory_allocated(device) - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as told:
        call()
    recorder: Any = told.profiler
    events = [event for event in recorder.kineto_results.events() if event.name() == "[memory]"]
    changes = [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
    most: int = max(accumulate(changes, initial=0))
    return most


def bytes_of(held: Any) -> int:
    """Return the bytes of the tensors in a dict or tuple, counting a view's whole storage."""
    if isinstance(held, torch.Tensor):
        size: int = held.untyped_storage().nbytes()
        return size
    return sum(map(bytes_of, held.values() if isinstance(held, dict) else held))


def judge(device: str = "cpu", cores: int = 1, subjects: tuple[str, ...] = ("spec", "torch")) -> dict[str, float]:
    """Return seconds of ``fedspec check`` on three algorithms, also per check and per case, and of the
    specification's tests.
    """
    found: dict[str, float] = {}
    for subject in subjects:
        argv = [sys.executable, "-c", "from fedspec_suite.cli.start import main; main()"]
        argv += ["check", subject, "--profile", "quick"]
        argv += ["--jobs", str(cores), "--json", "--only", "fedavg", "--only", "fedadam", "--only", "sm3-ii"]
        took, said = _timed(argv)
        offers = json.loads(said)
        required = sum(offer["required"] for offer in offers)
        cases = sum(o["cases"] for offer in offers for o in offer["obligations"])
        found |= {subject: took, f"{subject}_obligations": required, f"{subject}_obligation": took / required}
        found |= {f"{subject}_cases": cases, f"{subject}_case": took / cases}
    took, said = _timed([sys.executable, "-m", "pytest", "-q", "-n", str(cores), str(ROOT / "spec/test_spec")])
    passed = int(re.findall(r"(\d+) passed", said)[-1])
    return found | {"tests_of_spec": passed, "tests_of_spec_seconds": took, "test_of_spec": took / passed}


def _timed(argv: list[str]) -> tuple[float, str]:
    """Seconds that a command takes, and what it prints.

    Raises:
        RuntimeError: it failed, with the first line of what it said.
    """
    begun = time.perf_counter()
    quick = {**os.environ, "FEDSPEC_PROFILE": "quick"}
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT, env=quick)
    if ended.returncode:
        raise RuntimeError((ended.stderr or ended.stdout).strip().splitlines()[0])
    return time.perf_counter() - begun, ended.stdout
