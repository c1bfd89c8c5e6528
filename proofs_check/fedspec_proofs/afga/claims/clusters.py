"""Effect of an exchange on the models; Assumptions D.1 and D.2 on clustered clients, with toy problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

from fedspec.arith import Mixing
from fedspec.mixing import topology
from fedspec.mixing.gossip import gossip
from fedspec_proofs.afga.claims.assumptions import all_checked
from fedspec_proofs.afga.claims.sequences import doubly, row_stochastic
from fedspec_proofs.afga.kit.constants import between, keeps, mixes, only_consensus_is_fixed
from fedspec_proofs.afga.kit.network import EXACT
from fedspec_proofs.afga.kit.networks import blended_permutation, opposed
from fedspec_proofs.afga.kit.rounds import clients
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines import Draw, curried, exact, identities


@curried
def _contracts(draw: Draw, n: int, order: Callable[[Draw, int], Mixing]) -> list[Any]:
    """Identities of an exchange: WX minus its mean is (W - J) times X minus its mean, and the mean stays."""
    W, X = order(draw, n), draw("X", n, 2)
    J = topology.complete(n, EXACT)
    after = gossip(X, W)
    shrunk = after - J @ after - (W - J) @ (X - J @ X)
    return [*shrunk.ravel(), *(J @ after - J @ X).ravel()]


@claim(
    "afga.gossip-contracts",
    statement="(I - J)WX = (W - J)(I - J)X, so that an exchange shrinks the consensus error by rho^2; the mean stays",
    source="ours, about Assumption 4.5 and Lemma F.2 (L269, L2920)",
    sizes="n = 2 and 3, d = 2",
    assumptions={"columns of W sum to one": "1'W = 1'"},
)
def gossip_contracts() -> Finding:
    """For n = 2 and 3; the norm gives |(W - J)Y|_F <= ||W - J||_2 |Y|_F, column by column."""
    bodies = {f"n = {n}": _contracts(n, doubly) for n in (2, 3)}
    weaker = {"n = 2, rows only": _contracts(2, row_stochastic)}
    return identities(bodies, without={"columns of W sum to one": weaker}, instances=5)


def _tilted(draw: Draw, alike: bool) -> list[Any]:
    """Both parts of Assumption D.1 for two clusters of two quadratics, minus their claimed values.

    Curvatures differ between the clusters, or are all one.
    """
    x, c = draw("x", 1), draw("c", 4)
    one, other = draw("a"), draw("a" if alike else "a_other")
    net = replace(opposed(), a=(one, one, other, other), c=tuple(c))
    g = [f(0, x)[0] for f in clients(net, lambda t, i: 0)]
    means = [(g[0] + g[1]) / 2, (g[2] + g[3]) / 2]
    inner = [((g[0] - means[0]) ** 2 + (g[1] - means[0]) ** 2) / 2 - (c[0] - c[1]) ** 2 / 4]
    between_them = (means[0] ** 2 + means[1] ** 2) / 2 - ((means[0] + means[1]) / 2) ** 2
    tilt = (c[0] + c[1] - c[2] - c[3]) / 4
    return [*inner, between_them - ((one - other) * x[0] / 2 + tilt) ** 2]


@claim(
    "afga.assumption-d-1",
    statement="Clusters of clients on one parabola with tilts c_i meet Assumption D.1 with sigma_k^2 = variance of c "
    "in the cluster, alpha = 1 and sigma_c^2 = variance of the cluster means, all equalities; where the clusters' "
    "curvatures differ, 1/K sum |fbar_k'|^2 - |f'|^2 = ((a_1 - a_2) x/2 + const)^2, so that alpha = 1 will not do",
    source="ours, objectives for Assumption D.1 (L1059)",
    sizes="K = n = 2, d = 1",
)
def assumption_d_1() -> Finding:
    """For all x, through the gradients of the toy networks. With curvatures 1 and 2, alpha = 2 suffices."""
    found = identities(
        {"one parabola": lambda draw: _tilted(draw, True), "two curvatures": lambda draw: _tilted(draw, False)}
    )
    two = replace(opposed(), a=(F(1), F(1), F(2), F(2)))
    ok = between(two, 4, F(10)) and not between(two, 1, F(10**6))
    return found if ok else replace(found, verdict=Verdict.UNKNOWN)


@claim(
    "afga.anova",
    statement="1/N sum |grad f_i - grad f|^2 = mean over clusters of the variance in them + 1/K sum |grad fbar_k - "
    "grad f|^2",
    source="ours, about Assumptions 4.4 and D.1 (L260, L1059)",
    sizes="K = 2 clusters of n = 2 and 3, d = 1",
)
def anova() -> Finding:
    """For K = 2 clusters of n = 2 and 3, with gradients as free numbers."""

    @curried
    def body(draw: Draw, n: int) -> list[Any]:
        g = draw("g", 2, n)
        centres = [sum(row) / F(n) for row in g]
        whole = sum(centres) / F(2)
        left = sum((v - whole) ** 2 for v in g.ravel()) / F(2 * n)
        inner = sum((g[k, i] - centres[k]) ** 2 for k in (0, 1) for i in range(n)) / F(2 * n)
        return [left - inner - sum((c - whole) ** 2 for c in centres) / F(2)]

    return identities({"n = 2": body(2), "n = 3": body(3)})


@claim(
    "afga.assumption-d-2",
    statement="Clusters that mix with W_1 = J and W_2 = (I + J)/2 meet Assumption D.2 with rho_1 = 0 and rho_2 = 1/2, "
    "while the whole network, the blocks together, has rho = 1 and does not meet Assumption 4.5",
    source="ours, matrices for Assumption D.2 (L1069)",
    engine=Engine.EXACT,
    sizes="K = n = 2",
)
def assumption_d_2() -> Finding:
    """Eigenvectors (1, -1) and (1, 1, -1, -1), of which W_2 and the whole network keep a half and all of the length."""
    one, two = topology.complete(2, EXACT), blended_permutation(2, (0, 1), F(1, 2))
    whole = topology.clustered([one, two])
    checks = {
        "rho_1 = 0, rho_2 = 1/2": mixes(one, F(0)) and mixes(two, F(1, 2)) and keeps(two, exact.vector(1, -1), F(1, 2)),
        "each fixes consensus only": only_consensus_is_fixed(one) and only_consensus_is_fixed(two),
        "together: rho = 1": mixes(whole, F(1)) and keeps(whole, exact.vector(1, 1, -1, -1), F(1)),
        "together: more than consensus is fixed": not only_consensus_is_fixed(whole),
    }
    return all_checked(checks, Verdict.PROVED)
