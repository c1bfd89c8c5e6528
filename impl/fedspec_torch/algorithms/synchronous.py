"""The synchronous round that all algorithms of this folder share, block by block over its participants.

The changes of a block are aggregated before the next block is trained, so that a round holds a few stacks
[block, d] at a time, however many clients take part (and what the clients' own gradients need).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from fedspec.errors import PlanError
from fedspec.readings import Weighting
from fedspec_torch.arith import Stack, Vector, Weights
from fedspec_torch.mixing.weighted import shares, weighted_mean
from fedspec_torch.plan import Clients, Messages, Oracle, Plan, blocks


@dataclass(frozen=True)
class Trace:
    """What a round returns: the new state and the intermediates by the paper's names; the changes are not kept."""

    state: Any
    values: dict[str, Any]


def run_round(
    h: Any,
    state: Any,
    clients: Clients,
    plan: Plan,
    *,
    local: Callable[[Any, Stack, Oracle, Sequence[int]], Stack],
    norm: Callable[[Any, Sequence[int]], Weights],
    server: Callable[[Any, Any, Messages], tuple[Any, dict[str, Any]]],
    block: int | None = None,
) -> Trace:
    """One round.

        for i in S:  x_i = local(x, tau_i);  Delta_i = x_i - x
        x = server(Delta_i, n_i, tau_i, ||a_i||_1 : i in S)

    Args:
        h: hyper-parameters and readings of the algorithm.
        state: the server's state.
        clients: the population.
        plan: who takes part, with how many steps and examples.
        local: local training of a block.
        norm: ||a_i||_1 of all participants.
        server: the server half of the algorithm.
        block: the number of clients that are trained at once; None: see :func:`default_block`. It changes the
            order in which the changes are summed, nothing else.

    Raises:
        PlanError: the plan names a client that does not exist, or a block holds no client.
    """
    plan.check_clients(range(len(clients)))
    x = model(state)
    size = default_block(x) if block is None else block
    if size < 1:
        raise PlanError(f"block: got {block}; a block holds at least one client")
    messages = Messages(
        deltas=_changes(h, x, clients, plan, local, size),
        examples=plan.examples,
        steps=plan.steps,
        a_norms=norm(h, plan.steps).tolist(),
    )
    state, values = server(h, state, messages)
    return Trace(state=state, values=values)


def default_block(x: Vector) -> int:
    """As many clients as fit a stack [block, d] of 1 MiB on a CPU, of 256 MiB elsewhere; at least one.

    On a CPU the stacks of a step then stay in its second-level cache and are served from memory that is already mapped.
    """
    clients: int = (2**20 if x.device.type == "cpu" else 2**28) // (x.numel() * x.element_size())
    return max(1, clients)


def _changes(
    h: Any,
    x: Vector,
    clients: Clients,
    plan: Plan,
    local: Callable[[Any, Stack, Oracle, Sequence[int]], Stack],
    size: int,
) -> Iterator[Stack]:
    for some in blocks(len(plan.participants), size):
        who, steps = plan.participants[some], plan.steps[some]
        yield local(h, x.repeat(len(who), 1), clients.oracle(who), steps) - x


def model(state: Any) -> Vector:
    """The global model inside a server state (a state that is only a model is that vector)."""
    x: Vector = state if isinstance(state, Tensor) else state.x
    return x


def aggregate(messages: Messages, weights: Weighting, like: Vector) -> Vector:
    """Delta = sum_i p_i Delta_i over the messages of a round."""
    return weighted_mean(messages.deltas, shares(messages.examples, like, weights))
