"""chorus-fl 0.1.0, ``chorus.server``: ``FedAvg``, and ``FedExLoRA`` with ``fold_residuals_into_base``.

``fedspec lora examples/found/chorus_lora.py:fedex --rule fedex-lora``, with the package installed.

``fedex`` returns the adapter that the server sends and the weight that it folds the residual into.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import beside
import clients

from fedspec_suite.lora.rounds import Round


def _module(name: str) -> Any:
    # Their __init__ files import a web server and its client, which play no part.
    beside.published("chorus-fl", "0.1.0", "chorus", "chorus.server")
    return import_module(f"chorus.server.{name}")


def fedit(s: Round) -> tuple[Any, Any, Any]:
    """Run its baseline: each factor averaged by the sizes of the clients' data."""
    made = _module("aggregation").FedAvg().aggregate([*map(clients.factors, s.sent)], list(s.examples))
    return clients.beside(s.layer.W, made)


def fedex(s: Round) -> tuple[Any, Any, Any]:
    """Run its strategy ``fedex-lora``, as ``_run_aggregation`` of its ``app.py`` does."""
    strategy = _module("aggregation").FedExLoRA()
    made = strategy.aggregate([*map(clients.factors, s.sent)], list(s.examples))
    fold = _module("weight_manager").fold_residuals_into_base
    base = fold({"q.weight": clients.tensor(s.layer.W)}, strategy.get_residuals())
    return clients.beside(base["q.weight"].numpy(), made)
