"""CAFGA: AFGA in clusters of clients, each of which mixes on its own.

    in every cluster k: the local part of AFGA, with S^k_r, S^k_(r,t) and W_k
    Delta_k = mean over S^k_r of x_i - x
    Delta = 1/K sum_k Delta_k
    the server's part of AFGA

Source: AFGA, Alg. 2 (L355-402), communication-adapted (L440-442).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedspec.algorithms.cafga import AdaptedCafga, Cafga, Clusters, check_rows, clusters_of, divided, within
from fedspec.plan import Exchange, Setup
from fedspec.readings import Broadcast, ClusterWeights
from fedspec.server.amsgrad import AmsGrad
from fedspec.server.amsgrad import init as init_amsgrad
from fedspec_torch.algorithms.afga import adapt_then_combine, change_adapted, mean_change, serve
from fedspec_torch.arith import Stack, Vector, Weights
from fedspec_torch.mixing.gossip import broadcast, cluster_mean
from fedspec_torch.mixing.weighted import shares
from fedspec_torch.plan import Clients, Oracle

__all__ = ["AdaptedCafga", "Cafga", "init", "step", "step_adapted"]


@dataclass(frozen=True)
class State:
    """The server's state, and the models that the last round left with the clients."""

    server: AmsGrad
    X: Stack

    @property
    def x(self) -> Vector:
        """The server's model."""
        return self.server.x


@dataclass(frozen=True)
class Members:
    """The clients of one cluster, counted from 0."""

    clients: Clients
    V: Sequence[int]

    def __len__(self) -> int:
        return len(self.V)

    def oracle(self, clients: Sequence[int]) -> Oracle:
        """The gradients of these clients, in this order."""
        return self.clients.oracle([self.V[i] for i in clients])


def init(h: Cafga, x: Vector, setup: Setup) -> State:
    """Moments at zero; every client has the initial model."""
    return State(init_amsgrad(x), x.repeat(setup.clients, 1))


def weights(h: Any, clusters: Clusters, like: Vector) -> Weights:
    """The weights w_k of the clusters."""
    equal = h.cluster_weights is ClusterWeights.EQUAL
    return shares([1 if equal else len(V) for V in clusters], like)


def beginning(h: Cafga, x: Vector, X: Stack, W: Tensor, senders: Sequence[int]) -> Stack:
    """The models that the clients of a cluster begin a round from."""
    if h.broadcast is Broadcast.ALL:
        return x.repeat(len(X), 1)
    who = torch.tensor(senders, device=X.device)
    return broadcast(x, X, W[:, who].sum(1).index_fill(0, who, 1))


def step(h: Cafga, state: State, clients: Clients, plan: Exchange) -> tuple[State, dict[str, Any]]:
    """One round of CAFGA."""
    x, X, deltas = state.x, state.X.clone(), []
    check_rows(plan, len(clients))
    clusters = clusters_of(plan, len(clients))
    for V in map(list, clusters):
        part = within(plan, V, V)
        W: Any = part.mixing
        X_k = beginning(h, x, X[V], W, part.senders)
        X[V] = adapt_then_combine(h, X_k, Members(clients, V), part.computing, W)
        deltas.append(mean_change(X[V], x, part.senders))
    server, values = serve(h, state.server, cluster_mean(torch.stack(deltas), weights(h, clusters, x)))
    return State(server, X), values


def step_adapted(h: AdaptedCafga, state: AmsGrad, clients: Clients, plan: Exchange) -> tuple[AmsGrad, dict[str, Any]]:
    """One round of communication-adapted CAFGA."""
    clusters = clusters_of(plan, len(clients))
    deltas = [change_adapted(h, state.x, Members(clients, V), part) for V, part in divided(h, plan, clusters)]
    return serve(h, state, cluster_mean(torch.stack(deltas), weights(h, clusters, state.x)))
