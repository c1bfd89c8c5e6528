"""Quadratics with a known common minimiser, as in FedNova's Figure 2.

    F_i(x) = (x - e_i)' H_i (x - e_i) / 2,    H_i = diag(h_i),    x* = (sum_i H_i)^-1 sum_i H_i e_i

Source: FedNova, eq. (3) and Fig. 2 (L70-L83): H_i = I, e_i from N(0, 0.01 I). The dimension is not given there, and no
start; here they are 10 and the origin.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import nn

from fedspec.errors import ParameterError
from fedspec_torch.tasks.task import Asked, Kind, Task, federated, tensors


def quadratics(asked: Asked) -> Task:
    """Make quadratic clients with exact gradients: each minibatch has all d examples, one a coordinate; p_i = 1 / n.

    The k-th example is sqrt(d h_ik / 2) times the k-th unit vector, and its target as much times e_ik, so that the mean
    square of a linear model is F_i. Coordinates of h_i are drawn uniformly between ``least`` and ``greatest``, of e_i
    from a normal distribution of deviation ``spread``.

    Raises:
        ParameterError: the dimension isn't a whole number >= 1, or curvatures or spread aren't positive.
    """
    dim, spread = asked.given["dim"], asked.given["spread"]
    least, greatest = asked.given["least"], asked.given["greatest"]
    if not isinstance(dim, int) or dim < 1:
        raise ParameterError(f"quadratics: dim: got {dim!r}; give a whole number >= 1")
    if not 0 < least <= greatest:
        raise ParameterError(f"quadratics: got least = {least} and greatest = {greatest}; give 0 < least <= greatest")
    if not spread > 0:
        raise ParameterError(f"quadratics: spread: got {spread}; give a positive standard deviation")
    rng = np.random.default_rng([asked.seed, 2])
    e = spread * rng.standard_normal((asked.clients, dim))
    h = rng.uniform(least, greatest, e.shape)
    root = np.sqrt(dim * h / 2)
    pairs = [(np.diag(row), (row * to)[:, None]) for row, to in zip(root, e, strict=True)]
    module = nn.Linear(dim, 1, bias=False, dtype=torch.float64)
    nn.init.zeros_(module.weight)
    federation = federated(replace(asked, batch_size=None), module, nn.functional.mse_loss, pairs, torch.float64)
    inputs, targets = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    minimiser = torch.tensor((h * e).sum(0) / h.sum(0), device=asked.device)
    return Task(federation, tensors((inputs, targets), asked.device, torch.float64), minimiser)


KINDS = {
    "quadratics": Kind(
        "quadratics whose common minimiser is known",
        ("linear",),
        quadratics,
        {"dim": 10, "spread": 0.1, "least": 1.0, "greatest": 1.0},
    )
}
