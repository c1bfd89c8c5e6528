"""Population in shards: every rank trains its own clients, and the algorithm's text runs on every rank.

The text is the specification's own. It receives the clients' results as streams that are summed along the tree of the
shards, or as stacks whose rows stay on the ranks of their clients; the server's state is the same on every rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from fedspec.entry import Program
from fedspec.errors import ParameterError
from fedspec.plan import Arrival, Plan
from fedspec.population import Client
from fedspec_torch.arith import Stack, Vector
from fedspec_torch.local.block_results import Block, Numbers, begun_with, each_tensor, join_blocks
from fedspec_torch.plan import Clients
from fedspec_torch.population import Batched, lasting
from fedspec_torch.ranks.rows import Rows, whole
from fedspec_torch.ranks.shards import Layout, Shards
from fedspec_torch.sums.running import Running


class Elsewhere(Exception):
    """Signal that only rank 0 runs the rest of this step."""


def is_copied(func: Any, args: Any, clients: int) -> bool:
    """True if a call stacks one and the same vector for every client."""
    return (
        func is torch.stack and len(args[0]) == clients and len({id(x) for x in args[0]}) == 1 and args[0][0].ndim == 1
    )


class Copies(TorchFunctionMode):
    """Function mode that turns a stack of one vector for every client into a distributed stack."""

    def __init__(self, shards: Shards) -> None:
        super().__init__()
        self.shards = shards

    def on(self) -> None:
        """Switch the mode on."""
        self.__enter__()  # type: ignore[no-untyped-call]

    def off(self) -> None:
        """Switch the mode off."""
        self.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        n = self.shards.clients
        if is_copied(func, args, n):
            layout = Layout.by_client(self.shards, range(n))
            return Rows({s: args[0][0].repeat(len(layout.places[s]), 1) for s in self.shards.held}, layout)
        return func(*args, **(kwargs or {}))


@dataclass(frozen=True)
class Sharded(Batched):
    """Clients in shards; the clients of a shard are trained in blocks.

    Attributes:
        shards: the shards, and which of them this rank holds.
        copies: dispatch mode that is on while the algorithm's own text runs, and off while clients train.
    """

    shards: Shards = field(kw_only=True)
    copies: Copies = field(kw_only=True)

    @contextmanager
    def _training(self, shard: int) -> Iterator[None]:
        self.copies.off()
        self.shards.training.append(shard)
        try:
            with self.shards.ranks.alone():
                yield
        finally:
            self.shards.training.pop()
            self.copies.on()

    def _trained(self, shard: int, blocks: Iterator[Block]) -> Iterator[Block]:
        """The blocks of a shard, each trained when it is asked for."""
        while True:
            with self._training(shard):
                block = next(blocks, None)
            if block is None:
                return
            yield block

    def each(self, client: Client, plan: Plan, x: Vector) -> Any:
        """Train every participant, and return the results in the participants' order, as distributed stacks."""
        return self.trained(client, plan, x, lambda made: None)[0]()

    def trained(
        self, client: Client, plan: Plan, x: Vector, ask: Callable[[Any], Running | None]
    ) -> tuple[Callable[[], Any], Running | None]:
        """Train every participant; return the results as distributed stacks, or the sums that the text needs of them.

        Args:
            client: function that trains a client.
            plan: the round's plan, with the participants.
            x: the models from which the clients begin.
            ask: function that finds, from a client's result, the sums that the text needs.
        """
        layout, shards = Layout.by_client(self.shards, plan.participants), self.shards
        busy = {s: plan.part(at) for s, at in layout.places.items() if at}
        blocks: dict[int, Iterator[Block]] = {
            s: self._trained(s, self.blocks(client, busy[s], x)) for s in shards.held if s in busy
        }
        first = None
        for s in [*blocks][:1]:
            first = next(blocks[s])
            blocks[s] = begun_with(first, blocks[s])
        empty = self._emptied(busy, first, x)
        del first
        running = ask(empty)
        # Rows that a text keeps are on other ranks too.
        if running and running.summed and not running.targets:
            running.split(shards.total(lambda s: self._summed(running, blocks.get(s, ()), layout.places[s], x)))
            for numbers in shards.ranks.told(running.numbers):
                running.numbers.update(numbers)
            return running.told, running
        made = {s: join_blocks(len(layout.places[s]), blocks.get(s, [([], empty)])) for s in shards.held}
        rows = self._rows(layout, made)
        return (lambda: rows), None

    def _summed(self, running: Running, blocks: Iterable[Block], at: Sequence[int], like: Vector) -> Tensor:
        """The sums over a shard, end to end."""
        running.totals = []
        for places, made in blocks:
            running.add([at[r] for r in places], made)
            del made
        return running.flat(like)

    def _emptied(self, busy: Iterable[int], first: Block | None, like: Vector) -> Any:
        """Result of a client without rows: a rank without a participant receives its form from another rank."""
        ranks, who = self.shards.ranks, {self.shards.rank(s) for s in busy}
        # A view would keep the rows; a rank may not see another's device.
        empty = first and each_tensor(lambda rows: rows[:0].clone().cpu(), first[1])
        said = empty if len(who) == ranks.size else ranks.said(empty, min(who))
        return each_tensor(lambda rows: rows.to(like.device), said)

    def _rows(self, layout: Layout, made: dict[int, Any]) -> Any:
        """Join the results of shards into stacks; numbers of the clients are sent to all ranks."""
        first = next(iter(made.values()))
        if isinstance(first, Tensor):
            return Rows(made, layout)
        if is_dataclass(first) and not isinstance(first, type):
            names = [f.name for f in fields(first)]
            return replace(first, **{n: self._rows(layout, {s: getattr(m, n) for s, m in made.items()}) for n in names})
        if any(isinstance(m, Numbers) for m in made.values()):
            told = {s: m for some in self.shards.ranks.told(made) for s, m in some.items()}
            return tuple(told[int(s)][k] for s, k in zip(layout.of, layout.within, strict=True))
        return tuple(self._rows(layout, {s: m[j] for s, m in made.items()}) for j in range(len(first)))

    def each_arrival(self, client: Client, arrivals: Sequence[Arrival], x_mu: Sequence[Vector]) -> Stack:
        """Train the client of every arrival, and return the results in order on rank 0; other ranks leave.

        Raises:
            Elsewhere: on every rank except rank 0.
        """
        layout = Layout.by_client(self.shards, [a.client for a in arrivals])
        parts: dict[int, Tensor] = {}
        for s in self.shards.held:
            at = layout.places[s]
            parts[s] = x_mu[0].new_empty(0, *x_mu[0].shape)
            if at:
                with self._training(s):
                    parts[s] = super().each_arrival(client, [arrivals[k] for k in at], [x_mu[k] for k in at])
        rows = Rows(parts, layout).gathered(only=0)
        if rows is None:
            raise Elsewhere
        return rows

    def gradients(self, S: Sequence[int], t: int, X: Stack) -> Stack:
        """Return the gradients of the clients in S at local step t, each at its row of X, on its own rank.

        Raises:
            ParameterError: clients have hyper-parameters of their own, which shards don't support here.
        """
        if not S:
            return X
        if self.shards.training:
            raise ParameterError(
                "hyper: got one for each client, but in shards an algorithm that computes gradients before its "
                "clients begin needs one for all clients; give that, or train without shards"
            )
        layout, parts = Layout.by_client(self.shards, S), {}
        rows = X if isinstance(X, Rows) and X.rows_of.same(layout) else Rows.of(whole(X), layout)
        for s in self.shards.held:
            parts[s] = rows.parts[s]
            if at := layout.places[s]:
                with self._training(s):
                    # The next shard's may be written to the same buffer.
                    parts[s] = lasting(self.clients.oracle([S[k] for k in at]))(t, parts[s])
        return Rows(parts, layout)

    def values(self, S: Sequence[int], x: Vector) -> Sequence[float]:
        """Return the loss F_i(x) of each client in S; a client's own rank computes it and tells all ranks."""
        layout, found = Layout.by_client(self.shards, S), {}
        for s in self.shards.held:
            found[s] = tuple[float, ...]()
            if at := layout.places[s]:
                with self._training(s):
                    found[s] = tuple(super().values([S[k] for k in at], x))
        told = {s: row for some in self.shards.ranks.told(found) for s, row in some.items()}
        return [told[int(s)][k] for s, k in zip(layout.of, layout.within, strict=True)]


