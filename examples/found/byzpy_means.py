"""Aggregators of byzpy 0.1.4 from PyPI.

``pip install --no-deps byzpy==0.1.4 && fedspec check examples/found/byzpy_means.py:Adapter``

median                       ``CoordinateWiseMedian()``
trimmed-mean                 ``CoordinateWiseTrimmedMean(floor(trim n))``
krum                         ``Krum(f)``, documented with the n - f - 1 nearest others
geometric-median             ``GeometricMedian(max_iter=passes, eps=smooth, init="mean")``, with almost no tolerance
centred-clipping             ``CenteredClipping(c_tau=clip_norm, M=passes, init="zero")``

Handed over are tensors, in the type of the case, to ``aggregate`` itself; no graph of operators is built. ``MultiKrum``
refuses to keep more than n - f, which cases ask for: it is not offered.
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

TINY = 1e-300


def Adapter() -> Means:
    """Adapter of five of its aggregators."""
    version = published("byzpy", "0.1.4")

    def of(module: str, kind: str, **numbers: Any) -> Make:
        def begin(h: Any) -> Mean:
            def mean(sent: Sent) -> Any:
                given = {name: v(h, len(sent)) if callable(v) else v for name, v in numbers.items()}
                made = getattr(import_module(f"byzpy.aggregators.{module}"), kind)(**given)
                return made.aggregate([torch.tensor(row) for row in means.rows(sent)]).numpy()

            return mean

        return begin

    return Means(
        "byzpy",
        version,
        [
            (offer("median", "lower-middle"), of("coordinate_wise.median", "CoordinateWiseMedian")),
            (
                offer("trimmed-mean", "yin-2018"),
                of(
                    "coordinate_wise.trimmed_mean",
                    "CoordinateWiseTrimmedMean",
                    f=lambda h, n: floor(h["trim"] * n),
                ),
            ),
            (offer("krum", "byzfl"), of("geometric_wise.krum", "Krum", f=lambda h, n: int(h["f"]))),
            (
                offer("geometric-median", "pillutla-2022"),
                of(
                    "geometric_wise.geometric_median",
                    "GeometricMedian",
                    max_iter=lambda h, n: int(h["passes"]),
                    eps=lambda h, n: h["smooth"],
                    tol=TINY,
                    init="mean",
                ),
            ),
            (
                offer("centred-clipping", "karimireddy-2021"),
                of(
                    "norm_wise.center_clipping",
                    "CenteredClipping",
                    M=lambda h, n: int(h["passes"]),
                    c_tau=lambda h, n: h["clip_norm"],
                    init="zero",
                ),
            ),
        ],
    )
