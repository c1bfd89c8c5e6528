"""FederatedScope's LLM branch, and FedSA-LoRA, which is derived from it: ``ClientsAvgAggregator``.

``SOURCE=path/to/FederatedScope fedspec lora examples/found/federatedscope_lora.py:fedit --rule fedit``, and
``SOURCE=path/to/FedSA-LoRA fedspec lora examples/found/federatedscope_lora.py:ffa --rule ffa-lora``

fedit   alibaba/FederatedScope at 7f08694, the head of its branch ``llm``
ffa     Pengxin-Guo/FedSA-LoRA at fc276b5, whose clients freeze A (``freeze_A``)
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import clients
import source

from fedspec_suite.lora.rounds import Round

COMMIT, FEDSA = "7f08694", "fc276b5"
FILE = "federatedscope/core/aggregators/clients_avg_aggregator.py"


@cache
def _aggregator(commit: str) -> Any:
    for name in ("federatedscope", "federatedscope.core", "federatedscope.core.auxiliaries"):
        source.absent(name)
    source.absent("federatedscope.core.aggregators", Aggregator=object)
    source.absent("federatedscope.core.auxiliaries.utils", param2tensor=lambda tensor: tensor)
    told = SimpleNamespace(federate=SimpleNamespace(ignore_weight=False, use_ss=False))
    return source.module(commit, FILE, "clients_avg_aggregator").ClientsAvgAggregator(config=told)


def _mean(s: Round, commit: str) -> tuple[Any, Any, Any]:
    sent = [(n, clients.factors(a)) for n, a in zip(s.examples, s.sent, strict=True)]
    made = _aggregator(commit).aggregate({"client_feedback": sent})
    return clients.beside(s.layer.W, made)


def fedit(s: Round) -> tuple[Any, Any, Any]:
    """Run a round in which both factors are trained."""
    return _mean(s, COMMIT)


def ffa(s: Round) -> tuple[Any, Any, Any]:
    """Run a round in which only B is trained; A is sent too, unchanged."""
    return _mean(s, FEDSA)
