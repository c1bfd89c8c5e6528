"""microsoft/msrflute at 8bfe085: its ``FedAvg`` strategy with ``ModelUpdater``, SGD with momentum and ``step_lr``.

``SOURCE=path/to/msrflute fedspec check examples/found/flute_server.py:Adapter``

``generate_client_payload``, ``process_individual_payload``, ``combine_payloads`` and the checkpoint are run as they
stand there. A client's gradient is minus its change. Logs and metrics are stand-ins.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import source
import torch
from means import Sent
from servers import Servers

from fedspec.contract import Claim
from fedspec_suite.subjects.outer import Model

COMMIT = "8bfe085"


def Adapter() -> Servers:
    """Adapter of its server."""
    names = ("get_lr_all", "make_lr_scheduler", "torch_save", "try_except_save")
    given = {**vars(torch.optim.lr_scheduler), "torch": torch, "copy": copy, "math": math}
    given["print_rank"] = lambda *_, **__: None
    useful = source.definitions(COMMIT, "utils/utils.py", *names, given=given)
    useful = {name: useful[name] for name in (*names, "print_rank")}
    source.absent(
        "utils",
        get_lr=lambda _: None,
        make_optimizer=None,
        write_yaml=None,
        compute_grad_cosines=None,
        to_device=lambda a: a,
        **useful,
    )
    source.absent("utils.utils", to_device=None, get_label_VAT=None)
    run = SimpleNamespace(get_context=lambda: SimpleNamespace(log=None))
    stand_ins: dict[str, dict[str, Any]] = {
        "azureml": {},
        "azureml.core": {"Run": run},
        "core": {},
        "core.metrics": {"Metrics": None},
        "core.strategies": {"BaseStrategy": SimpleNamespace},
    }
    for name, things in stand_ins.items():
        source.absent(name, **things)
    source.module(COMMIT, "core/strategies/utils.py", "core.strategies.utils")
    FedAvg = source.module(COMMIT, "core/strategies/fedavg.py", "core.strategies.fedavg").FedAvg
    ModelUpdater = source.module(COMMIT, "core/trainer.py", "core.trainer").ModelUpdater
    told: dict[str, Any] = {"model_config": {}, "client_config": {}, "server_config": {}}

    class Server:
        def __init__(self, model: Model, h: Mapping[str, Any]) -> None:
            self.model = model
            optimizer = torch.optim.SGD(model.parameters(), lr=h["eta"], momentum=h["beta"])
            annealing = {"type": "step_lr", "step_size": 2, "gamma": 0.5}
            self.its = ModelUpdater(model, optimizer, None, None, None, None, annealing)
            self.client, self.server = FedAvg("client", told), FedAvg("server", told)

        def update(self, sent: Sent) -> None:
            for m in sent:
                local = copy.deepcopy(self.model)
                for p, change in zip(local.blocks, m.delta.values(), strict=True):
                    p.grad = -torch.tensor(change, dtype=p.dtype).reshape(p.shape)
                payload = self.client.generate_client_payload(SimpleNamespace(model=local, num_samples=m.weight))
                self.server.process_individual_payload(self.its, payload)
            self.server.combine_payloads(self.its, 0, len(sent), len(sent), None)

        def save(self, folder: Path) -> None:
            self.its.save(str(folder), token="latest")

        def load(self, folder: Path) -> None:
            self.its.load(str(folder / "latest_model.tar"), True, True)

    heavy, halves = {"momentum": "heavy-ball"}, {"eta": "step/round period=2 factor=0.5"}
    claim = Claim("fedavgm", "server", "hsu-2019", heavy, schedules=halves, resumes=True)
    return Servers("flute", source.dated(COMMIT), [(claim, Server)])
