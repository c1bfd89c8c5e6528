"""Special cases of AFGA and CAFGA on symbols: FedAMSGrad, CAFGA with one cluster, and the assumptions at K = 1."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec.algorithms import afga, cafga, fedamsgrad
from fedspec.algorithms.afga import Afga
from fedspec.algorithms.fedamsgrad import FedAMSGrad
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Mixing, Vector, maximum
from fedspec.client.sgd import sgd
from fedspec.mixing import topology
from fedspec.plan import Exchange, Message, Oracle
from fedspec.readings import Weighting
from fedspec.server.amsgrad import AmsGrad
from fedspec_proofs.afga.claims.sequences import doubly
from fedspec_proofs.afga.kit.constants import between, dissimilar
from fedspec_proofs.afga.kit.network import EXACT, Network, hyper
from fedspec_proofs.afga.kit.networks import conditions, two_tilts
from fedspec_proofs.claim import Engine, Extent, Finding, Sharpness, Verdict, claim, false
from fedspec_proofs.engines import Draw, curried, identities

Sets = Sequence[tuple[int, ...]]


def line(a: Any, c: Any) -> Oracle:
    """A client with gradient a x + c."""
    return lambda t, x: a * x + c


def affine(draw: Draw, n: int) -> list[Oracle]:
    """Clients with gradient a_i x + c_i."""
    a, c = draw("a", n), draw("c", n)
    return [line(a[i], c[i]) for i in range(n)]


def _fedamsgrad(x: Vector, clients: Sequence[Oracle], S: tuple[int, ...], steps: int, eta_l: Any) -> Vector:
    """Delta of FedAMSGrad: every sampled client descends alone; the changes are averaged as its row averages them."""
    messages = []
    for i in S:
        x_i = x
        for t in range(steps):
            x_i = sgd(x_i, clients[i](t, x_i), eta_l=eta_l)
        messages.append(Message(delta=x_i - x, examples=1, steps=steps, a_norm=steps))
    return aggregate(messages, Weighting.UNIFORM, messages[0].delta)


@curried
def _against_fedamsgrad(draw: Draw, n: int, S: tuple[int, ...], computing: Sets, mixing: Mixing) -> list[Any]:
    x, eta_l, clients = draw("x", 1), draw("eta_l", positive=True), affine(draw, n)
    ours = afga.change(hyper(eta_l), x, clients, Exchange(S, tuple(computing), mixing))
    return list(ours - _fedamsgrad(x, clients, S, len(computing), eta_l))


def _servers(draw: Draw) -> list[Any]:
    """The states after either server's step on one Delta; with eps = 1 + M + M^2 the root is rational, 1 + M."""
    m, v, v_hat, x, delta = (draw(name, 1) for name in ("m", "v", "v_hat", "x", "Delta"))
    odds = draw("odds", 2, positive=True)
    eta, (beta1, beta2) = draw("eta", positive=True), odds / (1 + odds)
    M = maximum(v_hat, beta2 * v + (1 - beta2) * delta**2)[0]
    eps = 1 + M + M**2
    given = {"eta_l": 1, "eta": eta, "beta1": beta1, "beta2": beta2, "eps": eps}
    state = AmsGrad(x=x, m=m, v=v, v_hat=v_hat, t=3)
    ours, _ = afga.serve(Afga(**given), state, delta)
    theirs, _ = fedamsgrad.fedamsgrad(FedAMSGrad(**given), state, [Message(delta=delta, examples=1, steps=1, a_norm=1)])
    return [*(ours.x - theirs.x), *(ours.m - theirs.m), *(ours.v - theirs.v), *(ours.v_hat - theirs.v_hat)]


@claim(
    "afga.reduction",
    statement="With W = I and S_(r,t) = S_r for every t, the Delta of AFGA is that of FedAMSGrad, and so is the "
    "server's step",
    source="Section 3 (L221-223), which prints S_t and x^j for S_r and x^i",
    sizes="n = 3 clients, I = 2, d = 1, gradients a_i x + c_i, S_r of one and of two clients",
    assumptions={
        "no mixing": "W = I, which Assumption 4.5 excludes",
        "no re-sampling": "S_(r,t) = S_r",
    },
)
def reduction() -> Finding:
    """n = 3, I = 2, affine clients; the servers are compared at any state, for any Delta."""
    one, J = topology.alone(3, EXACT), topology.complete(3, EXACT)
    S = (0, 2)
    return identities(
        {
            "S = {1, 3}": _against_fedamsgrad(3, S, (S, S), one),
            "S = {2}": _against_fedamsgrad(3, (1,), ((1,), (1,)), one),
            "the servers": _servers,
        },
        without={
            "no mixing": {"W = J": _against_fedamsgrad(3, S, (S, S), J)},
            "no re-sampling": {"S_(r,1) = {1, 2}": _against_fedamsgrad(3, S, (S, (0, 1)), one)},
        },
        instances=8,
    )


