"""Flower 1.41.0 as federated servers, through both interfaces, without its network or runtime.

CLASSIC   ``flwr.server.strategy.X(...).aggregate_fit(server_round, [(None, FitRes)], [])``
NEW       ``flwr.serverapp.strategy.X(...)``: ``configure_train`` with a stand-in grid that lists one
          node for each message (this hands the strategy its current arrays), then
          ``aggregate_train`` with the nodes' replies

fedavg       ``FedAvg()``; eta is 1
fedavgm      ``FedAvgM(server_learning_rate=eta, server_momentum=beta)``; heavy ball only
fedadagrad   ``FedAdagrad(eta=, tau=)``; beta1 is 0 and v_0 is 0
fedadam      ``FedAdam(eta=, beta_1=, beta_2=, tau=)``; v_0 is 0
fedprox      ``FedProx(proximal_mu=mu)``; eta is 1; mu only goes to the clients
krum         ``Krum(num_malicious_clients=f)`` (NEW: ``num_malicious_nodes=f``); eta is 1
median       ``FedMedian()``; eta is 1
multi-krum   ``Krum(num_malicious_clients=f, num_clients_to_keep=keep)``
             (NEW: ``MultiKrum(num_malicious_nodes=f, num_nodes_to_select=keep)``); eta is 1
trimmed-mean ``FedTrimmedAvg(beta=trim)``; eta is 1
fedyogi      ``FedYogi(eta=, beta_1=, beta_2=, tau=)``; v_0 is 0

FedAdagrad, FedAdam and FedYogi say "Implementation based on https://arxiv.org/abs/2003.00295v5",
hence reddi-2021. Inside FedAdam a comment names the corrected rate of Kingma and Ba, before their
section 2.1, hence kingma-ba-step as a second claim for the same code. m_0 is 0.

Krum says "Implementation based on https://arxiv.org/abs/1703.02757", hence blanchard-2017, for those that are kept too.
FedMedian and FedTrimmedAvg name Yin et al. (2018), hence yin-2018.

Where a case has buffers, they go beside the parameters as a ``state_dict`` has them, which is how Flower's PyTorch
examples make arrays of a model; a record's arrays keep their types. Nothing in the package says what becomes of them,
so the offers claim the mean by examples, rounded down for counters, as of everything that is averaged.

Flower's clients send models, not changes: the adapter sends x + delta, with x as the strategy
returned it last, so the rounding of that sum is the adapter's, in the wider of both dtypes. Weights
are the numbers of examples. As in Flower's own loops, rounds count from 1 and a round that returns
no model leaves it as it was. Shown after a round: m (m_t), v (v_t); for fedavgm, v is minus the
strategy's momentum_vector, which accumulates "the opposite of updates" and exists only where
beta > 0.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, cast

import numpy as np
from flwr.app import ConfigRecord, Message, MetricRecord, RecordDict
from flwr.common import (
    Code,
    FitRes,
    Status,
    ndarrays_to_parameters,
    parameters_to_ndarrays,
)
from flwr.server import strategy as classic
from flwr.serverapp import strategy as new

from fedspec.contract import Answer, Case, Event, Messages, Offer, SubjectInfo
from fedspec.errors import ContractError
from fedspec_suite.subjects.flower_stand_ins import StandInGrid, record

EXAMPLES = {"weights": "examples"}
WIDENS: dict[str, Any] = {"dtypes": ("float64",), "notes": "float32 models come back as float64"}
AVERAGED = {"statistics": "averaged", "counters": "averaged"}
NONZERO: dict[str, Any] = {"nonzero": ("weight",), "notes": "clients that are kept weigh by examples"}

OFFERS = (
    Offer("fedavg", "server", "mcmahan-2017", options=EXAMPLES, fixed={"eta": 1.0}),
    Offer("fedprox", "server", "fednova", options=EXAMPLES, fixed={"eta": 1.0}),
    *(
        Offer(algorithm, "server", reading, fixed={"eta": 1.0}, **more)
        for algorithm, reading, more in (
            ("krum", "blanchard-2017", {}),
            ("multi-krum", "blanchard-2017", NONZERO),
            ("median", "yin-2018", {}),
            ("trimmed-mean", "yin-2018", {}),
        )
    ),
    Offer(
        "fedavgm",
        "server",
        "hsu-2019",
        options={**EXAMPLES, "momentum": "heavy-ball"},
        intermediates=("v",),
        notes="v is shown where beta > 0",
    ),
    Offer(
        "fedadagrad",
        "server",
        "reddi-2021",
        options=EXAMPLES,
        fixed={"beta1": 0.0, "v0": 0.0},
        intermediates=("m", "v"),
    ),
    *(
        Offer(
            algorithm,
            "server",
            reading,
            options=EXAMPLES,
            fixed={"v0": 0.0},
            intermediates=("m", "v"),
            **more,
        )
        for algorithm, reading, more in (
            ("fedadam", "reddi-2021", WIDENS),
            ("fedadam", "kingma-ba-step", WIDENS),
            ("fedyogi", "reddi-2021", {}),
        )
    ),
    Offer("fedavg", "server", "mcmahan-2017", options=EXAMPLES, fixed={"eta": 1.0}, buffers=AVERAGED),
    Offer("fedavgm", "server", "hsu-2019", options={**EXAMPLES, "momentum": "heavy-ball"}, buffers=AVERAGED),
)


def make(module: Any, case: Case, **common: Any) -> Any:
    """Construct the case's strategy from the classic or the new strategy module."""
    h = case.hyper
    match case.algorithm:
        case "fedavg":
            return module.FedAvg(**common)
        case "fedprox":
            return module.FedProx(proximal_mu=h.get("mu", 0.0), **common)
        case "median":
            return module.FedMedian(**common)
        case "trimmed-mean":
            return module.FedTrimmedAvg(beta=h["trim"], **common)
        case "krum" | "multi-krum":
            return elected(module, int(h["f"]), int(h.get("keep", 0)), common)
        case "fedavgm":
            return module.FedAvgM(server_learning_rate=h["eta"], server_momentum=h["beta"], **common)
        case "fedadagrad":
            return module.FedAdagrad(eta=h["eta"], tau=h["tau"], **common)
        case "fedadam" | "fedyogi":
            cls = module.FedAdam if case.algorithm == "fedadam" else module.FedYogi
            return cls(eta=h["eta"], beta_1=h["beta1"], beta_2=h["beta2"], tau=h["tau"], **common)
    raise ContractError(f"case: {case.algorithm} is not claimed")


