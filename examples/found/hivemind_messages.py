"""learning-at-home/hivemind at 4bd43b7: its compressions to 16 bits, of a client's change.

``SOURCE=path/to/hivemind fedspec check examples/found/hivemind_messages.py:Adapter``

The mean is the adapter's, and one tensor is one part of a message. The message is a stand-in.

float16     ``Float16Compression``
scaled      ``ScaledFloat16Compression``, which sends differences from the mean in units of their spread
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import means
import numpy as np
import source
import torch

COMMIT = "4bd43b7"


def Adapter() -> means.Means:
    """Adapter of both."""
    sent = SimpleNamespace(Tensor=SimpleNamespace, CompressionType=SimpleNamespace(FLOAT16=0, MEANSTD_16BIT=1))
    given: dict[str, Any] = {"math": math, "np": np, "torch": torch, "runtime_pb2": sent}
    given |= {"CompressionBase": object, "CompressionInfo": object}
    names = ("Float16Compression", "ScaledFloat16Compression")
    its = source.definitions(COMMIT, "hivemind/compression/floating.py", *names, given=given)

    def of(name: str) -> Any:
        return lambda change: its[name]().extract(its[name]().compress(torch.tensor(change), None))

    made: list[means.Rounding] = [("float16", ("float16",), of(names[0])), ("scaled", ("float16",), of(names[1]))]
    return means.Means("hivemind", source.dated(COMMIT), list(means.rounded(made)))
