"""Assumptions D.1 and D.2, of clients in clusters: toys that meet them, and toys that do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from typing import Any

from fedspec.mixing import topology
from fedspec_proofs.afga.assumptions import said
from fedspec_proofs.afga.constants import between, dissimilar, mixes, only_consensus_is_fixed
from fedspec_proofs.afga.instances import opposed
from fedspec_proofs.afga.network import EXACT
from fedspec_proofs.afga.networks import blended_permutation
from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities


@claim(
    "afga.assumption-d-1",
    statement="Clusters of clients on one parabola with tilts c_i meet Assumption D.1 with sigma_k^2 = variance of c "
    "in the cluster, alpha = 1 and sigma_c^2 = variance of the cluster means, all equalities; clusters of different "
    "curvature need alpha > 1; clients of different curvature in one cluster meet it with no sigma_k",
    source=Source(AFGA, "Assumption D.1 (L1059)"),
    engine=Engine.EXACT,
    verdict=Verdict.PROVED,
)
def assumption_d_1() -> Finding:
    """On the whole line: the second condition is a parabola in x, decided by its discriminant."""
    net = opposed()
    curved = replace(net, a=(F(1),) * 4)
    bent = replace(net, a=(F(1), F(1), F(2), F(2)))
    checks = {
        "tilts: alpha = 1, sigma_c^2 = 1": between(curved, 1, F(1)),
        "tilts: less is refused": not between(curved, 1, F(99, 100)),
        "slopes 1 and 2: no sigma_c for alpha = 1": not between(bent, 1, F(10**6)),
        "slopes 1 and 2: alpha = 2 does": between(bent, 4, F(10)),
        "sigma_k = 0 for equal clients": dissimilar(curved, 0) == 0,
        "none for unequal curvature": dissimilar(replace(net, a=(F(0), F(1), F(0), F(0))), 0) is None,
    }
    return said(checks, Verdict.PROVED)


@claim(
    "afga.anova",
    statement="1/N sum |grad f_i - grad f|^2 = mean over clusters of the variance in them + 1/K sum |grad fbar_k - "
    "grad f|^2",
    source=Source(AFGA, "ours, about Assumptions 4.4 and D.1 (L260, L1059)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
)
def anova() -> Finding:
    """K = 2 clusters of n = 2 and 3; gradients as free numbers."""

    def body(n: int) -> Any:
        def one(draw: Draw) -> list[Any]:
            g = draw("g", 2, n)
            centres = [sum(row) / F(n) for row in g]
            whole = sum(centres) / F(2)
            left = sum((v - whole) ** 2 for v in g.ravel()) / F(2 * n)
            inner = sum((g[k, i] - centres[k]) ** 2 for k in (0, 1) for i in range(n)) / F(2 * n)
            return [left - inner - sum((c - whole) ** 2 for c in centres) / F(2)]

        return one

    return identities({"n = 2": body(2), "n = 3": body(3)})


@claim(
    "afga.assumption-d-2",
    statement="Clusters may meet Assumption D.2, ||W_k - J||_2 <= rho_k < 1, while the whole network, the blocks "
    "together, never meets Assumption 4.5",
    source=Source(AFGA, "Assumption D.2 (L1069)"),
    engine=Engine.EXACT,
    verdict=Verdict.PROVED,
)
def assumption_d_2() -> Finding:
    """Two clusters, W_1 = J (rho_1 = 0) and W_2 = (I + J)/2 (rho_2 = 1/2)."""
    one, two = topology.complete(2, EXACT), blended_permutation(2, (0, 1), F(1, 2))
    whole = topology.clustered([one, two])
    checks = {
        "rho_1 = 0, rho_2 = 1/2": mixes(one, F(0)) and mixes(two, F(1, 2)) and not mixes(two, F(49, 100)),
        "each fixes consensus only": only_consensus_is_fixed(one) and only_consensus_is_fixed(two),
        "together: rho = 1": mixes(whole, F(1)) and not mixes(whole, F(999, 1000)),
        "together: more than consensus is fixed": not only_consensus_is_fixed(whole),
    }
    return said(checks, Verdict.PROVED)
