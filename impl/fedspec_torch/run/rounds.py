"""Rounds of the specification on a batched population: the algorithm's text runs, and its clients train in blocks.

A round runs the step's text until it asks for its clients. The clients are trained here, a block at a time, and the
text continues with their results: with sums that were added up block by block if it reads nothing else
(:mod:`fedspec_torch.sums`), else with all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

import fedspec.algorithms.synchronous as spec
from fedspec.algorithms.synchronous import Trace
from fedspec.entry import Method, Program
from fedspec.plan import Plan
from fedspec.returned import keeping
from fedspec.varying import begun, stepped
from fedspec_torch.arith import fills_device
from fedspec_torch.fast_paths.registry import RATES, TEXTS, UNDIVIDED, client_of, local_sgd
from fedspec_torch.local.block_results import (
    Numbers,
    begun_with,
    each_part,
    join_blocks,
)
from fedspec_torch.plan import Clients
from fedspec_torch.population import Batched, OfStrategies
from fedspec_torch.ranks.sharded import Sharded, population, spread
from fedspec_torch.ranks.shards import Shards
from fedspec_torch.run.text_clients import Answer, Answering, Asking, HandedOver, Lent, Text, owned
from fedspec_torch.sums.deferred import Rows, Sums
from fedspec_torch.sums.pieces import in_pieces
from fedspec_torch.sums.running import Running, kept_by


def run_round(
    method: Method,
    h: Any,
    state: Any,
    clients: Clients,
    plan: Plan,
    *,
    block: int | None = None,
    shards: Shards | None = None,
    server: Callable[..., Any] | None = None,
    own: bool = False,
    begins: Callable[[], None] | None = None,
) -> Trace:
    """Run a round of a method (client rule, mean, server rule), with fast local training if there is one.

    Args:
        method: the functions of the algorithm, from its row.
        h: its hyper-parameters and readings.
        state: the server's state.
        clients: the gradients of the population.
        plan: the participants, their numbers of steps and examples.
        block: the number of clients that are trained at once; None: as many as fit the cache.
        shards: the division of the clients over ranks; None: one process.
        server: function that replaces the server's text once the changes are known, and may overwrite the state.
        own: True if the caller doesn't read the round's intermediates.
        begins: function that is called before the text overwrites vectors of the state; None: the state must not be
            overwritten.

    Raises:
        PlanError: the plan names a client that doesn't exist, or ``block`` is less than 1.
    """
    h, plan = begun(h, plan)
    rates = RATES.get(method.local)
    rate = rates and rates(h)
    local, norm, client = method.local, method.norm, None
    if plan.hyper and rates and rate:
        # Each client's own numbers: the rates are made of each record, and so is the norm.
        def local(h: Any, *args: Any) -> Any:
            own = rates(h)
            assert own
            return local_sgd(own, *args)

    if not plan.hyper:
        # Many clients take as many steps as another does.
        lengths = {tau: method.norm(h, tau) for tau in {*plan.steps}}

        def norm(h: Any, tau: int) -> Any:
            return lengths[tau]

        def change(i: Any, x: Any, gradient: Any, tau: Any) -> Any:
            # The models are a stack of their own, and no second one is made for the changes.
            assert rate
            return local_sgd(rate, x, gradient, tau).sub_(x)

        client = change if rate else None

    def text(by: Callable[..., Any], state: Any, clients: Any) -> tuple[Any, Any]:
        trace = spec.run_round(h, state, clients, plan, local=local, norm=norm, server=keeping(by))
        return trace.state, trace.values

    with population(clients, block, shards, ragged=bool(rate), client=client) as everyone:
        asking, telling = partial(text, method.server), partial(text, server) if server else None
        return Trace(*answered(asking, state, everyone, telling=telling, begins=begins, looked_at=not own))


def run_step(
    program: Program,
    h: Any,
    state: Any,
    clients: Clients,
    *events: Any,
    block: int | None = None,
    shards: Shards | None = None,
    own: bool = False,
    begins: Callable[[], None] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Run a step of a program, whose clients keep state, adapt the preconditioner, gossip or arrive late.

    Args:
        program: the functions of the algorithm, from its row.
        h: its hyper-parameters and readings.
        state: the state before the step.
        clients: the gradients of the population.
        events: a ``Plan``, an ``Exchange``, or arrivals (these without shards).
        block: the number of clients that are trained at once; None: as many as fit the cache.
        shards: the division of the clients over ranks; None: one process.
        own: True if rows may be updated in place before the round is done, and the caller doesn't read the round's
            intermediates: then memory holds at most one block of them.
        begins: function that is called before the text overwrites vectors of the state; None: the state must not be
            overwritten.
    """
    if len(events) == 1:
        h, event = begun(h, events[0])
        events = (event,)
    client = client_of(program, h, state)
    if isinstance(client, OfStrategies) and any(isinstance(said, tuple) for e in events for said in e.hyper.values()):
        # Clients of the other strategies run the text, which must be that of their own numbers.
        client = None
    step: Callable[..., Any] = program.step
    if shards is None and not events[0].hyper:
        step = UNDIVIDED.get(step) or step
    form = partial(client_of, program, state=state) if client else None

    def text(state: Any, clients: Any) -> tuple[Any, Any]:
        found: tuple[Any, Any] = stepped(keeping(step), h, state, clients, *events, form=form)
        return found

    is_text = program.step in TEXTS
    with population(
        clients, block, shards, ragged=bool(client and not is_text), client=client, is_text=is_text
    ) as everyone:
        run = direct if step is not program.step or program.event == "exchange" else answered
        state, values = run(text, state, everyone, remember=len(everyone), begins=begins, looked_at=not own)
        return spread(state, shards) if shards else state, values


