"""fedlib/fedlib at 8428019, to which lishenghui/blades moved its aggregators.

``SOURCE=path/to/fedlib fedspec check examples/found/fedlib_means.py:Adapter``

median             ``Median()``
trimmed-mean       ``Trimmedmean(floor(trim n))``
krum, multi-krum   ``Multikrum(f)`` and ``Multikrum(f, min(m, n))``
geometric-median   ``GeoMed(maxiter=passes, eps=smooth, ftol=0)``, handed the shares; it begins at the mean
centred-clipping   ``Centeredclipping(tau=clip_norm, n_iter=passes)``, which keeps its last vector

Handed over are tensors, in the type of the case.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Any

import means
import source
import torch
from means import Make, Means, Sent, offer

from fedspec.contract import Claim

COMMIT = "8428019"


def tensors(sent: Sent) -> list[torch.Tensor]:
    """Return each client's change as a tensor."""
    return [torch.tensor(row) for row in means.rows(sent)]


def made(folder: str, commit: str) -> list[tuple[Claim, Make]]:
    """Return the claims about a folder of aggregators at a commit, each with the function that makes its mean."""
    at = {
        n: source.module(commit, f"{folder}/{n}.py", f"found_{n}")
        for n in ("aggregators", "multikrum", "centeredclipping")
    }

    def plain(make: Callable[..., Any]) -> Make:
        def begin(h: Any) -> means.Mean:
            kept = make(h)
            return lambda sent: kept(tensors(sent)).numpy()

        return begin

    def trimmed(h: Any) -> means.Mean:
        return lambda sent: at["aggregators"].Trimmedmean(floor(h["trim"] * len(sent)))(tensors(sent)).numpy()

    def several(h: Any) -> means.Mean:
        f, m = int(h["f"]), int(h["keep"])
        return lambda sent: at["multikrum"].Multikrum(f, min(m, len(sent)))(tensors(sent)).numpy()

    def geometric(h: Any) -> means.Mean:
        kept = at["aggregators"].GeoMed(maxiter=int(h["passes"]), eps=h["smooth"], ftol=0)

        def mean(sent: Sent) -> Any:
            changes = tensors(sent)
            return kept(changes, torch.tensor(means.shares(sent), dtype=changes[0].dtype)).numpy()

        return mean

    clipping = at["centeredclipping"].Centeredclipping
    return [
        (offer("median", "yin-2018"), plain(lambda h: at["aggregators"].Median())),
        (offer("trimmed-mean", "yin-2018"), trimmed),
        (offer("krum", "blanchard-2017"), plain(lambda h: at["multikrum"].Multikrum(int(h["f"])))),
        (offer("multi-krum", "blanchard-2017"), several),
        (offer("geometric-median", "pillutla-2022"), geometric),
        (
            offer("centred-clipping", "karimireddy-2021"),
            plain(lambda h: clipping(tau=h["clip_norm"], n_iter=int(h["passes"]))),
        ),
    ]


def Adapter() -> Means:
    """Adapter of all its aggregators."""
    version = source.dated(COMMIT)
    return Means("fedlib", version, made("fedlib/aggregators", COMMIT))
