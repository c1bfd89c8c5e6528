"""JayZhang42/FederatedGPT-Shepherd at bcffa00: ``FedAvg``, which writes FedIT's mean of both factors.

``SOURCE=path/to/FederatedGPT-Shepherd fedspec lora examples/lora/shepherd.py:fedit --rule fedit``
"""

from __future__ import annotations

from functools import cache
from typing import Any

import clients
import source

from fedspec_suite.lora.rounds import Round

COMMIT = "bcffa00"


@cache
def _module() -> Any:
    # PEFT puts the mean into the model: here it is taken as it is handed over.
    source.absent("peft", set_peft_model_state_dict=lambda model, state, name: model.update(state))
    return source.module(COMMIT, "fed_utils/model_aggregation.py", "model_aggregation")


def fedit(s: Round) -> tuple[Any, Any, Any]:
    """Run its aggregation of the clients' files."""
    made: dict[str, Any] = {}
    with clients.files(s) as folder:
        _module().FedAvg(made, range(len(s.sent)), folder, dict(enumerate(s.examples)), 0)
    return clients.beside(s.layer.W, made)