def answered(
    text: Text,
    state: Any,
    clients: Batched,
    *,
    telling: Text | None = None,
    remember: int = 0,
    begins: Callable[[], None] | None = None,
    looked_at: bool,
) -> tuple[Any, Any]:
    """Run a step's text, train its clients when it asks for them, and return the new state and its values.

    Args:
        text: the function of the step.
        state: the state before the step.
        clients: the population to train.
        telling: function that replaces the text once all results are known; None: the text runs.
        remember: the number of rows of a stack that counts as the clients' memory; 0: the clients remember nothing.
        begins: function that is called before the text overwrites vectors of the state; None: the state must not be
            overwritten.
        looked_at: True if the caller reads the step's intermediates.
    """

    def given(state: Any, told: Any) -> Any:
        return text(state, Answering(clients, [], iter([lambda: told])))[0]

    answers: list[Answer] = []
    running: list[Running] = []
    # What a text makes of its clients' memory for what they do is not needed where a fast form does it.
    unread = remember and clients.client is not None and not isinstance(clients, Sharded)
    kept = kept_by(Sums(range(remember), Rows([], [])), state, remember) if unread else state
    while True:
        for sums in running:
            kept = sums.begin(state, remember)
        alone = len(running) == len(answers) == 1 and not (telling or looked_at or isinstance(clients, Sharded))
        after, shown = in_pieces(given, state, running[0], remember, begins) if alone else None, None
        if after is not None:
            break
        try:
            after, shown = (telling or text)(kept, Answering(clients, answers, iter([*answers])))
            break
        except HandedOver as handed_over:
            # With its traceback it would hold this frame, which holds it.
            those = handed_over.with_traceback(None)
        # An error of training has nothing to do with this one.
        answers = [answer.lasting() if isinstance(answer, Lent) else answer for answer in answers]
        asking = Asking(those.clients, answers, remember, looked_at=looked_at)
        answer, found = train(those, partial(asking.sums, text, state, those.plan.participants))
        answers += [answer, *asking.more]
        running += [found] if found else []
        kept = state
    for sums in running:
        after = sums.finished(after)
        sums.close()
    return owned(after, answers), owned(shown, answers) if looked_at else {}


def direct(text: Text, state: Any, clients: Batched, **more: Any) -> tuple[Any, Any]:
    """Run the text of a step that asks only for gradients, at each of its clients' steps."""
    return text(state, clients)


def train(those: HandedOver, ask: Callable[[Any], Running | None]) -> tuple[Answer, Running | None]:
    """Train the clients that a text asked for; return their results, or the sums that the text needs of them.

    Args:
        those: the clients to train.
        ask: function that finds, from a client's result, the sums that the text needs.
    """
    if isinstance(those.clients, Sharded):
        return those.clients.trained(those.client, those.plan, those.x, ask)
    n = len(those.plan.participants)
    blocks = those.clients.blocks(those.client, those.plan, those.x)
    first = next(blocks)
    alone = first[0] == [*range(n)]
    running = None if alone and not fills_device(those.x.numel(), those.x) else ask(first[1])
    if alone and not running:
        return Lent(each_part(partial(_whole, n), first[1])), None
    come = begun_with(first, blocks)
    # Held by nobody else, a block is gone once it was read.
    del first
    if not running:
        whole = join_blocks(n, come)
        return (lambda: whole), None
    for places, made in come:
        running.add(places, made)
        del made
    return running.told, running


def _whole(n: int, x: Any) -> Any:
    """Part of the results of the only block's clients: all rows, or a number for each client."""
    return x if isinstance(x, Tensor | Numbers) else Numbers([x] * n)
