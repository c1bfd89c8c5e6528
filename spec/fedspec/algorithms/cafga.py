"""CAFGA: AFGA in clusters of clients, each of which mixes on its own.

    in every cluster k: the local part of AFGA, with S^k_r, S^k_(r,t) and W_k
    Delta_k = mean over S^k_r of x_i - x
    Delta = 1/K sum_k Delta_k
    the server's part of AFGA

The box prints one W; text and proofs have one W_k for each cluster (L410): they are the blocks of the plan's matrix.
Communication-adapted, every W_k has a row for each client of the cluster that computes.

Source: AFGA, Alg. 2 (L355-402), communication-adapted (L440-442).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fedspec import phrases
from fedspec.algorithms.afga import SYMBOLS, AdaptedAfga, Afga, check_one_set, mean_change, serve
from fedspec.algorithms.afga import init as init_afga
from fedspec.arith import Mixing, Stack, Vector, Weights, array, put, stack
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.errors import PlanError, ShapeError
from fedspec.mixing.gossip import broadcast, cluster_mean, gossip
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Exchange, Setup
from fedspec.population import Clients, gradients
from fedspec.readings import Broadcast, ClusterWeights, Sampling
from fedspec.server.amsgrad import AmsGrad, general_amsgrad
from fedspec.server.amsgrad import init as init_amsgrad

Clusters: TypeAlias = Sequence[list[int]]


@dataclass(frozen=True)
class Cafga(Afga):
    """Hyper-parameters of CAFGA."""

    cluster_weights: ClusterWeights = ClusterWeights.EQUAL
    broadcast: Broadcast = Broadcast.ALL


@dataclass(frozen=True)
class AdaptedCafga(AdaptedAfga):
    """Hyper-parameters of communication-adapted CAFGA."""

    cluster_weights: ClusterWeights = ClusterWeights.EQUAL


@dataclass(frozen=True)
class State:
    """The server's state, and the models that the last round left with the clients."""

    server: AmsGrad
    X: Stack

    @property
    def x(self) -> Vector:
        """The server's model."""
        return self.server.x


def init(h: Cafga, x: Vector, setup: Setup) -> State:
    """Moments at zero; every client has the initial model."""
    return State(init_amsgrad(x), stack([x] * setup.clients))


def clusters_of(plan: Exchange, n: int) -> Clusters:
    """The clusters V_1, ..., V_K of the clients; one of all of them where the plan names none."""
    return [list(V) for V in plan.clusters] or [list(range(n))]


def weights(h: Any, clusters: Clusters, like: Vector) -> Weights:
    """The weights w_k of the clusters: 1/K each, or n_k / N."""
    equal = h.cluster_weights is ClusterWeights.EQUAL
    return shares([1 if equal else len(V) for V in clusters], like)


def beginning(x: Vector, X: Stack, S: Sequence[int], W: Mixing) -> Stack:
    """Line 5 literally: the senders and those who listen to one begin from x, the others from their own models."""
    return broadcast(x, X, array([sum(W[i, j] for j in S) + (i in S) for i in range(len(X))], x))


def change(h: Cafga, x: Vector, X: Stack, clients: Clients, plan: Exchange) -> tuple[Vector, Stack]:
    """Delta of CAFGA, and the clients' models after the round; X holds those of the round before: lines 3 to 20."""
    deltas, clusters = [], clusters_of(plan, len(clients))
    start = stack([x] * len(X)) if h.broadcast is Broadcast.ALL else beginning(x, X, plan.senders, plan.mixing)
    for V in clusters:
        W_k, S_k = plan.mixing[V][:, V], [i for i in plan.senders if i in V]
        X = put(X, V, start[V])
        for t, S_t in enumerate(plan.computing):
            S = [i for i in S_t if i in V]
            X = put(X, S, sgd(X[S], gradients(clients, S, t, X[S]), eta_l=h.eta_l))
            X = put(X, V, gossip(X[V], W_k))
        deltas.append(mean_change(X, x, S_k))
    return cluster_mean(stack(deltas), weights(h, clusters, x)), X


