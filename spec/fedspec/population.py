"""The clients of a round, one after another.

An algorithm says what one client does; :func:`each` does it for every participant. At scale a population does it for
stacks of clients instead: it brings an ``each`` of its own, and nothing else in the algorithm differs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

from fedspec.arith import Stack, Vector, Weights, namespace
from fedspec.errors import PlanError
from fedspec.plan import Oracle, Plan

Client: TypeAlias = Callable[..., Any]
"""What one client does: a function of its number i, the model x that it receives, its gradient and its number of steps
tau; and of ``strategy`` and ``Xi`` where the plan names one for each participant.

A population may call it for several clients at once that take equally many steps with one strategy: i is then a list, x
a stack with a row for each, Xi a column, and what it returns has a row for each.
"""


@runtime_checkable
class Population(Protocol):
    """Clients that run together."""

    def __len__(self) -> int:
        """The number of clients."""
        ...

    def each(self, client: Client, plan: Plan, x: Vector) -> Any:
        """What the function gives for every participant, in their order."""
        ...


@runtime_checkable
class Blocks(Protocol):
    """The rows of a stack, a few at a time; they can be weighed once and are not kept."""

    def __len__(self) -> int:
        """The number of rows."""
        ...

    def weigh(self, w: Weights) -> Vector:
        """The sum of w_i times row i."""
        ...

    def map(self, f: Callable[..., Stack], *numbers: Weights) -> Blocks:
        """A function of each row and of its entry of each list of numbers, applied when the row comes by."""
        ...


Clients: TypeAlias = Sequence[Oracle] | Population
"""The gradient of every client, or a population that runs them together."""


def each(client: Client, clients: Clients, plan: Plan, x: Vector) -> Any:
    """What every participant of a round returns, in their order.

        for i in S:  client(i, x, g_i, tau_i)

    Vectors come as a stack, tuples and records of vectors as tuples and records of stacks.

    Raises:
        PlanError: the plan names a client that does not exist, or carries what these clients do not take.
    """
    plan.check_clients(range(len(clients)))
    named = {name: values for name, values in (("strategy", plan.strategies), ("Xi", plan.scales)) if values}
    for name in named.keys() - inspect.signature(client).parameters.keys():
        what = {"strategy": "strategies", "Xi": "scales"}[name]
        raise PlanError(f"{what}: {named[name]} given, but the clients of this algorithm take none; leave them out")
    if isinstance(clients, Population):
        return clients.each(client, plan, x)
    rows = []
    for at, (i, tau) in enumerate(zip(plan.participants, plan.steps, strict=True)):
        rows.append(client(i, x, clients[i], tau, **{name: values[at] for name, values in named.items()}))
    return _stacked(rows)


def _stacked(rows: Sequence[Any]) -> Any:
    first = rows[0]
    if isinstance(first, tuple):
        return tuple(map(_stacked, zip(*rows, strict=True)))
    if is_dataclass(first) and not isinstance(first, type):
        return replace(first, **{f.name: _stacked([getattr(row, f.name) for row in rows]) for f in fields(first)})
    xp: Any = namespace(first)
    return tuple(rows) if xp is None else xp.stack(rows)


def weigh(w: Weights, rows: Stack | Blocks) -> Vector:
    """The sum of w_i times row i of a stack, or of its rows in blocks."""
    return rows.weigh(w) if isinstance(rows, Blocks) else w @ rows


def rowwise(f: Callable[..., Vector], rows: Stack | Blocks, *numbers: Weights) -> Any:
    """A function of each row and of its entry of each list of numbers; in blocks where the rows are."""
    if isinstance(rows, Blocks):
        return rows.map(f, *numbers)
    return _stacked([f(row, *entries) for row, *entries in zip(rows, *numbers, strict=True)])
