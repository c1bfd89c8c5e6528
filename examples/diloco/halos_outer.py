"""utnslab/halos, ``src/halos/opt.py``: ``DelayedNesterovOptimizer`` with c = 0, one push for each client of a round.

``SOURCE=path/to/halos fedspec check examples/diloco/halos_outer.py:Adapter``

With a buffer of as many pushes as there are clients the model after the last of them is that of one outer step with the
mean. A push of worker i is its old model minus its new one; all are pushed to one server, in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import source
import torch

from fedspec_suite.subjects import workers
from fedspec_suite.subjects.outer import Model, Outer, Rounds, offer

COMMIT = "4b5bf73"


def Adapter() -> Outer:
    """Adapter in which every worker keeps a copy of the server, and receives all pushes."""
    Optimizer = source.module(COMMIT, "src/halos/opt.py", "halos_opt").DelayedNesterovOptimizer

    def diloco(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        server = Optimizer(model.parameters(), lr=h["eta"], beta=h["beta"], buffer_size=workers.count())

        def ends() -> None:
            old = [p.detach().clone() for p in model.parameters()]
            local.step()
            with torch.no_grad():
                push = [a - p for a, p in zip(old, model.parameters(), strict=True)]
                for p, a in zip(model.parameters(), old, strict=True):
                    p.copy_(a)
            for pushed in workers.gather(push):
                for p, g in zip(model.parameters(), pushed, strict=True):
                    p.grad = g.clone()
                server.step()

        return ends

    return Outer("halos", source.dated(COMMIT), [(offer(), diloco)])
