"""Clients of a federation in one round: their minibatch gradients, and whole local runs by faster methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from fedspec_torch.arith import Ended, Stack, Vector, Weights
from fedspec_torch.data.batches import Batches, Minibatches
from fedspec_torch.data.examples import GeneratedPool, Minibatch, check_again, examples_of
from fedspec_torch.federation.batch_checks import check_same_parameters, naming_clients, naming_culprit
from fedspec_torch.federation.dispatch import Ways
from fedspec_torch.federation.gradient_options import GradientOptions
from fedspec_torch.federation.modes import evaluating
from fedspec_torch.federation.sgd_runs import run_alone
from fedspec_torch.federation.statistics import Moving
from fedspec_torch.gradients.interface import Job, Run, Way
from fedspec_torch.gradients.methods import ALONE, METHODS, form_of, looped
from fedspec_torch.gradients.module_state import seed_of, write_buffers
from fedspec_torch.local.runs import by_gradients
from fedspec_torch.local.solvers import InPlace
from fedspec_torch.plan import Oracle
from fedspec_torch.refusals import OTHERWISE, LayersError, NoClassError
from fedspec_torch.setup_time import setting_up
from fedspec_torch.ways.table import WAYS, methods


@dataclass(frozen=True, eq=False)
class Training:
    """Clients of a federation in one round, with their minibatches, losses and running statistics.

    Attributes:
        ways: the choice of gradient methods.
        minibatches: the minibatches of all clients.
        round: number of the round that determines the minibatches.
        keeps: True: keep the clients' minibatches until the end of the round, since the algorithm asks clients again
            after others, as in gossip. False: drop a client's minibatches, and generated examples, when other clients
            are asked.
        losses: the loss of every client's first minibatch, at the model from which the client began; a tensor if
            reading the number would wait for a device.
        taken: names of the gradient methods, or methods for whole runs, that were used.
        moving: the clients' running statistics; None: the module has none.
        stated: the options (clipping, weight decay, accumulation) that apply to every gradient; None: none.
    """

    ways: Ways
    minibatches: Minibatches
    round: int
    keeps: bool = False
    losses: dict[int, Tensor | float] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    moving: Moving | None = None
    stated: GradientOptions | None = None
    _batches: dict[tuple[int, ...], Batches] = field(default_factory=dict, repr=False)
    _memory: list[Tensor] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.minibatches.pool.examples)

    def oracle(self, clients: Sequence[int]) -> Oracle:
        """Return the gradient function of these clients, in this order."""
        who = tuple(clients)
        whole = self._batches.get(who[:1])
        if whole is None or whole.clients[: len(who)] != who:
            if not self.keeps:
                self._batches.clear()
            # Minibatches of the clients before are gone, and leave their memory.
            whole = self.minibatches.of(who, self.round, self._memory)
            self._batches[who[:1]] = whole
            # A function's examples say what a minibatch is, before a way is chosen.
            _ = whole.found
        return Trained(self, whole.first(len(who)))

    def values(self, clients: Sequence[int], x: Vector) -> list[float]:
        """Return the loss of model x over all examples of each of these clients, one call of the module each.

        The module is in its evaluation mode, with the running statistics that the round began with.
        """
        network, pool, found = self.ways.network, self.minibatches.pool, list[float]()
        with network.lent(), evaluating(network.module), torch.no_grad():
            network.put(x)
            if self.moving:
                write_buffers(network.running, self.moving.begun)
            for i in clients:
                found.append(float(network.call(network.module, examples_of(pool, i))[2]))
        return found

    def seed(self, i: int, k: int) -> int:
        """Seed of torch's generator before local step k of a client, if the module draws."""
        return seed_of(self.minibatches.seed, self.round, i, k)

    def dressed(self, batch: Minibatch, k: int, who: Sequence[int]) -> Minibatch:
        """Add to the minibatches of step k the clients' random seeds and running statistics."""
        if self.ways.is_first or self.ways.network.draws:
            batch = replace(batch, seeds=[self.seed(i, k) for i in who])
        return replace(batch, statistics=self.moving.of(who)) if self.moving else batch

    def look_again(self, x: Vector) -> None:
        """Re-check the used gradient methods against autograd on two clients trained last, at the model x.

        Raises:
            ModuleError: a method's gradients differ from plain autograd's, or the module keeps state between calls.
        """
        if not self._batches:
            return
        last = [*self._batches.values()][-1]
        one = self.round % len(last.clients)
        other = max((i for i, size in enumerate(last.sizes) if size == last.sizes[one] and i != one), default=one)
        pairs = [last.walk.at(i, self.round) for i in (one, other)]
        who = [last.clients[i] for i in (one, other)]
        batch = self.dressed(Minibatch(tuple(map(torch.stack, zip(*pairs, strict=True)))), self.round, who)
        if isinstance(pool := self.minibatches.pool, GeneratedPool):
            alone = self.minibatches.of(last.clients[one : one + 1], self.round)
            names = self.ways.network.call.structure.tensors
            check_again(last.clients[one], names, pairs[0], alone.walk.at(0, self.round), pool.source)
        taken = self.taken - WAYS.keys() if Trained(self, last).ignored else self.taken
        with naming_culprit(self.ways.network, who, x.expand(len(who), -1), [batch]):
            self.ways.look_again(taken, self.round, x, batch)


