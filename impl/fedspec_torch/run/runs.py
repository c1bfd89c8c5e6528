"""Run of an algorithm on a federation, round by round."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeAlias, cast

import torch
from torch import Tensor, nn

from fedspec.catalogue import Algorithm, LocalSolver, Method, Program
from fedspec.costs import floats
from fedspec.covers import named_cover
from fedspec.errors import PlanError
from fedspec.hyper import NOT_GIVEN
from fedspec.plan import Arrival, Exchange, Plan
from fedspec.readings import CoverName
from fedspec_torch import setup_time
from fedspec_torch.arith import Vector
from fedspec_torch.compiling import lent
from fedspec_torch.data.examples import without_number
from fedspec_torch.fast_paths.registry import client_of
from fedspec_torch.fast_paths.servers import IN_PLACE
from fedspec_torch.federation.federation import Federation
from fedspec_torch.federation.fingerprints import fingerprint_of
from fedspec_torch.federation.module_checks import check_mode
from fedspec_torch.federation.statistics import Moving, Reading, after, check_reading, shown
from fedspec_torch.federation.training import Training
from fedspec_torch.ranks import sharded
from fedspec_torch.ranks.processes import RankError, Ranks
from fedspec_torch.ranks.shards import Shards
from fedspec_torch.refusals import ModuleError
from fedspec_torch.run import checkpoints, client_memory, late_updates
from fedspec_torch.run.agreement import described, first_losses, mean_loss
from fedspec_torch.run.divergence import DivergedError, check_losses, explain_non_finite
from fedspec_torch.run.early_stopping import Stop, notify
from fedspec_torch.run.metrics import Metric, Told, measured
from fedspec_torch.run.per_client import ByClient, evaluate_each, models_of
from fedspec_torch.run.rates import Rated
from fedspec_torch.run.rounds import run_round, run_step
from fedspec_torch.run.schedules import Event, Schedule, check_events, steps_in, took_part

Moved: TypeAlias = tuple[Vector | None, dict[int, Vector], tuple[int, ...]]
"""Running statistics of the server and of the clients, and the participants of the last round."""


WRITING = "the server had begun to write over its vectors"
UNDOING = "another interrupt came while it was undone"


@dataclass(frozen=True)
class Round:
    """Record of a round once it is done.

    Attributes:
        round: the number of the round, from 0; for late updates, the number of the server's step.
        loss: the mean of the clients' losses on their first minibatches, weighted by sample sizes. A client's loss is
            taken at the model from which it began, so the mean belongs to the model before the round. NaN if no client
            computed a gradient.
        floats_sent: the number of floats sent since the first round: to clients, from clients and between clients.
        test_loss: the test loss of the model after the round; None if the round has no evaluation.
        accuracy: the share of test examples that this model classifies correctly; None without evaluation, if targets
            aren't classes, or if the module has one output for each example.
        metrics: the values of the user's metrics for this model by name; metrics that couldn't be computed are missing.
        clients: the results on the clients' own test sets; None without ``client_tests``, or without evaluation.
    """

    round: int
    loss: float
    floats_sent: int
    test_loss: float | None = None
    accuracy: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    clients: ByClient | None = field(default=None, compare=False)


@dataclass(eq=False, repr=False)
class Run:
    """A run of an algorithm on a federation: an iterator over its rounds.

    You can stop a run after any round, save it and continue it: the rest is the same, bit for bit.

    Attributes:
        algorithm: the algorithm's row of the catalogue.
        h: the algorithm's hyper-parameters and options.
        federation: the federation to train.
        plan: the schedule of the run.
        state: the algorithm's state after the last finished round; the next round may overwrite its vectors.
        rounds: the number of rounds after which the run ends; it can be increased at any time.
        history: the records of the finished rounds.
        shards: the division of the clients over ranks; None: one process.
        b: the server's running statistics after the last finished round; None: the initial ones.
        own_b: the running statistics that clients keep.
        took: the participants of the last round, or the clients whose late updates the server took last.
        metrics: functions of output and targets of the test set, by name.
        client_tests: each client's own test set; None for a client without one.
        told: callbacks, called with the run and each finished round; if one raises an error, the run stays in the state
            after that round.
        times: the measured seconds of each round of the history, evaluation included; imports, compilation and the
            choice of gradient methods aren't included.
        usual: the hyper-parameters that weren't given, at their default values (:mod:`fedspec.usual`).
        lends: True if torch gives its threads to compiled loops in the next round, because compiled loops trained all
            clients of this round.
    """

    algorithm: Algorithm
    h: Any
    federation: Federation
    plan: Schedule
    state: Any
    rounds: int
    block: int | None = None
    test: Any = None
    test_every: int = 1
    history: list[Round] = field(default_factory=list)
    shards: Shards | None = None
    lends: bool = False
    b: Vector | None = None
    own_b: dict[int, Vector] = field(default_factory=dict)
    took: tuple[int, ...] = ()
    usual: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    told: tuple[Told, ...] = ()
    times: list[float] = field(default_factory=list)
    client_tests: Sequence[Any] | None = None
    client_steps: int = field(default=0, init=False)
    """Number of local steps that clients took since this object was created."""
    broken: str = field(default="", init=False)
    """Why the state is half written: a round failed and couldn't be undone; "" otherwise."""

    def __post_init__(self) -> None:
        served = "peers" not in self.algorithm.takes
        if self.federation.network.running and not served and self.federation.statistics != Reading.KEPT:
            raise PlanError(
                f"statistics: {self.algorithm.id} has no server, so running statistics can't be "
                f"{self.federation.statistics}; make the federation with statistics='kept'"
            )
        if self.ranks.size > 1 and self.federation.network.running and self.federation.statistics == Reading.RECOMPUTED:
            raise PlanError(
                "statistics: recomputed statistics need all participants' examples, but each rank has only its own; "
                "take another option"
            )

    @property
    def functions(self) -> Method | Program:
        """Functions of the algorithm."""
        run = self.algorithm.run
        assert not isinstance(run, LocalSolver)
        return run

    def __repr__(self) -> str:
        return f"<Run of {self.algorithm.id}: {len(self.history)} of {self.rounds} rounds on {self.federation!r}>"

    @property
    def whole(self) -> bool:
        """True if the state is consistent with the history: the run may be saved and continued."""
        return not self.broken

    @property
    def ranks(self) -> Ranks:
        """Processes of the run; all of them call each of its methods together."""
        return self.shards.ranks if self.shards else Ranks()

    def __len__(self) -> int:
        """Number of rounds left."""
        return max(0, self.rounds - len(self.history))

    def __iter__(self) -> Iterator[Round]:
        while len(self):
            try:
                done = self.step()
            except Stop:
                yield self.history[-1]
                return
            yield done

    @property
    def x(self) -> Vector:
        """Copy of the model as one vector; without a server, the mean of the clients' models."""
        return self._x.clone()

    @property
    def _x(self) -> Vector:
        """Model; maybe the vector that the next round writes over."""
        return self._model(self.state)

    def _model(self, state: Any) -> Vector:
        x: Vector = state if isinstance(state, Tensor) else state.x
        return x.reshape(len(self.federation), -1).mean(0) if "peers" in self.algorithm.takes else x

    @property
    def _keeps_statistics(self) -> bool:
        """True if each client keeps its own running statistics."""
        return bool(self.federation.network.running) and self.federation.statistics == Reading.KEPT

    def _of_clients(self, state: Any, moved: Moved) -> Callable[[int], tuple[Vector, Vector]]:
        """Function from a client's number to its model and running statistics; what it doesn't keep is the server's."""
        rows, b0 = models_of(self.algorithm, self.h, state, self.federation), self.federation.b0
        x = self._model(state)
        b = self._shown(x, *moved) if rows is None and not self._keeps_statistics else b0

        def of(i: int) -> tuple[Vector, Vector]:
            own = x if rows is None else rows[i]
            if self._keeps_statistics:
                return own, moved[1].get(i, b0)
            return own, b if rows is None else self._shown(own, *moved)

        return of

    def module(self, client: int | None = None) -> nn.Module:
        """Return a copy of the federation's module with the run's model and running statistics.

        Args:
            client: number of the client whose model the copy has, if clients keep models between rounds, as in gossip,
                or whose running statistics, if clients keep these. None: the server's; without a server, the mean of
                the clients' models, and of their statistics by sample sizes.

        Raises:
            PlanError: no client has that number, or clients keep neither models nor running statistics.
            ModuleError: torch can't copy the module.
        """
        moved = self.b, self.own_b, self.took
        if client is None:
            x = self._model(self.state)
            return self.federation.module_at(x, self._shown(x, *moved))
        if client not in range(len(self.federation)):
            raise PlanError(f"module: got client {client}; the clients are 0 to {len(self.federation) - 1}")
        if models_of(self.algorithm, self.h, self.state, self.federation) is None and not self._keeps_statistics:
            raise PlanError(
                f"module: got client {client}, but clients of {self.algorithm.id} keep no model between rounds; call "
                "run.module() for the server's model"
            )
        return self.federation.module_at(*self._of_clients(self.state, moved)(client))

    def _shown(self, x: Vector, b: Vector | None, own: Mapping[int, Vector], took: Sequence[int]) -> Vector:
        """The running statistics with which a model is evaluated and given out."""
        if took and self.federation.network.running and self.federation.statistics == Reading.RECOMPUTED:
            return self.federation.recomputed(x, took)
        return shown(self.federation.b0 if b is None else b, own, self.federation.pool.examples)

    def step(self) -> Round:
        """Run one round.

        Raises:
            DivergedError: a client's loss, or the model after the last round, isn't finite.
            PlanError: all rounds are done; or an earlier round stopped after it had begun to overwrite the state.
            Stop: a callback ends the run; the round is done.
        """
        if not len(self):
            n = len(self.history)
            raise PlanError(
                f"rounds: all {n} are done; to play more, set run.rounds, or resume a saved run with rounds={n + 1} or "
                "more"
            )
        number = len(self.history)
        if not self.whole:
            raise PlanError(
                f"round {number} failed and left the state half written: {self.broken}; resume a saved run, or begin "
                "again"
            )
        with self.federation.in_its_modes(), client_memory.undoable(self.state) as before:
            try:
                return self._step()
            except BaseException as error:
                if len(self.history) == number and self.whole:
                    self.broken = UNDOING
                    before.undo()
                    self.broken = before.lost
                if isinstance(error, ModuleError) and error.client is not None:
                    raise self._by_example(error) from error.__cause__
                raise

    def _step(self) -> Round:
        since = time.perf_counter() - setup_time.seconds()
        check_mode(f"round {len(self.history)}", self.federation.x0.device.type)
        number, before = len(self.history), self.history[-1].floats_sent if self.history else 0
        events = self.plan.events(self.algorithm, self.h, self.federation.setup, self.federation.x0, number)
        check_events(events, self.algorithm, number)
        begun = self.federation.b0 if self.b is None else self.b
        moving = Moving(begun, self.own_b) if self.federation.network.running else None
        clients = self.federation.in_round(number, keeps=isinstance(events[0], Exchange), moving=moving)
        with lent() if self.lends else nullcontext():
            state = self._after(clients, events)
        self.lends = clients.taken == {"compiled"}
        losses = first_losses(clients, self.ranks)
        unclean = partial(without_number, self.federation.pool, [*clients.losses])
        check_losses(losses, number, unclean)
        loss = mean_loss(losses, self.federation.pool.examples)
        moved = self._statistics(moving, events)
        done = Round(number, loss, before + self.sent(events))
        ends = number + 1 == self.rounds
        # A look costs a few steps of two clients, and runs are long: at rounds 2, 4, 8, ..., and the last.
        looks, tests = ends or (number and number & (number + 1) == 0), ends or (number + 1) % self.test_every == 0
        failed: Exception | None = None
        x = self._model(state) if looks or (tests and self.test is not None) else None
        if x is not None and ends and not bool(x.isfinite().all()):
            raise DivergedError(
                f"round {number}: the model isn't finite after it, the last round; {explain_non_finite(unclean())}"
            )
        if x is not None and looks:
            with self.ranks.alone():
                clients.look_again(x)
        if x is not None and tests and self.test is not None:
            done, failed = self._tested(done, x, moved)
        if tests and self.client_tests is not None:
            model = self._of_clients(state, moved)
            own, why = evaluate_each(self.federation, model, self.client_tests, self.metrics)
            done, failed = replace(done, clients=own), failed or why
        # All together: a round that breaks off before is undone, and may be run again.
        self.state, (self.b, self.own_b, self.took), self.broken = state, moved, ""
        self.history.append(done)
        self.times.append(time.perf_counter() - setup_time.seconds() - since)
        self.client_steps += steps_in(events)
        if failed:
            raise failed
        stop = notify(self.told, self, done)
        # One rank's stop is that of all.
        if any(self.ranks.told(stop is not None)):
            raise stop or Stop("another rank has ended the run")
        return done

    def _tested(self, done: Round, x: Vector, moved: Moved) -> tuple[Round, Exception | None]:
        """Round with the model's test results, and the reason why a metric has none; equal on all ranks."""
        assert self.test is not None
        test_loss, accuracy, values, failed = math.nan, math.nan, dict[str, float](), None
        if self.ranks.rank == 0:
            output: list[Any] = []
            try:
                test_loss, accuracy = self.federation.evaluate(x, self.test, self._shown(x, *moved), output.append)
            except ModuleError as error:
                raise self._by_example(error, self.test) from error.__cause__
            values, failed = measured(self.metrics, *output[0])
        test_loss, accuracy, values, why = self.ranks.said((test_loss, accuracy, values, str(failed or "")))
        if why and not failed:
            failed = RankError(f"rank 0: {why}")
        known = None if math.isnan(accuracy) else accuracy
        return replace(done, test_loss=test_loss, accuracy=known, metrics=values), failed

    def _by_example(self, error: ModuleError, test: Any = None) -> ModuleError:
        """Refusal with the example that it is about, if it is about one."""
        example = self.federation.not_taken(error.client, test)
        return ModuleError(f"{error}; {example}") if example else error

    def _statistics(self, moving: Moving | None, events: tuple[Event, ...]) -> Moved:
        """Running statistics after a round, of the server and of the clients that keep theirs; equal on all ranks."""
        took = took_part(events)
        if moving is None:
            return None, {}, took
        now = moving.now
        if self.ranks.size > 1:
            told = self.ranks.told({i: row.cpu() for i, row in now.items()})
            now = {i: row.to(moving.begun.device) for some in told for i, row in some.items()}
        reading, n = check_reading(self.federation.statistics), self.federation.pool.examples
        return *after(reading, moving.begun, moving.own, now, took, n), took

    def _after(self, clients: Training, events: tuple[Event, ...]) -> Any:
        run, more = self.functions, dict[str, Any](block=self.block, shards=self.shards, begins=self._begins)
        if isinstance(run, Method):
            (plan,) = events
            assert isinstance(plan, Plan)
            in_place = IN_PLACE.get(run.server) if self.history else None
            more["server"] = wraps(in_place)(partial(in_place, begins=self._begins)) if in_place else None
            return run_round(run, self.h, self.state, clients, plan, **more, own=True).state
        if run.event == "arrival":
            late, arrived = getattr(self.plan, "largest_delay", None), cast("tuple[Arrival, ...]", events)
            client = client_of(run, self.h, self.state)
            form = partial(client_of, run, state=self.state) if client else None
            run = sharded.served(run, self.shards) if self.shards else run
            with sharded.population(clients, self.block, self.shards, client=client) as everyone:
                return late_updates.run(run, self.h, self.state, everyone, arrived, largest_delay=late, form=form)
        own = client_memory.may_be_written(self.state, len(self.federation))
        state, _ = run_step(run, self.h, self.state, clients, *events, **more, own=own)
        return state

    def _begins(self) -> None:
        """Note that a server begins to write over the state."""
        self.broken = WRITING

    def sent(self, events: tuple[Event, ...]) -> int:
        """Number of floats sent in a round, by the formulas of the algorithm's row."""
        shapes = self.federation.network.shapes
        sizes = {"d": sum(self.federation.network.sizes), "n": len(self.federation), "m": len(events)}
        # Fragments take turns, and are made of every P-th parameter of the module.
        P = getattr(self.h, "P", 1)
        fragments = P if isinstance(P, int) and P > 0 else 1
        sizes["p"] = sum(self.federation.network.sizes[len(self.history) % fragments :: fragments])
        cover = getattr(self.h, "cover", None)
        # Scaled signs are sent with one float; signs and places are whole numbers, and not counted.
        kept = getattr(self.h, "kept", NOT_GIVEN)
        sizes["k"] = 1 if kept is NOT_GIVEN else min(kept, sizes["d"])
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
        # Averaged statistics go to everybody who takes part, and come back; those of the last one too, for all we know.
        is_sent = "peers" not in self.algorithm.takes and self.federation.statistics != Reading.KEPT
        beside = 2 * sizes["m"] * len(self.federation.b0) if is_sent else 0
        return beside + sum(floats(formula, sizes) for formula in (costs.down, costs.up, costs.gossip))

    def save(self, file: str | Path) -> None:
        """Write everything that the rest of the run depends on, except the federation, to a file.

        The file is a safetensors file, which runs no code when it is read; it is replaced at once or not at all. Of
        several ranks all call this, and rank 0 writes.

        Raises:
            CheckpointError: a round stopped before its end; or, on other ranks, rank 0 couldn't write the file.
        """
        if not self.whole:
            raise checkpoints.CheckpointError(
                f"{file}: round {len(self.history)} failed and left the state half written: {self.broken}; resume an "
                "earlier file"
            )
        known, parts = described(self.federation)
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
            "times": tuple(self.times),
            "choices": self.federation.choices,
            "federation": known,
            "later": fingerprint_of(self.federation.model, self.federation.loss).digests,
            "parts": parts,
            "shards": self.shards.count if self.shards else 1,
            "lends": self.lends,
            "b": self.b,
            "took": self.took,
            "usual": dict(self.usual),
            "own_b": (tuple(self.own_b), torch.stack([*self.own_b.values()])) if self.own_b else None,
        }
        refused: OSError | checkpoints.CheckpointError | None = None
        if self.ranks.rank == 0:
            try:
                checkpoints.write(Path(file), content)
            except (OSError, checkpoints.CheckpointError) as error:
                refused = error
        reason = self.ranks.said(str(refused or ""))
        if refused:
            raise refused
        if reason:
            raise checkpoints.CheckpointError(f"{file}: rank 0 could not write it: {reason}")
