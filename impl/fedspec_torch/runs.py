"""Training a federation with any algorithm of the catalogue, round by round."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from fedspec.catalogue import Algorithm, LocalSolver, Method, find
from fedspec.costs import floats
from fedspec.errors import FedspecError, ParameterError, PlanError, UnknownNameError
from fedspec.hyper import NOT_GIVEN
from fedspec.plan import Arrival, Exchange, Plan, Setup
from fedspec.readings import CoverName
from fedspec_torch import kept, late_updates, saved, sharded
from fedspec_torch.agreement import divided, fingerprint, mean_loss
from fedspec_torch.arith import Vector
from fedspec_torch.covers import named_cover, with_axes
from fedspec_torch.data import Examples
from fedspec_torch.fast_servers import IN_PLACE
from fedspec_torch.federation import Federation, Training
from fedspec_torch.ranks import Ranks, here
from fedspec_torch.rounds import run_round, run_step
from fedspec_torch.schedules import Event, Schedule
from fedspec_torch.shards import Shards


class DivergedError(FedspecError):
    """The loss is no number any more; the message says when, and what to try."""


@dataclass(frozen=True)
class Round:
    """What is known of a round once it is done.

    Attributes:
        round: its number, from 0; where updates arrive, that of the server's step.
        loss: the mean of the clients' losses on their first minibatches, each at the model that it began from, weighted
            by their sample sizes: so it is that of the model before the round. NaN where nobody computed a gradient.
        floats_sent: how many numbers were sent since the first round, to clients, from them and between them.
        test_loss: of the model after the round, where it was evaluated.
        accuracy: likewise, the share of test examples that it puts into the right class.
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
    whole: bool = field(default=True, init=False)
    """Whether no round was broken off, which may leave the state half written over."""

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
        x: Vector = self.state if isinstance(self.state, Tensor) else self.state.x
        return x.reshape(len(self.federation), -1).mean(0) if "peers" in self.algorithm.takes else x

    def module(self) -> nn.Module:
        """The federation's module with the parameters of the model."""
        return self.federation.module_at(self._x)

    def step(self) -> Round:
        """Run one round.

        Raises:
            DivergedError: a client's loss is no number.
        """
        number, before = len(self.history), self.history[-1].floats_sent if self.history else 0
        events = self.plan.events(self.algorithm, self.h, self.federation.setup, self.federation.x0, number)
        clients = self.federation.in_round(number)
        self.state = self._after(clients, events)
        self.whole = True
        loss = mean_loss(clients, self.ranks)
        if loss is None:
            loss = math.nan
        elif not math.isfinite(loss):
            raise DivergedError(
                f"round {number}: the loss is {loss}; the model has diverged (a smaller eta_l or eta may help)"
            )
        done = Round(number, loss, before + self.sent(events))
        if self.test is not None and ((number + 1) % self.test_every == 0 or number + 1 == self.rounds):
            x, found = self._x, (math.nan, math.nan)
            if self.ranks.rank == 0:
                found = self.federation.evaluate(x, self.test)
            test_loss, accuracy = self.ranks.said(found)
            done = replace(done, test_loss=test_loss, accuracy=None if math.isnan(accuracy) else accuracy)
        self.history.append(done)
        return done

    def _after(self, clients: Training, events: tuple[Event, ...]) -> Any:
        run = self.algorithm.run
        if isinstance(run, Method):
            (plan,) = events
            assert isinstance(plan, Plan)
            # The first state shares the model that the federation began with.
            own = bool(self.history)
            self.whole = not (own and run.server in IN_PLACE)
            done = run_round(run, self.h, self.state, clients, plan, block=self.block, shards=self.shards, own=own)
            return done.state
        assert not isinstance(run, LocalSolver)
        if run.event == "arrival":
            late, arrived = getattr(self.plan, "largest_delay", None), cast("tuple[Arrival, ...]", events)
            run = sharded.served(run, self.shards) if self.shards else run
            with sharded.population(clients, self.block, self.shards) as everyone:
                return late_updates.run(run, self.h, self.state, everyone, arrived, largest_delay=late)
        self.whole = not kept.is_written_over(self.state)
        state, _ = run_step(run, self.h, self.state, clients, *events, block=self.block, shards=self.shards)
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
            "plan": self.plan,
            "state": sharded.gathered(self.state),
            "rounds": self.rounds,
            "block": self.block,
            "test_every": self.test_every,
            "history": tuple(self.history),
            "choices": self.federation.choices,
            "federation": fingerprint(self.federation),
            "shards": self.shards.count if self.shards else 1,
        }
        refused: OSError | None = None
        if self.ranks.rank == 0:
            try:
                saved.write(Path(file), content)
            except OSError as error:
                refused = error
        reason = self.ranks.said(str(refused or ""))
        if refused:
            raise refused
        if reason:
            raise saved.CheckpointError(f"{file}: rank 0 could not write it: {reason}")


