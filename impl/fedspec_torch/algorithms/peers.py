"""Algorithms without a server: decentralised SGD, decentralised Adam, Gossip-PGA. Row i of X is client i's model.

    dsgd         I times:  X = W X - eta_l G(X)
    dadam        I times:  m, v, v_hat from G(X);  X = W X - eta_l m / (sqrt(v_hat) + eps)
    gossip-pga   I times:  X = W (X - eta_l G(X));  the last time the exact mean instead of W

External: Lian et al. (2017); Nazari et al. (2019) and Chen, Karimi, Zhao and Li (2021); Chen, Yuan et al. (2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedspec.algorithms.peers import Dadam, Dsgd, GossipPga, check_everyone
from fedspec.client.sgd import sgd
from fedspec.errors import ShapeError
from fedspec.hyper import Hyper
from fedspec.plan import Exchange, Setup
from fedspec.readings import Denominators, Order
from fedspec_torch.arith import Stack, Vector
from fedspec_torch.mixing.dadam import Moments, local_step, moments, track, tracked_step
from fedspec_torch.mixing.gossip import dsgd as dsgd_step
from fedspec_torch.mixing.gossip import global_mean, gossip
from fedspec_torch.plan import Clients

__all__ = ["Dadam", "Dsgd", "GossipPga", "dadam", "dsgd", "gossip_pga", "init", "init_adaptive"]


@dataclass(frozen=True)
class Peers:
    """The clients' models."""

    X: Stack

    @property
    def x(self) -> Vector:
        """All of them as one vector, client by client."""
        return self.X.reshape(-1)


@dataclass(frozen=True)
class AdaptivePeers(Peers):
    """The clients' models and moments, and the second moments that they agree on; where they do not, v_hat."""

    moments: Moments
    u_tilde: Stack


def rows(x: Vector, setup: Setup) -> Stack:
    """The models of the clients, one after the other in x.

    Raises:
        ShapeError: x is not as many models of one length.
    """
    if len(x) % setup.clients:
        raise ShapeError(f"x0: {len(x)} coordinates for {setup.clients} clients; without a server it is [clients, d]")
    return x.reshape(setup.clients, -1)


def init(h: Hyper, x: Vector, setup: Setup) -> Peers:
    """The initial models, and nothing else."""
    return Peers(rows(x, setup))


def init_adaptive(h: Dadam, x: Vector, setup: Setup) -> AdaptivePeers:
    """Moments at zero; v_hat and u_tilde at eps where they are tracked."""
    X = rows(x, setup)
    v_hat = torch.full_like(X, h.eps if h.denominators is Denominators.TRACKED else 0)
    return AdaptivePeers(X, Moments(m=torch.zeros_like(X), v=torch.zeros_like(X), v_hat=v_hat), v_hat)


def dsgd(h: Dsgd, state: Peers, clients: Clients, plan: Exchange) -> tuple[Peers, dict[str, Any]]:
    """Some steps of decentralised SGD."""
    check_everyone(plan, range(len(clients)))
    gradient, W = clients.oracle(range(len(clients))), _matrix(plan)
    X = state.X
    for t in range(len(plan.computing)):
        G = gradient(t, gossip(X, W) if h.order is Order.GRADIENT_AT_COMBINED else X)
        X = dsgd_step(X, G, W, eta_l=h.eta_l, order=h.order)
    return Peers(X), {}


def gossip_pga(h: GossipPga, state: Peers, clients: Clients, plan: Exchange) -> tuple[Peers, dict[str, Any]]:
    """One period of Gossip-PGA."""
    check_everyone(plan, range(len(clients)))
    gradient, W = clients.oracle(range(len(clients))), _matrix(plan)
    X, last = state.X, len(plan.computing) - 1
    for t in range(len(plan.computing)):
        X = sgd(X, gradient(t, X), eta_l=h.eta_l)
        X = global_mean(X) if t == last else gossip(X, W)
    return Peers(X), {}


def dadam(h: Dadam, state: AdaptivePeers, clients: Clients, plan: Exchange) -> tuple[AdaptivePeers, dict[str, Any]]:
    """Some steps of decentralised Adam."""
    check_everyone(plan, range(len(clients)))
    gradient, W = clients.oracle(range(len(clients))), _matrix(plan)
    step = tracked_dadam if h.denominators is Denominators.TRACKED else local_dadam
    for t in range(len(plan.computing)):
        state = step(h, state, gradient(t, state.X), W)
    past = state.moments
    shown = {"m": past.m, "v": past.v, "v_hat": past.v_hat, "u_tilde": state.u_tilde}
    return state, {name: stack.reshape(-1) for name, stack in shown.items()}


def local_dadam(h: Dadam, state: AdaptivePeers, G: Stack, W: Tensor) -> AdaptivePeers:
    """One step that divides by the clients' own second moments."""
    past = moments(state.moments, G, **h.of(moments))
    X = local_step(state.X, past.m, past.v_hat, W, **h.of(local_step))
    return AdaptivePeers(X, past, past.v_hat)


def tracked_dadam(h: Dadam, state: AdaptivePeers, G: Stack, W: Tensor) -> AdaptivePeers:
    """One step that divides by second moments on which the clients agree: those up to the step before."""
    past = moments(state.moments, G, **h.of(moments))
    u_tilde = gossip(state.u_tilde, W)
    X = tracked_step(state.X, past.m, u_tilde, W, **h.of(tracked_step))
    return AdaptivePeers(X, past, track(u_tilde, state.moments.v_hat, past.v_hat))


def _matrix(plan: Exchange) -> Tensor:
    W: Any = plan.mixing
    matrix: Tensor = W
    return matrix
