"""AFGA: FedAMSGrad whose clients are drawn anew at every local step and mix with their neighbours after it.

    every client i: x_i = x
    for t = 0..I-1:
        i in S_(r,t):  x_i = x_i - eta_l g_i(x_i)
        every client:  x_i = sum_j W_ij x_j
    Delta = mean over S_r of x_i - x
    m = beta1 m + (1 - beta1) Delta;  v = beta2 v + (1 - beta2) Delta^2;  v_hat = max(v_hat, v)
    x = x + eta m / sqrt(v_hat + eps)

FedAMSGrad with gossip takes S_(r,t) = S_r; the communication-adapted AFGA mixes only the clients that compute.

Source: AFGA, Alg. 1 (L157-200), Table 4 (L561-567), communication-adapted (L434-442, footnote 4, L476-479).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from fedspec.algorithms.afga import AdaptedAfga, Afga, check_one_set
from fedspec.client.sgd import sgd
from fedspec.errors import PlanError
from fedspec.plan import Exchange, Setup
from fedspec.readings import Sampling
from fedspec.server.amsgrad import AmsGrad, general_amsgrad
from fedspec.server.amsgrad import init as init_amsgrad
from fedspec_torch.arith import Stack, Vector
from fedspec_torch.mixing.gossip import gossip
from fedspec_torch.mixing.weighted import shares, weighted_mean
from fedspec_torch.plan import Clients

__all__ = ["AdaptedAfga", "Afga", "gossip_fedamsgrad", "init", "step", "step_adapted"]


def init(h: Afga, x: Vector, setup: Setup) -> AmsGrad:
    """Everything at zero."""
    return init_amsgrad(x)


def adapt(h: Any, X: Stack, clients: Clients, S: Sequence[int], t: int) -> Stack:
    """The models after local step t, which only the clients of S take, and only their gradients are computed."""
    if not S:
        return X
    who = torch.tensor(S, device=X.device)
    own = X[who]
    return X.index_copy(0, who, sgd(own, clients.oracle(S)(t, own), eta_l=h.eta_l))


def adapt_then_combine(h: Any, X: Stack, clients: Clients, computing: Sequence[Sequence[int]], W: Tensor) -> Stack:
    """The clients' models after the local steps, each followed by an exchange among all of them."""
    for t, S in enumerate(computing):
        X = gossip(adapt(h, X, clients, S, t), W)
    return X


def adapted(h: AdaptedAfga, X: Stack, clients: Clients, plan: Exchange) -> Stack:
    """The clients' models after the local steps, each followed by an exchange among those that took it."""
    W: Any = plan.mixing
    for t, S_t in enumerate(plan.computing):
        S = plan.senders if h.sampling is Sampling.ROUND else S_t
        who = torch.tensor(S, device=X.device)
        X = adapt(h, X, clients, S, t)
        X = X.index_copy(0, who, gossip(X[who], W))
    return X


def mean_change(X: Stack, x: Vector, senders: Sequence[int]) -> Vector:
    """The mean of the senders' changes.

    Raises:
        PlanError: nobody sends.
    """
    if not senders:
        raise PlanError("senders: nobody sends; the server divides by their number")
    deltas = X[list(senders)] - x
    return weighted_mean(deltas, shares([1] * len(deltas), x))


def change(h: Any, x: Vector, clients: Clients, plan: Exchange) -> Vector:
    """Delta of AFGA."""
    W: Any = plan.mixing
    X = adapt_then_combine(h, x.repeat(len(clients), 1), clients, plan.computing, W)
    return mean_change(X, x, plan.senders)


def change_adapted(h: AdaptedAfga, x: Vector, clients: Clients, plan: Exchange) -> Vector:
    """Delta of communication-adapted AFGA."""
    if h.sampling is Sampling.ROUND:
        check_one_set(plan)
    return mean_change(adapted(h, x.repeat(len(clients), 1), clients, plan), x, plan.senders)


def serve(h: Any, state: AmsGrad, delta: Vector) -> tuple[AmsGrad, dict[str, Any]]:
    """One step of the server."""
    state = general_amsgrad(state, delta, **h.of(general_amsgrad))
    return state, {"delta": delta, "m": state.m, "v": state.v, "v_hat": state.v_hat}


def step(h: Afga, state: AmsGrad, clients: Clients, plan: Exchange) -> tuple[AmsGrad, dict[str, Any]]:
    """One round of AFGA."""
    return serve(h, state, change(h, state.x, clients, plan))


def gossip_fedamsgrad(h: Afga, state: AmsGrad, clients: Clients, plan: Exchange) -> tuple[AmsGrad, dict[str, Any]]:
    """One round of FedAMSGrad with gossip."""
    check_one_set(plan)
    return serve(h, state, change(h, state.x, clients, plan))


def step_adapted(h: AdaptedAfga, state: AmsGrad, clients: Clients, plan: Exchange) -> tuple[AmsGrad, dict[str, Any]]:
    """One round of communication-adapted AFGA."""
    return serve(h, state, change_adapted(h, state.x, clients, plan))