def change_adapted(h: AdaptedCafga, x: Vector, clients: Clients, plan: Exchange) -> Vector:
    """Delta of communication-adapted CAFGA: row k of W is that of the k-th client of the set that computes."""
    deltas, clusters = [], clusters_of(plan, len(clients))
    X = stack([x] * len(clients))
    for V in clusters:
        S_k = [i for i in plan.senders if i in V]
        for t, S_t in enumerate(plan.computing):
            S_t = plan.senders if h.sampling is Sampling.ROUND else S_t
            S, rows = [i for i in S_t if i in V], [k for k, i in enumerate(S_t) if i in V]
            X = put(X, S, sgd(X[S], gradients(clients, S, t, X[S]), eta_l=h.eta_l))
            X = put(X, S, gossip(X[S], plan.mixing[rows][:, rows]))
        deltas.append(mean_change(X, x, S_k))
    return cluster_mean(stack(deltas), weights(h, clusters, x))


def check_clusters(plan: Exchange, clusters: Clusters) -> None:
    """Refuse a plan in which the server receives nothing of some cluster.

    Raises:
        PlanError: nobody in some cluster sends.
    """
    for V in clusters:
        if not set(V) & set(plan.senders):
            raise PlanError(
                f"senders: {plan.senders} has none of cluster {tuple(V)}; the server divides by their number"
            )


def check_rows(plan: Exchange, n: int) -> None:
    """Refuse a matrix that has not a row for each client that mixes.

    Raises:
        ShapeError: W is not [n, n].
    """
    if tuple(plan.mixing.shape) != (n, n):
        shape = tuple(plan.mixing.shape)
        raise ShapeError(f"mixing: shapes do not fit: W {shape} for {n} clients that mix; give each a row")


def check_places(plan: Exchange, clusters: Clusters) -> None:
    """Refuse a plan in which a cluster does not keep its rows of W from one local step to the next.

    Raises:
        PlanError: the k-th clients of two sets that compute are of different clusters.
    """
    for V in clusters:
        places = [[k for k, i in enumerate(S) if i in V] for S in plan.computing]
        for t, rows in enumerate(places):
            if rows != places[0]:
                raise PlanError(
                    f"computing[{t}]: clients of cluster {tuple(V)} stand at {rows}, at step 0 at {places[0]}; "
                    f"row k of W is the k-th client: name every set cluster by cluster, as many of each"
                )


def step(h: Cafga, state: State, clients: Clients, plan: Exchange) -> tuple[State, dict[str, Any]]:
    """One round of CAFGA."""
    check_rows(plan, len(clients))
    check_clusters(plan, clusters_of(plan, len(clients)))
    delta, X = change(h, state.x, state.X, clients, plan)
    server, values = serve(h, state.server, delta)
    return State(server, X), values


def step_adapted(h: AdaptedCafga, state: AmsGrad, clients: Clients, plan: Exchange) -> tuple[AmsGrad, dict[str, Any]]:
    """One round of communication-adapted CAFGA."""
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
        levels=("trace",),
        rules=(sgd, broadcast, gossip, weighted_mean, cluster_mean, general_amsgrad),
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
        shows=("delta", "m", "v", "v_hat"),
        run=Program(hyper=Cafga, init=init, step=step, event="exchange", takes=("clusters",)),
        when={"broadcast=neighbours": (broadcast,)},
        costs=Costs(
            down="m d",
            up="m d",
            gossip="|E| tau d + (n - m) d",
            server="4 d",
            note=f"links within clusters only; {phrases.HEARD_FROM_NEIGHBOURS}",
        ),
        traps=(
            "every cluster weighs 1/K, whatever its size; m is counted in each cluster",
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
        levels=("trace",),
        rules=(sgd, gossip, weighted_mean, cluster_mean, general_amsgrad),
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
        shows=("delta", "m", "v", "v_hat"),
        run=Program(
            hyper=AdaptedCafga, init=init_afga, step=step_adapted, event="exchange", takes=("senders", "clusters")
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
            "the rows of W go cluster by cluster",
            phrases.EPS_INSIDE,
        ),
        symbols={**SYMBOLS, "V": "V_k", "S_k": "S^k_r", "S": "S^k_(r,t)"},
    ),
)
