"""alpemreacar/FedDyn at 48a19fa: ``train_model`` and ``train_scaffold_mdl``, which clip at 10 and decay weights.

``SOURCE=path/to/FedDyn fedspec check examples/found/feddyn_round.py:Adapter``

A batch is a step, and its loss is the case's. Means, and the control variates at the end of a round, are the adapter's.

fedavg      ``train_model``
scaffold    ``train_scaffold_mdl``
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import numpy as np
import source
import torch

from fedspec.contract import Answer, Case, Claim, Event, Info, Round
from fedspec.errors import ContractError
from fedspec.params import flatten, unflatten

COMMIT, DECAY = "48a19fa", 0.01


class Model(torch.nn.Module):
    """Client's model, which returns its loss whatever the batch is."""

    def __init__(self, x: Any, H: Any, e: Any) -> None:
        super().__init__()
        self.x = torch.nn.Parameter(torch.tensor(x))
        self.H, self.e = torch.tensor(H, dtype=self.x.dtype), torch.tensor(e, dtype=self.x.dtype)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the loss."""
        return self.x @ self.H @ self.x / 2 - self.e @ self.x


class Session:
    """Session of a case: the model and, for SCAFFOLD, the control variates."""

    def __init__(self, case: Case, its: dict[str, Any]) -> None:
        self.case, self.its, self.x = case, its, flatten(case.x0)
        assert case.problem is not None
        self.problem, self.c = case.problem, np.zeros_like(self.x)
        self.own = np.zeros((len(self.problem.H), len(self.x)), self.x.dtype)

    def step(self, event: Event) -> Answer:
        """Run one round."""
        if not isinstance(event, Round):
            raise ContractError(f"event: {type(event).__name__} at level round; send Round")
        rate, problem, old, sent = self.case.hyper["eta_l"], self.problem, self.own.copy(), []
        for i, steps in zip(event.participants, event.steps, strict=True):
            model, batches = Model(self.x, problem.H[i], problem.e[i]), torch.zeros(steps, 1)
            rest = (batches, batches, rate, 1, steps, 10**9, DECAY, "")
            if self.case.algorithm == "fedavg":
                model = self.its["train_model"](model, *rest[:4], 1, *rest[5:])
            else:
                diff = torch.tensor(self.c - self.own[i])
                model = self.its["train_scaffold_mdl"](model, lambda m=model: m, diff, *rest)
                y = model.x.detach().numpy()
                self.own[i] = self.own[i] - self.c + (self.x - y) / (rate * steps)
            sent.append(model.x.detach().numpy())
        n = problem.examples[list(event.participants)]
        shares = n / n.sum() if self.case.algorithm == "fedavg" else np.full(len(sent), 1 / len(sent))
        eta = self.case.hyper.get("eta", 1.0)
        self.x = (self.x + eta * (shares @ sent - self.x)).astype(self.x.dtype)
        self.c = self.c + (self.own - old).sum(0) / len(self.own)
        return {"x": unflatten(self.x, self.case.x0)}


class Adapter:
    """Adapter of both functions."""

    def __init__(self) -> None:
        layers = SimpleNamespace(**vars(torch.nn) | {"CrossEntropyLoss": lambda reduction: lambda loss, _: loss})
        given = {"torch": SimpleNamespace(**vars(torch) | {"nn": layers}), "np": np, "device": "cpu", "max_norm": 10}
        given["data"] = SimpleNamespace(DataLoader=lambda batches, **_: batches)
        given["Dataset"] = lambda xs, ys, **_: list(zip(xs, ys, strict=True))
        names = ("train_model", "train_scaffold_mdl", "get_mdl_params")
        self.its = source.definitions(COMMIT, "utils_general.py", *names, given=given)
        chain = ("clip-norm-eps 10", f"decay {DECAY}")
        offers = (
            Claim("fedavg", "round", "mcmahan-2017", gradients=chain),
            Claim("scaffold", "round", "karimireddy-2020", gradients=chain),
        )
        self.info = Info("feddyn", source.dated(COMMIT), offers)

    def start(self, case: Case) -> Session:
        """Begin a case with fresh state."""
        return Session(case, self.its)
