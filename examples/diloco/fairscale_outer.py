"""facebookresearch/fairscale: ``SlowMoDistributedDataParallel.perform_slowmo`` over local SGD, in its default form.

``SOURCE=path/to/fairscale fedspec check examples/diloco/fairscale_outer.py:Adapter``

``slowmo_lr`` is eta, ``slowmo_momentum`` beta, both frequencies are 1. It divides by the local rate, 1 here, and
multiplies by it again. So with a constant rate it is DiLoCo's outer step with the heavy ball. Only float32.
Waiting for a GPU is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import source
import torch

from fedspec_suite.subjects.outer import Model, Outer, Rounds, offer

COMMIT = "146f160"


def Adapter() -> Outer:
    """Adapter of its memory-efficient form: each worker steps a part of the model, and sends it to the others."""
    gossip = "fairscale.experimental.nn.data_parallel.gossip"
    above = [gossip.rsplit(".", n)[0] for n in range(5)]
    source.Package("fairscale", COMMIT, "fairscale", empty=tuple(above))
    from importlib import import_module

    # Called where eta = 1 and beta = 0, which switch SlowMo off and leave local SGD.
    torch.cuda.synchronize = lambda device=None: None
    SlowMo = import_module(f"{gossip}.distributed").SlowMoDistributedDataParallel

    def diloco(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        numbers = {"slowmo_momentum": h["beta"], "slowmo_lr": h["eta"], "slowmo_frequency": 1, "localsgd_frequency": 1}
        made = SlowMo(model, nprocs_per_node=1, global_group=object(), **numbers)
        made._init_global_momentum_buffers(local)

        def ends() -> None:
            local.step()
            made.perform_slowmo(local)

        return ends

    return Outer("fairscale", source.dated(COMMIT), [(offer("heavy-ball", dtypes=("float32",)), diloco)])
