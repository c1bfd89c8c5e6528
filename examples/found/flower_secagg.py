"""flwrlabs/flower at 77068b8: ``quantize`` and ``dequantize`` of SecAgg+, of a client's change.

``SOURCE=path/to/flower fedspec check py:examples/found/flower_secagg.py:Subject``

The range is 8 and the target range 2^22, so that a level is 2^-18. The mean is the adapter's, without masks.

drawn       with its random numbers
halves      with 1/2 in the place of each of its random numbers
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import beside  # noqa: F401
import means
import numpy as np
import source
import torch
from flsim_messages import rounded

COMMIT = "77068b8"


def Subject() -> means.Means:
    """Adapter of both."""
    path = "framework/py/flwr/common/secure_aggregation/quantization.py"

    def of(numpy: Any) -> Any:
        given: dict[str, Any] = {"np": numpy, "cast": cast, "NDArrayFloat": Any, "NDArrayInt": Any}
        its = source.definitions(COMMIT, path, "_stochastic_round", "quantize", "dequantize", given=given)

        def sent(change: torch.Tensor) -> torch.Tensor:
            return torch.tensor(its["dequantize"](its["quantize"]([change.numpy()], 8.0, 2**22), 8.0, 2**22)[0])

        return sent

    halves = SimpleNamespace(**vars(np) | {"random": SimpleNamespace(rand=lambda *shape: np.full(shape, 0.5))})
    chain = ("clip-value 8", "fixed 18")
    made = [("drawn", chain, of(np)), ("halves", chain, of(halves))]
    return means.Means("flower", source.dated(COMMIT), list(rounded(made)))
