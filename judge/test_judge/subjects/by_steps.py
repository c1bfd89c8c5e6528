"""Servers that weigh clients by their local steps, and what is claimed wrongly about it."""

from __future__ import annotations

import numpy as np
from right import DOUBLE, MCMAHAN, NOVA, FedAvg, FedNova, Subject

from fedspec.contract import Offer


class Average(FedAvg):
    """Clients weigh by their local steps, whatever they hold."""

    def weights(self, messages):
        tau = np.array([m.steps for m in messages], dtype=self.x.dtype)
        return tau / tau.sum()


class Nova(FedNova):
    """Server with Average's weights under FedNova's normalisation."""

    weights = Average.weights


BY_STEPS = {"weights": "steps"}
fedavg = Subject(
    Average,
    Offer("fedavg", "server", MCMAHAN, BY_STEPS, intermediates=("delta",)),
    Offer("fedavg", "round", MCMAHAN, BY_STEPS, dtypes=DOUBLE),
)
fednova = Subject(
    Nova,
    Offer("fednova", "server", NOVA, {**BY_STEPS, "solver": "momentum"}, intermediates=("tau_eff",), dtypes=DOUBLE),
    Offer("fednova", "round", NOVA, {**BY_STEPS, "solver": "momentum"}, dtypes=DOUBLE),
)
steps_for_examples = Subject(Average, Offer("fedavg", "server", MCMAHAN, dtypes=DOUBLE))
examples_for_steps = Subject(FedAvg, Offer("fedavg", "server", MCMAHAN, BY_STEPS, dtypes=DOUBLE))
