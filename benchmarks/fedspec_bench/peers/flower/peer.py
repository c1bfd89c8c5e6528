"""Flower's simulation: ``NumPyClient``, ``FedAvg`` and the Ray backend with one actor for each core."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

os.environ.update(FLWR_TELEMETRY_ENABLED="0", RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0")
# Ray's actors import this file too.
os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[3])

from typing import Any

import flwr
import numpy as np
import ray
import torch
from flwr.client import ClientApp, NumPyClient
from flwr.common import Context, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server import ServerApp, ServerAppComponents, ServerConfig
from flwr.server.strategy import FedAvg
from flwr.simulation import run_simulation
from torch import nn

from fedspec_bench.job import Job
from fedspec_bench.peers.torch_optim.networks import module, trained
from fedspec_bench.turns import Turns
from fedspec_bench.workloads import Array, Workload


class Client(NumPyClient):  # type: ignore[misc]
    """Flower client with the tutorials' loop over minibatches, in order."""

    def __init__(self, work: Workload, number: int) -> None:
        self.work = work
        inputs, targets = work.data
        self.data = torch.from_numpy(inputs[number]), torch.from_numpy(targets[number])
        self.net = module(work)

    def fit(self, parameters: Any, config: Any) -> Any:
        """Train one epoch."""
        with torch.no_grad():
            for own, value in zip(trained(self.net), parameters, strict=True):
                own.copy_(torch.from_numpy(np.array(value)))
        optimizer = torch.optim.SGD(self.net.parameters(), lr=self.work.eta_l)
        for inputs, targets in zip(*(part.split(self.work.batch) for part in self.data), strict=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(self.net(inputs), targets).backward()
            optimizer.step()
        return [p.detach().numpy() for p in trained(self.net)], len(self.data[0]), {}


@cache
def clients_work(told: str) -> Workload:
    """Return the workload in an actor's process, which builds its data once instead of receiving them."""
    return Job(**json.loads(told)).work


class Simulation:
    """Trainer that runs Flower's own loop, paused after each round."""

    def __init__(self, job: Job) -> None:
        work, told = job.work, job.told()
        self.versions = {"flwr": flwr.__version__, "ray": ray.__version__, "torch": torch.__version__}
        self.now = [p.detach().numpy() for p in trained(module(work))]

        def client(context: Context) -> Any:
            torch.set_num_threads(1)
            return Client(clients_work(told), int(context.node_config["partition-id"])).to_client()

        class Held(FedAvg):  # type: ignore[misc]
            """FedAvg that pauses between rounds."""

            def configure_fit(_, server_round: int, *rest: Any, **more: Any) -> Any:
                """The round before is over."""
                if server_round > 1:
                    self.turns.between()
                return super().configure_fit(server_round, *rest, **more)

            def aggregate_fit(_, *rest: Any) -> Any:
                """Keep the model."""
                parameters, metrics = super().aggregate_fit(*rest)
                self.now = parameters_to_ndarrays(parameters)
                return parameters, metrics

        def server(context: Context) -> Any:
            strategy = Held(
                fraction_fit=1.0,
                fraction_evaluate=0.0,
                min_fit_clients=work.clients,
                min_available_clients=work.clients,
                initial_parameters=ndarrays_to_parameters(self.now),
            )
            return ServerAppComponents(strategy=strategy, config=ServerConfig(num_rounds=10**6))

        def loop() -> None:
            run_simulation(
                ServerApp(server_fn=server),
                ClientApp(client_fn=client),
                work.clients,
                backend_config={
                    "init_args": {"num_cpus": job.cores, "include_dashboard": False, "log_to_driver": False},
                    "client_resources": {"num_cpus": 1, "num_gpus": 0},
                },
            )

        self.turns = Turns(loop)

    def round(self) -> None:
        """Run one round; the first starts Ray."""
        self.turns.next()

    def model(self) -> Array:
        """Return the strategy's model."""
        return np.concatenate([part.reshape(-1) for part in self.now])

    def close(self) -> None:
        """End Ray's processes."""
        ray.shutdown()


def start(job: Job) -> Simulation:
    """Make the server and client apps."""
    return Simulation(job)
