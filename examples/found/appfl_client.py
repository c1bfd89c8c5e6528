"""appfl 1.0.1 and 1.12.0: a batch of ``VanillaTrainer``, with ``clip_grad``.

``pip install --no-deps appfl==1.0.1``, and then ``fedspec check examples/found/appfl_client.py:Adapter``; with
``appfl==1.12.0``, ``fedspec check examples/found/appfl_client.py:Mended``.

``_train_batch`` is run as it stands there, with SGD with ``weight_decay``; the package is not imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import beside
import source
import torch
from local import Steps, Take

from fedspec.contract import Claim
from fedspec_suite.subjects.outer import Model


def Adapter() -> Steps:
    """Adapter of the older version."""
    return trained(beside.published("appfl", "1.0.1"))


def Mended() -> Steps:
    """Adapter of the newer version."""
    return trained(beside.published("appfl", "1.12.0"))


def trained(version: str) -> Steps:
    """Make an adapter of the installed version."""
    path = "appfl/algorithm/trainer/vanilla_trainer.py"
    code = Path(str(distribution("appfl").locate_file(path))).read_text(encoding="utf-8")
    given = {"torch": torch, "np": SimpleNamespace(ndarray=object), "Tuple": tuple}
    trains = source.compiled(code, path, "_train_batch", given=given)["_train_batch"]

    def begins(model: Model, h: Mapping[str, Any], _: int) -> Take:
        sgd = torch.optim.SGD(model.parameters(), lr=h["eta_l"], weight_decay=0.01)
        told = SimpleNamespace(device="cpu", clip_grad=True, clip_value=1, clip_norm=2)
        batch = torch.zeros(1)

        def predicts(_: torch.Tensor) -> torch.Tensor:
            return batch

        vars(predicts)["parameters"] = model.parameters
        trainer = SimpleNamespace(train_configs=told, device="cpu", model=predicts)

        def takes(loss: torch.Tensor) -> None:
            trainer.loss_fn = lambda *_: loss
            trains(trainer, sgd, batch, batch)

        return takes

    return Steps("appfl", version, [(Claim("sgd", "client", gradients=("clip-norm-eps 1", "decay 0.01")), begins)])


Subject = Adapter
"""Earlier name of the adapter."""
