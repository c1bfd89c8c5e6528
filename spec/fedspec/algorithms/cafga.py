"""CAFGA: AFGA in clusters of clients, each of which mixes only within itself.

    in every cluster k:
        every client i of V_k: x_i = x
        for t = 0..I-1:
            i in S^k_(r,t):        x_i = x_i - eta_l g_i(x_i)
            every client of V_k:   x_i = sum over V_k of (W_k)_ij x_j    (communication-adapted: over S^k_(r,t))
        Delta_k = mean over S^k_r of x_i - x
    Delta = 1/K sum_k Delta_k
    m = beta1 m + (1 - beta1) Delta;  v = beta2 v + (1 - beta2) Delta^2;  v_hat = max(v_hat, v)
    x = x + eta m / sqrt(v_hat + eps)

The box prints one W; text and proofs have one W_k for each cluster (L410): they are the blocks of the plan's matrix.
Communication-adapted, every W_k has a row for each client of the cluster that computes.

Source: AFGA, Alg. 2 (L355-402), communication-adapted (L440-442).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.afga import SYMBOLS, AdaptedAfga, Afga, mean_change, serve
from fedspec.algorithms.afga import init as init_afga
from fedspec.algorithms.exchanges import (
    Clusters,
    check_clusters,
    check_one_set,
    check_places,
    check_rows,
    clusters_of,
)
from fedspec.arith import Mixing, Stack, Vector, Weights, array, numbered, put, stack
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.mixing.gossip import broadcast, cluster_mean, gossip
from fedspec.mixing.weighted import shares
from fedspec.plan import Exchange, Setup
from fedspec.population import Clients, gradients
from fedspec.readings import Broadcast, ClusterWeights, Sampling
from fedspec.records import record
from fedspec.server.amsgrad import AmsGrad
from fedspec.server.amsgrad import init as init_amsgrad


@dataclass(frozen=True)
class Cafga(Afga):
    """Hyper-parameters of CAFGA."""

    cluster_weights: ClusterWeights = ClusterWeights.EQUAL
    broadcast: Broadcast = Broadcast.ALL


@dataclass(frozen=True)
class AdaptedCafga(AdaptedAfga):
    """Hyper-parameters of communication-adapted CAFGA."""

    cluster_weights: ClusterWeights = ClusterWeights.EQUAL


@record
class State:
    """The server's state, and the clients' models after the last round."""

    server: AmsGrad
    X: Stack

    @property
    def x(self) -> Vector:
        """The server's model."""
        return self.server.x


def init(h: Cafga, x: Vector, setup: Setup) -> State:
    """Initial state: moments at zero, and the initial model at every client."""
    return State(init_amsgrad(x), stack([x] * setup.clients))


def weights(h: Any, clusters: Clusters, like: Vector) -> Weights:
    """Weights w_k of the clusters: 1/K each, or n_k / N."""
    equal = h.cluster_weights is ClusterWeights.EQUAL
    return shares([1 if equal else len(V) for V in clusters], like)


def beginning(x: Vector, X: Stack, S: Sequence[int], W: Mixing) -> Stack:
    """Initial models of a round by line 5 as printed: x for senders and their neighbours; other clients keep theirs."""
    return broadcast(x, X, array([sum(W[i, j] for j in S) + (i in S) for i in range(len(X))], x))


def change(h: Cafga, x: Vector, X: Stack, clients: Clients, plan: Exchange) -> tuple[Vector, Stack]:
    """Aggregated change Delta of CAFGA, and the clients' models after the round; X holds their last: lines 3 to 20."""
    deltas, clusters = [], clusters_of(plan, len(clients), X)
    start = stack([x] * len(X)) if h.broadcast is Broadcast.ALL else beginning(x, X, plan.senders, plan.mixing)
    for V in clusters:
        W_k, S_k = plan.mixing[V][:, V], [i for i in plan.senders if i in V]
        X = put(X, V, start[V])
        for t, S_t in enumerate(plan.computing):
            S = numbered([i for i in S_t if i in V], X)
            X = put(X, S, sgd(X[S], gradients(clients, S, t, X[S]), eta_l=h.eta_l))
            X = put(X, V, gossip(X[V], W_k))
        deltas.append(mean_change(X, x, S_k))
    return cluster_mean(stack(deltas), weights(h, clusters, x)), X


def change_adapted(h: AdaptedCafga, x: Vector, clients: Clients, plan: Exchange) -> Vector:
    """Aggregated change Delta of communication-adapted CAFGA: row k of W belongs to the k-th computing client."""
    deltas, clusters = [], clusters_of(plan, len(clients))
    X = stack([x] * len(clients))
    for V in clusters:
        S_k = [i for i in plan.senders if i in V]
        for t, S_t in enumerate(plan.computing):
            S_t = plan.senders if h.sampling is Sampling.ROUND else S_t
            S = numbered([i for i in S_t if i in V], X)
            rows = numbered([k for k, i in enumerate(S_t) if i in V], X)
            X = put(X, S, sgd(X[S], gradients(clients, S, t, X[S]), eta_l=h.eta_l))
            X = put(X, S, gossip(X[S], plan.mixing[rows][:, rows]))
        deltas.append(mean_change(X, x, S_k))
    return cluster_mean(stack(deltas), weights(h, clusters, x))


