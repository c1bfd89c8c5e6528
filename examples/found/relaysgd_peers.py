"""``gossip``, ``gradient_tracking`` and ``d2`` of epfml/relaysgd at e1e332b, the code of RelaySGD.

``SOURCE=path/to/relaysgd fedspec check examples/found/relaysgd_peers.py:Adapter``

Each is a generator at each worker. Its exchanges are those of ``utils/communication.py``, over workers that are
threads. The base optimiser is a step of SGD here, since theirs calls a function of an older PyTorch; data, timers and
topologies are stand-ins too.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import network
import numpy as np
import source
import torch

from fedspec.contract import Case, Claim
from fedspec_suite.subjects import workers

COMMIT = "e1e332b"


class Plain:
    """Stand-in for the base optimiser: SGD without momentum."""

    def init(self, parameters: Any) -> None:
        """Keep no state."""

    def step(self, parameters: Any, gradients: Any, state: None, lr: float) -> None:
        """Take an SGD step in place."""
        for p, g in zip(parameters, gradients, strict=True):
            p.sub_(lr * g)


class Workers:
    """Network with one worker a client, each running the algorithm's generator."""

    def __init__(self, case: Case, algorithm: Any) -> None:
        (x,) = case.x0.values()
        self.W = torch.zeros(len(x), len(x), dtype=torch.tensor(x).dtype)
        n = len(x)
        topology = SimpleNamespace(num_workers=n, max_degree=n - 1, gossip_matrix=lambda: self.W)
        topology.neighbors = lambda i: network.beside(self.W.numpy(), i)
        config = {"learning_rate": case.hyper["eta_l"], "seed": 0, "batch_size": 1, "overlap_communication": False}
        config |= {"topology": topology, "simulated_dropped_message_probability": 0, "lr_schedule_milestones": []}
        config |= {"distributed_world_size": n, "num_lr_warmup_epochs": 0}

        def runs(i: int) -> Any:
            at = network.gradient(case, i)
            task = SimpleNamespace(mean_num_data_per_worker=1)
            task.initialize = lambda seed: ([torch.tensor(x[i])], [])
            task.data = SimpleNamespace(iterator=lambda **_: ((step, None) for step in range(10**6)))
            task.loss_and_gradient = lambda p, s, _: (0.0, [torch.as_tensor(at(p[0].numpy()))], s)
            running = algorithm(config, task, Timer())
            next(running)
            return running

        self.workers = workers.Workers(n)
        self.running = self.workers.run(runs)

    def run(self, W: network.Numbers, steps: int) -> list[network.Numbers]:
        """Run ``steps`` steps of all workers in parallel, and return their models."""
        self.W.copy_(torch.as_tensor(W))

        def ends(i: int) -> network.Numbers:
            for _ in range(steps):
                _, _, parameters, _ = next(self.running[i])
            return np.array(parameters[0])

        return self.workers.run(ends)


class Timer:
    """Stand-in for the timer, which measures nothing."""

    epoch = 0

    def __call__(self, name: str) -> Any:
        """Return a null context."""
        return nullcontext()


def Adapter() -> network.Peers:
    """Adapter of all three algorithms."""
    workers.stand_in()

    def isend(tensor: torch.Tensor, dst: int, tag: int = 0) -> workers.Done:
        workers.send(tensor, dst)
        return workers.Done()

    vars(torch.distributed)["isend"] = isend
    source.absent("base_optimizers", configure_base_optimizer=lambda config: Plain())
    source.absent("tasks")
    source.absent("tasks.api", Task=object)
    source.absent("topologies", configure_topology=lambda config: config["topology"], Topology=object)
    source.absent("utils")
    source.absent("utils.timer", Timer=Timer)
    source.module(COMMIT, "utils/communication.py", "utils.communication")
    its = source.module(COMMIT, "algorithms.py", "relaysgd_algorithms")
    offers = {
        "gossip": Claim("dsgd", "trace", "adapt-then-combine"),
        "gradient_tracking": Claim("diging", "trace", "semi-atc"),
        "d2": Claim("d2", "trace", "tang-2018"),
    }
    made = [(offer, partial(Workers, algorithm=getattr(its, name))) for name, offer in offers.items()]
    return network.Peers("relaysgd", source.dated(COMMIT), made)


Subject = Adapter
"""Earlier name of the adapter."""
