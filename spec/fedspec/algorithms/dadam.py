"""Decentralised Adam: each client has its own moments and mixes models with its neighbours. Row i of X is client i's.

    nazari-2019  I times:  m, v from G(X);  v_hat = beta3 v_hat + (1 - beta3) max(v_hat, v)
                           X = W X - eta_l m / (sqrt(v_hat) + eps)
    chen-2021    I times:  m, v from G(X);  v_hat' = beta3 v_hat + (1 - beta3) max(v_hat, v)
                           u~ = W u~;  X = W X - eta_l m / sqrt(max(u~, eps))
                           u~ = u~ - v_hat + v_hat';  v_hat = v_hat'       (v_hat_0 = u~_0 = eps, v_0 = 0)

The first divides by each client's own second moments, the second by those on which the clients agree by gossip; the sum
of u~ over the clients stays that of v_hat.

External: Nazari et al. (2019) and Chen, Karimi, Zhao and Li (2021). A baseline of AFGA (L914-976), which does not
define it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.peers import Peers, check_everyone, rows
from fedspec.arith import Mixing, Scalar, Stack, Vector, constant
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.dadam import Moments, local_step, moments, track, tracked_step
from fedspec.mixing.gossip import gossip
from fedspec.plan import Exchange, Setup
from fedspec.population import Clients, gradients
from fedspec.readings import Denominators
from fedspec.records import record


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
class AdaptivePeers(Peers):
    """The clients' models and moments, and the second moments u~ on which they agree (v_hat if they don't)."""

    moments: Moments
    u_tilde: Stack


def init_adaptive(h: Dadam, x: Vector, setup: Setup) -> AdaptivePeers:
    """Initial state: moments at zero; v_hat and u_tilde at eps if u_tilde is tracked, else at zero."""
    X = rows(x, setup)
    start = h.eps if h.denominators is Denominators.TRACKED else x[0] * 0
    v_hat = constant(start, x).reshape(X.shape)
    return AdaptivePeers(X, Moments(m=X * 0, v=X * 0, v_hat=v_hat), v_hat)


def dadam(h: Dadam, state: AdaptivePeers, clients: Clients, plan: Exchange) -> tuple[AdaptivePeers, dict[str, Any]]:
    """Run one round of decentralised Adam, a number of steps."""
    check_everyone(plan, clients)
    step = tracked_dadam if h.denominators is Denominators.TRACKED else local_dadam
    for t in range(len(plan.computing)):
        state = step(h, state, gradients(clients, range(len(clients)), t, state.X), plan.mixing)
    past = state.moments
    shown = {"m": past.m, "v": past.v, "v_hat": past.v_hat, "u_tilde": state.u_tilde}
    return state, {name: rows.reshape(-1) for name, rows in shown.items()}


def local_dadam(h: Dadam, state: AdaptivePeers, G: Stack, W: Mixing) -> AdaptivePeers:
    """Step of Adam that divides by each client's own second moments."""
    past = moments(state.moments, G, beta1=h.beta1, beta2=h.beta2, beta3=h.beta3)
    X = local_step(state.X, past.m, past.v_hat, W, eta_l=h.eta_l, eps=h.eps)
    return AdaptivePeers(X, past, past.v_hat)


def tracked_dadam(h: Dadam, state: AdaptivePeers, G: Stack, W: Mixing) -> AdaptivePeers:
    """Step of Adam that divides by second moments on which the clients agreed before the step."""
    past = moments(state.moments, G, beta1=h.beta1, beta2=h.beta2, beta3=h.beta3)
    u_tilde = gossip(state.u_tilde, W)
    X = tracked_step(state.X, past.m, u_tilde, W, eta_l=h.eta_l, eps=h.eps)
    return AdaptivePeers(X, past, track(u_tilde, state.moments.v_hat, past.v_hat))


ROW = Algorithm(
    id="dadam",
    family=Family.GOSSIP,
    place=7,
    title="decentralised Adam",
    source="external: Nazari et al. (2019), Algorithm 1; Chen, Karimi, Zhao and Li (2021); a baseline of AFGA (L968)",
    basis=Basis.MEMORY,
    levels=("trace",),
    # The gossip that it calls mixes second moments, and prints a line of models.
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
    run=Program(
        hyper=Dadam,
        init=init_adaptive,
        step=dadam,
        event="exchange",
        takes=("peers",),
    ),
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
)
