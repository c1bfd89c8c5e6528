"""The authors' FedAtt, shaoxiongji/fed-att at ab9e537: ``aggregate_att`` with their ``--ord`` of 2, and without noise.

``SOURCE=path/to/fed-att fedspec check examples/found/fedatt_server.py:Adapter``

spectral    a matrix is as long as its largest singular value
frobenius   the same function, claimed by the root of the sum of squares

It needs SciPy. ``aggregate_att`` is run as it stands there, with epsilon 1.2 or the case's rate and dp = 0. SciPy's
``norm`` raises an error of a layer without axes or with three or more, so all layers are matrices here. Shares are
float32, whatever the model is.
"""

from __future__ import annotations

import copy
from typing import Any

import beside  # noqa: F401
import numpy as np
import source
import torch
from means import Sent
from private import Draws, NextModel, Private
from scipy import linalg

from fedspec.contract import Blocks, Case, Claim

COMMIT = "ab9e537"


def Adapter() -> Private:
    """Adapter of both claims."""
    given = {"copy": copy, "torch": torch, "F": torch.nn.functional, "linalg": linalg, "np": np}
    aggregate = source.definitions(COMMIT, "src/agg/aggregate.py", "aggregate_att", given=given)["aggregate_att"]

    def begins(case: Case, draws: Draws) -> NextModel:
        def next_model(x: Blocks, sent: Sent) -> dict[str, Any]:
            models = [{name: torch.tensor(a + m.delta[name]) for name, a in x.items()} for m in sent]
            model = {name: torch.tensor(a) for name, a in x.items()}
            return {name: a.numpy() for name, a in aggregate(models, model, case.hyper["eta"], 2, dp=0).items()}

        return next_model

    more: dict[str, Any] = {"blocks": "matrices", "dtypes": ("float32",)}
    made = [
        (Claim("fedatt", "server", reading, variant=reading, **more), begins) for reading in ("spectral", "frobenius")
    ]
    return Private("fed-att", source.dated(COMMIT), made)
