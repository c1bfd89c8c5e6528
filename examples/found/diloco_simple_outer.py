"""PrimeIntellect-ai/diloco_simple at be38ec4: the outer step of ``pure_torch_diloco.py``.

``SOURCE=path/to/diloco_simple fedspec check py:examples/found/diloco_simple_outer.py:Subject``

The loop stands in a ``main`` that loads a language model. So the statements below ``if real_step % local_steps == 0``
are run as they stand there, with the names that they read. Its momentum is 0.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import beside  # noqa: F401
import source
import torch

from fedspec_suite.subjects.outer import Model, Outer, Rounds, offer, sgd

COMMIT, FILE = "be38ec4", "pure_torch_diloco.py"


def Subject() -> Outer:
    """The loop."""
    outer_step = source.below(COMMIT, FILE, "real_step % local_steps == 0")
    theirs = source.definitions(COMMIT, FILE, "get_offloaded_param", given={"torch": torch})

    def diloco(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        names = {**theirs, "dist": torch.distributed, "local_rank": 1, "inner_optimizer": local}
        names["outer_optimizer"] = sgd(model, h)
        names["params_offloaded"] = theirs["get_offloaded_param"](names["outer_optimizer"])

        def ends() -> None:
            local.step()
            local.zero_grad()
            exec(outer_step, names)

        return ends

    return Outer("diloco-simple", source.dated(COMMIT), [(offer(fixed={"beta": 0.9}), diloco)])