def simulate(
    algorithm: str,
    federation: Federation,
    *,
    plan: Schedule,
    rounds: int = 100,
    reading: str | None = None,
    block: int | None = None,
    test: Examples | None = None,
    test_every: int = 1,
    shards: int | None = None,
    client_state: str | Path | None = None,
    **hyper: Any,
) -> Run:
    """A run of an algorithm of the catalogue, from the federation's model; nothing is computed yet.

    Args:
        algorithm: its id (``fedspec list``).
        federation: model, loss and data.
        plan: who takes part when: ``cohorts``, ``exchanges`` or ``arrivals``, or anything with their method.
        rounds: after how many the run ends.
        reading: a reading of the algorithm; None: the canonical one.
        block: how many clients are trained at once; None: as many as fit the cache.
        test: inputs and targets on which the model is evaluated.
        test_every: after how many rounds it is.
        shards: into how many parts the clients are divided, of which a rank holds whole ones; the numbers depend on it
            in their last bits, and not on how many ranks there are. None: one for each rank of the default group of
            ``torch.distributed``, or one where there is none.
        client_state: a folder for what clients remember (control variates, moments of their own): it stands in a file
            there that is gone with the process, and needs no memory for those that are not asked. None: in memory.
        hyper: hyper-parameters and options by the names of ``fedspec show ALGORITHM``.

    Raises:
        UnknownNameError: there is no such algorithm, reading, hyper-parameter or option.
        ParameterError: a hyper-parameter is missing, outside its domain or beyond the model's type, or an option
            contradicts the reading.
        PlanError: the algorithm is a local solver, there are no rounds, there are fewer shards than ranks, or the
            folder for what clients remember does not exist or has no room.
        RankError: the ranks do not begin from the same model, data and hyper-parameters, or one of them is gone.
    """
    row = trainer(algorithm)
    assert not isinstance(row.run, LocalSolver)
    if rounds < 1 or test_every < 1:
        raise PlanError(f"rounds, test_every: got {rounds} and {test_every}; both are at least 1")
    h = hyper_of(row, reading, hyper)
    _check_finite(h, federation.x0.dtype)
    parts = divided(federation, shards, block, (row.id, repr(h), rounds, test_every))
    x = federation.x0
    if "peers" in row.takes:
        x = x.repeat(len(federation))
    state = begun(row, h, x, federation.setup, federation, block, parts, client_state)
    return Run(row, h, federation, plan, state, rounds, block, test, test_every, shards=parts)


def begun(
    row: Algorithm,
    h: Any,
    x: Vector,
    setup: Setup,
    federation: Federation,
    block: int | None = None,
    shards: Shards | None = None,
    client_state: str | Path | None = None,
) -> Any:
    """The state with which a run begins; where there is a server, its clients' rows are written where they are."""
    assert not isinstance(row.run, LocalSolver)
    served = "peers" not in row.takes
    with ExitStack() as entered:
        if served and shards is None:
            entered.enter_context(kept.Alike(setup.clients))
        entered.enter_context(sharded.population(federation, block, shards))
        state = row.run.init(h, x) if isinstance(row.run, Method) else row.run.init(h, x, setup)
        state = with_axes(state, h, setup.shapes)
        state = sharded.spread(state, shards) if shards else state
    return kept.remembered(state, setup.clients, client_state) if served else state


