"""nanofed 0.1.4: ``FedAvgAggregator``, with messages that aren't right.

``pip install --no-deps nanofed==0.1.4``, and then ``fedspec faults examples/found/nanofed_server.py:Adapter``

A message carries a model and the number of its round, which the adapter sets to the server's, if the case says none.
"""

from __future__ import annotations

import logging
from typing import Any

import beside
import numpy as np
import torch
from means import messages

from fedspec.contract import Answer, Case, Claim, Event, Info
from fedspec_suite.subjects.outer import Model

FAULTS = {
    "nan": "passes-on",
    "infinite": "passes-on",
    "twice": "passes-on",
    "stale": "raises",
    "nan-weight": "passes-on",
    "negative-weight": "passes-on",
    "no-weight": "counts-as-one",
    "no-message": "raises",
}


class Session:
    """Session of a case: the model and its aggregator."""

    def __init__(self, case: Case) -> None:
        from nanofed.server.aggregator.fedavg import FedAvgAggregator

        logging.disable(logging.CRITICAL)
        self.x0, self.model, self.its = case.x0, Model(case.x0), FedAvgAggregator()

    def step(self, event: Event) -> Answer:
        """Run a round."""
        now, sent, old = self.its.current_round + 1, [], self.model.state_dict()
        for m in messages(event):
            local = {
                n: x + torch.tensor(np.atleast_1d(d)) for (n, x), d in zip(old.items(), m.delta.values(), strict=True)
            }
            told: dict[str, Any] = {"client_id": m.client, "model_state": local, "metrics": {"num_samples": m.weight}}
            sent.append(told | {"round_number": m.round or now})
        self.its.aggregate(self.model, sent)
        return {"x": self.model.shown(self.x0)}


class Adapter:
    """Adapter of its aggregator."""

    start = Session

    def __init__(self) -> None:
        version = beside.published("nanofed", "0.1.4", "nanofed", "nanofed.server")
        claim = Claim("fedavg", "server", "mcmahan-2017", fixed={"eta": 1.0}, nonzero=("weight",), faults=FAULTS)
        self.info = Info("nanofed", version, (claim,))
