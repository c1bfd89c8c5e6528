"""lx10077/fedavgpy at 4001608: ``Worker.local_train`` of one batch a call, with its optimiser ``GD``.

``SOURCE=path/to/fedavgpy fedspec check examples/found/fedavgpy_client.py:Adapter``

clipped     the clip at 60 that stands there, and ``wd`` 0.01
inverse     ``inverse_prop_decay_learning_rate(r)`` after round r, from 0, as its four trainers call it
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import source
import torch
from local import Make, Steps, Take

from fedspec.contract import Claim
from fedspec_suite.subjects.outer import Model

COMMIT = "4001608"


def Adapter() -> Steps:
    """Adapter of its workers."""
    # It calls functions of PyTorch by signatures that are deprecated.
    warnings.simplefilter("ignore")
    GD = source.module(COMMIT, "src/optimizers/gd.py", "gd").GD
    given = {"torch": torch, "criterion": lambda _, y: y.loss}
    trains = source.definitions(COMMIT, "src/models/worker.py", "Worker", given=given)["Worker"].local_train

    def trained(decay: float, scheduled: bool) -> Make:
        def begins(model: Model, h: Mapping[str, Any], round_: int) -> Take:
            gd = GD(model.parameters(), lr=h["eta_l"], weight_decay=decay)
            if scheduled and round_:
                gd.inverse_prop_decay_learning_rate(round_ - 1)

            def predicts(_: torch.Tensor) -> torch.Tensor:
                return torch.zeros(1, 1)

            vars(predicts)["train"] = bool
            worker = SimpleNamespace(model=predicts, optimizer=gd, num_epoch=1, gpu=False, flops=0)
            vars(predicts)["parameters"] = model.parameters
            worker.flatten_data = worker.get_flat_model_params = lambda *_: torch.zeros(1)

            def takes(loss: torch.Tensor) -> None:
                y = torch.zeros(1)
                vars(y)["loss"] = loss
                trains(worker, [(y, y)])

            return takes

        return begins

    clip, inverse = "clip-norm-eps 60", {"eta_l": "inverse/round period=1"}
    made = [
        (Claim("sgd", "client", variant="clipped", gradients=(clip, "decay 0.01")), trained(0.01, False)),
        (Claim("sgd", "client", variant="inverse", schedules=inverse, gradients=(clip,)), trained(0, True)),
    ]
    return Steps("fedavgpy", source.dated(COMMIT), made)
