"""alibaba/FederatedScope at 480b67d: a client's batches, through the hooks of ``GeneralTorchTrainer``.

``SOURCE=path/to/FederatedScope fedspec check examples/found/federatedscope_trainer.py:Adapter``

``_hook_on_fit_start_init`` begins a round, and ``_hook_on_batch_backward`` takes a step: both are run as they stand
there, with its builders of optimisers and schedulers. The context is a stand-in without data.

clipped     ``grad.grad_clip`` is 1, and the optimiser is SGD with ``weight_decay``
halved      ``train.scheduler`` is a ``StepLR``
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import source
import torch
from local import Make, Steps, Take

from fedspec.contract import Claim
from fedspec_suite.subjects.outer import Model

COMMIT, FOLDER = "480b67d", "federatedscope/core"


def Adapter() -> Steps:
    """Adapter of its clients with SGD."""
    source.absent("federatedscope")
    source.absent("federatedscope.register", optimizer_dict={}, scheduler_dict={})
    source.absent("federatedscope.core")
    source.absent("federatedscope.contrib.optimizer")
    source.absent("federatedscope.contrib.scheduler")
    built = {
        f"get_{kind}": getattr(source.module(COMMIT, f"{FOLDER}/auxiliaries/{kind}_builder.py", kind), f"get_{kind}")
        for kind in ("optimizer", "scheduler")
    }
    modes = SimpleNamespace(TRAIN="train", FINETUNE="finetune")
    given = {
        **built,
        "torch": torch,
        "MODE": modes,
        "CtxVar": lambda value, _: value,
        "LIFECYCLE": SimpleNamespace(ROUTINE=0),
    }
    names = ("_hook_on_fit_start_init", "_hook_on_batch_backward")
    hooks = source.definitions(COMMIT, f"{FOLDER}/trainers/torch_trainer.py", *names, given=given)

    def trained(clip: float, decay: float, scheduler: Mapping[str, Any]) -> Make:
        def begins(model: Model, h: Mapping[str, Any], round_: int) -> Take:
            optimizer = {"type": "SGD", "lr": h["eta_l"], "weight_decay": decay}
            told = {"train": SimpleNamespace(optimizer=optimizer, scheduler=scheduler)}
            ctx = SimpleNamespace(model=model, device="cpu", cur_mode="train", grad_clip=clip, cfg=told)
            hooks["_hook_on_fit_start_init"](None, ctx)

            def takes(loss: torch.Tensor) -> None:
                ctx.loss_task = loss
                hooks["_hook_on_batch_backward"](None, ctx)

            return takes

        return begins

    halves = {"type": "StepLR", "step_size": 3, "gamma": 0.5}
    half = "step/{} period=3 factor=0.5".format
    made = [
        (
            Claim("sgd", "client", variant="clipped", gradients=("clip-norm-eps 1", "decay 0.01")),
            trained(1, 0.01, {"type": ""}),
        ),
        (Claim("sgd", "client", variant="halved", schedules={"eta_l": half("step-of-round")}), trained(-1, 0, halves)),
        (Claim("sgd", "client", variant="by-rounds", schedules={"eta_l": half("round")}), trained(-1, 0, halves)),
    ]
    return Steps("federatedscope", source.dated(COMMIT), made)
