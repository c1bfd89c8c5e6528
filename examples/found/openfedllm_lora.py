"""rui-ye/OpenFedLLM at 14c6af2: ``global_aggregate``, over the state dictionaries of adapters.

``SOURCE=path/to/OpenFedLLM fedspec lora examples/found/openfedllm_lora.py:fedit --rule fedit``, and
``SOURCE=path/to/OpenFedLLM fedspec check examples/found/openfedllm_lora.py:Adapter`` for its other servers.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import clients
import source
import torch

from fedspec.contract import Answer, Case, Claim, Event, Info, Messages
from fedspec.errors import ContractError
from fedspec_suite.lora.rounds import Round

COMMIT = "14c6af2"


@cache
def _aggregate() -> Any:
    return source.module(COMMIT, "federated_learning/fed_global.py", "fed_global").global_aggregate


def fedit(s: Round) -> tuple[Any, Any, Any]:
    """Run the project's aggregation for ``fedavg`` and ``fedprox``."""
    sent = [*map(clients.factors, s.sent)]
    old, everybody = dict.fromkeys(sent[0]), list(range(len(sent)))
    made, _ = _aggregate()(SimpleNamespace(fed_alg="fedavg"), old, sent, list(s.examples), everybody, s.number)
    return clients.beside(s.layer.W, made)


class Session:
    """Session of one of its servers with the two states of its ``get_proxy_dict``: zeros, and tau squared."""

    def __init__(self, case: Case) -> None:
        h = case.hyper
        self.x = {name: torch.tensor(block) for name, block in case.x0.items()}
        self.proxy = {name: torch.zeros_like(x) for name, x in self.x.items()}
        self.second = {name: torch.ones_like(x) * h.get("tau", 0.0) ** 2 for name, x in self.x.items()}
        self.told = SimpleNamespace(fed_alg=case.algorithm, fedopt_beta1=h.get("beta1", h.get("beta")))
        self.told.fedopt_beta2, self.told.fedopt_eta, self.told.fedopt_tau = (h.get(n) for n in ("beta2", "eta", "tau"))
        self.round = 0

    def step(self, event: Event) -> Answer:
        """Aggregate the messages of one round."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
        sent = [{n: x + torch.tensor(m.delta[n], dtype=x.dtype) for n, x in self.x.items()} for m in event.messages]
        sizes, everybody = [m.weight for m in event.messages], list(range(len(sent)))
        more = {"proxy_dict": self.proxy, "opt_proxy_dict": self.second}
        self.x, _ = _aggregate()(self.told, self.x, sent, sizes, everybody, self.round, **more)
        self.round += 1
        return {"x": {name: x.numpy().copy() for name, x in self.x.items()}}


class Adapter:
    """Adapter of its servers that keep a state."""

    def __init__(self) -> None:
        uniform = {"weights": "uniform", "v0": "tau-squared"}
        offers = (
            Claim("fedavgm", "server", "client-centric", {"weights": "examples"}, fixed={"eta": 1.0}),
            Claim("fedadagrad", "server", "reddi-2021", uniform, fixed={"beta1": 0.0}),
            Claim("fedadam", "server", "momentum-in-v", uniform),
            Claim("fedyogi", "server", "momentum-in-v", uniform),
        )
        self.info = Info("openfedllm", source.dated(COMMIT), offers)

    def start(self, case: Case) -> Session:
        """Begin a case with fresh state."""
        return Session(case)


Subject = Adapter
"""Earlier name of the adapter."""
