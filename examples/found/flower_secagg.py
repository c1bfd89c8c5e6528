"""flwrlabs/flower at 77068b8: ``quantize`` and ``dequantize`` of SecAgg+, of a client's change.

``SOURCE=path/to/flower fedspec check examples/found/flower_secagg.py:Adapter``

The range is 8 and the target range 2^22, so that a level is 2^-18. Each of its random numbers is 1/2, so that it
rounds to the nearest level. The mean is the adapter's, without masks. The variants are two types of numbers.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import beside  # noqa: F401
import means
import numpy as np
import source

COMMIT = "77068b8"


def Adapter() -> means.Means:
    """Adapter of both functions."""
    path = "framework/py/flwr/common/secure_aggregation/quantization.py"

    halves = SimpleNamespace(**vars(np) | {"random": SimpleNamespace(rand=lambda *shape: np.full(shape, 0.5))})
    given: dict[str, Any] = {"np": halves, "cast": cast, "NDArrayFloat": Any, "NDArrayInt": Any}
    its = source.definitions(COMMIT, path, "_stochastic_round", "quantize", "dequantize", given=given)

    def sent(change: Any) -> Any:
        return its["dequantize"](its["quantize"]([change], 8.0, 2**22), 8.0, 2**22)[0]

    made: list[means.Rounding] = [(dtype, ("clip-value 8", "fixed 18"), sent) for dtype in ("float64", "float32")]
    claims = [(replace(c, dtypes=(c.variant,)), make) for c, make in means.rounded(made)]
    return means.Means("flower", source.dated(COMMIT), claims)
