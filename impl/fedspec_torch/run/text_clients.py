"""Clients for a step's text that is run repeatedly: answers to its earlier requests are replayed in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from torch import Tensor

from fedspec.plan import Arrival, Plan
from fedspec.population import Client
from fedspec.varying import Making
from fedspec_torch.arith import Stack, Vector
from fedspec_torch.local.block_results import each_tensor, tensors
from fedspec_torch.plan import Oracle
from fedspec_torch.population import Batched
from fedspec_torch.ranks.sharded import Sharded
from fedspec_torch.sums.asking import sums_of, trained_later
from fedspec_torch.sums.running import Running

Text: TypeAlias = Callable[[Any, Any], tuple[Any, Any]]
"""Step's text: function of its state and its clients to the new state and the values it returns."""


class HandedOver(Exception):
    """Signal that a text asked for clients to be trained, with its request."""

    def __init__(self, clients: Batched, client: Client, plan: Plan, x: Vector) -> None:
        super().__init__()
        self.clients, self.client, self.plan, self.x = clients, client, plan, x


Answer: TypeAlias = Callable[[], Any]
"""Function that returns the answer to a text's request."""


@dataclass(frozen=True)
class Lent:
    """Answer whose tensors are in a block's buffers, which the next block overwrites."""

    made: Any

    def __call__(self) -> Any:
        """Return the results."""
        return self.made

    def lasting(self) -> Lent:
        """Return the answer with its tensors copied."""
        return Lent(each_tensor(Tensor.clone, self.made))


def owned(result: Any, answers: Sequence[Answer]) -> Any:
    """Copy the tensors of a result that share memory with a block's buffers."""
    lent = {x.untyped_storage().data_ptr() for a in answers if isinstance(a, Lent) for x in tensors(a.made)}

    def own(x: Tensor) -> Tensor:
        return x.clone() if type(x) is Tensor and x.untyped_storage().data_ptr() in lent else x

    if isinstance(result, Mapping):
        return {name: each_tensor(own, value) for name, value in result.items()} if lent else result
    return each_tensor(own, result) if lent else result


@dataclass
class Answering:
    """Clients that replay the answers to a text's earlier requests, and compute or ask for the next.

    Attributes:
        clients: the population to train.
        answers: the answers to the text's requests so far.
        left: the answers that the text hasn't requested yet.
        done: True if the text has ended; a later request then belongs to a new object of clients.
    """

    clients: Batched
    answers: list[Answer]
    left: Iterator[Answer]
    done: bool = False

    def __len__(self) -> int:
        return len(self.clients)

    def __getitem__(self, i: int) -> Oracle:
        return self.clients[i]

    @property
    def own(self) -> Any:
        """Function that makes a client from its own hyper-parameters; None if all share theirs."""
        return self.clients.own

    def owning(self, own: Making, h: Any) -> Answering:
        """Return these clients, each made from its own hyper-parameters."""
        return replace(self, clients=self.clients.owning(own, h))

    def each(self, client: Client, plan: Plan, x: Vector) -> Any:
        """Return the participants' results if they are trained.

        Raises:
            HandedOver: the clients aren't trained yet.
        """
        if answer := next(self.left, None):
            return answer()
        self.done = True
        raise HandedOver(self.clients, client, plan, x)

    def gradients(self, S: Sequence[int], t: int, X: Stack) -> Stack:
        """Return the gradients of the clients in S, each at its row of X."""
        if isinstance(self.clients, Sharded):
            # Rows on several ranks are found again whenever the text is run.
            return self.clients.gradients(S, t, X)
        rows: Stack = self.found(lambda: self.clients.gradients(S, t, X))
        return rows

    def values(self, S: Sequence[int], x: Vector) -> Sequence[float]:
        """Return the losses of the clients in S at the model x."""
        found: Sequence[float] = self.found(lambda: self.clients.values(S, x))
        return found

    def each_arrival(self, client: Client, arrivals: Sequence[Arrival], x_mu: Sequence[Vector]) -> Stack:
        """Train late clients, and return their results."""
        return self.clients.each_arrival(client, arrivals, x_mu)

    def found(self, find: Callable[[], Any]) -> Any:
        """Return the value that an earlier run of the text computed here, or compute it."""
        if answer := next(self.left, None):
            return answer()
        value = find()
        if not self.done:
            self.answers.append(lambda: value)
        return value


@dataclass(frozen=True)
class Asking:
    """Search for the sums that a text needs of its clients' results.

    Attributes:
        clients: the population to train.
        answers: the text's earlier requests, with their answers.
        remember: the number of rows of a stack that counts as the clients' memory.
        looked_at: True if the caller reads the step's intermediates.
        more: later requests of the text that are already known.
    """

    clients: Batched
    answers: list[Answer]
    remember: int
    more: list[Answer] = field(default_factory=list)
    looked_at: bool = field(kw_only=True)

    def sums(self, text: Text, state: Any, who: Sequence[int], made: Any) -> Running | None:
        """Return the sums; None if the text needs all rows."""

        def asked(state: Any, form: Any) -> tuple[Any, Any]:
            known = [*self.answers, lambda: form, *self.more]
            later = Later(self.clients, self.more, iter(known), form=form)
            return text(state, later)

        return sums_of(asked, state, who, self.remember, made, looked_at=self.looked_at)


@dataclass
class Later(Answering):
    """Clients for the search of sums: further requests are answered by stacks without rows.

    Attributes:
        form: the result of the clients whose sums are requested.
    """

    form: Any = None

    def each(self, client: Client, plan: Plan, x: Vector) -> Any:
        """Return stacks without rows."""
        if answer := next(self.left, None):
            return answer()
        return trained_later(self.form, len(plan.participants), x)

    def gradients(self, S: Sequence[int], t: int, X: Stack) -> Stack:
        """Return the gradients of the clients in S, or a stack without rows if they aren't known yet."""
        if isinstance(self.clients, Sharded):
            return self.clients.gradients(S, t, X)
        if answer := next(self.left, None):
            again: Stack = answer()
            return again
        return trained_later(self.form, len(S), X)
