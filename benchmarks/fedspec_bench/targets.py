"""Table of targets: measured ratios compared with the ratios to reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import mean
from typing import Any

from fedspec_bench.algorithms import RAGGED
from fedspec_bench.job import Job
from fedspec_bench.networks import NETWORKS
from fedspec_bench.rows import Row
from fedspec_bench.suite import COHORT


@dataclass(frozen=True)
class Results:
    """Everything that a run measured.

    Attributes:
        groups: the rows of jobs that took turns.
        limits: limits of the machine, by the number of cores; at the beginning and at the end.
        micro: figures of the single operations, by the name of the function that measured them.
        device: device of our runs and of the limits. A rate is compared with a rate of the same device alone.
    """

    groups: Sequence[Sequence[Row]]
    limits: dict[str, list[dict[str, float]]]
    micro: dict[str, dict[str, float]]
    device: str = "cpu"

    def rate(self, peer: str, workload: str, variant: str = "", **more: Any) -> float:
        """Return the client-steps per second of a row.

        Raises:
            LookupError: it was not measured, or does not count.
        """
        wanted = Job(peer, workload, variant, device=self.device, **more)
        for row in chain.from_iterable(self.groups):
            if row.job == wanted and row.counts:
                return row.rate
        raise LookupError(wanted.name)

    def over(self, ours: Job, other: Job) -> float:
        """Return the ratio of the rates of two jobs in the same group.

        Raises:
            LookupError: no group has measured both, or one does not count.
        """
        ours, other = (replace(job, device=self.device) for job in (ours, other))
        for rows in self.groups:
            found = {row.job: row.rate for row in rows if row.counts}
            if ours in found and other in found:
                return found[ours] / found[other]
        raise LookupError(f"{ours.name} beside {other.name}")

    def limit(self, name: str, cores: int = 1) -> float:
        """Return a limit of the machine, averaged over the measurements at the start and at the end."""
        return mean(found[name] for found in self.limits[str(cores)])


@dataclass(frozen=True)
class Target:
    """Target: a number to reach, and its computation from the results.

    Attributes:
        measure: the compared quantities, in words.
        reach: the number to reach.
        found: computes the number from the results; raises LookupError if a result is missing.
        least: True if larger is better.
    """

    measure: str
    reach: float
    found: Callable[[Results], float]
    least: bool = True

    def line(self, results: Results) -> tuple[str, str, str, str]:
        """Return measure, target, measured value, and met or not."""
        sign = ">=" if self.least else "<="
        try:
            value = self.found(results)
        except (LookupError, ZeroDivisionError):
            return self.measure, f"{sign} {self.reach:g}", "not measured", "-"
        met = value >= self.reach if self.least else value <= self.reach
        return self.measure, f"{sign} {self.reach:g}", f"{value:.3g}", "met" if met else "not met"


def over(peer: str, workload: str, variant: str = "", ours: str = "") -> Callable[[Results], float]:
    """Return the ratio of fedspec_torch's rate to a peer's."""
    return lambda r: r.rate("mirror", workload, ours) / r.rate(peer, workload, variant)


def over_jax(workload: str) -> Callable[[Results], float]:
    """Return the ratio of fedspec_torch's rate to plain JAX's faster variant."""
    return lambda r: r.rate("mirror", workload) / max(r.rate("jax", workload, v) for v in ("vmap", "scan"))


def over_loop(workload: str, algorithm: str) -> Callable[[Results], float]:
    """Return a real module's ratio to the plain loop, measured in one group."""
    ours = Job("mirror", workload, algorithm=algorithm)
    return lambda r: r.over(ours, replace(ours, peer="torch_optim"))


def over_best(workload: str) -> Callable[[Results], float]:
    """Return a real module's ratio to the fastest of JAX, pfl and Flower."""

    def found(r: Results) -> float:
        others = ("jax", "vmap"), ("jax", "scan"), ("pfl", ""), ("flower", "")
        rates = [r.rate(peer, workload, variant) for peer, variant in others]
        return r.rate("mirror", workload) / max(rates)

    return found


def share_of_mm(workload: str) -> Callable[[Results], float]:
    """Return the share of torch.mm's rate that fedspec_torch's matrix products reach."""
    flops = Job("mirror", workload).work.flops
    return lambda r: r.rate("mirror", workload) * flops / (1e9 * r.limit("mm_gflops"))


def two_cores(workload: str) -> Callable[[Results], float]:
    """Return the ratio of fedspec_torch's rates on two cores and on one."""
    return lambda r: r.over(Job("mirror", workload, cores=2), Job("mirror", workload))