def spread(state: Any, shards: Shards) -> Any:
    """Distribute the clients' rows of a state, which every rank holds, over the shards."""

    def of(tensor: Tensor) -> Tensor:
        if isinstance(tensor, Rows) or tensor.ndim != 2 or len(tensor) != shards.clients:
            return tensor
        return Rows.of(tensor, Layout.by_client(shards, range(shards.clients)))

    return each_tensor(of, state)


def gathered(state: Any) -> Any:
    """Gather the clients' rows of a state on rank 0; the other ranks get None in their place."""
    return each_tensor(lambda tensor: tensor.gathered(only=0) if isinstance(tensor, Rows) else tensor, state)


def served(program: Program, shards: Shards) -> Program:
    """Return an asynchronous algorithm where rank 0 has buffer and server, other ranks the model's versions."""
    ranks = shards.ranks

    def step(h: Any, state: Any, clients: Batched, *arrivals: Arrival) -> tuple[Any, dict[str, Any]]:
        values: dict[str, Any] = {}
        after = None
        with suppress(Elsewhere):
            after, values = program.step(h, state, clients, *arrivals)
        if ranks.size == 1:
            return after, values
        if ranks.said(after is not None and len(after.versions) > len(state.versions)):
            x = ranks.same(torch.empty_like(state.x) if after is None else after.x)
            waiting, state = (), replace(state, versions=(*state.versions, x))
        else:
            waiting = (*state.pending, *(state.x[:0] for _ in arrivals))
        # How many wait is all that the others know of them.
        return after or (replace(state, pending=waiting) if hasattr(state, "pending") else state), values

    return replace(program, step=step)


@contextmanager
def population(
    clients: Clients,
    block: int | None,
    shards: Shards | None,
    *,
    ragged: bool = False,
    client: Client | None = None,
    is_text: bool = False,
) -> Iterator[Batched]:
    """Context with the clients in blocks, and in shards if there are any, while an algorithm runs on them."""
    if shards is None:
        yield Batched(clients, block, ragged, client, is_text=is_text)
        return
    with Copies(shards) as copies:
        yield Sharded(clients, block, ragged, client, is_text=is_text, shards=shards, copies=copies)
