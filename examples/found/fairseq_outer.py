"""facebookresearch/fairseq at 3d262bb, ``fairseq/optim/bmuf.py``: ``FairseqBMUF``, synchronised after each step.

``SOURCE=path/to/fairseq fedspec check examples/found/fairseq_outer.py:Adapter``

classical   ``use_nbm`` off: block momentum as it is
nesterov    ``use_nbm`` on
unfiltered  ``block_momentum`` 0: plain averaging, in which ``block_lr`` plays no part

``block_lr`` is eta and ``block_momentum`` is beta. What it inherits, and its configuration, are stand-ins. With one
worker it leaves blocks out; it is told of two then, so that its rule is seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import source
import torch

from fedspec_suite.subjects import workers
from fedspec_suite.subjects.outer import Make, Model, Outer, Rounds, offer

COMMIT = "3d262bb"


class Base:
    """Stand-in for the base class of ``FairseqBMUF``: the parameters of a local optimiser."""

    def __init__(self, cfg: Any) -> None:
        self.cfg = cfg

    @property
    def params(self) -> list[torch.Tensor]:
        """Return all parameters."""
        its: Any = self
        return [p for group in its._optimizer.param_groups for p in group["params"]]


def Adapter() -> Outer:
    """Adapter of all three settings."""
    for name in ("fairseq", "fairseq.dataclass", "fairseq.optim"):
        source.absent(name)
    source.absent("fairseq.dataclass.configs", FairseqBMUFConfig=object)
    source.absent("fairseq.dataclass.utils", gen_parser_from_dataclass=None)
    source.absent("fairseq.optim.fairseq_optimizer", FairseqOptimizer=Base)
    Bmuf = source.module(COMMIT, "fairseq/optim/bmuf.py", "fairseq.optim.bmuf").FairseqBMUF

    def outer(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any], nesterov: bool) -> Rounds:
        told = SimpleNamespace(global_sync_iter=1, warmup_iterations=0, average_sync=False, use_nbm=nesterov)
        told.block_momentum, told.block_lr, told.distributed_world_size = h["beta"], h["eta"], max(2, workers.count())
        return Bmuf(told, local).step  # type: ignore[no-any-return]

    made: list[tuple[Any, Make]] = [
        (offer("heavy-ball", nonzero=("beta",), variant="classical"), partial(outer, nesterov=False)),
        (offer("diloco", nonzero=("beta",), variant="nesterov"), partial(outer, nesterov=True)),
        (offer("heavy-ball", fixed={"beta": 0.0}, variant="unfiltered"), partial(outer, nesterov=False)),
    ]
    return Outer("fairseq", source.dated(COMMIT), made)
