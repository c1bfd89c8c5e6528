"""javieryu/nn_distributed_training at 6a0cfc7, the code of DiNNO: ``DSGD`` and ``DSGT`` of ``optimizers``.

``SOURCE=path/to/nn_distributed_training fedspec check examples/found/dinno_peers.py:Adapter``

``train`` runs as it stands, a call for each exchange; the tracker begins with the gradients (``init_grads``). Its
problem is the judge's quadratics, and the matrix is the judge's in the place of Metropolis weights. Only float64.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import network
import numpy as np
import source
import torch

from fedspec.contract import Case, Claim

COMMIT = "6a0cfc7"


class Problem:
    """Stand-in for its problem class, over quadratics, with the methods that the optimisers call."""

    def __init__(self, case: Case, metropolis: Any) -> None:
        (x,) = case.x0.values()
        self.N, self.models = len(x), {i: torch.nn.ParameterList([torch.tensor(row)]) for i, row in enumerate(x)}
        assert case.problem is not None
        self.H, self.e = torch.tensor(case.problem.H), torch.tensor(case.problem.e)
        self.conf = {"metrics_config": {"evaluate_frequency": 1}}
        self.graph = SimpleNamespace(neighbors=lambda i: network.beside(metropolis.W.numpy(), i))

    def local_batch_loss(self, i: int) -> torch.Tensor:
        """Return F_i at client i's model."""
        (x,) = self.models[i]
        loss: torch.Tensor = x @ self.H[i] @ x / 2 - self.e[i] @ x
        return loss

    def evaluate_metrics(self, at_end: bool) -> None:
        """Evaluate nothing."""


class Trained:
    """Network of peers that one of its optimisers trains."""

    def __init__(self, case: Case, optimiser: Any, metropolis: Any) -> None:
        self.metropolis, self.problem = metropolis, Problem(case, metropolis)
        rates = {"alpha": case.hyper["eta_l"], "alpha0": case.hyper["eta_l"], "mu": 0.0}
        self.made = optimiser(self.problem, "cpu", {**rates, "init_grads": True})

    def run(self, W: network.Numbers, steps: int) -> list[network.Numbers]:
        """Call the optimiser's ``train``, and return the peers' models."""
        self.metropolis.W = torch.tensor(W)
        self.made.conf["outer_iterations"] = steps
        self.made.train()
        self.made.conf["init_grads"] = False
        return [np.array(x.detach()) for (x,) in self.problem.models.values()]


def Adapter() -> network.Peers:
    """Adapter of both optimisers."""
    metropolis = SimpleNamespace(W=None)
    source.absent("utils", graph_generation=SimpleNamespace(get_metropolis=lambda graph: metropolis.W))
    made = []
    for name, offer in {
        "DSGD": Claim("dsgd", "trace", "gradient-at-combined", dtypes=("float64",)),
        "DSGT": Claim("diging", "trace", "semi-atc", dtypes=("float64",)),
    }.items():
        optimiser = getattr(source.module(COMMIT, f"optimizers/{name.lower()}.py", name.lower()), name)
        made.append((offer, partial(Trained, optimiser=optimiser, metropolis=metropolis)))
    return network.Peers("dinno", source.dated(COMMIT), made)
