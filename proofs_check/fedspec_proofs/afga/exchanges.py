"""What an exchange does to the models: the mean stays, the rest shrinks by rho."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedspec.arith import Mixing
from fedspec.mixing import topology
from fedspec.mixing.gossip import gossip
from fedspec_proofs.afga.network import EXACT
from fedspec_proofs.afga.sequences import doubly, row_stochastic
from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities


def _contracts(n: int, order: Callable[[Draw, int], Mixing]) -> Body:
    """What is left of WX beside its mean, less (W - J) times what is left of X; and what the mean moves by."""

    def body(draw: Draw) -> list[Any]:
        W, X = order(draw, n), draw("X", n, 2)
        J = topology.complete(n, EXACT)
        after = gossip(X, W)
        shrunk = after - J @ after - (W - J) @ (X - J @ X)
        return [*shrunk.ravel(), *(J @ after - J @ X).ravel()]

    return body


@claim(
    "afga.gossip-contracts",
    statement="(I - J)WX = (W - J)(I - J)X, so that an exchange shrinks the consensus error by rho^2; the mean stays",
    source=Source(AFGA, "ours, about Assumption 4.5 and Lemma F.2 (L269, L2920)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="n = 2 and 3, d = 2",
    assumptions={"columns of W sum to one": "1'W = 1'"},
)
def gossip_contracts() -> Finding:
    """n = 2 and 3; |(W - J)Y|_F <= ||W - J||_2 |Y|_F column by column is what the norm is."""
    bodies = {f"n = {n}": _contracts(n, doubly) for n in (2, 3)}
    weaker = {"n = 2, rows only": _contracts(2, row_stochastic)}
    return identities(bodies, without={"columns of W sum to one": weaker}, instances=5)
