"""exo-explore/gym, ``exogym/strategy/diloco.py``: ``DiLoCoCommunicator`` with H = 1, on a CPU.

``SOURCE=path/to/gym fedspec check examples/diloco/gym_outer.py:Adapter``

plain       as it is
copied      and then each parameter gets memory of its own, as a copy from another device would have

``communicate(model, rank, nodes, step)`` is called after each local step, from step 1 on. At step 0 it does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import Any

import source
import torch

from fedspec_suite.subjects import workers
from fedspec_suite.subjects.outer import Make, Model, Outer, Rounds, offer

COMMIT = "9fa323c"


def Adapter() -> Outer:
    """Adapter of its default outer optimiser, SGD with Nesterov momentum, with the case's hyper-parameters."""
    source.Package("exogym", COMMIT, "exogym", empty=("exogym", "exogym.strategy", "exogym.aux"))
    source.absent("exogym.aux.utils", LogModule=object)
    from exogym.strategy.diloco import DiLoCoCommunicator
    from exogym.strategy.optim import OptimSpec

    def diloco(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any], copied: bool) -> Rounds:
        outside = OptimSpec(torch.optim.SGD, lr=h["eta"], nesterov=True, momentum=h["beta"])
        made, steps = DiLoCoCommunicator(H=1, outer_optim_spec=outside), count(1)
        made._init_node(model, workers.rank(), workers.count())

        def ends() -> None:
            local.step()
            made.communicate(model, workers.rank(), workers.count(), next(steps))
            if copied:
                for p in model.parameters():
                    p.data = p.data.clone()

        return ends

    made: dict[str, Make] = {"plain": partial(diloco, copied=False), "copied": partial(diloco, copied=True)}
    return Outer("exogym", source.dated(COMMIT), [(offer(nonzero=("beta",), variant=n), m) for n, m in made.items()])
