"""vio1etus/FLPoison at 368c940: robust aggregators of a benchmark of attacks and defences.

``SOURCE=path/to/FLPoison fedspec check examples/found/flpoison_means.py:Adapter``

median             ``Median``
trimmed-mean       ``TrimmedMean`` with ``beta=trim``
krum               ``Krum``, documented with the n - f - 1 nearest and distances as they are
multi-krum         ``multi_krum``, likewise, with m / n for its share of the clients
geometric-median   ``RFA`` with ``num_iters=passes`` and ``epsilon=smooth``; it begins at zero
centred-clipping   ``CenteredClipping`` with ``norm_threshold=clip_norm`` and ``num_iters=passes``; kept between rounds

Handed over is one array of two axes, in the type of the case; attackers are f in number.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import means
import numpy as np
import source
from means import Make, Mean, Means, offer

COMMIT = "368c940"


def Adapter() -> Means:
    """Adapter of six aggregators."""
    version = source.dated(COMMIT)
    for name in ("fl", "fl.models"):
        source.absent(name)
    source.absent("fl.models.model_utils", add_vec2model=None, model2vec=None, vec2model=None)
    source.Package("aggregators", COMMIT, "aggregators", empty=("aggregators",))
    importlib.import_module("aggregators").__dict__["aggregator_registry"] = lambda kind: kind

    def of(module: str, kind: str, **numbers: str) -> Make:
        def begin(h: Any) -> Mean:
            given = {theirs: h[ours] for theirs, ours in numbers.items()}
            args = SimpleNamespace(defense_params=given, num_adv=int(h.get("f", 0)))
            kept = getattr(importlib.import_module(f"aggregators.{module}"), kind)(args)
            return lambda sent: kept.aggregate(means.rows(sent))

        return begin

    def several(h: Any) -> Mean:
        multi_krum = importlib.import_module("aggregators.multikrum").multi_krum

        def mean(sent: means.Sent) -> Any:
            changes, n = means.rows(sent), len(sent)
            share = np.nextafter(min(int(h["keep"]), n) / n, 2)
            return multi_krum(changes, int(h["f"]), share)

        return mean

    whole = {"num_iters": "passes"}
    return Means(
        "flpoison",
        version,
        [
            (offer("median", "yin-2018"), of("median", "Median")),
            (offer("trimmed-mean", "yin-2018"), of("trimmedmean", "TrimmedMean", beta="trim")),
            (offer("krum", "byzantine-momentum"), of("krum", "Krum")),
            (offer("multi-krum", "byzantine-momentum"), several),
            (offer("geometric-median", "from-zero"), of("rfa", "RFA", epsilon="smooth", **whole)),
            (
                offer("centred-clipping", "karimireddy-2021"),
                of("centeredclipping", "CenteredClipping", norm_threshold="clip_norm", **whole),
            ),
        ],
    )
