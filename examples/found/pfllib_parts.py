"""TsingZ0/PFLlib at 04240b9: one round of ``FedBN``, whose clients keep parameters with ``bn`` in their name.

``SOURCE=path/to/PFLlib fedspec check examples/found/pfllib_parts.py:Adapter``

``send_models``, ``receive_models``, ``aggregate_parameters`` and ``set_parameters`` run as they stand.
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

COMMIT, FOLDER = "04240b9", "system/flcore"


def Adapter() -> Personal:
    """Adapter of its FedBN."""
    given = {"copy": copy, "torch": torch, "Client": SimpleNamespace}
    (client, Server) = (
        source.definitions(COMMIT, f"{FOLDER}/{path}.py", name, given=given)[name]
        for path, name in (("clients/clientbn", "clientBN"), ("servers/serverbase", "Server"))
    )

    def begins(models: list[Model], examples: Any, train: Train) -> Rounds:
        server = object.__new__(Server)
        server.global_model, server.clients = copy.deepcopy(models[0]), []
        for i, (model, n) in enumerate(zip(models, examples, strict=True)):
            server.clients.append(client.__new__(client))
            vars(server.clients[-1]).update(model=model, train_samples=float(n), id=i)

        def runs(participants: Sequence[int], steps: Sequence[int]) -> Tensors:
            server.selected_clients = [server.clients[i] for i in participants]
            server.send_models()
            for i, tau in zip(participants, steps, strict=True):
                train(server.clients[i].model, i, tau)
            server.receive_models()
            server.aggregate_parameters()
            return dict(server.global_model.named_parameters())

        return runs

    return Personal("pfllib", source.dated(COMMIT), [(offer("bn"), begins)])
