"""DrJAX: a jitted program of ``broadcast``, ``map_fn`` and ``reduce_mean``, with the local training of the plain JAX
peer.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import drjax
import jax

from fedspec_bench.job import Job
from fedspec_bench.peers.jax.peer import batches, client, flat, parameters
from fedspec_bench.workloads import Array


class Program:
    """Trainer that runs a DrJAX program."""

    def __init__(self, job: Job) -> None:
        work = job.work
        self.versions = {"drjax": drjax.__version__, "jax": jax.__version__}
        self.params, self.data = parameters(work), batches(work)
        train = partial(client, work.eta_l)

        @drjax.program(clients=work.clients)
        def a_round(params: Any, inputs: Any, targets: Any) -> Any:
            models = drjax.map_fn(train, (drjax.broadcast(params), inputs, targets))
            return drjax.reduce_mean(models)

        self.step = jax.jit(a_round)

    def round(self) -> None:
        """Train one round, and wait until it is computed."""
        self.params = jax.block_until_ready(self.step(self.params, *self.data))

    def model(self) -> Array:
        """Return the model."""
        return flat(self.params)


def start(job: Job) -> Program:
    """Put model and data on the device; the first round compiles."""
    return Program(job)
