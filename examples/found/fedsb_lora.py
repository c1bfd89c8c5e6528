"""Code of Fed-SB at e9e6498: its three baselines in ``fed_sb/fed/fed_agg.py``.

``SOURCE=path/to/fed-sb fedspec lora examples/found/fedsb_lora.py:fedex --rule fedex-lora --weights uniform``

The commit is of an author's; it was read in ``putssander/fed-sb``, a copy with that history.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import clients
import source
import torch

from fedspec_suite.lora.rounds import Round

COMMIT = "e9e6498"
SERVERS = ("aggregate_models_fed_it", "aggregate_models_ffa", "aggregate_models_fedex")


@cache
def _servers() -> dict[str, Any]:
    # The file imports data sets and models, which play no part.
    return source.definitions(COMMIT, "fed_sb/fed/fed_agg.py", *SERVERS, given={"torch": torch})


def fedit(s: Round) -> tuple[Any, Any, Any]:
    """Run its plain mean of both factors."""
    return clients.shown(_servers()["aggregate_models_fed_it"](clients.model(s), clients.states(s)))


def ffa(s: Round) -> tuple[Any, Any, Any]:
    """Run its mean of B."""
    return clients.shown(_servers()["aggregate_models_ffa"](clients.model(s), clients.states(s)))


def fedex(s: Round) -> tuple[Any, Any, Any]:
    """Run its FedEx-LoRA, for weights of ``torch.nn.Linear``."""
    told = SimpleNamespace(lora_alpha=s.alpha, lora_r=s.r)
    return clients.shown(_servers()["aggregate_models_fedex"](clients.model(s), clients.states(s), told))
