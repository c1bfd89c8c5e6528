"""Execution of a round's clients, one after another.

An algorithm defines the work of one client; :func:`each` runs it for every participant, :func:`each_arrival` for every
late update. If clients exchange models between their steps, the algorithm asks for the :func:`gradients` of some
clients; if a server reads losses, for the clients' :func:`losses`. At scale a population runs these for stacks of
clients: it provides the first three itself, the last if it can, and nothing else in the algorithm differs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

from fedspec.arith import Scalar, Stack, Vector, Weights, array, compiling, namespace, stack
from fedspec.errors import PlanError
from fedspec.plan import Arrival, Oracle, Plan, Valued

Client: TypeAlias = Callable[..., Any]
"""Local work of a client: function of its number i, the model x that it receives, its gradient oracle and its number of
steps tau; also of ``strategy``, ``Xi`` and ``u`` if the plan has one for each participant.

A population may call it for several clients at once that take equally many steps with one strategy: i is then a list, x
a stack with a row for each, so is u, Xi is a column, and its result has a row for each.
"""


@runtime_checkable
class Population(Protocol):
    """Interface of clients that run together, in stacks."""

    def __len__(self) -> int:
        """The number of clients."""
        ...

    def each(self, client: Client, plan: Plan, x: Vector) -> Any:
        """Run ``client`` for every participant and return the results in their order."""
        ...

    def each_arrival(self, client: Client, arrivals: Sequence[Arrival], x_mu: Sequence[Vector]) -> Stack:
        """Run ``client`` for every arrival, each from its own model, and return the results in their order."""
        ...

    def gradients(self, S: Sequence[int], t: int, X: Stack) -> Stack:
        """Gradients of the clients in S at local step t, each at its row of X."""
        ...


Clients: TypeAlias = Sequence[Oracle] | Population
"""Gradient oracles of all clients, or a population that runs them together."""


def each(client: Client, clients: Clients, plan: Plan, x: Vector) -> Any:
    """Run ``client`` for every participant of a round and return the results in their order.

        for i in S:  client(i, x, g_i, tau_i)

    Vectors come as a stack, tuples and records of vectors as tuples and records of stacks.

    Raises:
        PlanError: the plan names a client that doesn't exist, or has inputs that these clients don't accept.
    """
    plan.check_clients(range(len(clients)))
    if any(len(u) != len(x) for u in plan.draws):
        raise PlanError(
            f"draws: got {[*map(len, plan.draws)]} for {len(x)} coordinates; give each participant one for each of them"
        )
    named = _by_parameter(plan)
    # What torch.compile reads has no signature.
    for name in (named.keys() - inspect.signature(client).parameters.keys()) if named and not compiling() else ():
        what = {"strategy": "strategies", "Xi": "scales", "u": "draws"}[name]
        raise PlanError(f"{what}: {named[name]} given, but the clients of this algorithm take none; leave them out")
    _refuse_unread(clients, plan)
    if not isinstance(clients, list | tuple) and isinstance(clients, Population):
        return clients.each(client, plan, x)
    return one_by_one([client] * len(plan.steps), clients, plan, x)


def _by_parameter(plan: Plan) -> dict[str, Sequence[Any]]:
    """Values of the plan for each participant, except for its steps, by the names of the client's parameters."""
    said = (("strategy", plan.strategies), ("Xi", plan.scales), ("u", plan.draws))
    return {name: values for name, values in said if values}


def one_by_one(own: Sequence[Client], clients: Clients, plan: Plan, x: Vector) -> Any:
    """Run each participant's own function, one after another, and return the results in their order."""
    named = {**_by_parameter(plan), **({"u": [array(u, x) for u in plan.draws]} if plan.draws else {})}
    gradient: Any = clients
    rows = []
    for at, (i, tau) in enumerate(zip(plan.participants, plan.steps, strict=True)):
        rows.append(own[at](i, x, gradient[i], tau, **{name: values[at] for name, values in named.items()}))
    return stacked(rows)


