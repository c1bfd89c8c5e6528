"""The steps of Lemma F.2, in what is left of the models beside their mean."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction as F
from itertools import pairwise

import numpy as np

from fedspec.mixing import topology
from fedspec_proofs.afga.kit import bounds
from fedspec_proofs.afga.kit.mixed import consensus_lines
from fedspec_proofs.afga.kit.network import EXACT, Network
from fedspec_proofs.afga.kit.networks import ASSUMPTIONS, DRAWN, conditions, some, two_tilts
from fedspec_proofs.afga.kit.rounds import consensus, enumerated, path, whole
from fedspec_proofs.claim import AFGA, Engine, Extent, Finding, Severity, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.moments import second_moment
from fedspec_proofs.engines.search import Sides
from fedspec_proofs.kit.adding import confirmed, in_setting
from fedspec_proofs.refutation import refutation


def _fourth_line(net: Network) -> Iterable[Sides]:
    """Eq. (44), fourth line, for one cluster at the network's matrix: E[G | past] = grad F is used."""
    W = whole(net)
    gap = W - topology.clustered([topology.complete(net.n, EXACT)] * net.K)
    slopes = np.diag(exact.vector(*net.a))
    identity = topology.alone(net.N, EXACT)
    states = path(net)
    for before, after in pairwise(states):
        moved = second_moment(before, gap @ (identity - net.eta_l * slopes), -net.eta_l * gap @ exact.vector(*net.c))
        yield net.N * consensus(net, after), moved + net.eta_l**2 * net.rho_max**2 * net.N * net.sigma2


def _last_line(net: Network) -> Iterable[Sides]:
    """Eq. (44), last line, summed over the clusters, at several zeta."""
    states, rho2, e2 = path(net), net.rho_max**2, net.eta_l**2
    for before, after in pairwise(states):
        gradients = second_moment(before, np.diag(exact.vector(*net.a)), exact.vector(*net.c))
        for zeta in bounds.zetas(net):
            right = {
                "consensus error": rho2 * (1 + 1 / F(zeta)) * net.N * consensus(net, before),
                "gradients": rho2 * e2 * (1 + zeta) * gradients,
                "noise": rho2 * e2 * net.N * net.sigma2,
            }
            yield net.N * consensus(net, after), right


@claim(
    "afga.eq-44",
    statement="E|Xperp_(t+1)|^2 <= E|(W - J)(Xperp_t - eta_l grad F(X_t))|^2 + eta_l^2 rho^2 n sigma^2, the "
    "fourth line; the last one holds",
    source=Source(AFGA, "Lemma F.2, eq. (44), fourth line (L2920-2953)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.SLIP,
)
def eq_44() -> Finding:
    """The sampled gradient has mean (m/n) grad F, not grad F: that m of n compute spreads even equal clients."""
    net = two_tilts((1, 1), F(1, 2))
    return refutation(
        instance="two equal clients f_i = x, one drawn at random, W = (I + J)/2, no noise, one step with eta_l = 1/8",
        conditions=conditions(net),
        left=enumerated(net, lambda X, _: sum((X[:, 0] - sum(X[:, 0]) / 2) ** 2)),
        right=next(iter(_fourth_line(net)))[1],
    )


@claim(
    "afga.eq-44-repaired",
    statement="The last line of eq. (44) holds all the same: E|Xperp_(t+1)|^2 <= rho^2 (1 + 1/zeta) E|Xperp_t|^2 + "
    "rho^2 (1 + zeta) eta_l^2 E|grad F(X_t)|^2 + eta_l^2 rho^2 n sigma^2",
    source=Source(AFGA, "ours, for eq. (44): its last line (L2953), without the fourth"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
    assumptions={**some(ASSUMPTIONS, "4.2", "D.2"), **some(DRAWN, "unbiased")},
    repairs="afga.eq-44",
)
def eq_44_repaired() -> Finding:
    """Given the set S, |D_S grad F| <= |grad F| and the noise of m clients is at most that of n, for any clients.

    Searched over the same instances.
    """
    looked = in_setting(bounds.one_round(_last_line, "4.2", "D.2"), some(DRAWN, "unbiased"))
    return confirmed(consensus_lines(), looked, bounds.TRIES)


ALL = ("4.1", "4.2", "D.1 within", "D.1 between", "D.2", "step")
