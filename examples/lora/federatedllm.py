"""ATP-1010/FederatedLLM at 7bea158, the code of FLoRA: ``FedAvg`` with and without stacking.

``SOURCE=path/to/FederatedLLM fedspec lora examples/lora/federatedllm.py:flora --rule flora``
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import clients
import source
import torch

from fedspec_suite.lora.rounds import Round

COMMIT = "7bea158"


@cache
def _module() -> Any:
    # PEFT puts the mean into the model: here it is taken as it is handed over.
    source.absent("peft", set_peft_model_state_dict=lambda model, state, name: model.update(state))
    return source.module(COMMIT, "fed_utils/model_aggregation.py", "model_aggregation")


def _mixed(s: Round, stacking: bool) -> dict[str, Any]:
    made: dict[str, Any] = {}
    sizes, ranks = dict(enumerate(s.examples)), [a.B.shape[1] for a in s.sent]
    heter = len(set(ranks)) > 1
    with clients.files(s) as folder, redirect_stdout(io.StringIO()):
        _module().FedAvg(made, range(len(s.sent)), folder, sizes, 0, stacking, s.r, heter, ranks, False, False)
        if stacking:
            made = torch.load(Path(folder) / "0" / "adapter_model.bin")
    return {name: M.numpy() for name, M in made.items()}


def fedit(s: Round) -> tuple[Any, Any, Any]:
    """Run it without stacking, its baseline."""
    made = _mixed(s, stacking=False)
    return s.layer.W, made[clients.UP], made[clients.DOWN]


def flora(s: Round) -> tuple[Any, Any, Any]:
    """Run it with stacking; PEFT's merge is reimplemented with the rank and alpha of main.py:225-233."""
    made, n = _mixed(s, stacking=True), len(s.sent)
    sigma = (s.alpha * n) / (s.r * n)
    return s.layer.W + sigma * made[clients.UP] @ made[clients.DOWN], s.layer.B * 0, s.fresh
