"""Quadratic that all clients share, with heavy-tailed gradient noise: the toy problems of FedAda2's App. A.

    F_i(x, xi) = |x|^2 / 2 + xi' x,    gradient x + xi,    f(x) = |x|^2 / 2,    x* = 0

``student``: client i = 1, 2, ... has Student's t with i + 1 degrees of freedom, so that the first has no variance.
``cauchy``: the first has a Cauchy distribution of scale ``gamma``, below 1/3, the others a normal one of deviation 1,
which the paper leaves open. Each draw stands beside its negative, so that a client's mean gradient is exactly x, and
the minimiser is exactly the origin. Source: FedAda2, Props. 9 and 10 (L316, L475); the start is ours: all ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import nn

from fedspec.arith import Array
from fedspec.errors import ParameterError, UnknownNameError
from fedspec.problems.heavy_tailed import draw_cauchy, draw_student
from fedspec_torch.tasks.task import Asked, Kind, Task, federated, tensors

NOISES = ("student", "cauchy")


def heavy_tailed(asked: Asked) -> Task:
    """Make clients with ``draws`` examples each, one noise vector an example; the test loss is f itself.

    With input sqrt(d/2) and target -sqrt(d/2) xi the mean square of a linear model is F_i and |xi|^2 / 2, which no
    gradient sees.

    Raises:
        UnknownNameError: the noise is unknown.
        ParameterError: the dimension or the number of draws isn't a whole number >= 1, or gamma isn't positive.
    """
    own = asked.given
    dim, draws = own["dim"], own["draws"]
    if own["noise"] not in NOISES:
        raise UnknownNameError(f"heavy-tailed: noise: got {own['noise']!r}; known: {', '.join(NOISES)}")
    if dim < 1:
        raise ParameterError(f"heavy-tailed: dim: got {dim}; give a whole number >= 1")
    if draws < 2 or draws % 2:
        raise ParameterError(
            f"heavy-tailed: draws: got {draws}; draws come in pairs of opposite sign, so give an even number >= 2"
        )
    rng, scale = np.random.default_rng([asked.seed, 4]), (dim / 2) ** 0.5
    pairs = []
    for i in range(asked.clients):
        xi = _noise(rng, own["noise"], i, own["gamma"], (draws // 2, dim))
        pairs.append((np.full((draws, 1), scale), -scale * np.concatenate([xi, -xi])))
    module = nn.Linear(1, dim, bias=False, dtype=torch.float64)
    nn.init.ones_(module.weight)
    federation = federated(replace(asked, batch_size=1), module, nn.functional.mse_loss, pairs, torch.float64)
    test = tensors((np.full((1, 1), scale), np.zeros((1, dim))), asked.device, torch.float64)
    return Task(federation, test, torch.zeros(dim, dtype=torch.float64, device=asked.device))


def _noise(rng: np.random.Generator, kind: str, i: int, gamma: float, shape: tuple[int, ...]) -> Array:
    """Draws of client i = 0, 1, ..."""
    if kind == "student":
        return draw_student(rng, i + 2, shape)
    return rng.standard_normal(shape) if i else draw_cauchy(rng, gamma, shape)


KINDS = {
    "heavy-tailed": Kind(
        "one quadratic for all, and gradient noise without a variance",
        ("linear",),
        heavy_tailed,
        {"dim": 1, "noise": "student", "gamma": 0.3, "draws": 2000},
    )
}
