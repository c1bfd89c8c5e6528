"""FedJAX: its ``federated_averaging`` on in-memory client data sets, with ordered batches and the default backend.

Version 0.0.17 asks jax for ``tree_map``, which newer versions have under another name; it is given that.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import jax

if not hasattr(jax, "tree_map"):
    older: Any = jax
    older.tree_map = jax.tree_util.tree_map

import fedjax

from fedspec_bench.job import Job
from fedspec_bench.peers.jax.peer import flat, loss, parameters
from fedspec_bench.workloads import Array


class Averaging:
    """Trainer that runs FedJAX's algorithm."""

    def __init__(self, job: Job) -> None:
        work = job.work
        self.versions = {"fedjax": version("fedjax"), "jax": jax.__version__}

        def gradient(params: Any, batch: Any, key: Any) -> Any:
            return jax.grad(loss)(params, batch["x"], batch["y"])

        self.algorithm = fedjax.algorithms.fed_avg.federated_averaging(
            gradient,
            fedjax.optimizers.sgd(work.eta_l),
            fedjax.optimizers.sgd(1.0),
            fedjax.ShuffleRepeatBatchHParams(
                batch_size=work.batch, num_steps=work.steps, num_epochs=None, skip_shuffle=True
            ),
        )
        self.state = self.algorithm.init(parameters(work))
        key = jax.random.PRNGKey(0)
        self.clients = [
            (str(i).encode(), fedjax.ClientDataset({"x": x, "y": y}), key)
            for i, (x, y) in enumerate(zip(*work.data, strict=True))
        ]

    def round(self) -> None:
        """Train one round, and wait until it is computed."""
        self.state, _ = self.algorithm.apply(self.state, self.clients)
        jax.block_until_ready(self.state.params)

    def model(self) -> Array:
        """Return the model."""
        return flat(self.state.params)


def start(job: Job) -> Averaging:
    """Make the algorithm and the clients; the first round compiles."""
    return Averaging(job)
