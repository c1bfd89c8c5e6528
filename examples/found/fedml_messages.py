"""FedML-AI/FedML at 03e11df: the numbers of its secure aggregation, without masks.

``SOURCE=path/to/FedML fedspec check examples/found/fedml_messages.py:Adapter``

The clients call ``transform_tensor_to_finite`` of ``core/mpc/secagg.py``. The server calls
``transform_finite_to_tensor`` on the sum, and makes it float32. The sum modulo p and the factor 1 / n are this
adapter's. p is 2^15 - 19 and ``precision_parameter`` 10, as in its configurations.

models      of the clients' models, as its clients send them
changes     of their changes
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import beside  # noqa: F401
import means
import numpy as np
import source
import torch

from fedspec.contract import Answer, Case, Event, Info

COMMIT, P, BITS = "03e11df", 2**15 - 19, 10


class Session:
    """Session of a case: the model, and the sum of what the clients send."""

    def __init__(self, case: Case, its: Mapping[str, Any]) -> None:
        self.x, self.its, self.models = dict(case.x0), its, case.variant == "models"

    def step(self, event: Event) -> Answer:
        """Run a round."""
        base = self.x if self.models else {name: np.zeros_like(x) for name, x in self.x.items()}
        sent = [{n: base[n] + d for n, d in m.delta.items()} for m in means.messages(event)]
        finite = [self.its["transform_tensor_to_finite"](model, P, BITS) for model in sent]
        total = {name: np.mod(sum(f[name] for f in finite), P) for name in self.x}
        mean = {n: t.numpy() / len(sent) for n, t in self.its["transform_finite_to_tensor"](total, P, BITS).items()}
        moved = {n: mean[n].reshape(x.shape) for n, x in self.x.items()}
        self.x = moved if self.models else {n: x + moved[n] for n, x in self.x.items()}
        return {"x": self.x}


class Adapter:
    """Adapter of both."""

    def __init__(self) -> None:
        names = ("my_q", "my_q_inv", "transform_tensor_to_finite", "transform_finite_to_tensor")
        given = {"np": np, "torch": torch}
        self.its = source.definitions(COMMIT, "python/fedml/core/mpc/secagg.py", *names, given=given)
        more: dict[str, Any] = {
            "options": {"weights": "uniform"},
            "messages": (f"fixed {BITS}",),
            "dtypes": ("float32",),
        }
        claims = tuple(
            means.offer_of_models("fedavg", "mcmahan-2017", variant=v, **more) for v in ("models", "changes")
        )
        self.info = Info("fedml", source.dated(COMMIT), claims)

    def start(self, case: Case) -> Session:
        """Begin a case."""
        return Session(case, self.its)
