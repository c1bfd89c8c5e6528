"""Algorithms to measure: their hyper-parameters, their schedules, and the number of local steps in a round."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from fedspec.catalogue import find
from fedspec.plan import Arrival, Exchange, Plan, Setup
from fedspec_bench.job import Job
from fedspec_bench.workloads import Workload
from fedspec_torch.run.arguments import hyper_of
from fedspec_torch.run.schedules import Schedule, arrivals, cohorts, exchanges

RAGGED = (1, 20)
"""Range from which K_i is drawn if clients take unequal numbers of steps."""

Hyper = dict[str, Any]

HYPER: dict[str, Callable[[Workload], Hyper]] = {
    "fedavg": lambda work: {"eta_l": work.eta_l},
    "fedadam": lambda work: {"eta_l": work.eta_l, "eta": 0.01, "beta1": 0.9, "beta2": 0.99, "tau": 1e-3, "v0": 1e-6},
    "fedada2": lambda work: {"eta_l": 0.01, "eta": 0.05, "beta1": 0.9, "tau": 1e-3, "v0": 1e-6, "eps": 1e-3},
    # With eps = 1e-3, as large as a gradient's entry, Adam's first steps are nearly signs, and a rounding that puts an
    # example on the other side of a ReLU turns one: on the 2NN a round of the text itself in float32 ends up to a tenth
    # of its change away from that in float64.
    "joint-local": lambda work: {
        "eta_l": 0.01,
        "eta": 0.05,
        "beta1": 0.9,
        "beta1_l": 0.9,
        "beta2_l": 0.99,
        "tau": 1e-3,
        "v0": 1e-6,
        "eps": 1e-2,
        "client": "adam",
    },
    "fed-lamb": lambda work: {"eta_l": 0.02, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3, "v0": 1e-4, "lam": 0.01},
    "fednova": lambda work: {"eta_l": work.eta_l},
    "scaffold": lambda work: {"eta_l": work.eta_l, "eta": 1.0},
    "afga": lambda work: {"eta_l": work.eta_l, "eta": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3},
    "cc-fedams": lambda work: {"buffer": 5, "eta_l": work.eta_l, "eta": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3},
}
"""Function from a workload to an algorithm's hyper-parameters: usual values, not tuned."""


def schedule(job: Job) -> Schedule:
    """Return the job's schedule: all clients or a cohort; a ring for gossip; up to two versions of delay for late
    updates.
    """
    work = job.work
    match find(job.algorithm).event:
        case "exchange":
            assert isinstance(work.steps, int)
            return exchanges(steps=work.steps, graph="ring")
        case "arrival":
            return arrivals(steps=work.steps, largest_delay=2)
    return cohorts(job.cohort, steps=work.steps)


def client_steps(job: Job, round: int) -> int:
    """Return the number of local steps of all clients together in that round."""
    total = 0
    for event in events(job, round):
        match event:
            case Plan(steps=steps):
                total += sum(steps)
            case Exchange(computing=sets):
                total += sum(map(len, sets))
            case Arrival(steps=steps):
                total += steps
    return total


def events(job: Job, round: int) -> Any:
    """Return the events of that round, as a run makes them."""
    row, h = resolved(job.algorithm, job.workload)
    setup = Setup((job.work.examples,) * job.work.clients, {})
    return schedule(job).events(row, h, setup, torch.zeros(1, dtype=torch.float64), round)


@cache
def resolved(algorithm: str, workload: str) -> tuple[Any, Any]:
    """Return the algorithm's row and its record of hyper-parameters."""
    row, work = find(algorithm), Job("", workload).work
    return row, hyper_of(row, None, HYPER[algorithm](work))