def step(h: Cafga, state: State, clients: Clients, plan: Exchange) -> tuple[State, dict[str, Any]]:
    """Run one round of CAFGA."""
    check_rows(plan, len(clients))
    check_clusters(plan, clusters_of(plan, len(clients)))
    delta, X = change(h, state.x, state.X, clients, plan)
    server, values = serve(h, state.server, delta)
    return State(server, X), values


def step_adapted(h: AdaptedCafga, state: AmsGrad, clients: Clients, plan: Exchange) -> tuple[AmsGrad, dict[str, Any]]:
    """Run one round of communication-adapted CAFGA."""
    clusters = clusters_of(plan, len(clients))
    check_clusters(plan, clusters)
    if h.sampling is Sampling.ROUND:
        check_one_set(plan)
        check_rows(plan, len(plan.senders))
    else:
        check_rows(plan, len((plan.computing or (plan.senders,))[0]))
        check_places(plan, clusters)
    delta = change_adapted(h, state.x, clients, plan)
    return serve(h, state, delta)


_AFGA = {"epsilon": "inside", "cluster_weights": "equal", "broadcast": "all"}
_ONE_SET = {"epsilon": "inside", "sampling": "round", "cluster_weights": "equal"}

ROWS = (
    Algorithm(
        id="cafga",
        family=Family.GOSSIP,
        place=4,
        title="AFGA in clusters of clients",
        source="AFGA, Alg. 2 (L355-402)",
        basis=Basis.READ,
        levels=("trace",),
        readings=(
            Reading(
                name="afga",
                words="clusters weighted 1/K, every client begins from the server's model, eps inside the root",
                fixes=_AFGA,
            ),
            Reading(
                name="one-hop",
                words="Alg. 2, line 5 (L363) literally: the senders and their neighbours begin from the server's model",
                fixes={**_AFGA, "broadcast": "neighbours"},
            ),
            Reading(
                name="clusters-by-size",
                words="as afga, clusters weighted n_k / N; the same where they are of one size, as in the paper",
                fixes={**_AFGA, "cluster_weights": "sizes"},
            ),
            Reading(
                name="epsilon-outside",
                words="as afga, but sqrt(v_hat) + eps",
                fixes={**_AFGA, "epsilon": "outside"},
            ),
        ),
        run=Program(hyper=Cafga, init=init, step=step, event="exchange", takes=("clusters",)),
        costs=Costs(
            down="m d",
            up="m d",
            gossip="|E| tau d + (n - m) d",
            server="4 d",
            note=f"links within clusters only; {phrases.HEARD_FROM_NEIGHBOURS}",
        ),
        traps=(
            "every cluster weighs 1/K, whatever its size; its senders' mean divides by their number in the cluster",
            "a cluster mixes with its own block of W, and nothing crosses",
            phrases.LAST_GOSSIP,
            phrases.EPS_INSIDE,
        ),
        symbols={**SYMBOLS, "n": "N", "V": "V_k", "S_k": "S^k_r", "S": "S^k_(r,t)"},
    ),
    Algorithm(
        id="cafga-a",
        family=Family.GOSSIP,
        place=5,
        title="communication-adapted CAFGA: only selected clients mix",
        source="AFGA, L440-442, in words",
        basis=Basis.READ,
        levels=("trace",),
        readings=(
            Reading(
                name="one-set",
                words="S_r computes and mixes at every local step; clusters weighted 1/K",
                fixes=_ONE_SET,
            ),
            Reading(
                name="re-sampled",
                words="S_(r,t) computes and mixes, the others keep their models; S_r sends",
                fixes={**_ONE_SET, "sampling": "step"},
            ),
            Reading(
                name="clusters-by-size",
                words="as one-set, clusters weighted n_k / N",
                fixes={**_ONE_SET, "cluster_weights": "sizes"},
            ),
            Reading(
                name="epsilon-outside",
                words="as one-set, but sqrt(v_hat) + eps",
                fixes={**_ONE_SET, "epsilon": "outside"},
            ),
        ),
        run=Program(
            hyper=AdaptedCafga,
            init=init_afga,
            step=step_adapted,
            event="exchange",
            takes=("senders", "clusters"),
        ),
        costs=Costs(
            down="m d",
            up="m d",
            gossip="|E| tau d",
            server="4 d",
            note="links within clusters, among the clients that mix",
        ),
        traps=(
            "with one client per cluster there is no gossip left",
            "W has a row for each place in computing[t], and a place belongs to one cluster in all steps",
            phrases.EPS_INSIDE,
        ),
        symbols={**SYMBOLS, "V": "V_k", "S_k": "S^k_r", "S": "S^k_(r,t)"},
    ),
)
