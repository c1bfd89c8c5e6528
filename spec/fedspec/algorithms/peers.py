"""Algorithms without a server: decentralised SGD, decentralised Adam, Gossip-PGA. Row i of X is client i's model.

    dsgd         I times:  X = W X - eta_l G(X)
    dadam        I times:  m, v from G(X);  v_hat = beta3 v_hat + (1 - beta3) max(v_hat, v)
                           X = W X - eta_l m / (sqrt(v_hat) + eps)
    gossip-pga   I times:  X = W (X - eta_l G(X));  the last time the exact mean instead of W

External: Lian et al. (2017); Nazari et al. (2019) and Chen, Karimi, Zhao and Li (2021); Chen, Yuan et al. (2021).
Baselines of AFGA (L914-976), which does not define them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxtyping import Shaped

from fedspec import phrases
from fedspec.arith import Array, Mixing, Scalar, Stack, Vector, constant, maximum, sqrt
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.errors import PlanError, ShapeError
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.dadam import Moments, local_step, moments, track, tracked_step
from fedspec.mixing.gossip import dsgd as dsgd_step
from fedspec.mixing.gossip import global_mean, gossip
from fedspec.plan import Exchange, Setup
from fedspec.population import Clients, gradients
from fedspec.readings import Denominators, Order
from fedspec.records import record


@dataclass(frozen=True)
class Dsgd(Hyper):
    """Hyper-parameter and order of decentralised SGD."""

    eta_l: Scalar
    order: Order = Order.COMBINE_THEN_ADAPT


@dataclass(frozen=True)
class GossipPga(Hyper):
    """Hyper-parameter of Gossip-PGA; its period H is the number of local steps in an exchange."""

    eta_l: Scalar


@dataclass(frozen=True)
class Dadam(Hyper):
    """Hyper-parameters of decentralised Adam."""

    eta_l: Scalar
    beta1: Scalar
    beta2: Scalar
    beta3: Scalar
    eps: Scalar
    denominators: Denominators = Denominators.LOCAL


@record
class Peers:
    """The clients' models."""

    X: Stack

    @property
    def x(self) -> Vector:
        """All of them as one vector, client by client."""
        return self.X.reshape(-1)


@record
class AdaptivePeers(Peers):
    """The clients' models and moments, and the second moments that they agree on; where they do not, v_hat."""

    moments: Moments
    u_tilde: Stack


def rows(x: Shaped[Array, "all"], setup: Setup) -> Stack:
    """The models of the clients, one after the other in x.

    Raises:
        ShapeError: x is not as many models of one length.
    """
    if len(x) % setup.clients:
        raise ShapeError(f"x0: {len(x)} coordinates for {setup.clients} clients; without a server it is [clients, d]")
    return x.reshape(setup.clients, -1)


def check_everyone(plan: Exchange, clients: Clients) -> None:
    """Refuse a plan with a server in it, without a local step, or in which some client does not compute.

    Raises:
        PlanError: somebody sends, there is no local step, or somebody does not compute.
    """
    if not plan.computing:
        raise PlanError("computing: no local step; without a server a round is one or more, each with all clients")
    if plan.senders:
        raise PlanError(f"senders: {plan.senders}, but there is no server to send to; leave it empty")
    for t, S in enumerate(plan.computing):
        if set(S) != set(range(len(clients))):
            raise PlanError(f"computing[{t}]: {tuple(S)} of {len(clients)} clients; here all of them compute")


def init(h: Hyper, x: Vector, setup: Setup) -> Peers:
    """The initial models, and nothing else."""
    return Peers(rows(x, setup))


def init_adaptive(h: Dadam, x: Vector, setup: Setup) -> AdaptivePeers:
    """Moments at zero; v_hat and u_tilde at eps where they are tracked."""
    X = rows(x, setup)
    start = h.eps if h.denominators is Denominators.TRACKED else x[0] * 0
    v_hat = constant(start, x).reshape(X.shape)
    return AdaptivePeers(X, Moments(m=X * 0, v=X * 0, v_hat=v_hat), v_hat)


