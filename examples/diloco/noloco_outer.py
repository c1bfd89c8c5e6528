"""gensyn-ai/noloco: its baseline DiLoCo, and its own outer step with all workers in one group.

``SOURCE=path/to/noloco fedspec check examples/diloco/noloco_outer.py:Adapter``

baseline    ``diloco_optimizer.DiLoCoOptimizer``
pipeline    ``pipeline_diloco_optimizer.PipelineDiLoCoOptimizer``
group       ``sparse_optimizer_c.outer_step``; in one group the pull to the group's mean is zero

The first two are claimed to be DiLoCo, whose name they have. The third has no other name than NoLoCo, and is claimed to
be what it is in one group. Local steps are the adapter's SGD in place of Adam, whose moments no outer step reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import source
import torch

from fedspec_suite.subjects import workers
from fedspec_suite.subjects.outer import Model, Outer, Rounds, offer

COMMIT = "a1b4a42"


def Adapter() -> Outer:
    """Adapter of all three outer steps."""
    at = {
        n: source.module(COMMIT, f"src/noloco/{n}.py", f"noloco_{n}")
        for n in ("diloco_optimizer", "pipeline_diloco_optimizer", "sparse_optimizer_c")
    }

    def baseline(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        made = at["diloco_optimizer"].DiLoCoOptimizer(
            list(model.parameters()), 1, 0.1, lambda: 1 / workers.count(), "cpu", h["eta"], h["beta"]
        )
        made.local_optimizer = local
        return made.step  # type: ignore[no-any-return]

    def pipeline(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        made = at["pipeline_diloco_optimizer"].PipelineDiLoCoOptimizer(model, 1, 0.1, "cpu", h["eta"], h["beta"], None)
        made.local_optimizer = local
        return made.step  # type: ignore[no-any-return]

    def group(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        old = [p.detach().clone() for p in model.parameters()]
        momentum = [torch.zeros_like(p) for p in old]
        everybody = list(range(workers.count()))

        def ends() -> None:
            local.step()
            at["sparse_optimizer_c"].outer_step(everybody, model, old, momentum, h["eta"], h["beta"])

        return ends

    made = [(offer(variant="baseline"), baseline), (offer(variant="pipeline"), pipeline)]
    return Outer("noloco", source.dated(COMMIT), [*made, (offer("heavy-ball", variant="group"), group)])
