"""Synthetic(alpha, beta): linear classification whose weights and inputs differ from client to client.

    u_i ~ N(0, alpha^2),    W_i [10, 60] and b_i [10] with entries ~ N(u_i, 1)
    B_i ~ N(0, beta^2),     v_i [60] with entries ~ N(B_i, 1)
    x ~ N(v_i, diag(j^-1.2)),  y = argmax(W_i x + b_i),  n_i = 50 + floor(exp(N(4, 2^2)))

alpha is meant to be how much models differ, beta how much inputs do. But u_i moves all scores of a client alike, so
that no label depends on it: alpha has no effect, here and in the generator that this follows. Source: the authors'
generator, github.com/litian96/FedProx at 3eed82e, data/synthetic_1_1/generate_synthetic.py, where alpha and beta are
deviations, and a tenth of each client's examples is for the test; Li et al. (2020) call it Synthetic(alpha, beta).
Drawn anew here: not its numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from fedspec.errors import ParameterError
from fedspec_torch.tasks.models import MODELS, initialised
from fedspec_torch.tasks.task import Asked, Kind, Pair, Task, federated, tensors

FEATURES, CLASSES = 60, 10

HELD_OUT = 10
"""Inverse of the test share: one in ten of a client's examples is for the test."""


def synthetic(asked: Asked) -> Task:
    """Draw the clients' examples; the test set joins a tenth of each client's examples.

    Raises:
        ParameterError: alpha, beta or the deviation of the logarithms of sizes is negative.
    """
    own: Any = asked.given
    for name in ("alpha", "beta", "deviation"):
        if own[name] < 0:
            raise ParameterError(f"synthetic: {name}: got {own[name]}; give a standard deviation >= 0")
    rng = np.random.default_rng([asked.seed, 3])
    sizes = 50 + np.floor(rng.lognormal(own["size"], own["deviation"], asked.clients)).astype(int)
    spread = np.arange(1, FEATURES + 1) ** -0.6
    pairs: list[Pair] = []
    held: list[Pair] = []
    for n in sizes:
        u, v = rng.normal(0, own["alpha"]), rng.normal(rng.normal(0, own["beta"]), 1, FEATURES)
        W, b = rng.normal(u, 1, (CLASSES, FEATURES)), rng.normal(u, 1, CLASSES)
        inputs = v + spread * rng.standard_normal((n, FEATURES))
        targets = (inputs @ W.T + b).argmax(1)
        # They are drawn independently: the first ones are no others than the last.
        cut = n // HELD_OUT
        held.append((inputs[:cut], targets[:cut]))
        pairs.append((inputs[cut:], targets[cut:]))
    module = initialised(MODELS[asked.model](FEATURES, CLASSES), asked.seed)
    federation = federated(asked, module, nn.functional.cross_entropy, pairs)
    inputs, targets = (np.concatenate(parts) for parts in zip(*held, strict=True))
    return Task(federation, tensors((inputs, targets), asked.device))


KINDS = {
    "synthetic": Kind(
        "Synthetic(alpha, beta) of FedProx, 60 features, ten classes",
        ("logistic", "mlp", "matrices"),
        synthetic,
        {"alpha": 1.0, "beta": 1.0, "size": 4.0, "deviation": 2.0},
    )
}