@curried
def _one_cluster(draw: Draw, n: int, S: tuple[int, ...], computing: Sets, clusters: Any) -> list[Any]:
    x, eta_l, clients, W = draw("x", 1), draw("eta_l", positive=True), affine(draw, n), doubly(draw, n)
    plan = Exchange(S, tuple(computing), W, clusters)
    h = hyper(eta_l)
    delta, _ = cafga.change(h, x, np.stack([x] * n), clients, plan)
    return list(delta - afga.change(hyper(eta_l), x, clients, Exchange(S, tuple(computing), W)))


@claim(
    "afga.one-cluster",
    statement="CAFGA with one cluster is AFGA: the same Delta for the same sets and the same W",
    source="Section 5 (L355-410) and after Assumption D.2 (L1079)",
    sizes="n = 2 clients, I = 2, d = 1, gradients a_i x + c_i, every doubly stochastic W",
    assumptions={"K = 1": "one cluster of all clients"},
)
def one_cluster() -> Finding:
    """n = 2, I = 2 with every doubly stochastic W; two clusters of one client each do not mix."""
    whole = _one_cluster(2, (0,), ((1,), (0,)), ((0, 1),))
    parted = _one_cluster(2, (0, 1), ((1,), (0,)), ((0,), (1,)))
    return identities({"n = 2, I = 2": whole}, without={"K = 1": {"K = 2": parted}})


@claim(
    "afga.assumptions-at-k-1",
    statement="At K = 1 Assumption D.1 is Assumption 4.4 with alpha = 1 and sigma_c = 0, and D.2 is 4.5",
    source="after Assumption D.2 (L1079-1092)",
    engine=Engine.EXACT,
    verdict=Verdict.CHECKED,
    extent=Extent.WHOLE,
)
def at_k_1() -> Finding:
    """A single cluster has fbar_1 = f, whatever the clients are; checked for all x on some networks of one cluster."""
    checked, halved = 0, False
    for c in ((1, -1), (0, 3), (2, 2)):
        for slope in (F(0), F(1), F(-2)):
            base = two_tilts(c, F(1, 2))
            net = Network(**{**vars(base), "a": (slope, slope), "L": F(2)})
            ok = between(net, 1, 0) and dissimilar(net, 0) == net.sigma2_k[0] and net.rho_max == net.rho[0]
            if not (ok and all(conditions(net, "D.1 within", "D.1 between", "D.2").values())):
                return Finding(Verdict.REFUTED, f"c = {c}, slope {slope}")
            halved = halved or dissimilar(net, 0) != net.sigma2_k[0] / 2
            checked += 1
    sharpness = Sharpness(1.0, {"half of sigma_1^2": halved})
    return Finding(Verdict.CHECKED, f"{checked} networks", sharpness=sharpness)


@claim(
    "afga.remark-3-1",
    statement="Re-sampling and gossip reduce the impact of heterogeneity and accelerate convergence in practice",
    source="Remark 3.1 (L226)",
    verdict=Verdict.UNDECIDABLE,
)
def remark_3_1() -> Finding:
    """A statement about experiments, which no run decides."""
    return Finding(
        Verdict.UNDECIDABLE,
        "a motivation without a quantified statement: neither 'impact' nor the runs compared are named; with the "
        "paper's own numbers, gossip alone lowers accuracy (Table 4, 77.39 against 79.59)",
    )


@false("afga.false-reduction-mixing", of=reduction, statement="AFGA with S_(r,t) = S_r and W = J is FedAMSGrad")
def mixing_stays() -> Finding:
    """Refuted: the exchange also mixes the models of computing clients with models of clients that don't compute."""
    return identities({"W = J": _against_fedamsgrad(3, (0, 2), ((0, 2), (0, 2)), topology.complete(3, EXACT))})
