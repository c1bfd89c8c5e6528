"""CyberDataLab/nebula at 21991bb: ``Median``, ``TrimmedMean`` and ``Krum``.

``SOURCE=path/to/nebula fedspec check examples/found/nebula_means.py:Adapter``

median         ``Median``
trimmed-mean   ``TrimmedMean(beta=floor(trim n))``; the class has a number of values for its share
krum           ``Krum``, which has no number f; the case's is not handed over; once more with models of one tensor

Handed over are state dictionaries of tensors, as clients send them; what comes back is the next one.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from math import floor
from typing import Any

import means
import numpy as np
import source
import torch
from means import MakeNext, Models, NextModel

from fedspec.contract import Blocks

COMMIT = "21991bb"


class Base:
    """Empty base class for the aggregators; these three don't use it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        return None

    def run_aggregation(self, models: Any) -> None:
        """Do nothing."""


def Adapter() -> Models:
    """Adapter of all four claims."""
    version = source.dated(COMMIT)
    given = {"np": np, "numpy": np, "torch": torch, "Aggregator": Base}

    def of(file: str, name: str) -> Any:
        return source.definitions(COMMIT, f"nebula/core/aggregation/{file}.py", name, given=given)[name]

    def next_of(made: Any, models: Sequence[Blocks], examples: Sequence[float]) -> Blocks:
        sent = {
            i: ({name: torch.tensor(x) for name, x in m.items()}, n)
            for i, (m, n) in enumerate(zip(models, examples, strict=True))
        }
        with redirect_stdout(io.StringIO()):  # It prints what it keeps.
            found = made.run_aggregation(sent)
        return {name: x.numpy() for name, x in found.items()}

    median, trimmed, krum = of("median", "Median"), of("trimmedmean", "TrimmedMean"), of("krum", "Krum")

    def without(kind: Any) -> MakeNext:
        return lambda h: lambda models, examples: next_of(kind(), models, examples)

    def cut(h: Any) -> NextModel:
        return lambda models, examples: next_of(trimmed(beta=floor(h["trim"] * len(models))), models, examples)

    return Models(
        "nebula",
        version,
        [
            (means.offer_of_models("median", "yin-2018"), without(median)),
            (means.offer_of_models("trimmed-mean", "yin-2018"), cut),
            (means.offer_of_models("krum", "blanchard-2017"), without(krum)),
            (means.offer_of_models("krum", "blanchard-2017", blocks="one", variant="one-array"), without(krum)),
        ],
    )
