"""AFGA: FedAMSGrad with clients that are sampled again at every local step and mix with their neighbours after it.

    every client i: x_i = x
    for t = 0..I-1:
        i in S_(r,t):  x_i = x_i - eta_l g_i(x_i)
        every client:  x_i = sum_j W_ij x_j    (communication-adapted: those of S_(r,t) alone, j over these)
    Delta = mean over S_r of x_i - x
    m = beta1 m + (1 - beta1) Delta;  v = beta2 v + (1 - beta2) Delta^2;  v_hat = max(v_hat, v)
    x = x + eta m / sqrt(v_hat + eps)

FedAMSGrad with gossip, a row of the paper's ablation, takes S_(r,t) = S_r. The communication-adapted AFGA mixes only
the clients that compute: W has a row for each of these, and the others keep their models.

The sets are drawn uniformly without replacement, S_r and every S_(r,t) independently; that is the plan's affair. With
replacement (L4647, in words) the pair probabilities printed beside it and Lemma F.6 do not hold.

Source: AFGA, Alg. 1 (L157-200), Table 4 (L561-567), communication-adapted (L434-442, footnote 4, L476-479).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.exchanges import check_one_set, check_senders
from fedspec.arith import Scalar, Stack, Vector, numbered, put, stack
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.gossip import gossip
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Exchange, Setup
from fedspec.population import Clients, gradients
from fedspec.readings import Epsilon, Sampling
from fedspec.server.amsgrad import AmsGrad, amsgrad
from fedspec.server.amsgrad import init as init_amsgrad


@dataclass(frozen=True)
class Afga(Hyper):
    """Hyper-parameters of AFGA, and of FedAMSGrad with gossip."""

    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    epsilon: Epsilon = Epsilon.INSIDE


@dataclass(frozen=True)
class AdaptedAfga(Afga):
    """Hyper-parameters of communication-adapted AFGA."""

    sampling: Sampling = Sampling.ROUND


def init(h: Afga, x: Vector, setup: Setup) -> AmsGrad:
    """Initial state: moments and maximum at zero."""
    return init_amsgrad(x)


def mean_change(X: Stack, x: Vector, S: Sequence[int]) -> Vector:
    """Mean of the senders' changes: lines 17 and 18."""
    deltas = X[numbered(S, X)] - x
    return weighted_mean(deltas, shares([1] * len(deltas), x))


def change(h: Any, x: Vector, clients: Clients, plan: Exchange) -> Vector:
    """Aggregated change Delta of AFGA: lines 3 to 18."""
    S_r, W = plan.senders, plan.mixing
    X = stack([x] * len(clients))
    for t, S_t in enumerate(plan.computing):
        S = numbered(S_t, X)
        X = put(X, S, sgd(X[S], gradients(clients, S, t, X[S]), eta_l=h.eta_l))
        X = gossip(X, W)
    return mean_change(X, x, S_r)


def change_adapted(h: AdaptedAfga, x: Vector, clients: Clients, plan: Exchange) -> Vector:
    """Aggregated change Delta of communication-adapted AFGA: only clients of S mix, and W has a row for each."""
    S_r, W = plan.senders, plan.mixing
    X = stack([x] * len(clients))
    for t, S_t in enumerate(plan.computing):
        S = numbered(S_r if h.sampling is Sampling.ROUND else S_t, X)
        X = put(X, S, sgd(X[S], gradients(clients, S, t, X[S]), eta_l=h.eta_l))
        X = put(X, S, gossip(X[S], W))
    return mean_change(X, x, S_r)


def serve(h: Any, state: AmsGrad, delta: Vector) -> tuple[AmsGrad, dict[str, Any]]:
    """Server step of AFGA: lines 19 to 22."""
    state = amsgrad(state, delta, **h.of(amsgrad))
    return state, {"delta": delta, "m": state.m, "v": state.v, "v_hat": state.v_hat}


def step(h: Afga, state: AmsGrad, clients: Clients, plan: Exchange) -> tuple[AmsGrad, dict[str, Any]]:
    """Run one round of AFGA."""
    check_senders(plan)
    delta = change(h, state.x, clients, plan)
    return serve(h, state, delta)


def gossip_fedamsgrad(h: Afga, state: AmsGrad, clients: Clients, plan: Exchange) -> tuple[AmsGrad, dict[str, Any]]:
    """Run one round of FedAMSGrad with gossip: AFGA with S_(r,t) = S_r."""
    check_one_set(plan)
    return step(h, state, clients, plan)


