"""FEDn 0.33.0 as a federated server: ``Aggregator(handler).combine_models(helper, parameters=)``.

fedavg       ``fedn.network.combiner.aggregators.fedavg.Aggregator``
fedadagrad   ``fedn.network.combiner.aggregators.fedopt.Aggregator``, serveropt "adagrad"
fedadam      the same, serveropt "adam"
fedyogi      the same, serveropt "yogi"

FedOpt gets learning_rate=eta, beta1, beta2, tau through FEDn's ``Parameters``, each where the case
has it. The helper is FEDn's own ``numpyhelper``. The update handler is a stand-in with FEDn's queue:
it hands over the models and the numbers of examples where FEDn would read them from storage.

The aggregators are documented as a weighted mean and as arXiv 2003.00295. FEDn's clients send
models, not changes: the adapter sends x + delta, with x as the aggregator returned it last, so the
rounding of that sum is the adapter's, in the wider of both dtypes. Weights are the numbers of
examples, by a running mean in the order of arrival. Rounds are not counted. FedAvg has no server
rate (eta is 1). In FedOpt v_0 is tau^2, which cannot be set, and m_0 is 0. Shown after a round: m
and v. An aggregator that fails inside logs it and returns no model: that becomes an error here.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import logging
import queue
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, cast

from fedn.network.combiner.aggregators import fedavg, fedopt
from fedn.utils.helpers.helpers import get_helper
from fedn.utils.parameters import Parameters

from fedspec.contract import Answer, Case, Event, Messages, Offer, SubjectInfo
from fedspec.errors import ContractError

EXAMPLES = {"weights": "examples"}
SERVEROPT = {"fedadagrad": "adagrad", "fedadam": "adam", "fedyogi": "yogi"}
PARAMETERS = {"eta": "learning_rate", "beta1": "beta1", "beta2": "beta2", "tau": "tau"}

OFFERS = (
    Offer("fedavg", "server", "mcmahan-2017", options=EXAMPLES, fixed={"eta": 1.0}),
    *(
        Offer(
            algorithm,
            "server",
            "reddi-2021",
            options={**EXAMPLES, "v0": "tau-squared"},
            intermediates=("m", "v"),
            dtypes=("float64",),
            notes="float32 models come back as float64",
        )
        for algorithm in SERVEROPT
    ),
)


@dataclass(frozen=True)
class Update:
    """Client's model with the two ids that the aggregators read."""

    model_update_id: str
    model_id: str
    model: list[Any]
    examples: int


class StandInHandler:
    """Stand-in for FEDn's ``UpdateHandler`` with the methods that the aggregators call."""

    def __init__(self) -> None:
        self.model_updates: queue.Queue[Update] = queue.Queue()
        self.x: list[Any] = []

    def next_model_update(self) -> Update:
        """Take the oldest update."""
        return self.model_updates.get(block=False)

    def load_model_update(self, update: Update, helper: object) -> tuple[list[Any], dict[str, int]]:
        """Return the model of an update and its metadata."""
        return update.model, {"num_examples": update.examples}

    def load_model(self, helper: object, model_id: str) -> list[Any]:
        """Return the model from which the clients started."""
        return self.x

    def delete_model(self, update: Update) -> None:
        """Do nothing: no model was stored."""


class FednSession:
    """Session: an aggregator and the current model."""

    def __init__(self, case: Case) -> None:
        self.x = dict(case.x0)
        self.handler = StandInHandler()
        self.helper = get_helper("numpyhelper")
        self.parameters: Any = None
        if case.algorithm == "fedavg":
            self.aggregator = fedavg.Aggregator(self.handler)
        else:
            self.aggregator = fedopt.Aggregator(self.handler)
            passed = {PARAMETERS[k]: float(v) for k, v in case.hyper.items() if k in PARAMETERS}
            self.parameters = Parameters({"serveropt": SERVEROPT[case.algorithm], **passed})

    def step(self, event: Event) -> Answer:
        """Aggregate one round's messages."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
        self.handler.x = list(self.x.values())
        for i, message in enumerate(event.messages):
            model = [x + message.delta[block] for block, x in self.x.items()]
            self.handler.model_updates.put(Update(str(i), "current", model, cast(int, message.weight)))
        model, _ = self.aggregator.combine_models(helper=self.helper, parameters=self.parameters)
        if model is None:
            raise RuntimeError("combine_models returned no model; FEDn's log on standard error says why")
        self.x = dict(zip(self.x, model, strict=True))
        answer: dict[str, Any] = {"x": self.x}
        for name in ("m", "v"):
            if getattr(self.aggregator, name, None) is not None:
                answer[name] = dict(zip(self.x, getattr(self.aggregator, name), strict=True))
        return answer


class Fedn:
    """FEDn as a subject."""

    info = SubjectInfo("fedn", version("fedn"), OFFERS)

    def start(self, case: Case) -> FednSession:
        """Create the session with the case's aggregator."""
        if case.algorithm not in {offer.algorithm for offer in OFFERS}:
            raise ContractError(f"case: {case.algorithm} is not claimed")
        return FednSession(case)


logging.getLogger("fedn").setLevel(logging.WARNING)

SUBJECT = Fedn()
