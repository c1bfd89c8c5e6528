"""at-aaims/OmniFed at f8604d2: the two compressors of ``src/omnifed/hybrid/compression``.

``SOURCE=path/to/OmniFed fedspec check examples/found/omnifed_compression.py:Adapter``

fedpaq    ``QSGDQuantCompression(bit_width=4)``, which has 2^4 levels; ``torch.rand_like`` is the case's draws
fedcams   ``TopKCompression``, one for each client, with a ratio that gives k; it keeps what it did not send
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import compressing
import source
import torch
from compressing import Array, Compressors, Send

COMMIT = "f8604d2"
FOLDER = "src.omnifed.hybrid.compression"


def Adapter() -> Compressors:
    """Adapter of both compressors."""
    version = source.dated(COMMIT)
    for package in ("src", "src.omnifed", "src.omnifed.hybrid", FOLDER):
        source.absent(package)
    at = {
        n: source.module(COMMIT, f"{FOLDER.replace('.', '/')}/{n}.py", f"{FOLDER}.{n}")
        for n in ("core", "qsgd", "topk")
    }

    def qsgd(h: Mapping[str, Any], d: int) -> Send:
        its = at["qsgd"].QSGDQuantCompression(bit_width=4)

        def sent(change: Array, u: Array) -> Array:
            v = torch.tensor(change)
            with patch("torch.rand_like", lambda like: torch.tensor(u, dtype=like.dtype)):
                levels, norm, width, s = its.compress(v)
            return its.decompress(levels, (norm, width, s, v.shape)).numpy()  # type: ignore[no-any-return]

        return lambda changes, draws: [sent(changes[i], draws[i]) for i in changes]

    def top_k(h: Mapping[str, Any], d: int) -> Send:
        ratio, kept = (min(int(h["kept"]), d) + 0.5) / d, {}

        def sent(i: int, change: Array) -> Array:
            if i not in kept:
                kept[i] = at["topk"].TopKCompression(compress_ratio=ratio)
            return kept[i].decompress(*kept[i].compress(torch.tensor(change), "x")).numpy()  # type: ignore[no-any-return]

        return lambda changes, draws: [sent(i, change) for i, change in changes.items()]

    levels = {"fixed": {"levels": 16.0}, "dtypes": ("float32",)}
    return Compressors(
        "omnifed",
        version,
        [
            (compressing.make_offer("fedpaq", "qsgd", **levels), qsgd),
            (compressing.make_offer("fedcams", "wang-2022"), top_k),
        ],
    )