def elected(module: Any, f: int, keep: int, common: dict[str, Any]) -> Any:
    """Construct Krum or Multi-Krum; the classic module has one class for both."""
    if module is classic:
        return module.Krum(num_malicious_clients=f, num_clients_to_keep=keep, **common)
    if keep:
        return module.MultiKrum(num_malicious_nodes=f, num_nodes_to_select=keep, **common)
    return module.Krum(num_malicious_nodes=f, **common)


class FlowerSession:
    """Session: a strategy, the current model and the round number."""

    def __init__(self, case: Case) -> None:
        self.names = list(case.x0)
        self.x = {**case.x0, **(case.buffers or {})}
        self.round = 0
        self.strategy = self.make(case)

    def make(self, case: Case) -> Any:
        """Construct the strategy."""
        raise NotImplementedError

    def aggregate(self, models: list[dict[str, Any]], examples: list[int]) -> dict[str, Any]:
        """Run one round of the strategy and return its model."""
        raise NotImplementedError

    def step(self, event: Event) -> Answer:
        """Aggregate one round's messages."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
        self.round += 1
        models = [{**{b: self.x[b] + m.delta[b] for b in self.names}, **(m.buffers or {})} for m in event.messages]
        self.x = self.aggregate(models, [cast(int, m.weight) for m in event.messages])
        answer: dict[str, Any] = {"x": {b: self.x[b] for b in self.names}}
        if len(self.x) > len(self.names):
            answer["buffers"] = {b: a for b, a in self.x.items() if b not in self.names}
        for ours, theirs, sign in (("m", "m_t", 1), ("v", "v_t", 1), ("v", "momentum_vector", -1)):
            held = getattr(self.strategy, theirs, None)
            if held is not None:
                arrays = held.values() if isinstance(held, Mapping) else held
                names = held if isinstance(held, Mapping) else self.x
                moments = {b: sign * np.array(a) for b, a in zip(names, arrays, strict=True)}
                answer[ours] = {b: moments[b] for b in self.names}
        return answer


class ClassicSession(FlowerSession):
    """Session of ``flwr.server.strategy``: lists of arrays, ``aggregate_fit``."""

    def make(self, case: Case) -> Any:
        """Construct the strategy with the initial model."""
        return make(classic, case, initial_parameters=ndarrays_to_parameters(list(self.x.values())))

    def aggregate(self, models: list[dict[str, Any]], examples: list[int]) -> dict[str, Any]:
        """Call ``aggregate_fit`` with one result per client."""
        results = [
            (None, FitRes(Status(Code.OK, ""), ndarrays_to_parameters(list(model.values())), n, {}))
            for model, n in zip(models, examples, strict=True)
        ]
        parameters, _ = self.strategy.aggregate_fit(self.round, results, [])
        if parameters is None:
            return self.x
        return dict(zip(self.x, parameters_to_ndarrays(parameters), strict=True))


class NewSession(FlowerSession):
    """Session of ``flwr.serverapp.strategy``: named records, ``configure_train`` and ``aggregate_train``."""

    def make(self, case: Case) -> Any:
        """Construct the strategy; it requires no minimum number of nodes, so that it doesn't wait."""
        return make(new, case, min_train_nodes=0, min_evaluate_nodes=0, min_available_nodes=0)

    def aggregate(self, models: list[dict[str, Any]], examples: list[int]) -> dict[str, Any]:
        """Configure every node, answer with its model, and call ``aggregate_train`` with the replies in order."""
        grid = StandInGrid(range(1, len(models) + 1))
        asked = self.strategy.configure_train(self.round, record(self.x), ConfigRecord(), grid)
        replies = []
        for message in sorted(asked, key=lambda m: int(m.metadata.dst_node_id)):
            i = message.metadata.dst_node_id - 1
            metrics = MetricRecord({"num-examples": examples[i]})
            content = RecordDict({"arrays": record(models[i]), "metrics": metrics})
            replies.append(Message(content, reply_to=message))
        arrays, _ = self.strategy.aggregate_train(self.round, replies)
        return self.x if arrays is None else {n: array.numpy() for n, array in arrays.items()}


class Flower:
    """An interface of Flower as a subject."""

    def __init__(self, variant: str, session: Callable[[Case], FlowerSession]) -> None:
        self.info = SubjectInfo("flwr", version("flwr"), OFFERS, variant=variant)
        self.start = session


logging.getLogger("flwr").setLevel(logging.WARNING)

CLASSIC = Flower("classic", ClassicSession)
NEW = Flower("new", NewSession)