@dataclass(frozen=True, eq=False)
class Trained:
    """Gradient function of some clients, or of the first few; it can also run all of their local steps."""

    training: Training
    batches: Batches

    def __call__(self, k: int, x: Stack) -> Stack:
        """Return the gradients at local step k, with the gradient options (clipping, weight decay, ...) applied."""
        stated = self.training.stated
        return stated.of(lambda j: self.of_minibatch(j, x), k, x) if stated else self.of_minibatch(k, x)

    def of_minibatch(self, k: int, x: Stack) -> Stack:
        """Return the gradients of the clients' minibatch number k."""
        self._begin(x)
        if (g := self._step(k, x)) is not None:
            return g
        some = self.batches.first(len(x))
        if len(self._sizes) == 1:
            return self._at(k, x, some.clients, self._batch(k, some))
        g = torch.empty_like(x, memory_format=torch.contiguous_format)
        for size in self._sizes:
            rows = np.flatnonzero(some.sizes == size)
            if len(rows):
                batch = Minibatch(some.at(k, rows, size))
                g[rows] = self._at(k, x[rows], [some.clients[r] for r in rows], batch)
                self.training.ways.take_for(len(x), len(rows))
        return g

    def descend(self, k: int, y: Stack, rate: float) -> bool:
        """Overwrite y with y - rate times the gradients at step k; return False if no way does it at once."""
        return not self.training.stated and self._step(k, y, y, -rate) is not None

    def memory(self, x: Stack, name: str) -> Stack:
        """Return a buffer for a solver's vectors of each client; later clients overwrite it."""
        return self.training.ways.network.buffer(x, name)

    def run_in_place(self, solver: InPlace, x: Stack, tau: Sequence[int]) -> tuple[Stack, ...] | None:
        """Return the models after tau_i steps of a solver from x, clients in descending tau_i, and its vectors.

        None: step by step is the way.
        """
        ways = self.training.ways
        self._begin(x)
        if not ways.known(len(x)):
            # The first minibatch is what the ways are measured on.
            with setting_up(), self.training.moving.tried() if self.training.moving else nullcontext():
                self(0, x)
        known = ways.known(len(x))
        if self._aside(known):
            return None
        if solver.is_plain and known and not self.training.stated:
            found, losses = ways.run_for(x, tau, self._in_place(solver, x), self._others(solver, x))(tau)
            self.tell(self.batches.clients, losses)
            return found
        if known in ALONE:
            # Nothing is measured while the module is lent: fewer clients take the way of more.
            with nullcontext() if ways.network.lies else ways.network.lent(form_of(known)):
                return by_gradients(solver, x, self, tau)
        whole = None if self.training.stated else self._run(solver, x)
        return whole(tau)[0] if whole else None

    def _in_place(self, solver: InPlace, x: Stack) -> Run:
        """Run by the known way, or by its gradients."""

        def by_steps(tau: Sequence[int]) -> Ended:
            models, losses = by_gradients(solver, x, self, tau), self.training.losses
            told = (torch.as_tensor(losses[i], dtype=x.dtype, device=x.device) for i in self.batches.clients)
            return models, torch.stack([*told])

        return self._run(solver, x) or by_steps

    def _others(self, solver: InPlace, x: Stack) -> dict[str, Run | str]:
        """Other runs of plain SGD by name, or the reasons why there are none."""
        runs = {name: way.run(self._job(solver, x)) for name, way in WAYS.items() if way.beside}
        return {name: self.ignored or run for name, run in runs.items() if run}

    def _job(self, solver: InPlace, x: Stack) -> Job:
        ways, who = self.training.ways, self.batches.clients
        naming = partial(naming_culprit, ways.network, who, x)
        return Job(ways.network, solver, x, self.batches, ways.way, naming)

    def _run(self, solver: InPlace, x: Stack) -> Run | None:
        """All steps of a solver by the known way; None: it takes them one by one, by gradients."""
        training, network, known = self.training, self.training.ways.network, self.training.ways.known(len(x))
        run: Run | str | None = None
        if way := self._way(len(x)):
            run = way.run(self._job(solver, x))
        elif known in ALONE and solver.is_plain:
            run = run_alone(network, self.batches, solver, x, form_of(known), training.seed, training.moving)
        if not known or not run or isinstance(run, str):
            return None

        def told(tau: Sequence[int]) -> Ended:
            training.taken.add(ALONE.get(known, known))
            with self._naming_class(0, tau):
                models, losses = run(tau)
            self.tell(self.batches.clients, losses)
            return models, losses

        return told

    def _step(
        self, k: int, x: Stack, to: Stack | None = None, scale: float = 1, *, first: Way | None = None
    ) -> Stack | None:
        """Write a multiple of the gradients at step k to a stack, or add it to the models; None if the way can't.

        A way that is tried before it is known is given as ``first``; nobody asks for losses then.
        """
        way, network = first or self._way(len(x)), self.training.ways.network
        if not way or not way.steps:
            return None
        who, ones, to = self.batches.clients[: len(x)], [1] * len(x), network.buffer(x) if to is None else to
        told = not first and self._untold(who)
        self.training.taken.add(way.name)
        with self._naming_class(k, ones):
            losses = way.steps(network, x, self.batches.walk, k, ones, to, [scale], told=told)
        self.tell(who, losses)
        return to

    @contextmanager
    def _naming_class(self, first: int, tau: Sequence[int]) -> Iterator[None]:
        """Name the client, and the minibatch, of a target that is no class."""
        try:
            yield
        except NoClassError as error:
            seen = (self.batches.walk.at(error.row, first + k) for k in range(tau[error.row]))
            wrong = next(pair for pair in seen if not 0 <= pair[1].min() <= pair[1].max() < error.classes)
            who, batch = [self.batches.clients[error.row]], Minibatch(tuple(part[None] for part in wrong))
            with naming_clients(self.training.ways.network, who, [batch]):
                raise

    @cached_property
    def _sizes(self) -> list[int]:
        return [int(size) for size in np.unique(self.batches.sizes)]

    def _batch(self, k: int, some: Batches) -> Minibatch:
        return some.all_at(k, self._sizes[0])

    def _at(self, k: int, x: Stack, who: Sequence[int], batch: Minibatch) -> Stack:
        network = self.training.ways.network
        batch = self.training.dressed(batch, k, who)
        with naming_culprit(network, who, x, [batch]):
            way = self.training.ways.for_block(x, batch, self.ignored)
            if self._aside(way):
                way = "looped"
            self.training.taken.add(way)
            if way in WAYS:
                g, losses = methods()[way](network, x, batch, told=self._untold(who))
            elif way in ALONE and network.is_large:
                g, losses = looped(network, x, batch, form_of(way), network.buffer(x))
            else:
                g, losses = METHODS[way](network, x, batch)
        if self.training.moving and batch.statistics is not None:
            self.training.moving.moved(who, k, batch.statistics)
        self.tell(who, losses)
        return g

    def _begin(self, x: Stack) -> None:
        """Look at a way that is asked for by name, before it is taken; where none is, they are measured as well."""
        ways = self.training.ways
        if (ways.way or ways.network.is_large) and not ways.known(len(x)):
            with setting_up():
                self._look_first(x)

    def _look_first(self, x: Stack) -> None:
        ways = self.training.ways
        check_same_parameters(ways.network)
        self._aside(ways.named)
        if way := WAYS.get(ways.named or ""):
            try:
                if refused := way.refusal(ways.network, None):
                    raise LayersError(refused)
                # What it does not take of the examples it says itself.
                self._step(0, x, first=way)
            except LayersError as error:
                raise LayersError(f"{ways.way}: {error}; {OTHERWISE}") from error
        rows = np.flatnonzero(self.batches.sizes[: len(x)] == self.batches.sizes[0])
        who = [self.batches.clients[r] for r in rows]
        batch = self.training.dressed(Minibatch(self.batches.at(0, rows, int(self.batches.sizes[0]))), 0, who)
        some = x if len(rows) == len(x) else x[rows]
        with naming_culprit(ways.network, who, some, [batch]):
            ways.for_block(some, batch)

    @cached_property
    def ignored(self) -> str:
        """Reason why the optional ways that take the module don't take these examples; "" if they do."""
        ways = self.training.ways
        return next((way.refusal(ways.network, self.batches) for way in ways.optional), "")

    def _aside(self, way: str | None) -> bool:
        """True if these clients need plain autograd one by one, while an optional way trains other clients.

        Raises:
            LayersError: the user chose an optional way by name.
        """
        if way not in WAYS or not self.ignored:
            return False
        if self.training.ways.way:
            raise LayersError(f"{way}: {self.ignored}; leave way out, or name another")
        return True

    def _way(self, n: int) -> Way | None:
        """Optional way of n clients, if that is theirs."""
        known = self.training.ways.known(n)
        return None if self._aside(known) else WAYS.get(known or "")

    def _untold(self, who: Sequence[int]) -> bool:
        return any(i not in self.training.losses for i in who)

    def tell(self, who: Sequence[int], losses: Weights) -> None:
        """Store the clients' first losses; losses that are already stored stay."""
        told = self.training.losses
        each = losses.tolist() if losses.device.type == "cpu" else losses.unbind()
        if told.keys().isdisjoint(who):
            told.update(zip(who, each, strict=False))
        else:
            told.update((i, loss) for i, loss in zip(who, each, strict=False) if i not in told)
