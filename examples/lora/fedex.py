"""RaghavSinghal10/fedex-lora at 683a3f3: its three servers, FedEx-LoRA for both layouts of weights.

``SOURCE=path/to/fedex-lora fedspec lora examples/lora/fedex.py:linear --rule fedex-lora``, and
``--weights uniform``.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import clients
import numpy as np
import source
import torch

from fedspec_suite.lora.rounds import Round

COMMIT = "683a3f3"
SERVERS = ("aggregate_models_normal", "aggregate_models_ffa", "aggregate_models_ours")


@cache
def _servers() -> dict[str, Any]:
    # The file imports data sets and models, which play no part.
    return source.definitions(COMMIT, "fed_agg.py", *SERVERS, given={"torch": torch, "np": np})


def _ours(s: Round, turned: bool) -> tuple[Any, Any, Any]:
    told = SimpleNamespace(lora_alpha=s.alpha, lora_r=s.r, rslora=False)
    made = _servers()["aggregate_models_ours"](clients.model(s, turned), clients.states(s, turned), told)
    return clients.shown(made, turned)


def linear(s: Round) -> tuple[Any, Any, Any]:
    """Run FedEx-LoRA on weights of ``torch.nn.Linear``, [outputs, inputs], as for RoBERTa in fed_train_glue.py."""
    return _ours(s, turned=False)


def conv1d(s: Round) -> tuple[Any, Any, Any]:
    """Run FedEx-LoRA on weights of ``Conv1D``, [inputs, outputs], as for GPT-2 in fed_train_e2e.py."""
    return _ours(s, turned=True)


def fedit(s: Round) -> tuple[Any, Any, Any]:
    """Run its baseline, the plain mean of both factors."""
    return clients.shown(_servers()["aggregate_models_normal"](clients.model(s), clients.states(s)))


def ffa(s: Round) -> tuple[Any, Any, Any]:
    """Run its baseline, the mean of B."""
    return clients.shown(_servers()["aggregate_models_ffa"](clients.model(s), clients.states(s)))
