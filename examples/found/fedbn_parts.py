"""med-air/FedBN at 2fa38ad: ``communication`` of ``fed_digits.py`` in mode ``fedbn``.

``SOURCE=path/to/FedBN fedspec check examples/found/fedbn_parts.py:Adapter``

Each client has the same weight there, and all take part.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import source
import torch
from personal import Model, Personal, Rounds, Tensors, Train, offer

COMMIT = "2fa38ad"


def Adapter() -> Personal:
    """Adapter of the function."""
    given: dict[str, Any] = {"torch": torch}
    communication = source.definitions(COMMIT, "federated/fed_digits.py", "communication", given=given)["communication"]

    def begins(models: list[Model], _: Any, train: Train) -> Rounds:
        server, mode = copy.deepcopy(models[0]), SimpleNamespace(mode="fedbn")

        def runs(participants: Sequence[int], steps: Sequence[int]) -> Tensors:
            for i, tau in zip(participants, steps, strict=True):
                train(models[i], i, tau)
            # The function reads this global.
            communication.__globals__["client_num"] = len(models)
            communication(mode, server, models, [1 / len(models)] * len(models))
            return dict(server.named_parameters())

        return runs

    claim = offer("bn", "uniform", participation="all", dtypes=("float32",))
    return Personal("fedbn", source.dated(COMMIT), [(claim, begins)])
