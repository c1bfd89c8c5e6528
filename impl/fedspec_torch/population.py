"""Population that trains a round's participants in batches of clients with equal numbers of local steps.

The changes of a block are added to the weighted sum before the next block is trained. So memory holds a few stacks
[block, d] at a time for any number of participants (and the memory of the gradients themselves).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil
from typing import Any
from weakref import ref

import torch
from torch import Tensor

from fedspec.arith import array
from fedspec.errors import PlanError
from fedspec.plan import Arrival
from fedspec.population import Client
from fedspec.varying import Making, of_each, of_round
from fedspec_torch.arith import Stack, Vector, column, fills_device
from fedspec_torch.compiling import threads
from fedspec_torch.local.block_results import Block, join_blocks
from fedspec_torch.plan import Clients, Oracle, Plan
from fedspec_torch.tracing.clients import Recorder, recorder

LEAST, UNEQUAL = 2**16, 2**13
"""Least entries of a block for which tracing a client's text pays: with equal, and with unequal numbers of steps. Own
algorithms on linear models of 210 to 2010 coordinates, 1 to 20 steps, took 0.3 to 0.65 of the time on tensors from the
second on, and up to 1.2 below it; with equal steps 0.9 to 1.1 below the first (one core of a Xeon).

Own algorithms on linear models of 210 to 2010 coordinates, 1 to 20 steps, took 0.3 to 0.65 of the time on tensors from
the second on, and up to 1.2 below it; with equal steps 0.9 to 1.1 below the first (one core of a Xeon).
"""


SHARED = ("cpu",)
"""Devices where all clients read the sent model from one vector. On other devices each client has a copy, so that a
replayed graph reads no memory of an earlier round.
"""


@dataclass(frozen=True)
class OfStrategies:
    """Replacement client solver for some strategies; clients of other strategies run the algorithm's text."""

    client: Client
    strategies: frozenset[str]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run some clients that use one of these strategies."""
        return self.client(*args, **kwargs)


@dataclass(frozen=True)
class Batched:
    """Population that trains its clients in blocks.

    Attributes:
        clients: function that returns the gradients of any of the clients.
        block: the number of clients that are trained at once; None: see :func:`default_block`. It changes only the
            order in which changes are summed.
        ragged: True if clients with different numbers of steps may share a block, in descending order of steps: tau is
            then a tuple, and a gradient is requested for the first few clients, which still have steps to take.
        client: function that trains a client, in place of the client of the algorithm's text.
        is_text: True if ``client`` is itself a rule's text, which can be traced.
        own: if clients have hyper-parameters of their own: the function that makes a client from a record, and the
            other clients' record.

    Raises:
        PlanError: ``block`` is less than 1.
    """

    clients: Clients
    block: int | None = None
    ragged: bool = False
    client: Client | None = None
    own: tuple[Making, Any] | None = None
    is_text: bool = False

    def __post_init__(self) -> None:
        if self.block is not None and self.block < 1:
            raise PlanError(f"block: got {self.block}; a block holds at least one client")

    def __len__(self) -> int:
        return len(self.clients)

    def __getitem__(self, i: int) -> Oracle:
        """Return the gradient function of one client on a single vector."""
        oracle = self.clients.oracle([i])
        return lasting(lambda k, x: oracle(k, x[None])[0])

    def owning(self, own: Making, h: Any) -> Batched:
        """Return this population with clients built from their own hyper-parameters."""
        return replace(self, client=None, own=(own, h))

    def each(self, client: Client, plan: Plan, x: Vector) -> Any:
        """Train every participant, and return the results in the participants' order."""
        return join_blocks(len(plan.participants), self.blocks(client, plan, x))

    def each_arrival(self, client: Client, arrivals: Sequence[Arrival], x_mu: Sequence[Vector]) -> Stack:
        """Train the client of every arrival, batching those with equal steps, and return the results in order."""
        groups = [(self.client or client, list(range(len(arrivals))))]
        if self.own:
            own, h = self.own
            groups = [(own(h_i), those) for h_i, those in grouped([of_round(h, a.hyper) for a in arrivals])]

        def blocks() -> Iterator[Block]:
            for client, those in groups:
                record = self._recorder(client, x_mu[0], [arrivals[r].steps for r in those], None)
                for some in self._alike(x_mu[0], [arrivals[r].steps for r in those]):
                    places = [those[r] for r in some]
                    who = [arrivals[r].client for r in places]
                    x = torch.stack([x_mu[r] for r in places])
                    tau = arrivals[places[0]].steps
                    run = (record and record([tau])) or client
                    yield places, run(who, x, self._oracle(who, plain=run is client), tau)

        return join_blocks(len(arrivals), blocks())

    def gradients(self, S: Sequence[int], t: int, X: Stack) -> Stack:
        """Return the gradients of the clients in S at local step t, client i at row i of X, in one call."""
        return lasting(self.clients.oracle(S))(t, X) if S else X

    def values(self, S: Sequence[int], x: Vector) -> Sequence[float]:
        """Return the loss F_i(x) of each client in S over all of its examples, in the order of S.

        Raises:
            PlanError: the population has gradients but no losses.
        """
        find = getattr(self.clients, "values", None)
        if find is None:
            raise PlanError(
                f"loss: the server needs F_i(x) of every client, but {type(self.clients).__name__} gives only "
                "gradients; give clients with values(clients, x)"
            )
        found: Sequence[float] = find(S, x)
        return found

    def blocks(self, client: Client, plan: Plan, x: Vector) -> Iterator[Block]:
        """Train the participants block by block, and yield each block's results when they are asked for."""
        if self.own:
            own, h = self.own
            # All are made before the first is trained: the state that they read may be written over block by block.
            groups = [(own(h_i), those) for h_i, those in grouped(of_each(h, plan.hyper, len(plan.steps)))]
            for made_own, those in groups:
                alike = replace(self, client=made_own, own=None, is_text=True)
                for some, made in alike.blocks(client, replace(plan.part(those), hyper={}), x):
                    yield [those[r] for r in some], made
            return
        if plan.strategies:
            for strategy, those in grouped(plan.strategies):
                other = isinstance(self.client, OfStrategies) and strategy not in self.client.strategies
                alike = replace(self, client=None, ragged=False) if other else self
                for some, made in alike._of_one_strategy(client, plan.part(those), x):
                    yield [those[r] for r in some], made
        else:
            yield from self._of_one_strategy(client, plan, x)

    def _of_one_strategy(self, client: Client, plan: Plan, x: Vector) -> Iterator[Block]:
        told: dict[str, Any] = {"strategy": plan.strategies[0]} if plan.strategies else {}
        record = None if plan.draws else self._recorder(client, x, plan.steps, x)
        client = self.client or client
        if len(set(plan.steps)) > 1 and not plan.draws:
            together = record and record(plan.steps, **told, Xi=plan.scales or None)
            if self.ragged or together:
                yield from self._run_ragged(together or client, plan, x, told)
                return
        for some in self._alike(x, plan.steps):
            who, tau, more = [plan.participants[r] for r in some], plan.steps[some[0]], dict(told)
            if plan.scales:
                more["Xi"] = column([plan.scales[r] for r in some], x)
            if plan.draws:
                rows: list[Any] = [array(plan.draws[r], x) for r in some]
                more["u"] = torch.stack(rows)
            run = (record and record([tau], **more)) or client
            yield some, run(who, x.expand(len(who), -1), self._oracle(who, plain=run is client), tau, **more)

    def _oracle(self, who: Sequence[int], *, plain: bool) -> Oracle:
        """Gradients of some clients; for a text that runs on tensors, of the clients with steps left."""
        settled()
        found = self.clients.oracle(who)
        return lasting(found) if plain and (self.client is None or self.is_text) else found

    def _recorder(self, client: Client, like: Vector, steps: Sequence[int], start: Vector | None) -> Recorder | None:
        """Tracer of the text of clients with so many steps; None: not a text, or not worth it."""
        if self.client and not self.is_text:
            return None
        size = min(self.block or default_block(like), len(steps)) * like.numel()
        # Elsewhere each operation that is saved is a launch.
        worth = like.device.type != "cpu" or size >= (LEAST if len(set(steps)) == 1 else UNEQUAL)
        shared = start if like.device.type in SHARED else None
        return recorder(self.client or client, like, shared) if worth else None

    def _run_ragged(self, client: Client, plan: Plan, x: Vector, told: dict[str, Any]) -> Iterator[Block]:
        settled()
        steps = plan.steps
        most, size = sorted(range(len(steps)), key=lambda r: -steps[r]), self.block or default_block(x)
        if not self.block:
            # Those who have taken their steps make room: up to twice as many, in blocks of one size.
            size = min(2 * size, size * len(steps) * steps[most[0]] // sum(steps))
            size = ceil(len(steps) / ceil(len(steps) / size))
        for some in (most[start : start + size] for start in range(0, len(most), size)):
            who, tau = [plan.participants[r] for r in some], tuple(steps[r] for r in some)
            more = told | ({"Xi": column([plan.scales[r] for r in some], x)} if plan.scales else {})
            yield some, client(who, x.expand(len(who), -1), self._of_first(who), tau, **more)

    def _of_first(self, who: Sequence[int]) -> Oracle:
        """The gradients of as many of these clients, the first ones, as there are rows."""
        whole = self.clients.oracle(who)
        if hasattr(whole, "run_in_place"):
            # Such clients answer for the first few of them too.
            return whole
        made: dict[int, Oracle] = {len(who): whole}

        def gradient(k: int, x: Stack) -> Stack:
            if len(x) not in made:
                made[len(x)] = self.clients.oracle(who[: len(x)])
            return made[len(x)](k, x)

        return gradient

    def _alike(self, x: Vector, steps: Sequence[int]) -> Iterator[list[int]]:
        """The places of clients with equally many steps, a block at a time."""
        size = self.block or default_block(x)
        order = range(len(steps)) if len(set(steps)) == 1 else sorted(range(len(steps)), key=lambda r: steps[r])
        for _, group in groupby(order, key=lambda r: steps[r]):
            places = list(group)
            yield from (places[start : start + size] for start in range(0, len(places), size))


_given = threading.local()
"""The gradient that a text was given last, in each thread, as the memory that it may lie in is a thread's."""


def settled() -> None:
    """Copy the thread's last gradient if it is still referenced, since the next one may overwrite its memory."""
    last: ref[Tensor] | None = getattr(_given, "last", None)
    held = last() if last else None
    if held is not None:
        held.data = held.clone()
    _given.last = None


def lasting(oracle: Oracle) -> Oracle:
    """Wrap a gradient function so that callers may keep a gradient while they ask for the next. A view doesn't last."""

    def gradient(k: int, x: Stack) -> Stack:
        settled()
        g = oracle(k, x)
        _given.last = ref(g) if type(g) is Tensor else None
        return g

    return gradient


def grouped(records: Sequence[Any]) -> Iterator[tuple[Any, list[int]]]:
    """Yield each distinct record with the indices where it occurs, so that its clients are trained together."""
    places: dict[Any, list[int]] = {}
    for place, record in enumerate(records):
        places.setdefault(record, []).append(place)
    return iter(places.items())


def default_block(x: Vector) -> int:
    """Default number of clients to train at once.

    On a CPU, as many clients as fit a stack [block, d] of 2 MiB, which stays in the caches near the core: at most 200,
    whose minibatches must fit too; but at least as many, up to 10, as fit 8 MiB, so that a step takes longer than the
    calls that start its products; all of this for each thread. On other devices, 256 MiB. One client, if a client's
    model fills the device.
    """
    if fills_device(x.numel(), x):
        return 1
    size = x.numel() * x.element_size()
    few: int = (
        max(min(2**21 // size, 200), min(2**23 // size, 10)) * threads() if x.device.type == "cpu" else 2**28 // size
    )
    return max(1, few)
