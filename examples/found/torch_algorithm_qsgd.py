"""cyyever/torch_algorithm at d09097c: ``stochastic_quantization``, which cyyever's simulators call QSGD.

``SOURCE=path/to/torch_algorithm fedspec check examples/found/torch_algorithm_qsgd.py:Adapter``

qsgd            with ``use_l2_norm``
largest-entry   without, which is its default

``Bernoulli`` is the case's draws. There are 16 levels; the simulators have 255, whose cases float32 cannot decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import compressing
import source
import torch
from compressing import Array, Compressors, Make, Send

COMMIT = "d09097c"
LEVELS = 16


def Adapter() -> Compressors:
    """Adapter of both settings."""
    version = source.dated(COMMIT)
    source.absent(
        "cyy_preprocessing_pipeline", assemble_tensors=lambda v: (v, v.shape), disassemble_tensor=torch.Tensor.reshape
    )
    its = source.module(COMMIT, "cyy_torch_algorithm/quantization/stochastic.py", "found_stochastic")

    def of(length: bool) -> Make:
        quant, dequant = its.stochastic_quantization(LEVELS, use_l2_norm=length)

        def sent(change: Array, u: Array) -> Array:
            def drawn(p: torch.Tensor) -> SimpleNamespace:
                return SimpleNamespace(sample=lambda: (torch.tensor(u, dtype=p.dtype) < p).to(p.dtype))

            with patch("torch.distributions.Bernoulli", drawn):
                return dequant(quant(torch.tensor(change))).numpy()  # type: ignore[no-any-return]

        def make(h: Mapping[str, Any], d: int) -> Send:
            return lambda changes, draws: [sent(changes[i], draws[i]) for i in changes]

        return make

    both = {"qsgd": True, "largest-entry": False}
    more: dict[str, Any] = {"fixed": {"levels": float(LEVELS)}, "dtypes": ("float32",)}
    return Compressors(
        "torch_algorithm",
        version,
        [(compressing.make_offer("fedpaq", r, **more), of(length)) for r, length in both.items()],
    )
