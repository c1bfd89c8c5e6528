"""Assumption 4.5 and the sentences on rho around it: which matrices meet it, and what rho is not."""

from __future__ import annotations

from fractions import Fraction as F

from fedspec.mixing import topology
from fedspec_proofs.afga.assumptions import said
from fedspec_proofs.afga.constants import doubly_stochastic, keeps, mixes, only_consensus_is_fixed
from fedspec_proofs.afga.network import EXACT
from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact


@claim(
    "afga.assumption-4-5",
    statement="Of four clients: the ring meets Assumption 4.5 with rho = 1/3 exactly, J with 0; I and two parted pairs "
    "fix more than consensus; the cyclic permutation fixes consensus only, and still has rho = 1",
    source=Source(AFGA, "ours, matrices for Assumption 4.5 (L269)"),
    engine=Engine.EXACT,
    verdict=Verdict.PROVED,
)
def assumption_4_5() -> Finding:
    """rho exactly: rho^2 I - (W - J)'(W - J) has no negative eigenvalue, and some x has |(W - J)x| = rho |x|."""
    ring, J = topology.ring(4, EXACT), topology.complete(4, EXACT)
    turn = topology.permutation((1, 2, 3, 0), EXACT)
    parted, x = topology.clustered([topology.complete(2, EXACT)] * 2), exact.vector(1, 0, -1, 0)
    checks = {
        "ring of 4: doubly stochastic, null(I - W) = span(1)": doubly_stochastic(ring)
        and only_consensus_is_fixed(ring),
        "ring of 4: rho = 1/3": mixes(ring, F(1, 3)) and keeps(ring, x, F(1, 3)),
        "J: rho = 0": mixes(J, F(0)),
        "I: fixes everything": not only_consensus_is_fixed(topology.alone(4, EXACT)),
        "parted: fixes more": not only_consensus_is_fixed(parted),
        "cyclic: fixes consensus only, rho = 1": only_consensus_is_fixed(turn)
        and mixes(turn, F(1))
        and keeps(turn, x, F(1)),
    }
    return said(checks, Verdict.PROVED)
