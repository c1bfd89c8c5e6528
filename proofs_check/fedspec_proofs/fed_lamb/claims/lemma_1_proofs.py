"""The repaired Lemma 1 for any number of local steps, in layers of one coordinate, by SMT."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fedspec.mixing.periodic import model_mean
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fed_lamb.kit.shared import at


def _alike(n: int, moved: int = 0) -> Body:
    """Round of the server with n rows alike."""

    def body(draw: Draw) -> Iterable[Any]:
        x = draw("x", 2)
        rows = np.stack([x + moved * draw("other", 2), *[x] * (n - 1)])
        return list(model_mean(rows, clients=n) - x)

    return body


@claim(
    "fed-lamb.clients-alike",
    statement="n clients that end alike leave the server the model of one: no bound all of whose terms "
    "vanish as n grows holds of something that is not 0 for clients alike with exact gradients",
    source=at("ours, about eq. (6) and L716"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="n = 2..5, d = 2",
    assumptions={"alike": "all participants end at one model"},
)
def alike() -> Finding:
    """The means of v_i are alike too, by the same line; so the next round is that of one client."""
    return identities({f"n = {n}": _alike(n) for n in range(2, 6)}, without={"alike": {"n = 2": _alike(2, moved=1)}})