def trainer(algorithm: str) -> Algorithm:
    """The row of an algorithm that trains a federation.

    Raises:
        UnknownNameError: there is no such algorithm.
        PlanError: it is a local solver, which trains nothing by itself.
    """
    row = find(algorithm)
    if isinstance(row.run, LocalSolver):
        raise PlanError(
            f"{algorithm}: a local solver, which one client runs; simulate takes algorithms with level round or trace"
        )
    return row


def hyper_of(row: Algorithm, reading: str | None, given: Mapping[str, Any]) -> Any:
    """The record of an algorithm's hyper-parameters and options, from what is given of them.

    Raises:
        UnknownNameError: it has no such hyper-parameter or option.
        ParameterError: one is missing, outside its domain, or contradicts the reading.
    """
    for name in given:
        if name not in row.parameters:
            known = ", ".join(row.parameters)
            raise UnknownNameError(f"{name}: {row.id} has no such hyper-parameter or option; known: {known}")
    options = {n: str(v) for n, v in given.items() if n in row.options}
    resolved = row.resolve(reading or row.readings[0].name, options)
    numbers = {n: v for n, v in given.items() if n in row.numbers}
    assert not isinstance(row.run, LocalSolver)
    try:
        return row.run.hyper(**{**numbers, **resolved})
    except TypeError as error:
        missing = [n for n in needed(row, resolved) if n not in numbers]
        raise ParameterError(
            f"{', '.join(missing)}: not given; {row.id} needs {'it' if len(missing) == 1 else 'them'}"
        ) from error


def _check_finite(h: Any, dtype: torch.dtype) -> None:
    """Refuse a hyper-parameter that is infinite in the model's type."""
    largest = torch.finfo(dtype).max
    for name, value in vars(h).items():
        if isinstance(value, float) and abs(value) > largest:
            raise ParameterError(
                f"{name}: got {value}, more than {dtype} holds ({largest:.2g}); give less, or a model in float64"
            )


def needed(row: Algorithm, options: Mapping[str, str]) -> tuple[str, ...]:
    """The hyper-parameters that an algorithm has to be given under these options: those that have no default."""
    assert not isinstance(row.run, LocalSolver)
    free = {f.name for f in fields(row.run.hyper) if f.default is MISSING or f.default is NOT_GIVEN}
    return tuple(n for n in row.numbers_under("round", options) if n in free)


def resume(
    file: str | Path,
    federation: Federation,
    *,
    plan: Schedule | None = None,
    test: Examples | None = None,
    shards: int | None = None,
    client_state: str | Path | None = None,
) -> Run:
    """A saved run, ready to go on as if it had never been stopped.

    Args:
        file: what :meth:`Run.save` has written.
        federation: the same model, loss and data as before; data and code are not in the file.
        plan: needed only where the run's schedule was none of fedspec_torch's own.
        test: as before.
        shards: None: as many as before, with which the run goes on bit for bit on any number of ranks up to that; with
            more ranks, one for each.
        client_state: as in :func:`simulate`; all of it is in memory for a moment.

    Raises:
        CheckpointError: the file is truncated or none of fedspec's, or was written by a run of another federation.
        PlanError: the folder for what clients remember does not exist or has no room.
    """
    found = saved.read(Path(file), device=federation.x0.device)
    ours = fingerprint(federation)
    for what, there in found["federation"].items():
        if ours[what] != there:
            raise saved.CheckpointError(
                f"{file}: written by a run whose {what} was {there}, here it is {ours[what]}; "
                f"resume with the federation it was begun with"
            )
    if plan is None and found["plan"] is None:
        raise saved.CheckpointError(f"{file}: its schedule is not one of fedspec_torch's own; give it as plan")
    federation.choices.update(found["choices"])
    count = shards or max(found.get("shards", 1), here().size)
    parts = divided(federation, count, found["block"], (found["algorithm"], repr(found["h"]), len(found["history"])))
    row, state = find(found["algorithm"]), found["state"]
    state = sharded.spread(state, parts) if parts else state
    if "peers" not in row.takes:
        state = kept.remembered(state, len(federation), client_state)
    return Run(
        row,
        found["h"],
        federation,
        plan or found["plan"],
        state,
        found["rounds"],
        found["block"],
        test,
        found["test_every"],
        list(found["history"]),
        parts,
    )