def _refuse_unread(clients: Clients, *events: Plan | Arrival) -> None:
    """Reject hyper-parameters that an event overrides although nothing has read them; only a round reads them."""
    for event in events:
        if event.hyper and getattr(clients, "own", None) is None:
            raise PlanError(
                f"hyper: the event overrides {', '.join(event.hyper)}, which a step doesn't read by itself; "
                f"call fedspec.varying.stepped with the step"
            )


def downloaded(versions: Sequence[Vector], delay: int) -> Vector:
    """Model version, ``delay`` versions back, from which a client began its update.

    Raises:
        PlanError: the client began before the oldest version that is kept.
    """
    if delay >= len(versions):
        raise PlanError(
            f"delay: {delay} versions back from version {len(versions) - 1}; an update begins at version 0 or later"
        )
    return versions[-1 - delay]


def each_arrival(client: Client, clients: Clients, arrivals: Sequence[Arrival], versions: Sequence[Vector]) -> Any:
    """Run ``client`` for every arrival, from the version that its client downloaded, and return the results.

        for each arrival (i, K, delay):  client(i, x_mu, g_i, K)    with mu = t - delay

    Args:
        client: function that trains a client, from its number, the model x_mu, its gradient and its number of steps; a
            population may call it for several arrivals at once that take equally many steps.
        clients: the gradient of every client, or a population that runs them together.
        arrivals: the arrivals of updates.
        versions: the model versions so far.

    Raises:
        PlanError: an arrival names a client that doesn't exist, or began before the oldest version.
    """
    for arrival in arrivals:
        arrival.check_clients(range(len(clients)))
    x_mu = [downloaded(versions, arrival.delay) for arrival in arrivals]
    _refuse_unread(clients, *arrivals)
    if isinstance(clients, Population):
        return clients.each_arrival(client, arrivals, x_mu)
    return stacked([client(a.client, x, clients[a.client], a.steps) for a, x in zip(arrivals, x_mu, strict=True)])


def gradients(clients: Clients, S: Sequence[int], t: int, X: Stack) -> Stack:
    """Gradients of the clients in S at local step t, each at its row of X, in their order."""
    if not isinstance(clients, list | tuple) and isinstance(clients, Population):
        return clients.gradients(S, t, X)
    return stack([clients[i](t, x) for i, x in zip(S, X, strict=True)]) if len(S) else X


def losses(clients: Clients, S: Sequence[int], x: Vector) -> Sequence[Scalar]:
    """Losses F_i(x) of the clients in S, in their order, each over all data of the client.

    Raises:
        PlanError: the clients have gradients but no losses.
    """
    if not isinstance(clients, list | tuple) and isinstance(clients, Population):
        find = getattr(clients, "values", None)
        if find is None:
            raise _without_values(clients)
        found: Sequence[Scalar] = find(S, x)
        return found
    out = []
    for i in S:
        oracle = clients[i]
        if not isinstance(oracle, Valued):
            raise _without_values(oracle)
        out.append(oracle.value(x))
    return out


def _without_values(of: Any) -> PlanError:
    return PlanError(
        f"loss: the server reads F_i(x) of every client, but a {type(of).__name__} has only gradients; "
        f"give oracles with a method value(x), or a population with values(S, x)"
    )


def stacked(rows: Sequence[Any]) -> Any:
    """Stack vectors as rows; tuples and records of vectors field by field; return other values as a tuple."""
    first = rows[0]
    if isinstance(first, tuple):
        return tuple(map(stacked, zip(*rows, strict=True)))
    if is_dataclass(first) and not isinstance(first, type):
        return replace(first, **{f.name: stacked([getattr(row, f.name) for row in rows]) for f in fields(first)})
    xp: Any = namespace(first)
    return tuple(rows) if xp is None else xp.stack(rows)


def weigh(w: Weights, rows: Stack) -> Vector:
    """Weighted sum of a stack's rows: the sum over i of w_i times row i."""
    total: Vector = w @ rows
    return total