def crowd(r: Results) -> float:
    """Return the ratio of the rates with a large cohort and with 100 clients."""
    return r.rate("mirror", "lr", changes=(("clients", COHORT),)) / r.rate("mirror", "lr")


def ragged(workload: str) -> Callable[[Results], float]:
    """Return the ratio of the rates with unequal and with equal numbers of steps."""
    equal = Job("mirror", workload, algorithm="fednova")
    return lambda r: r.over(replace(equal, changes=(("steps", RAGGED),)), equal)


def adaptive(algorithm: str) -> Callable[[Results], float]:
    """Return the ratio of the rates with adaptive clients and with SGD clients."""
    plain = Job("mirror", "mlp")
    return lambda r: r.over(replace(plain, algorithm=algorithm), plain)


def share_of_copy(server: str) -> Callable[[Results], float]:
    """Return the share of the copy rate at which a server moves the bytes that it must."""
    return lambda r: r.micro["servers"][server] / r.limit("copy_gbs")


def extra(algorithm: str) -> Callable[[Results], float]:
    """Return an algorithm's memory of a round, apart from model and data, in units of one block's stack."""
    return lambda r: r.micro["memory"][algorithm]


HOLDING = ("fedavg", "fednova", "scaffold", "fedada2")
"""Algorithms whose memory is measured."""

TARGETS = (
    Target("LR, client-steps/s over JAX by hand", 1.9, over_jax("lr")),
    Target("MLP, client-steps/s over JAX by hand", 0.8, over_jax("mlp")),
    Target("MLP, share of torch.mm", 0.62, share_of_mm("mlp")),
    Target("2NN, share of torch.mm", 0.85, share_of_mm("2nn")),
    Target("any module over the torch.optim loop, LR", 6, over("torch_optim", "lr", ours="any-module")),
    Target("any module over the torch.optim loop, MLP", 2.8, over("torch_optim", "mlp", ours="any-module")),
    Target("any module over the torch.optim loop, 2NN", 1.0, over("torch_optim", "2nn", ours="any-module")),
    Target("MLP over pfl", 10, over("pfl", "mlp")),
    Target("MLP over Flower's simulation", 25, over("flower", "mlp")),
    Target("CNN over the plain loop", 1.35, over_loop("cnn", "fedavg")),
    *(
        Target(f"{name} over the plain loop, {algorithm}", 0.97, over_loop(name, algorithm))
        for name in NETWORKS
        for algorithm in ("fedavg", "fedada2")
        if (name, algorithm) != ("cnn", "fedavg")
    ),
    *(Target(f"{name} over the fastest of JAX, pfl and Flower", 1.0, over_best(name)) for name in NETWORKS),
    Target("two cores over one, MLP", 1.8, two_cores("mlp")),
    Target("two cores over one, 2NN", 1.8, two_cores("2nn")),
    Target(f"LR, cohort {COHORT} over cohort 100", 0.9, crowd),
    Target("LR, FedNova with K_i in 1..20 over equal K", 0.85, ragged("lr")),
    Target("MLP, FedNova with K_i in 1..20 over equal K", 0.85, ragged("mlp")),
    Target("MLP, SM3 clients (FedAda2) over SGD clients", 0.6, adaptive("fedada2")),
    Target("MLP, Adam clients (joint-local) over SGD clients", 0.6, adaptive("joint-local")),
    Target("MLP, LAMB clients (Fed-LAMB) over SGD clients", 0.6, adaptive("fed-lamb")),
    Target(
        "a round at population 1e6 over 1e3",
        1.05,
        lambda r: r.micro["population"]["large"] / r.micro["population"]["small"],
        least=False,
    ),
    *(
        Target(f"2NN, {name}: what a round holds beside model and data, in blocks x d", 3, extra(name), least=False)
        for name in HOLDING
    ),
    *(
        Target(
            f"server {name}, d = 1e7, share of copy",
            0.9,
            share_of_copy(name),
        )
        for name in ("fedadagrad", "fedadam", "fedamsgrad")
    ),
    Target(
        "weighted mean n = 100, d = 2e5, over NumPy's GEMV",
        1.0,
        lambda r: r.micro["mixing"]["gemv"] / r.micro["mixing"]["mean"],
    ),
    Target(
        "gossip dense n = 100, d = 2e5, share of GEMM",
        0.8,
        lambda r: r.micro["mixing"]["gemm"] / r.micro["mixing"]["dense"],
    ),
    Target(
        "gossip on a ring, likewise, over a copy of the stack",
        1.5,
        lambda r: r.micro["mixing"]["ring"] / r.micro["mixing"]["copy"],
        least=False,
    ),
)
"""All targets; the table marks a target that a run didn't measure."""
