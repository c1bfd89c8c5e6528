"""The specification's rounds on a batched population."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import fedspec.algorithms.synchronous as spec
from fedspec.algorithms.synchronous import Trace
from fedspec.entry import Method, Program
from fedspec.plan import Plan
from fedspec.returned import keeping
from fedspec.varying import begun, stepped
from fedspec_torch.fast_paths.registry import FAST, UNDIVIDED, client_of
from fedspec_torch.fast_paths.streamed import STREAMED
from fedspec_torch.plan import Clients
from fedspec_torch.ranks.sharded import population, spread
from fedspec_torch.ranks.shards import Shards


def run_round(
    method: Method,
    h: Any,
    state: Any,
    clients: Clients,
    plan: Plan,
    *,
    block: int | None = None,
    shards: Shards | None = None,
) -> Trace:
    """The specification's round, its local training in a fast form where there is one.

    Args:
        method: the functions of the algorithm, from its row.
        h: its hyper-parameters and readings.
        state: the server's state.
        clients: the gradients of the population.
        plan: who takes part, with how many steps and examples.
        block: the number of clients that are trained at once; None: as many as fit the cache.
        shards: how the clients are divided over ranks; None: they are not.

    Raises:
        PlanError: the plan names a client that does not exist, or a block holds no client.
    """
    h, plan = begun(h, plan)
    local, fast = method.local, FAST.get(method.local)
    if plan.hyper:
        # Each client's own numbers: the fast form is made of each record, and so is the norm.
        with population(
            clients, block, shards, ragged=bool(fast), read_by=method.server, whole=method.whole
        ) as each_of_them:
            return spec.run_round(
                h, state, each_of_them, plan, local=fast or local, norm=method.norm, server=keeping(method.server)
            )

    # Many clients take as many steps as another does.
    lengths = {tau: method.norm(h, tau) for tau in {*plan.steps}}

    def norm(h: Any, tau: int) -> Any:
        return lengths[tau]

    def change(i: Any, x: Any, gradient: Any, tau: Any) -> Any:
        # The models are a stack of their own, and no second one is made for the changes.
        assert fast
        return fast(h, x, gradient, tau).sub_(x)

    client = change if fast else None
    with population(
        clients, block, shards, ragged=bool(fast), client=client, read_by=method.server, whole=method.whole
    ) as all_of_them:
        return spec.run_round(h, state, all_of_them, plan, local=local, norm=norm, server=keeping(method.server))


def run_step(
    program: Program,
    h: Any,
    state: Any,
    clients: Clients,
    *events: Any,
    block: int | None = None,
    shards: Shards | None = None,
    own: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """The specification's step of an algorithm whose clients remember, adapt, talk to each other or arrive late.

    Args:
        program: the functions of the algorithm, from its row.
        h: its hyper-parameters and readings.
        state: the state before.
        clients: the gradients of the population.
        events: a ``Plan``, an ``Exchange``, or arrivals (these without shards).
        block: the number of clients that are trained at once; None: as many as fit the cache.
        shards: how the clients are divided over ranks; None: they are not.
        own: whether rows that are written where they are may be written before the round is done, and nobody looks at
            what it shows: then no more than a block of it is held, where one rank has all clients.
    """
    if len(events) == 1:
        h, event = begun(h, events[0])
        events = (event,)
    client = client_of(program, h, state)
    step: Callable[..., Any] = program.step
    if shards is None and not events[0].hyper:
        streamed = STREAMED.get(step) if own and client else None
        step = streamed or UNDIVIDED.get(step) or step
    ragged = client is not None
    with population(clients, block, shards, ragged=ragged, client=client, read_by=program.step) as all_of_them:
        form = partial(client_of, program, state=state) if client else None
        state, values = stepped(keeping(step), h, state, all_of_them, *events, form=form)
        return spread(state, shards) if shards else state, values
