"""Hyper-parameters that vary by round or by client: an event's numbers replace the numbers of the algorithm's record.

    a number for all                 h of the round = h with that number, read by clients, mixing and server
    a number for each client         h_i = h of the round with the number of client i, read by that client alone

A step reads its record, and its text knows nothing of this. What a client does is a function that the step makes of its
record. So the step is begun with h_i for each client that has numbers of its own, until it hands over its clients.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NoReturn, TypeAlias, TypeVar

from fedspec.arith import Stack, Vector
from fedspec.domains import DOMAINS
from fedspec.errors import ParameterError, PlanError, UnknownNameError
from fedspec.given import Given
from fedspec.plan import Arrival, Exchange, Plan
from fedspec.population import Client, Clients, gradients, one_by_one, stacked

E = TypeVar("E", Plan, Arrival, Exchange)

Making: TypeAlias = Callable[[Any], Client]
"""Function from a record of hyper-parameters to the work that a client does under it."""

Form: TypeAlias = Callable[..., Any]
"""Function that makes a client's work and replaces the step's own text; called with the record as ``h``."""


def of_round(h: Any, given: Given) -> Any:
    """Record of a round: ``h`` with the numbers that the event gives for all clients.

    Raises:
        UnknownNameError: the record has no such hyper-parameter.
        ParameterError: a hyper-parameter has no effect under the options.
    """
    numbers = {name: said for name, said in given.items() if not isinstance(said, tuple)}
    for name in given:
        if name not in (known := [f.name for f in fields(h)]):
            raise UnknownNameError(f"hyper.{name}: {type(h).__name__} has no such hyper-parameter; it has {known}")
    return replace(h, **numbers) if numbers else h


def of_each(h: Any, given: Given, n: int) -> list[Any]:
    """Record of each of n participants: ``h`` with the numbers that the event gives for that participant."""
    own = {name: said for name, said in given.items() if isinstance(said, tuple)}
    return [replace(h, **{name: said[at] for name, said in own.items()}) for at in range(n)] if own else [h] * n


def begun(h: Any, event: E) -> tuple[Any, E]:
    """Return the record of the event's round, and the event with only its per-client numbers left."""
    if not event.hyper:
        return h, event
    left = {name: said for name, said in event.hyper.items() if isinstance(said, tuple)}
    return of_round(h, event.hyper), replace(event, hyper=left)


def stepped(
    step: Callable[..., Any], h: Any, state: Any, clients: Clients, *events: Any, form: Form | None = None
) -> Any:
    """Run a program's step under the hyper-parameters that its events override.

    Late updates that arrive together each have their own hyper-parameters; the server uses those of the last update.

    Args:
        step: the program's step function.
        h: the program's hyper-parameter record.
        state: the state before the step.
        clients: the gradient of every client, or a population that runs them together.
        events: a plan, an exchange, or arrivals.
        form: function that makes a client from a record, in place of the step's text; called with ``h``.

    Raises:
        ParameterError: the server reads a hyper-parameter that has one value for each client, or a number is outside
            its domain.
        UnknownNameError: the record has no such hyper-parameter.
    """
    if not any(event.hyper for event in events):
        return step(h, state, clients, *events)
    *_, last = events
    server, _ = begun(h, last)
    if all(event.hyper == last.hyper for event in events):
        h, events = server, tuple(begun(h, event)[1] for event in events)
    bare, clients_began = [replace(event, hyper={}) for event in events], list[Any]()

    def own(h_i: Any) -> Client:
        clients_began.append(h_i)
        return form(h=h_i) if form else client_under(step, h_i, state, clients, *bare)

    names = {n for event in events for n in event.hyper if DOMAINS[n].of_clients}
    if not names and not form:
        return step(server, state, clients, *events)
    closed = closed_to_server(server, names, lambda: bool(clients_began))
    return step(closed, state, owning(clients, own, h), *events)


def owning(clients: Clients, own: Making, h: Any) -> Any:
    """Wrap clients so that each does the work made from its own record; a population must provide the wrapper.

    Raises:
        PlanError: the population has no wrapper.
    """
    form = getattr(clients, "owning", None)
    if form is None and not hasattr(clients, "__getitem__"):
        raise PlanError(
            f"hyper: got one for each client, but a {type(clients).__name__} runs one function for all; give one for "
            f"all, or add a method `owning` to it"
        )
    return form(own, h) if form else Own(clients, own, h)


@dataclass(frozen=True)
class Own:
    """Clients that run one after another, each with its own hyper-parameters."""

    clients: Clients
    own: Making
    h: Any

    def __len__(self) -> int:
        return len(self.clients)

    def each(self, client: Client, plan: Plan, x: Vector) -> Any:
        """Run the work made for each participant and return the results in their order."""
        made = [self.own(h_i) for h_i in of_each(self.h, plan.hyper, len(plan.steps))]
        return one_by_one(made, self.clients, plan, x)

    def each_arrival(self, client: Client, arrivals: Sequence[Arrival], x_mu: Sequence[Vector]) -> Any:
        """Run the work made for each arrival and return the results in their order."""
        gradient: Any = self.clients
        made = [self.own(of_round(self.h, a.hyper)) for a in arrivals]
        late = zip(made, arrivals, x_mu, strict=True)
        return stacked([client(a.client, x, gradient[a.client], a.steps) for client, a, x in late])

    def gradients(self, S: Sequence[int], t: int, X: Stack) -> Stack:
        """Gradients of the wrapped clients: if models mix between steps, hyper-parameters are common to all clients."""
        return gradients(self.clients, S, t, X)


class _Found(Exception):
    """Signal with a client's work, raised when a step hands its clients over."""

    def __init__(self, client: Client) -> None:
        self.client = client


@dataclass(frozen=True)
class _Asking:
    """Clients that record the work that a step would have them do."""

    clients: Clients

    def __len__(self) -> int:
        return len(self.clients)

    def each(self, client: Client, plan: Plan, x: Vector) -> NoReturn:
        raise _Found(client)

    def each_arrival(self, client: Client, arrivals: Sequence[Arrival], x_mu: Sequence[Vector]) -> NoReturn:
        raise _Found(client)

    def gradients(self, S: Sequence[int], t: int, X: Stack) -> Stack:
        """Gradients that a step asks for before it hands its clients over."""
        return gradients(self.clients, S, t, X)


def client_under(step: Callable[..., Any], h: Any, state: Any, clients: Clients, *events: Any) -> Client:
    """Return the work that a step gives its clients under the record ``h``."""
    try:
        step(h, state, _Asking(clients), *events)
    except _Found as found:
        return found.client
    raise ParameterError("hyper: got one for each client, but this step gives its clients no work; give one for all")


def closed_to_server(h: Any, names: Collection[str], closed: Callable[[], bool] = lambda: True) -> Any:
    """Copy of a record that raises an error if the server reads a per-client number after the clients have begun."""
    if not names:
        return h

    def telling(name: str) -> property:
        def tell(record: Any) -> Any:
            if closed():
                raise ParameterError(
                    f"hyper.{name}: got one for each client, but the server reads {name} too; give one for all"
                )
            return vars(record)[name]

        return property(tell)

    kind = type(type(h).__name__, (type(h),), {name: telling(name) for name in names})
    out: Any = object.__new__(kind)
    vars(out).update(vars(h))
    return out
