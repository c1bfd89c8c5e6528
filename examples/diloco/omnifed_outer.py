"""at-aaims/OmniFed: ``DiLoCo`` of ``src/omnifed``, and the older version in ``src/flora``.

``SOURCE=path/to/OmniFed fedspec check examples/diloco/omnifed_outer.py:Adapter``

Both say that they are arXiv 2311.08105; neither says which momentum.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import source
import torch

from fedspec_suite.subjects import workers
from fedspec_suite.subjects.outer import Model, Outer, Rounds, offer

COMMIT = "f8604d2"


class Means:
    """Stand-in for either package's communicator, which averages over the workers."""

    def aggregate(self, msg: Any, **_: Any) -> Any:
        """Average tensors by name, or a module's parameters, over the workers."""
        tensors = msg.values() if isinstance(msg, dict) else msg.parameters()
        for tensor in tensors:
            workers.all_reduce(tensor, torch.distributed.ReduceOp.AVG)
        return msg


class Base:
    """Empty base class for the algorithm; the outer step doesn't use it."""

    def __init__(self, **_: Any) -> None:
        self.local_model: Any = None

    def _setup(self, *_: Any, **__: Any) -> None:
        return None


def Adapter() -> Outer:
    """Adapter of both versions."""
    source.absent("rich", repr=SimpleNamespace(auto=lambda c: c))
    source.absent("rich.repr", auto=lambda c: c)
    for name in ("omnifed", "omnifed.algorithm"):
        source.absent(name)
    source.absent("omnifed.communicator", AggregationOp=enum.Enum("AggregationOp", ["MEAN"]), BaseCommunicator=Means)
    source.absent("omnifed.algorithm.base", BaseAlgorithm=Base)
    new = source.module(COMMIT, "src/omnifed/algorithm/diloco.py", "omnifed.algorithm.diloco").DiLoCo
    old = source.definitions(
        COMMIT, "src/flora/algorithms/diloco.py", "aggregate_updates", "_outer_step", given={"torch": torch}
    )

    def omnifed(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        made = new(outer_lr=h["eta"], outer_momentum=h["beta"])
        made.local_model = model
        made._setup()

        def ends() -> None:
            local.step()
            model.load_state_dict(made._aggregate_within_group(Means(), 1.0).state_dict())

        return ends

    def flora(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        its = SimpleNamespace(model=model, global_model=deepcopy(model), diff_params=deepcopy(model))
        its.velocity = {name: torch.zeros_like(p.data) for name, p in model.named_parameters()}
        its.outer_lr, its.outer_momentum, its.communicator = h["eta"], h["beta"], Means()

        def ends() -> None:
            local.step()
            old["aggregate_updates"](its)
            model.load_state_dict(old["_outer_step"](its).state_dict())

        return ends

    made = {"omnifed": omnifed, "flora": flora}
    return Outer("omnifed", source.dated(COMMIT), [(offer(variant=n), m) for n, m in made.items()])
