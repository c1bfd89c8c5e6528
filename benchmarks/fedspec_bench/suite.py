"""Groups of jobs that the benchmarks measure in turns, and their numbers of rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from fedspec_bench.algorithms import HYPER, RAGGED
from fedspec_bench.job import Job
from fedspec_bench.networks import NETWORKS
from fedspec_bench.side_by_side import Effort

OURS = (("mirror", ""), ("mirror", "any-module"))
STEPWISE = ("mirror", "layered")
"""Additional variant on a GPU: without the fused kernel, operation by operation."""
BARE = ("mirror", "torch_optim", "spec")
"""Implementations that need only torch, NumPy and this repository."""
PEERS = (
    ("torch_optim", ""),
    ("jax", "vmap"),
    ("jax", "scan"),
    ("drjax", ""),
    ("fedjax", ""),
    ("pfl", ""),
    ("flower", ""),
    ("native", ""),
)
SPEC = ("spec", "")
TWO_CORES = (("mirror", ""), ("torch_optim", ""), ("jax", "vmap"), ("jax", "scan"), ("native", ""))
COHORT = 3000
FULL = {"lr": Effort(3, 5, 4), "mlp": Effort(3, 5, 3), "2nn": Effort(1, 4, 1)}
QUICK = {"lr": Effort(1, 2, 2), "mlp": Effort(1, 2, 1)}
REAL = Effort(1, 3, 3)
"""Effort for real modules; their table also reports the first round, which chooses or compiles."""
ON_GPU = Effort(1, 2, 1)
"""Effort on a GPU, where rounds are short and the specification's rounds would cost too much rented time."""
CROWD = (("clients", 100), ("steps", 4))
"""Workload changes for real modules on a GPU, which trains this many clients at once."""


@dataclass(frozen=True)
class Group:
    """Jobs that are measured in turns.

    Attributes:
        title: title of the comparison.
        jobs: jobs of one workload; for each algorithm one of them is the specification.
        effort: number of runs of each job.
    """

    title: str
    jobs: tuple[Job, ...]
    effort: Effort


def algorithm_jobs(workload: str, device: str) -> Iterator[Job]:
    """Yield jobs of fedspec_torch and the specification for every algorithm; FedNova also with unequal steps."""
    for algorithm in HYPER:
        for changes in ((), (("steps", RAGGED),)) if algorithm == "fednova" else ((),):
            for peer, place in (("mirror", device), ("spec", "cpu")):
                yield Job(peer, workload, algorithm=algorithm, changes=changes, device=place)


def groups(*, quick: bool, device: str, bare: bool = False) -> Iterator[Group]:
    """Yield all groups of a run; ``bare`` leaves out peers that need their own environment or a compiler."""
    layers = (
        of_workload(workload, effort, quick=quick, device=device)
        for workload, effort in (QUICK if quick else FULL).items()
    )
    for group in chain(*layers, () if quick else of_networks(device)):
        jobs = tuple(job for job in group.jobs if not bare or job.peer in BARE)
        if any(job.peer != "spec" for job in jobs):
            yield replace(group, jobs=jobs)


def of_networks(device: str) -> Iterator[Group]:
    """Yield groups of real modules on one core: FedAvg with peers that can train them, FedAda2 with the loop."""
    effort = REAL if device == "cpu" else ON_GPU
    for workload in NETWORKS:
        ours = tuple(Job(peer, workload, device=device) for peer in ("mirror", "torch_optim"))
        others = Job("jax", workload, "vmap"), Job("jax", workload, "scan"), Job("pfl", workload)
        yield Group("FedAvg, one core", (*ours, *others, Job("spec", workload)), effort)
        if device != "cpu":
            crowd = tuple(replace(job, changes=CROWD) for job in (*ours, Job("spec", workload)))
            yield Group(f"FedAvg, {dict(CROWD)['clients']} clients, one core", crowd, effort)
        flower = Job("flower", workload), Job("spec", workload)
        yield Group("FedAvg, one core", flower, replace(effort, repetitions=1))
        adaptive = tuple(replace(job, algorithm="fedada2") for job in (*ours, Job("spec", workload)))
        yield Group("FedAda2, one core", adaptive, effort)


def of_workload(workload: str, effort: Effort, *, quick: bool, device: str) -> Iterator[Group]:
    """Yield a workload's groups: peers on one core, algorithms, a large cohort, and two cores."""
    place = {"mirror": device, "torch_optim": device}
    # Flower's processes do not rest between its rounds, so it is measured alone.
    ours = OURS if device == "cpu" else (*OURS, STEPWISE)
    at_once = [name for name in (*ours, *PEERS, SPEC) if name[0] != "flower"]
    jobs = tuple(Job(peer, workload, variant, device=place.get(peer, "cpu")) for peer, variant in at_once)
    yield Group("FedAvg, one core", jobs, effort)
    flower = Job("flower", workload), Job("spec", workload)
    yield Group("FedAvg, one core", flower, replace(effort, repetitions=1, rounds=2))
    if not quick or workload == "mlp":
        yield Group("algorithms, one core", tuple(algorithm_jobs(workload, device)), effort)
    if workload == "lr":
        crowd = (("clients", COHORT),)
        three = ("mirror", "native", "spec")
        many = tuple(Job(peer, workload, changes=crowd, device=place.get(peer, "cpu")) for peer in three)
        yield Group(f"FedAvg, {COHORT} clients, one core", many, replace(effort, warm=1, rounds=1))
    if not quick and device == "cpu":
        two = tuple(Job(peer, workload, variant, cores=2) for peer, variant in TWO_CORES)
        yield Group("FedAvg, two cores", (Job("mirror", workload), *two, Job("spec", workload)), effort)
