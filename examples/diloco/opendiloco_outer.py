"""PrimeIntellect-ai/OpenDiloco, ``open_diloco/train_diloco_torch.py``: the outer step of its training loop.

``SOURCE=path/to/OpenDiloco fedspec check examples/diloco/opendiloco_outer.py:Adapter``

The loop stands in a ``main`` that loads a language model. So the statements below ``if real_step % local_steps == 0``
are run as they stand there, with the names that they read: the optimisers and ``params_offloaded``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import source
import torch

from fedspec_suite.subjects.outer import Model, Outer, Rounds, offer, sgd

COMMIT, FILE = "a5b7236", "open_diloco/train_diloco_torch.py"


def Adapter() -> Outer:
    """Adapter of the loop with PyTorch's SGD as outer optimiser, with momentum 0.9."""
    return loop("opendiloco", COMMIT, FILE)


def loop(name: str, commit: str, file: str) -> Outer:
    """Make an adapter of a training loop's outer step, which has the same names in PrimeIntellect-ai/diloco_simple."""
    outer_step = source.below(commit, file, "real_step % local_steps == 0")
    theirs = source.definitions(commit, file, "get_offloaded_param", given={"torch": torch})

    def diloco(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        names = {**theirs, "dist": torch.distributed, "local_rank": 1, "inner_optimizer": local}
        names["outer_optimizer"] = sgd(model, h)
        names["params_offloaded"] = theirs["get_offloaded_param"](names["outer_optimizer"])

        def ends() -> None:
            local.step()
            local.zero_grad()
            exec(outer_step, names)

        return ends

    return Outer(name, source.dated(commit), [(offer(fixed={"beta": 0.9}), diloco)])
