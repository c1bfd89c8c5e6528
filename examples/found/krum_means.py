"""Aggregation rules of krum 0.9.1 from PyPI, which requires Python 3.12.

``pip install --no-deps krum==0.9.1 && fedspec check examples/found/krum_means.py:Adapter``

median             ``Median``
trimmed-mean       ``TrimmedMean`` with ``f=floor(trim n)``
krum, multi-krum   ``Krum`` and ``MultiKrum`` with ``m=min(m, n)``
geometric-median   ``GeometricMedian`` with ``nu=smooth``, ``max_iter=passes`` and no tolerance; it begins at the mean

Handed over are tensors, in the type of the case.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from importlib import import_module
from math import floor
from typing import Any

import means
import torch
from beside import published
from means import Make, Mean, Means, Sent, offer


def Adapter() -> Means:
    """Adapter of its five rules."""
    version = published("krum", "0.9.1")

    def of(module: str, kind: str, numbers: Any) -> Make:
        def begin(h: Any) -> Mean:
            def mean(sent: Sent) -> Any:
                rule = getattr(import_module(f"krum.primitives.aggregators.{module}"), kind)
                changes = torch.tensor(means.rows(sent))
                return rule.aggregate(changes, **numbers(h, len(sent))).numpy()

            return mean

        return begin

    def bad(h: Any, n: int) -> dict[str, int]:
        return {"n": n, "f": int(h["f"])}

    return Means(
        "krum",
        version,
        [
            (offer("median", "yin-2018"), of("median", "Median", lambda h, n: {})),
            (
                offer("trimmed-mean", "yin-2018"),
                of("trimmed_mean", "TrimmedMean", lambda h, n: {"f": floor(h["trim"] * n)}),
            ),
            (offer("krum", "blanchard-2017"), of("krum", "Krum", bad)),
            (
                offer("multi-krum", "blanchard-2017"),
                of("multikrum", "MultiKrum", lambda h, n: {**bad(h, n), "m": min(int(h["keep"]), n)}),
            ),
            (
                offer("geometric-median", "pillutla-2022"),
                of(
                    "geometric_median",
                    "GeometricMedian",
                    lambda h, n: {"n": n, "f": 0, "nu": h["smooth"], "tol": 0.0, "max_iter": int(h["passes"])},
                ),
            ),
        ],
    )
