"""TL-System/plato at 60d6779: ``Algorithm`` of its example FedAtt, over its ``fedavg.Algorithm``, without noise.

``SOURCE=path/to/plato fedspec check examples/found/plato_server.py:Adapter``

``aggregate_weights`` and ``load_weights`` are run as they stand there, with ``magnitude`` 0. The trainer and the
configuration are stand-ins. Shares and changes are float32, whatever the model is.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import source
import torch
from means import Sent
from private import Draws, NextModel, Private

from fedspec.contract import Blocks, Case, Claim
from fedspec_suite.subjects.outer import Model

COMMIT = "60d6779"


def Adapter() -> Private:
    """Adapter of its server's algorithm."""
    version = source.dated(COMMIT)
    source.Package("plato", COMMIT, "plato", empty=("plato", "plato.algorithms", "plato.trainers"))
    told = SimpleNamespace(algorithm=SimpleNamespace(magnitude=0))
    source.absent("plato.config", Config=lambda: told)
    source.absent("plato.trainers.base", Trainer=None)
    its = source.module(COMMIT, "examples/server_aggregation/fedatt/fedatt_algorithm.py", "fedatt_algorithm").Algorithm

    def begins(case: Case, draws: Draws) -> NextModel:
        model = Model(case.x0)
        server = its(SimpleNamespace(model=model, zeros=torch.zeros))

        def next_model(x: Blocks, sent: Sent) -> dict[str, Any]:
            told.algorithm.epsilon = case.hyper["eta"]
            now = server.extract_weights()
            models = [Model({name: a + m.delta[name] for name, a in x.items()}).state_dict() for m in sent]
            server.load_weights(asyncio.run(server.aggregate_weights(now, models)))
            return dict(model.shown(x))

        return next_model

    return Private("plato", version, [(Claim("fedatt", "server", "frobenius", dtypes=("float32",)), begins)])
