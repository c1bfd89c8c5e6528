"""facebookresearch/FLSim at 7311f2d: a client's ``_batch_train``, with its clip and its ``StepLRScheduler``.

``SOURCE=path/to/FLSim fedspec check examples/found/flsim_client.py:Adapter``

Rounds are numbered by its ``Timeline``, whose rounds of an epoch begin at 1. PyTorch no longer takes ``verbose``, which
is dropped; configurations are stand-ins.

clipped     ``max_clip_norm_normalized`` is 1 over the root of the number of parameters; SGD with ``weight_decay``
halved      ``StepLRScheduler`` with ``step_size=3``
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import beside  # noqa: F401
import source
import torch
from local import Make, Steps, Take

from fedspec.contract import Claim
from fedspec_suite.subjects.outer import Model

COMMIT = "7311f2d"


class Scheduler:
    """Stand-in for the base of its schedulers."""

    def __init__(self, *, optimizer: Any, **_: Any) -> None:
        self.optimizer = optimizer

    def step(self, *_: Any, **__: Any) -> None:
        """Keep the rate."""


def Adapter() -> Steps:
    """Adapter of its clients with SGD."""
    given: dict[str, Any] = {"math": math, "torch": torch, "nn": torch.nn, "dataclass": dataclass}
    names = ("clip_gradients", "get_num_trainable_params", "get_trainable_params", "get_trainable_named_parameters")
    useful = source.definitions(COMMIT, "flsim/utils/fl/common.py", *names, given=given)
    given["FLModelParamUtils"] = type("FLModelParamUtils", (), {name: useful[name] for name in names})
    trains = source.definitions(COMMIT, "flsim/clients/base_client.py", "_batch_train", given=given)["_batch_train"]
    Timeline = source.definitions(COMMIT, "flsim/common/timeline.py", "Timeline", given={"NamedTuple": NamedTuple})
    told = SimpleNamespace(step_size=3, gamma=0.5, verbose=False)
    given |= dict.fromkeys(
        ("Optional", "Any", "IFLBatchMetrics", "IFLModel", "Optimizer", "StepLRSchedulerConfig"), Any
    )
    given |= {"init_self_cfg": lambda self, **_: setattr(self, "cfg", told), "OptimizerScheduler": Scheduler}
    given["StepLR"] = lambda verbose, **more: torch.optim.lr_scheduler.StepLR(**more)
    path = "flsim/optimizers/optimizer_scheduler.py"
    StepLR = source.definitions(COMMIT, path, "StepLRScheduler", given=given)["StepLRScheduler"]

    def trained(clipped: bool, scheduler: Any) -> Make:
        def begins(model: Model, h: Mapping[str, Any], round_: int) -> Take:
            at = Timeline["Timeline"](epoch=1, round=round_ + 1, rounds_per_epoch=10**6, total_epochs=1)
            d = sum(p.numel() for p in model.parameters())
            cfg = SimpleNamespace(max_clip_norm_normalized=1 / math.sqrt(d) if clipped else None)
            client = SimpleNamespace(cfg=cfg, global_round_num=at.global_round_num())
            sgd = torch.optim.SGD(model.parameters(), lr=h["eta_l"], weight_decay=0.01 if clipped else 0)
            made = scheduler(optimizer=sgd)

            def takes(loss: torch.Tensor) -> None:
                metrics = SimpleNamespace(loss=loss, num_examples=1)
                its = SimpleNamespace(fl_forward=lambda _: metrics, fl_get_module=lambda: model)
                trains(client, its, sgd, None, 0, None, made)

            return takes

        return begins

    half = {"eta_l": "step/round period=3 factor=0.5"}
    made = [
        (
            Claim("sgd", "client", variant="clipped", gradients=("clip-norm-eps 1", "decay 0.01")),
            trained(True, Scheduler),
        ),
        (Claim("sgd", "client", variant="halved", schedules=half), trained(False, StepLR)),
    ]
    return Steps("flsim", source.dated(COMMIT), made)
