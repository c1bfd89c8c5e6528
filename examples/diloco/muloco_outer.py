"""facebookresearch/MuLoCo: the ``DiLoCo`` of its own copy of torchft, with the outer optimisers that its files set.

``SOURCE=path/to/MuLoCo fedspec check examples/diloco/muloco_outer.py:Adapter``

config      SGD with ``maximize=True``, as ``torchtitan/config/diloco/2x_4gpu_muloco.py`` has it
example     SGD without it, as ``torchft/train_diloco.py`` has it
sent        ``QuantizedOuterSGD`` whose compressor keeps all (top-k with the ratio 1), without error memory
memory      the same with error memory (``use_ef``), whose decay is 1: there is no error to remember
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import source
import torch

from fedspec_suite.subjects.outer import Make, Model, Outer, Rounds, offer, sgd
from fedspec_suite.subjects.torchft.driver import Manager, entered

COMMIT = "475bbf4"


def Adapter() -> Outer:
    """Adapter of one class with four settings of its outer optimiser."""
    source.absent("torchft")
    source.absent("torchft.manager", Manager=Manager)
    DiLoCo = source.module(COMMIT, "torchft/torchft/local_sgd.py", "local_sgd").DiLoCo
    source.absent("einops", rearrange=None)
    where = "torchtitan/torchtitan/components/quantized_outer_sgd.py"
    Quantized = source.module(COMMIT, where, "quantized_outer_sgd").QuantizedOuterSGD

    def quantized(model: Model, h: Mapping[str, Any], use_ef: bool) -> torch.optim.Optimizer:
        numbers = {"lr": h["eta"], "momentum": h["beta"], "nesterov": True, "error_decay": 1.0}
        kept = {"compressor_type": "topk", "topk_sparsity_ratio": 1.0}
        made: torch.optim.Optimizer = Quantized(model.parameters(), **numbers, **kept, use_ef=use_ef)
        return made

    def made_with(outside: Callable[[Model, Mapping[str, Any]], Any], **more: Any) -> Make:
        def diloco(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
            entered(DiLoCo(Manager(), [model], local, [outside(model, h)], sync_every=1, **more), local)
            return local.step

        return diloco

    made = {
        "config": made_with(lambda model, h: sgd(model, h, maximize=True)),
        "example": made_with(sgd),
        "sent": made_with(lambda model, h: quantized(model, h, False), use_quantized_outer_sgd=True),
        "memory": made_with(lambda model, h: quantized(model, h, True), use_quantized_outer_sgd=True),
    }
    return Outer("muloco", source.dated(COMMIT), [(offer(nonzero=("beta",), variant=n), m) for n, m in made.items()])
