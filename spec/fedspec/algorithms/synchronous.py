"""Synchronous round that algorithms with separate client and server share: local work, messages, one server step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedspec.arith import Column, Scalar, Stack, Vector, Weights, namespace, numbers
from fedspec.domains import POSITIVE, outside
from fedspec.errors import PlanError
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Inbox, Messages, Oracle, Plan
from fedspec.population import Client, Clients, each, losses
from fedspec.readings import Weighting
from fedspec.records import record
from fedspec.varying import begun, closed_to_server, of_each, owning


@record
class Trace:
    """Result of a round: the new state, and the intermediates by the paper's names."""

    state: Any
    values: dict[str, Any]


def run_round(
    h: Any,
    state: Any,
    clients: Clients,
    plan: Plan,
    *,
    local: Callable[[Any, Vector, Oracle, int], Vector],
    norm: Callable[[Any, int], Scalar],
    server: Callable[[Any, Any, Inbox], tuple[Any, dict[str, Any]]],
) -> Trace:
    """Run one round.

        for i in S:  x_i = local(x, tau_i);  Delta_i = x_i - x
        x = server(Delta_i, n_i, tau_i, ||a_i||_1 : i in S)      (and F_i(x), where it asks for that)

    h is that of the round, and h_i of each client, where the plan says so (:mod:`fedspec.varying`).

    Raises:
        PlanError: the plan names a client that doesn't exist.
        ParameterError: a hyper-parameter in the plan is outside its domain, or has one value for each client although
            the server reads it too.
    """

    def change(h_i: Any) -> Client:
        return lambda i, x, gradient, tau: local(h_i, x, gradient, tau) - x

    x = model(state)
    h, plan = begun(h, plan)
    h_i = of_each(h, plan.hyper, len(plan.steps))
    messages = Messages(
        deltas=each(change(h), owning(clients, change, h) if plan.hyper else clients, plan, x),
        examples=plan.examples,
        steps=plan.steps,
        a_norms=tuple(map(norm, h_i, plan.steps)),
        # Asked for by the servers that read them, which few do.
        losses=lambda: losses(clients, plan.participants, x),
    )
    state, values = server(closed_to_server(h, plan.hyper), state, messages)
    return Trace(state=state, values=values)


def model(state: Any) -> Vector:
    """Global model in a server state; a state that is an array is the model itself."""
    x: Vector = state.x if namespace(state) is None else state
    return x


def together(messages: Inbox) -> Messages:
    """Messages of a round as one stacked record.

    Raises:
        PlanError: the round has no message.
    """
    if isinstance(messages, Messages):
        return messages
    if not messages:
        raise PlanError("messages: no client takes part in this round; a server step needs at least one client")
    xp: Any = namespace(messages[0].delta)
    sent = [m.control for m in messages]
    said = [m.loss for m in messages if m.loss is not None]
    return Messages(
        deltas=xp.stack([m.delta for m in messages]),
        examples=[m.examples for m in messages],
        steps=[m.steps for m in messages],
        a_norms=[m.a_norm for m in messages],
        controls=None if any(control is None for control in sent) else xp.stack(sent),
        losses=(lambda: said) if len(said) == len(messages) else None,
    )


def check_population(messages: Messages, clients: int) -> None:
    """Raise PlanError if there are more messages than clients.

    Raises:
        PlanError: there are more messages than clients.
    """
    if len(messages.steps) > clients:
        raise PlanError(
            f"messages: {len(messages.steps)} clients take part, but the population has {clients}; "
            f"let Case.population count all clients"
        )


def aggregate(messages: Inbox, weights: Weighting, x: Vector) -> Vector:
    """Weighted mean of a round's changes: Delta = sum_i p_i Delta_i."""
    sent = together(messages)
    return weighted_mean(sent.deltas, shares(sent.examples, x, weights, sent.steps))


def stacked(messages: Inbox, weights: Weighting, x: Vector) -> tuple[Weights, Stack]:
    """Weights p_i and changes Delta_i of a round's messages."""
    sent = together(messages)
    return shares(sent.examples, x, weights, sent.steps), sent.deltas


def a_norms(messages: Inbox, like: Vector) -> Weights:
    """Norms ||a_i||_1 of a round's messages, as a vector."""
    return numbers(together(messages).a_norms, like)


def losses_of(messages: Messages, like: Vector, *, guard: Scalar = 0) -> Column:
    """Losses F_i(x) of a round's messages, as a column; losses plus guard must be positive, as powers need.

    Raises:
        PlanError: a message has no loss, or the loss plus the guard isn't positive.
    """
    if messages.losses is None:
        raise PlanError("loss: a message has none; the server of this algorithm needs F_i(x) with every Delta_i")
    said = messages.losses()
    for i, F in enumerate(said):
        if outside(F + guard, POSITIVE):
            raise PlanError(
                f"loss: message {i} has {F}; the server takes powers of loss plus guard, which must be positive; "
                f"add a constant to the objective, or set a guard"
            )
    return numbers(said, like)[:, None]
