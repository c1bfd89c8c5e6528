"""Fed-BioMed 6.4.1 as a federated server: the aggregators of its researcher, without its nodes and network.

fedavg    level server, ``FedAverage().aggregate(model_params, weights)``; eta is 1
scaffold  level round, ``Scaffold(server_lr=eta)``: ``create_aggregator_args``, then ``aggregate``

``Scaffold`` names the paper and its "2nd option", and numbers the steps of a round; hence karimireddy-2020. It
keeps the clients' control variates on the server. The clients run here as its steps 5 to 11 say:
torch.optim.SGD(lr=eta_l), with the correction that ``create_aggregator_args`` sends subtracted from each
gradient, as ``TorchTrainingPlan`` does.

Fed-BioMed's nodes send models: at level server the adapter sends x + delta, with x as the aggregator returned
it last, so the rounding of that sum is the adapter's, and the weights as shares of the examples, which the
strategy computes there.

``aggregate`` takes one number of updates for all nodes and a rate for each; only their product enters. A case
has a number of steps for each client, so n_updates is 1 and a node's rate is eta_l times its steps. Fed-BioMed
by itself runs equally many updates on every node. Parameters are torch tensors in the case's dtype. Rounds
count from 0. Shown: c (global_state), c_i (nodes_states).

Importing it imports torchvision, whose registry wheel is built for CUDA and looks for two operators that are
missing beside a CPU build of PyTorch. Where that is so their schemas are declared first; nothing here calls
them.
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call"

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from fedspec.contract import Answer, Case, Event, Messages, Offer, Round, SubjectInfo
from fedspec.errors import ContractError
from fedspec_suite.subjects.quadratic_gradients import put_gradients

try:
    import torchvision  # noqa: F401
except RuntimeError:
    missing = torch.library.Library("torchvision", "DEF")
    missing.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    missing.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

from fedbiomed.researcher.aggregators import FedAverage, Scaffold

OFFERS = (
    Offer("fedavg", "server", "mcmahan-2017", options={"weights": "examples"}, fixed={"eta": 1.0}),
    Offer(
        "scaffold",
        "round",
        "karimireddy-2020",
        intermediates=("c_i", "c"),
        notes="n_updates=1, a node's lr is eta_l times its steps",
    ),
)


class StandInDatasets:
    """Stand-in for Fed-BioMed's ``FederatedDataset`` with the method that the aggregator calls."""

    def __init__(self, nodes: int) -> None:
        self.nodes = [str(i) for i in range(nodes)]

    def node_ids(self) -> list[str]:
        """List all nodes, whether they take part in the round or not."""
        return self.nodes


class StandInPlan:
    """Stand-in for Fed-BioMed's training plan: the layers' names, and a rate for nodes that do not take part."""

    local_params: tuple[str, ...] = ()

    def __init__(self, names: Iterable[str], rate: float) -> None:
        self.rates = dict.fromkeys(names, rate)

    def get_model_params(self, **which: object) -> dict[str, float]:
        """Return a mapping with an entry for each layer."""
        return self.rates

    def optimizer(self) -> StandInPlan:
        """Return the stand-in optimizer, which has the learning rates."""
        return self

    def get_learning_rate(self) -> dict[str, float]:
        """Return the learning rate of each layer."""
        return self.rates


class FedavgSession:
    """Session with the FedAvg aggregator and the current model."""

    def __init__(self, case: Case) -> None:
        self.x: dict[str, Any] = dict(case.x0)
        self.aggregator = FedAverage()

    def step(self, event: Event) -> Answer:
        """Aggregate one round's messages."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
        total = sum(m.weight for m in event.messages)
        models = {
            str(i): {name: torch.tensor(x + m.delta[name]) for name, x in self.x.items()}
            for i, m in enumerate(event.messages)
        }
        weights = {str(i): float(m.weight / total) for i, m in enumerate(event.messages)}
        new = self.aggregator.aggregate(models, weights)
        self.x = {name: new[name].numpy().copy() for name in self.x}
        return {"x": self.x}


class ScaffoldSession:
    """Session with the aggregator, the current model, and clients that run SGD with the correction they receive."""

    def __init__(self, case: Case) -> None:
        if case.problem is None:
            raise ContractError("case: no problem at level round")
        self.x = {name: torch.tensor(block) for name, block in case.x0.items()}
        self.rate, self.round = case.hyper["eta_l"], 0
        self.H, self.e = torch.tensor(case.problem.H), torch.tensor(case.problem.e)
        self.plan = StandInPlan(self.x, self.rate)
        self.aggregator = Scaffold(server_lr=case.hyper["eta"], fds=StandInDatasets(len(self.e)))

    def train(self, client: int, steps: int, correction: Any) -> dict[str, Any]:
        """Train a node for one round and return its model."""
        y = {name: block.clone().requires_grad_() for name, block in self.x.items()}
        optimizer = torch.optim.SGD([*y.values()], lr=self.rate)
        for _ in range(steps):
            put_gradients([*y.values()], self.H[client], self.e[client])
            for name, block in y.items():
                assert block.grad is not None
                block.grad.sub_(correction[name])
            optimizer.step()
        return {name: block.detach() for name, block in y.items()}

    def step(self, event: Event) -> Answer:
        """Run one round."""
        if not isinstance(event, Round):
            raise ContractError(f"event: {type(event).__name__} at level round; send Round")
        chosen = dict(zip(map(str, event.participants), event.steps, strict=True))
        model = dict(self.x)
        sent = self.aggregator.create_aggregator_args(model, list(chosen))
        models, replies = {}, {}
        for node, steps in chosen.items():
            models[node] = self.train(int(node), steps, sent[node]["aggregator_correction"])
            replies[node] = {"optimizer_args": {"lr": dict.fromkeys(self.x, self.rate * steps)}}
        shares = dict.fromkeys(chosen, 1 / len(chosen))
        new = self.aggregator.aggregate(models, shares, model, self.plan, replies, n_updates=1, n_round=self.round)
        self.x, self.round = {name: new[name] for name in self.x}, self.round + 1

        def whole(state: Any) -> Any:
            return np.concatenate([np.ravel(state[name]) for name in self.x])

        return {
            "x": {name: block.numpy().copy() for name, block in self.x.items()},
            "c": {name: np.array(self.aggregator.global_state[name]) for name in self.x},
            "c_i": np.stack([whole(self.aggregator.nodes_states[str(i)]) for i in range(len(self.e))]),
        }


class FedBiomed:
    """Fed-BioMed as a subject."""

    info = SubjectInfo("fedbiomed", version("fedbiomed"), OFFERS)

    def start(self, case: Case) -> FedavgSession | ScaffoldSession:
        """Create the session with the case's aggregator."""
        match case.algorithm:
            case "fedavg":
                return FedavgSession(case)
            case "scaffold":
                return ScaffoldSession(case)
        raise ContractError(f"case: {case.algorithm} is not claimed")


SUBJECT = FedBiomed()
