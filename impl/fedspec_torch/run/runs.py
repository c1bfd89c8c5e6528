"""Training a federation with any algorithm of the catalogue, round by round."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from torch import Tensor, nn

from fedspec.catalogue import Algorithm, Method
from fedspec.costs import floats
from fedspec.entry import Program
from fedspec.errors import PlanError
from fedspec.plan import Arrival, Exchange, Plan
from fedspec.readings import CoverName
from fedspec_torch.arith import Vector
from fedspec_torch.covers import named_cover
from fedspec_torch.data.examples import Examples, without_number
from fedspec_torch.federation.federation import Federation
from fedspec_torch.federation.own import own_of
from fedspec_torch.federation.parts import check_mode
from fedspec_torch.federation.training import Training
from fedspec_torch.forms.printed import form_of, run_under
from fedspec_torch.forms.servers import IN_PLACE
from fedspec_torch.forms.table import client_of
from fedspec_torch.layers.loops import lent
from fedspec_torch.ranks import sharded
from fedspec_torch.ranks.processes import Ranks
from fedspec_torch.ranks.shards import Shards
from fedspec_torch.run import kept, late_updates, saved
from fedspec_torch.run.agreement import fingerprint, first_losses, mean_loss
from fedspec_torch.run.diverged import DivergedError, check_losses, why
from fedspec_torch.run.rates import Rated
from fedspec_torch.run.rounds import run_round, run_step
from fedspec_torch.run.schedules import Event, Schedule


@dataclass(frozen=True)
class Round:
    """What is known of a round once it is done.

    Attributes:
        round: its number, from 0; where updates arrive, that of the server's step.
        loss: the mean of the clients' losses on their first minibatches, each at the model that it began from, weighted
            by their sample sizes: so it is that of the model before the round. NaN where nobody computed a gradient.
        floats_sent: how many numbers were sent since the first round, to clients, from them and between them.
        test_loss: of the model after the round, where it was evaluated.
        accuracy: likewise, the share of test examples that it puts into the right class; None where targets are no
            classes, or there is one output for each example.
    """

    round: int
    loss: float
    floats_sent: int
    test_loss: float | None = None
    accuracy: float | None = None


@dataclass(eq=False)
class Run:
    """A run of an algorithm on a federation: an iterator over its rounds.

    It may be stopped after any round, saved, and gone on with: what follows is the same, bit for bit.

    Attributes:
        algorithm: its row of the catalogue.
        h: its hyper-parameters and options.
        federation: what it trains.
        plan: its schedule.
        state: the algorithm's state after the rounds done so far; the next round may write over its vectors.
        rounds: after how many the run ends.
        history: the rounds done so far.
        shards: how the clients are divided over ranks; None: they are not.
        lends: whether torch lends its threads to compiled loops in the next round, because all clients of this one were
            trained in them.
    """

    algorithm: Algorithm
    h: Any
    federation: Federation
    plan: Schedule
    state: Any
    rounds: int
    block: int | None = None
    test: Examples | None = None
    test_every: int = 1
    history: list[Round] = field(default_factory=list)
    shards: Shards | None = None
    lends: bool = False
    whole: bool = field(default=True, init=False)
    """Whether no round was broken off, which may leave the state half written over."""
    functions: Method | Program = field(init=False)
    """Those that run under ``h``: what is printed, unless something else is asked."""

    def __post_init__(self) -> None:
        self.functions = run_under(self.algorithm, self.h)

    @property
    def ranks(self) -> Ranks:
        """The processes that the run has; all of them take every step of it together."""
        return self.shards.ranks if self.shards else Ranks()

    def __len__(self) -> int:
        """How many rounds are left."""
        return max(0, self.rounds - len(self.history))

    def __iter__(self) -> Iterator[Round]:
        while len(self):
            yield self.step()

    @property
    def x(self) -> Vector:
        """The model, as one vector of its own; where there is no server, the mean of the clients' models."""
        return self._x.clone()

    @property
    def _x(self) -> Vector:
        """The same, maybe the vector that the next round writes over."""
        return self._model(self.state)

    def _model(self, state: Any) -> Vector:
        x: Vector = state if isinstance(state, Tensor) else state.x
        return x.reshape(len(self.federation), -1).mean(0) if "peers" in self.algorithm.takes else x

    def module(self) -> nn.Module:
        """The federation's module with the parameters of the model."""
        return self.federation.module_at(self._x)

    def step(self) -> Round:
        """Run one round.

        Raises:
            DivergedError: a client's loss, or the model after the last round, is no number.
            PlanError: a round was broken off after it had begun to write over the state.
        """
        check_mode(f"round {len(self.history)}", self.federation.x0.device.type)
        number, before = len(self.history), self.history[-1].floats_sent if self.history else 0
        if not self.whole:
            raise PlanError(
                f"round {number} was broken off, its state is half written; resume a saved run, or begin again"
            )
        events = self.plan.events(self.algorithm, self.h, self.federation.setup, self.federation.x0, number)
        check_events(events, self.algorithm, number)
        clients = self.federation.in_round(number, keeps=isinstance(events[0], Exchange))
        with lent() if self.lends else nullcontext():
            state = self._after(clients, events)
        self.lends = clients.taken == {"compiled"}
        losses = first_losses(clients, self.ranks)
        unclean = partial(without_number, self.federation.pool, [*clients.losses])
        check_losses(losses, number, unclean)
        loss = mean_loss(losses, self.federation.pool.examples)
        done = Round(number, loss, before + self.sent(events))
        ends = number + 1 == self.rounds
        # A look costs a few steps of two clients, and runs are long: at rounds 2, 4, 8, ..., and the last.
        looks, tests = ends or (number and number & (number + 1) == 0), ends or (number + 1) % self.test_every == 0
        x = self._model(state) if looks or (tests and self.test is not None) else None
        if x is not None and ends and not bool(x.isfinite().all()):
            raise DivergedError(f"round {number}: the model is no number after it, the last round; {why(unclean())}")
        if x is not None and looks:
            with self.ranks.alone():
                clients.look_again(x)
        if x is not None and tests and self.test is not None:
            found = (math.nan, math.nan)
            if self.ranks.rank == 0:
                found = self.federation.evaluate(x, self.test)
            test_loss, accuracy = self.ranks.said(found)
            done = replace(done, test_loss=test_loss, accuracy=None if math.isnan(accuracy) else accuracy)
        # Both together: a round that breaks off before, and has written over nothing, may be run again.
        self.state, self.whole = state, True
        self.history.append(done)
        return done

    def _after(self, clients: Training, events: tuple[Event, ...]) -> Any:
        run = self.functions
        if isinstance(run, Method):
            (plan,) = events
            assert isinstance(plan, Plan)
            # The first state shares the model that the federation began with.
            in_place = form_of(IN_PLACE, run.server)
            if self.history and in_place:
                run, self.whole = replace(run, server=in_place), False
            done = run_round(run, self.h, self.state, clients, plan, block=self.block, shards=self.shards)
            return done.state
        if run.event == "arrival":
            late, arrived = getattr(self.plan, "largest_delay", None), cast("tuple[Arrival, ...]", events)
            client = client_of(run, self.h, self.state)
            form = partial(client_of, run, state=self.state) if client else None
            run = sharded.served(run, self.shards) if self.shards else run
            with sharded.population(clients, self.block, self.shards, client=client) as everyone:
                return late_updates.run(run, self.h, self.state, everyone, arrived, largest_delay=late, form=form)
        self.whole = not kept.is_written_over(self.state)
        own = kept.may_be_written(self.state, len(self.federation))
        state, _ = run_step(run, self.h, self.state, clients, *events, block=self.block, shards=self.shards, own=own)
        return state

    def sent(self, events: tuple[Event, ...]) -> int:
        """How many floats are sent in a round, by the formulas of the algorithm's row."""
        shapes = self.federation.network.shapes
        sizes = {"d": sum(self.federation.network.sizes), "n": len(self.federation), "m": len(events)}
        cover = getattr(self.h, "cover", None)
        sizes["q"] = named_cover(CoverName(cover), shapes).q if cover else 0
        match events[0]:
            case Plan(participants=who, steps=steps):
                sizes |= {"m": len(who), "tau": max(steps)}
            case Exchange(senders=who, computing=sets, mixing=W):
                links = int((W != 0).sum()) - int((W.diagonal() != 0).sum())
                sizes |= {"m": len(who), "tau": len(sets), "|E|": links}
            case Arrival(steps=tau):
                sizes |= {"tau": tau}
        costs = self.algorithm.costs
        return sum(floats(formula, sizes) for formula in (costs.down, costs.up, costs.gossip))

    def save(self, file: str | Path) -> None:
        """Write everything that the rest of the run depends on, except for the federation itself.

        The file is a safetensors file, which runs no code when it is read; it is replaced at once or not at all. Of
        several ranks all call this, and rank 0 writes.

        Raises:
            CheckpointError: a round was broken off; or on the other ranks, where rank 0 could not.
        """
        if not self.whole:
            raise saved.CheckpointError(
                f"{file}: round {len(self.history)} was broken off, its state is half written; resume an earlier file"
            )
        content = {
            "algorithm": self.algorithm.id,
            "h": self.h,
            "plan": self.plan.plan if isinstance(self.plan, Rated) else self.plan,
            "rates": self.plan.told(len(self.history), self.rounds, len(self.federation))
            if isinstance(self.plan, Rated)
            else {},
            "state": sharded.gathered(self.state),
            "rounds": self.rounds,
            "block": self.block,
            "test_every": self.test_every,
            "history": tuple(self.history),
            "choices": self.federation.choices,
            "federation": fingerprint(self.federation),
            "later": own_of(self.federation.model, self.federation.loss),
            "shards": self.shards.count if self.shards else 1,
            "lends": self.lends,
        }
        refused: OSError | saved.CheckpointError | None = None
        if self.ranks.rank == 0:
            try:
                saved.write(Path(file), content)
            except (OSError, saved.CheckpointError) as error:
                refused = error
        reason = self.ranks.said(str(refused or ""))
        if refused:
            raise refused
        if reason:
            raise saved.CheckpointError(f"{file}: rank 0 could not write it: {reason}")


def check_events(events: Any, algorithm: Algorithm, round: int) -> None:
    """Refuse what a schedule of the user's own gives other than events that the algorithm takes.

    Raises:
        PlanError: with the round, and what is wanted.
    """
    kind = {"round": Plan, "exchange": Exchange, "arrival": Arrival}[algorithm.event or "round"]
    some = isinstance(events, tuple | list) and len(events) > 0 and all(isinstance(event, kind) for event in events)
    if not some or (kind is not Arrival and len(events) > 1):
        count = "one or more" if kind is Arrival else "one"
        raise PlanError(
            f"plan: round {round}: its events are {events!r}; {algorithm.id} takes a tuple of {count} {kind.__name__}"
        )
