"""Validation of the plans of AFGA and its relatives, before a round begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from fedspec.arith import Stack, numbered
from fedspec.errors import PlanError, ShapeError
from fedspec.plan import Exchange

Clusters: TypeAlias = Sequence[list[int]]


def clusters_of(plan: Exchange, n: int, like: Stack | None = None) -> Clusters:
    """Clusters V_1, ..., V_K of the clients; one cluster of all clients if the plan names none.

    With a stack, numbered for an index into it.
    """
    return [numbered(V, like) for V in plan.clusters] or [numbered(range(n), like)]


def check_senders(plan: Exchange) -> None:
    """Raise PlanError if no client sends its change to the server.

    Raises:
        PlanError: no client sends.
    """
    if not plan.senders:
        raise PlanError(
            "senders: the list is empty; the server divides by its length, so at least one client must send"
        )


def check_one_set(plan: Exchange) -> None:
    """Raise PlanError if the clients that compute at some local step differ from the senders.

    Raises:
        PlanError: at a local step, the computing clients differ from the senders.
    """
    for t, S in enumerate(plan.computing):
        if set(S) != set(plan.senders):
            raise PlanError(
                f"computing[{t}]: got {tuple(S)}, but the senders are {plan.senders}; "
                f"without re-sampling the same clients must compute at every local step"
            )


def check_clusters(plan: Exchange, clusters: Clusters) -> None:
    """Raise PlanError if no client of some cluster sends its change to the server.

    Raises:
        PlanError: no client of some cluster sends.
    """
    for V in clusters:
        if not set(V) & set(plan.senders):
            raise PlanError(
                f"senders: got {plan.senders}, none of cluster {tuple(V)}; at least one client of each must send"
            )


def check_rows(plan: Exchange, n: int) -> None:
    """Raise ShapeError unless W has one row and one column for each client that mixes.

    Raises:
        ShapeError: W is not [n, n].
    """
    if tuple(plan.mixing.shape) != (n, n):
        shape = tuple(plan.mixing.shape)
        raise ShapeError(f"mixing: shapes do not fit: W {shape} for {n} clients that mix; W must be {(n, n)}")


def check_places(plan: Exchange, clusters: Clusters) -> None:
    """Raise PlanError if a cluster's rows of W change from one local step to the next.

    Raises:
        PlanError: at two local steps, the k-th computing clients belong to different clusters.
    """
    for V in clusters:
        places = [[k for k, i in enumerate(S) if i in V] for S in plan.computing]
        for t, rows in enumerate(places):
            if rows != places[0]:
                raise PlanError(
                    f"computing[{t}]: clients of cluster {tuple(V)} are at {rows}, but at {places[0]} in step 0; "
                    f"row k of W is the k-th client's, so list each set cluster by cluster, equally many of each"
                )
