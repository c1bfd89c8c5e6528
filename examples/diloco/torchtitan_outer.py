"""pytorch/torchtitan: ``maybe_semi_sync_training`` of its torchft experiment, which wraps torchft's DiLoCo.

``SOURCE=path/to/torchtitan fedspec check examples/diloco/torchtitan_outer.py:Adapter``; it needs torchft

Outside it has SGD with rate 0.7 and Nesterov momentum 0.9, one for each fragment. Its settings and its manager are
stand-ins; the function and what it calls are as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import source
import torch

from fedspec_suite.subjects.outer import Model, Outer, Rounds, offer
from fedspec_suite.subjects.torchft.driver import Manager, entered

COMMIT = "b5bcd76"


def Adapter() -> Outer:
    """Adapter with a single fragment."""
    source.absent("torchtitan")
    source.absent("torchtitan.config", Configurable=SimpleNamespace(Config=object))
    source.absent("torchtitan.tools")
    source.absent("torchtitan.tools.logging", logger=SimpleNamespace(info=lambda *_: None))
    source.absent("torchtitan.experiments.torchft.config", FaultTolerance=object)
    makes = source.definitions(
        COMMIT,
        "torchtitan/experiments/torchft/manager.py",
        "maybe_semi_sync_training",
        given={"torch": torch, "cast": lambda _, it: it, "logger": SimpleNamespace(info=lambda *_: None)},
    )["maybe_semi_sync_training"]
    settings = SimpleNamespace(enable=True, semi_sync_method="diloco", sync_steps=1, should_quantize=False)
    settings.fragment_sync_delay, settings.fragment_update_alpha = 0, 0.0

    def diloco(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        entered(makes(settings, SimpleNamespace(_manager=Manager()), model, 1, local), local)
        return local.step

    said = f"{source.dated(COMMIT)}, torchft {version('torchft')}"
    return Outer("torchtitan", said, [(offer(fixed={"eta": 0.7, "beta": 0.9}), diloco)])
