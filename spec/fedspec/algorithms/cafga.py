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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec import phrases
from fedspec.algorithms.afga import AdaptedAfga, Afga, adapt_then_combine, change_adapted, mean_change, serve
from fedspec.algorithms.afga import init as init_afga
from fedspec.arith import Stack, Vector, Weights, array
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.errors import PlanError, ShapeError
from fedspec.mixing.gossip import broadcast, cluster_mean, gossip
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Exchange, Oracle, Setup
from fedspec.readings import Broadcast, ClusterWeights, Sampling
from fedspec.server.amsgrad import AmsGrad, general_amsgrad
from fedspec.server.amsgrad import init as init_amsgrad

Clusters = Sequence[Sequence[int]]


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
    return State(init_amsgrad(x), np.stack([x] * setup.clients))


def clusters_of(plan: Exchange, n: int) -> Clusters:
    """The clusters, one of all clients where the plan names none.

    Raises:
        PlanError: nobody in some cluster sends.
    """
    clusters = plan.clusters or (tuple(range(n)),)
    for V in clusters:
        if not set(V) & set(plan.senders):
            raise PlanError(f"senders: {plan.senders} has none of cluster {V}; the server divides by their number")
    return clusters


def check_rows(plan: Exchange, n: int) -> None:
    """Refuse a matrix that has not a row for each client that mixes.

    Raises:
        ShapeError: W is not [n, n].
    """
    if plan.mixing.shape != (n, n):
        raise ShapeError(f"mixing: shapes do not fit: W {plan.mixing.shape} for {n} clients that mix; give each a row")


def within(plan: Exchange, V: Sequence[int], rows: Sequence[int]) -> Exchange:
    """What the plan says of cluster V, its clients counted from 0; rows are those of W that belong to it."""
    place = {i: k for k, i in enumerate(V)}

    def members(S: Sequence[int]) -> tuple[int, ...]:
        return tuple(place[i] for i in S if i in place)

    return Exchange(members(plan.senders), tuple(map(members, plan.computing)), plan.mixing[np.ix_(rows, rows)])


def divided(h: AdaptedCafga, plan: Exchange, clusters: Clusters) -> Iterator[tuple[Sequence[int], Exchange]]:
    """Every cluster with its part of a plan whose W has a row for each client that computes.

    Raises:
        PlanError: the clusters do not keep their rows of W from one local step to the next.
    """
    sets = (plan.senders,) if h.sampling is Sampling.ROUND else plan.computing or (plan.senders,)
    check_rows(plan, len(sets[0]))
    for V in clusters:
        places = [[k for k, i in enumerate(S) if i in V] for S in sets]
        for t, rows in enumerate(places):
            if rows != places[0]:
                raise PlanError(
                    f"computing[{t}]: clients of cluster {V} stand at {rows}, at step 0 at {places[0]}; "
                    f"row k of W is the k-th client: name every set cluster by cluster, as many of each"
                )
        yield V, within(plan, V, places[0])


def weights(h: Any, clusters: Clusters, like: Vector) -> Weights:
    """The weights w_k of the clusters."""
    equal = h.cluster_weights is ClusterWeights.EQUAL
    return shares([1 if equal else len(V) for V in clusters], like)


def beginning(h: Cafga, x: Vector, X: Stack, plan: Exchange) -> Stack:
    """The models that the clients of a cluster begin a round from."""
    if h.broadcast is Broadcast.ALL:
        return np.stack([x] * len(X))
    reach = [sum(plan.mixing[i, j] for j in plan.senders) + (i in plan.senders) for i in range(len(X))]
    return broadcast(x, X, array(reach, x))


def change(h: Cafga, x: Vector, X: Stack, clients: Sequence[Oracle], plan: Exchange) -> tuple[Vector, Stack]:
    """Delta of CAFGA, and the clients' models after the round; X holds those of the round before."""
    X, deltas = X.copy(), []
    check_rows(plan, len(clients))
    clusters = clusters_of(plan, len(clients))
    for V in map(list, clusters):
        part = within(plan, V, V)
        X_k = beginning(h, x, X[V], part)
        X[V] = adapt_then_combine(h, X_k, [clients[i] for i in V], part.computing, part.mixing)
        deltas.append(mean_change(X[V], x, part.senders))
    return cluster_mean(np.stack(deltas), weights(h, clusters, x)), X


def step(h: Cafga, state: State, clients: Sequence[Oracle], plan: Exchange) -> tuple[State, dict[str, Any]]:
    """One round of CAFGA."""
    delta, X = change(h, state.x, state.X, clients, plan)
    server, values = serve(h, state.server, delta)
    return State(server, X), values


def step_adapted(
    h: AdaptedCafga, state: AmsGrad, clients: Sequence[Oracle], plan: Exchange
) -> tuple[AmsGrad, dict[str, Any]]:
    """One round of communication-adapted CAFGA."""
    clusters = clusters_of(plan, len(clients))
    deltas = [change_adapted(h, state.x, [clients[i] for i in V], part) for V, part in divided(h, plan, clusters)]
    return serve(h, state, cluster_mean(np.stack(deltas), weights(h, clusters, state.x)))


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
                fixes={"epsilon": "inside", "cluster_weights": "equal", "broadcast": "all"},
            ),
            Reading(
                name="one-hop",
                words="Alg. 2, line 5 (L363) literally: the senders and their neighbours begin from the server's model",
                fixes={"epsilon": "inside", "cluster_weights": "equal", "broadcast": "neighbours"},
            ),
            Reading(
                name="clusters-by-size",
                words="as afga, clusters weighted n_k / N; the same where they are of one size, as in the paper",
                fixes={"epsilon": "inside", "cluster_weights": "sizes", "broadcast": "all"},
            ),
            Reading(
                name="epsilon-outside",
                words="as afga, but sqrt(v_hat) + eps",
                fixes={"epsilon": "outside", "cluster_weights": "equal", "broadcast": "all"},
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
                fixes={"epsilon": "inside", "sampling": "round", "cluster_weights": "equal"},
            ),
            Reading(
                name="re-sampled",
                words="S_(r,t) computes and mixes, the others keep their models; S_r sends",
                fixes={"epsilon": "inside", "sampling": "step", "cluster_weights": "equal"},
            ),
            Reading(
                name="clusters-by-size",
                words="as one-set, clusters weighted n_k / N",
                fixes={"epsilon": "inside", "sampling": "round", "cluster_weights": "sizes"},
            ),
            Reading(
                name="epsilon-outside",
                words="as one-set, but sqrt(v_hat) + eps",
                fixes={"epsilon": "outside", "sampling": "round", "cluster_weights": "equal"},
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
    ),
)
