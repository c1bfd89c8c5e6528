"""Plain JAX, jitted: ``vmap`` trains all clients together, ``scan`` one after another."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fedspec_bench.job import Job
from fedspec_bench.networks import Network
from fedspec_bench.peers.jax import networks
from fedspec_bench.workloads import Array, Workload

Parameters = list[Any]
"""Parameters: pairs of W and bias for layers; arrays for a real module."""


def parameters(work: Workload) -> Parameters:
    """Return the initial model."""
    if isinstance(work, Network):
        return networks.parts(work.start, work.shapes)
    return [(jnp.asarray(W), jnp.asarray(bias)) for W, bias in work.split(work.start)]


def flat(params: Any) -> Array:
    """Return the model as one vector."""
    return np.concatenate([np.asarray(part).reshape(-1) for part in jax.tree.leaves(params)])


def layered(params: Parameters, h: Any) -> Any:
    """Return scores of linear layers with ReLU between them."""
    for number, (W, bias) in enumerate(params):
        h = h @ W.T + bias
        if number + 1 < len(params):
            h = jax.nn.relu(h)
    return h


def loss(params: Parameters, inputs: Any, targets: Any, forward: Any = layered) -> Any:
    """Return the mean cross-entropy of a minibatch."""
    told = jnp.take_along_axis(jax.nn.log_softmax(forward(params, inputs)), targets[:, None], axis=1)
    return -told.mean()


def client(forward: Any, eta_l: float, params: Parameters, inputs: Any, targets: Any) -> Parameters:
    """Return the local model after SGD on minibatches [K, b, ...]."""

    def step(params: Parameters, batch: Any) -> tuple[Parameters, None]:
        grads = jax.grad(loss)(params, *batch, forward)
        return jax.tree.map(lambda p, g: p - eta_l * g, params, grads), None

    found: Parameters = jax.lax.scan(step, params, (inputs, targets))[0]
    return found


def batches(work: Workload) -> tuple[Any, Any]:
    """Return all clients' minibatches [N, K, b, ...], on the device."""
    inputs, targets = work.data
    assert work.steps == work.examples // work.batch, "one epoch"
    shape = (work.clients, work.steps, work.batch)
    return jnp.asarray(inputs.reshape(*shape, *inputs.shape[2:])), jnp.asarray(targets.reshape(shape).astype(np.int32))


class Compiled:
    """Trainer with one jitted function a round."""

    def __init__(self, job: Job) -> None:
        work = job.work
        self.versions = {name: version(name) for name in ("jax", "jaxlib")}
        self.params, self.data = parameters(work), batches(work)
        forward = networks.forward(work) if isinstance(work, Network) else layered
        train = partial(client, forward, work.eta_l)

        def together(params: Parameters, inputs: Any, targets: Any) -> Any:
            models = jax.vmap(train, in_axes=(None, 0, 0))(params, inputs, targets)
            return jax.tree.map(lambda rows: rows.mean(0), models)

        def in_turn(params: Parameters, inputs: Any, targets: Any) -> Any:
            def one(total: Any, data: Any) -> tuple[Any, None]:
                return jax.tree.map(jnp.add, total, train(params, *data)), None

            total, _ = jax.lax.scan(one, jax.tree.map(jnp.zeros_like, params), (inputs, targets))
            return jax.tree.map(lambda rows: rows / work.clients, total)

        self.step = jax.jit({"vmap": together, "scan": in_turn}[job.variant])

    def round(self) -> None:
        """Train one round, and wait until it is computed."""
        self.params = jax.block_until_ready(self.step(self.params, *self.data))

    def model(self) -> Array:
        """Return the model."""
        return flat(self.params)


def start(job: Job) -> Compiled:
    """Put model and data on the device; the first round compiles."""
    return Compiled(job)