def plain_dsgd(h: Dsgd, state: Peers, clients: Clients, plan: Exchange) -> tuple[Peers, dict[str, Any]]:
    """Some steps of decentralised SGD in the canonical reading."""
    X, W, everyone = state.X, plan.mixing, range(len(clients))
    for t in range(len(plan.computing)):
        X = gossip(X, W) - h.eta_l * gradients(clients, everyone, t, X)
    return Peers(X), {}


def dsgd(h: Dsgd, state: Peers, clients: Clients, plan: Exchange) -> tuple[Peers, dict[str, Any]]:
    """Some steps of decentralised SGD."""
    check_everyone(plan, clients)
    X, W, everyone = state.X, plan.mixing, range(len(clients))
    for t in range(len(plan.computing)):
        G = gradients(clients, everyone, t, gossip(X, W) if h.order is Order.GRADIENT_AT_COMBINED else X)
        X = dsgd_step(X, G, W, eta_l=h.eta_l, order=h.order)
    return Peers(X), {}


def gossip_pga(h: GossipPga, state: Peers, clients: Clients, plan: Exchange) -> tuple[Peers, dict[str, Any]]:
    """One period of Gossip-PGA."""
    check_everyone(plan, clients)
    X, W, everyone, last = state.X, plan.mixing, range(len(clients)), len(plan.computing) - 1
    for t in range(len(plan.computing)):
        X = sgd(X, gradients(clients, everyone, t, X), eta_l=h.eta_l)
        X = global_mean(X) if t == last else gossip(X, W)
    return Peers(X), {}


def plain_dadam(
    h: Dadam, state: AdaptivePeers, clients: Clients, plan: Exchange
) -> tuple[AdaptivePeers, dict[str, Any]]:
    """Some steps of decentralised Adam in the canonical reading."""
    X, W, everyone = state.X, plan.mixing, range(len(clients))
    m, v, v_hat = state.moments.m, state.moments.v, state.moments.v_hat
    for t in range(len(plan.computing)):
        G = gradients(clients, everyone, t, X)
        m = h.beta1 * m + (1 - h.beta1) * G
        v = h.beta2 * v + (1 - h.beta2) * G**2
        v_hat = h.beta3 * v_hat + (1 - h.beta3) * maximum(v_hat, v)
        X = gossip(X, W) - h.eta_l * m / (sqrt(v_hat) + h.eps)
    shown = {"m": m, "v": v, "v_hat": v_hat, "u_tilde": v_hat}
    return AdaptivePeers(X, Moments(m, v, v_hat), v_hat), {name: rows.reshape(-1) for name, rows in shown.items()}


def dadam(h: Dadam, state: AdaptivePeers, clients: Clients, plan: Exchange) -> tuple[AdaptivePeers, dict[str, Any]]:
    """Some steps of decentralised Adam."""
    check_everyone(plan, clients)
    step = tracked_dadam if h.denominators is Denominators.TRACKED else local_dadam
    for t in range(len(plan.computing)):
        state = step(h, state, gradients(clients, range(len(clients)), t, state.X), plan.mixing)
    past = state.moments
    shown = {"m": past.m, "v": past.v, "v_hat": past.v_hat, "u_tilde": state.u_tilde}
    return state, {name: rows.reshape(-1) for name, rows in shown.items()}


def local_dadam(h: Dadam, state: AdaptivePeers, G: Stack, W: Mixing) -> AdaptivePeers:
    """One step that divides by the clients' own second moments."""
    past = moments(state.moments, G, beta1=h.beta1, beta2=h.beta2, beta3=h.beta3)
    X = local_step(state.X, past.m, past.v_hat, W, eta_l=h.eta_l, eps=h.eps)
    return AdaptivePeers(X, past, past.v_hat)


def tracked_dadam(h: Dadam, state: AdaptivePeers, G: Stack, W: Mixing) -> AdaptivePeers:
    """One step that divides by second moments on which the clients agree: those up to the step before."""
    past = moments(state.moments, G, beta1=h.beta1, beta2=h.beta2, beta3=h.beta3)
    u_tilde = gossip(state.u_tilde, W)
    X = tracked_step(state.X, past.m, u_tilde, W, eta_l=h.eta_l, eps=h.eps)
    return AdaptivePeers(X, past, track(u_tilde, state.moments.v_hat, past.v_hat))