def step_adapted(h: AdaptedAfga, state: AmsGrad, clients: Clients, plan: Exchange) -> tuple[AmsGrad, dict[str, Any]]:
    """Run one round of communication-adapted AFGA."""
    check_senders(plan)
    if h.sampling is Sampling.ROUND:
        check_one_set(plan)
    delta = change_adapted(h, state.x, clients, plan)
    return serve(h, state, delta)


SYMBOLS = {
    "x": "x_r",
    "X": "x^i_(r,t), of all clients i; a row for each",
    "S": "S_(r,t)",
    "delta": "Delta_r",
    "m": "m_r, and in the costs |S_r|",
    "tau": "I",
}
"""Symbols of the paper's Algorithms 1 and 2 that differ from ours."""

ROWS = (
    Algorithm(
        id="afga",
        family=Family.GOSSIP,
        place=1,
        title="FedAMSGrad with client re-sampling and gossip at every local step",
        source="AFGA, Alg. 1 (L157-200)",
        basis=Basis.READ,
        levels=("trace",),
        readings=(
            Reading(name="afga", words="eps inside the root", fixes={"epsilon": "inside"}),
            Reading(name="epsilon-outside", words="as afga, but sqrt(v_hat) + eps", fixes={"epsilon": "outside"}),
        ),
        run=Program(hyper=Afga, init=init, step=step, event="exchange"),
        costs=Costs(
            down="m d", up="m d", gossip="|E| tau d + (n - m) d", server="4 d", note=phrases.HEARD_FROM_NEIGHBOURS
        ),
        traps=(
            "all clients mix at every local step, sampled or not, and all begin from the server's model",
            "S_r, who sends, is drawn apart from the S_(r,t), who compute",
            "the gradient is taken before the models are mixed",
            phrases.LAST_GOSSIP,
            phrases.DOUBLY_STOCHASTIC,
            phrases.EPS_INSIDE,
            "a local step moves the mean by M/N of one: rates are not those of FedAMSGrad",
        ),
        symbols={**SYMBOLS, "n": "N"},
    ),
    Algorithm(
        id="gossip-fedamsgrad",
        family=Family.GOSSIP,
        place=2,
        title="FedAMSGrad with gossip at every local step, without re-sampling",
        source='AFGA, Table 4, "+Gossip" (L561-567)',
        basis=Basis.READ,
        levels=("trace",),
        readings=(
            Reading(
                name="afga",
                words="S_(r,t) = S_r, all clients mix as in Alg. 1; where S_r alone mixes it is afga-a",
                fixes={"epsilon": "inside"},
            ),
            Reading(name="epsilon-outside", words="as afga, but sqrt(v_hat) + eps", fixes={"epsilon": "outside"}),
        ),
        run=Program(
            hyper=Afga,
            init=init,
            step=gossip_fedamsgrad,
            event="exchange",
            takes=("one-set",),
        ),
        costs=Costs(
            down="m d", up="m d", gossip="|E| tau d + (n - m) d", server="4 d", note=phrases.HEARD_FROM_NEIGHBOURS
        ),
        traps=("the senders alone compute, but all clients mix", phrases.LAST_GOSSIP, phrases.EPS_INSIDE),
        symbols={**SYMBOLS, "n": "N"},
    ),
    Algorithm(
        id="afga-a",
        family=Family.GOSSIP,
        place=3,
        title="communication-adapted AFGA: only selected clients mix",
        source="AFGA, L434-442 and footnote 4 (L476-479), in words",
        basis=Basis.READ,
        levels=("trace",),
        readings=(
            Reading(
                name="one-set",
                words="S_r computes and mixes at every local step",
                fixes={"epsilon": "inside", "sampling": "round"},
            ),
            Reading(
                name="re-sampled",
                words="S_(r,t) computes and mixes, the others keep their models; S_r sends",
                fixes={"epsilon": "inside", "sampling": "step"},
            ),
            Reading(
                name="epsilon-outside",
                words="as one-set, but sqrt(v_hat) + eps",
                fixes={"epsilon": "outside", "sampling": "round"},
            ),
        ),
        run=Program(hyper=AdaptedAfga, init=init, step=step_adapted, event="exchange", takes=("senders",)),
        costs=Costs(
            down="m d",
            up="m d",
            gossip="|E| tau d",
            server="4 d",
            note="links among the m clients that mix; the others may sleep",
        ),
        traps=(
            "the matrix has a row for each client that mixes",
            phrases.LAST_GOSSIP,
            "the paper defines no ring of two: say which one is meant (fedspec.mixing.topology.ring)",
        ),
        symbols=SYMBOLS,
    ),
)
