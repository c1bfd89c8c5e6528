"""The specification itself in NumPy: one client after another, in float64. The other implementations' losses are
compared with it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fedspec.algorithms import synchronous
from fedspec.catalogue import LocalSolver, Method
from fedspec.plan import Setup
from fedspec_bench.algorithms import events, resolved
from fedspec_bench.job import Job
from fedspec_bench.workloads import Array


class Specification:
    """Trainer that runs the algorithm's own functions on NumPy arrays."""

    def __init__(self, job: Job) -> None:
        self.job, self.number = job, 0
        self.versions = {"numpy": np.__version__}
        work = job.work
        self.row, self.h = resolved(job.algorithm, job.workload)
        setup = Setup((work.examples,) * work.clients, work.shapes)
        x, self.run = work.start.astype(float), self.row.run
        assert not isinstance(self.run, LocalSolver)
        self.state = self.run.init(self.h, x) if isinstance(self.run, Method) else self.run.init(self.h, x, setup)
        inputs_, targets = work.data
        if inputs_.dtype.kind == "f":
            inputs_ = inputs_.astype(float)
        self.clients = [self.oracle(X, y) for X, y in zip(inputs_, targets, strict=True)]

    def oracle(self, inputs: Array, targets: Array) -> Any:
        """Return the gradient function of a client on its minibatches in order."""
        work = self.job.work

        def at(k: int, x: Array) -> Array:
            begin = k * work.batch % work.examples
            return work.gradient(x, inputs[begin : begin + work.batch], targets[begin : begin + work.batch])

        return at

    def round(self) -> None:
        """Run one round, or its events one after another."""
        happens = events(self.job, self.number)
        self.number += 1
        if isinstance(self.run, Method):
            run = self.run
            self.state = synchronous.run_round(
                self.h, self.state, self.clients, *happens, local=run.local, norm=run.norm, server=run.server
            ).state
            return
        for event in happens:
            if hasattr(event, "mixing"):
                event = replace(event, mixing=event.mixing.numpy())
            self.state, _ = self.run.step(self.h, self.state, self.clients, event)

    def model(self) -> Array:
        """Return the model after the last round."""
        found: Array = synchronous.model(self.state)
        return found.astype(np.float32)


def start(job: Job) -> Specification:
    """Make the state and the clients."""
    return Specification(job)
