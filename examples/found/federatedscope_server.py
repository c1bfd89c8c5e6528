"""alibaba/FederatedScope at 480b67d: ``FedOptAggregator`` with SGD with momentum, and its checkpoint.

``SOURCE=path/to/FederatedScope fedspec check examples/found/federatedscope_server.py:Adapter``

annealed    with ``fedopt.annealing``, a ``StepLR`` over rounds
resumed     restored by ``load_model`` from what ``save_model`` writes
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import numpy as np
import source
import torch
from means import Sent
from servers import Make, Servers

from fedspec.contract import Claim
from fedspec_suite.subjects.outer import Model

COMMIT, FOLDER = "480b67d", "federatedscope/core"


def Adapter() -> Servers:
    """Adapter of its server with momentum, and with all clients' models weighted by examples."""
    for name in ("", ".core", ".contrib.optimizer", ".core.aggregators", ".core.auxiliaries.optimizer_builder"):
        source.absent(f"federatedscope{name}")
    source.absent("federatedscope.register", optimizer_dict={})
    source.absent("federatedscope.core.auxiliaries.utils", param2tensor=lambda tensor: tensor)
    loaded = "federatedscope.core.auxiliaries.optimizer_builder"
    source.module(COMMIT, f"{FOLDER}/auxiliaries/optimizer_builder.py", loaded)
    source.absent("federatedscope.core.aggregators", Aggregator=object)
    mean = source.module(COMMIT, f"{FOLDER}/aggregators/clients_avg_aggregator.py", "mean")
    source.absent("federatedscope.core.aggregators", ClientsAvgAggregator=mean.ClientsAvgAggregator)
    made = source.module(COMMIT, f"{FOLDER}/aggregators/fedopt_aggregator.py", "fedopt").FedOptAggregator

    class Server:
        def __init__(self, model: Model, h: Mapping[str, Any], annealing: bool) -> None:
            told = SimpleNamespace(annealing=annealing, annealing_step_size=2, annealing_gamma=0.5)
            told.optimizer = {"type": "SGD", "lr": h["eta"], "momentum": h["beta"]}
            federate = SimpleNamespace(ignore_weight=False, use_ss=False)
            self.its, self.model = made(SimpleNamespace(fedopt=told, federate=federate), model), model

        def update(self, sent: Sent) -> None:
            old = self.model.state_dict()
            changes = (
                {n: torch.tensor(np.atleast_1d(v)) for n, v in zip(old, m.delta.values(), strict=True)} for m in sent
            )
            models = [{n: x + d[n] for n, x in old.items()} for d in changes]
            feedback = [(m.weight, local) for m, local in zip(sent, models, strict=True)]
            self.its.update(self.its.aggregate({"client_feedback": feedback}))

        def save(self, folder: Path) -> None:
            self.its.save_model(folder / "model.pt")

        def load(self, folder: Path) -> None:
            self.its.load_model(folder / "model.pt")

    def with_annealing(annealing: bool) -> Make:
        return lambda model, h: Server(model, h, annealing)

    heavy = {"momentum": "heavy-ball"}
    halves = {"eta": "step/round period=2 factor=0.5"}
    return Servers(
        "federatedscope",
        source.dated(COMMIT),
        [
            (Claim("fedavgm", "server", "hsu-2019", heavy, variant="annealed", schedules=halves), with_annealing(True)),
            (Claim("fedavgm", "server", "hsu-2019", heavy, variant="resumed", resumes=True), with_annealing(False)),
        ],
    )
