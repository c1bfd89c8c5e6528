"""MLOPTPSU/FedTorch at ab8068d: ``qsparse_aggregation_centered``, its top-k compressor with memory.

``SOURCE=path/to/FedTorch fedspec check examples/found/fedtorch_memory.py:Adapter``

Claimed are FedCAMS's clients, since that is top-k with memory too. Its optimiser is a stand-in that hands out the
gradient, along which the adapter takes FedAMS's step. A model is one tensor here, in float32 as it decompresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import compressing
import numpy as np
import source
import torch
from compressing import Array, Compressors, Send

COMMIT = "ab8068d"
FOLDER = "fedtorch/comms"


def one(v: Array) -> torch.nn.Module:
    """Return a module with one tensor, whose gradient is zero."""
    made = torch.nn.Module()
    made.x = torch.nn.Parameter(torch.tensor(v))
    made.x.grad = torch.zeros_like(made.x)
    return made


def Adapter() -> Compressors:
    """Adapter of the compressor."""
    version = source.dated(COMMIT)
    given = {"torch": torch, "np": np}
    pair = source.definitions(
        COMMIT, f"{FOLDER}/utils/flow_utils.py", "compress_tensor", "decompress_tensor", given=given
    )
    name = "qsparse_aggregation_centered"
    its = source.definitions(COMMIT, f"{FOLDER}/algorithms/federated/centered/qsparse.py", name, given=pair)[name]

    def top_k(h: Mapping[str, Any], d: int) -> Send:
        memories: dict[int, torch.nn.Module] = {}
        ratio = 2 * (min(int(h["kept"]), d) + 0.5) / d

        def send(changes: Mapping[int, Array], draws: Mapping[int, Array]) -> list[Array]:
            model = one(np.zeros(d, dtype=np.float32))
            clients = {
                i: SimpleNamespace(model=one(v), model_memory=memories.setdefault(i, one(0 * v)))
                for i, v in changes.items()
            }
            args = SimpleNamespace(
                compressed_ratio=ratio, lr_scale_at_sync=1, out_momentum=False, graph=SimpleNamespace(n_nodes=d)
            )
            optimizer = SimpleNamespace(zero_grad=lambda: None, step=lambda **_: None)
            with torch.no_grad():
                its(clients, SimpleNamespace(model=model, optimizer=optimizer, args=args), list(changes), 1, 1.0)
            return [-np.asarray(model.x.grad)]

        return send

    return Compressors(
        "fedtorch", version, [(compressing.make_offer("fedcams", "wang-2022", dtypes=("float32",)), top_k)]
    )