ROWS = (
    Algorithm(
        id="dsgd",
        family=Family.GOSSIP,
        place=6,
        title="decentralised SGD",
        source="external: Lian et al. (2017), Algorithm 1; a baseline of AFGA (L968)",
        levels=("trace",),
        rules=(gossip, dsgd_step),
        readings=(
            Reading(name="lian-2017", words="X = W X - eta_l G(X)", fixes={"order": "combine-then-adapt"}),
            Reading(
                name="adapt-then-combine",
                words="X = W (X - eta_l G(X)), the lines exchanged, as Lian et al. allow and AFGA does",
                fixes={"order": "adapt-then-combine"},
            ),
            Reading(
                name="gradient-at-combined",
                words="X = W X - eta_l G(W X), the combine-then-adapt diffusion of Sayed (2014)",
                fixes={"order": "gradient-at-combined"},
            ),
        ),
        shows=(),
        run=Program(hyper=Dsgd, init=init, step=dsgd, plain=plain_dsgd, event="exchange", takes=("peers",)),
        when={"order=gradient-at-combined": (gossip,)},
        costs=Costs(gossip="|E| tau d", client="d"),
        traps=(
            "Lian et al. combine, then add the gradient taken before; AFGA adapts first, then combines",
            phrases.DOUBLY_STOCHASTIC,
        ),
        facts=(Fact.AFFINE,),
        symbols={"eta_l": "gamma", "X": "X_k", "G": "dF(X_k; xi_k)"},
    ),
    Algorithm(
        id="dadam",
        family=Family.GOSSIP,
        place=7,
        title="decentralised Adam",
        source="external: Nazari et al. (2019), Algorithm 1, and Chen et al. (2021); a baseline of AFGA (L968)",
        levels=("trace",),
        rules=(moments, tracked_step, track, local_step),
        readings=(
            Reading(
                name="nazari-2019",
                words="every client divides by its own sqrt(v_hat) + eps",
                fixes={"denominators": "local"},
            ),
            Reading(
                name="chen-2021",
                words="divided by sqrt(max(u_tilde, eps)), tracking the mean of the v_hat by gossip; "
                "v_hat_0 = eps, v_0 = 0",
                fixes={"denominators": "tracked"},
            ),
        ),
        shows=("m", "v", "v_hat", "u_tilde"),
        run=Program(hyper=Dadam, init=init_adaptive, step=dadam, plain=plain_dadam, event="exchange", takes=("peers",)),
        when={"denominators=local": (local_step,), "denominators=tracked": (tracked_step, track)},
        costs=Costs(
            gossip="|E| tau d",
            client="4 d",
            working="4 d",
            note="where denominators are tracked, twice the gossip and 5 d",
        ),
        traps=(
            "models are mixed, moments are not",
            "the two papers divide by different second moments: the own, or one that is tracked by gossip",
            "v_hat averages the maximum by beta3; beta3 = 0 is AMSGrad's maximum",
        ),
        symbols={
            "eta_l": "alpha",
            "X": "x_(i,t) (Nazari et al.), x_(t,i) (Chen et al.)",
            "v": "upsilon (Nazari et al.)",
        },
    ),
    Algorithm(
        id="gossip-pga",
        family=Family.GOSSIP,
        place=8,
        title="gossip SGD with periodic global averaging",
        source="external: Chen et al. (2021); a baseline of AFGA (L968)",
        levels=("trace",),
        rules=(sgd, gossip, global_mean),
        readings=(
            Reading(name="chen-2021", words="X = W (X - eta_l G(X)), at the last local step of a round the exact mean"),
        ),
        shows=(),
        run=Program(hyper=GossipPga, init=init, step=gossip_pga, event="exchange", takes=("peers",)),
        costs=Costs(
            down="n d",
            up="n d",
            gossip="|E| (tau - 1) d",
            client="d",
            note="the exact mean goes up and down each round",
        ),
        traps=(
            "the exact mean replaces the exchange of the last step; it is not added to it",
            phrases.DOUBLY_STOCHASTIC,
        ),
        facts=(Fact.AFFINE,),
        symbols={"eta_l": "gamma", "tau": "H", "X": "x_i^(k)"},
    ),
)
