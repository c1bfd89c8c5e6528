"""Grid search for hyper-parameters: every combination is trained, and scored on held-out data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from fedspec.catalogue import Algorithm
from fedspec.errors import PlanError, UnknownNameError
from fedspec_torch.arith import check_whole
from fedspec_torch.data.loading import test_batch
from fedspec_torch.federation.federation import Federation
from fedspec_torch.ranks.processes import here
from fedspec_torch.run.arguments import trainer
from fedspec_torch.run.divergence import DivergedError
from fedspec_torch.run.early_stopping import Stop
from fedspec_torch.run.grid import Grid, Rates, checked, of_federation
from fedspec_torch.run.held_out import (
    CLIENTS,
    EXAMPLES,
    HeldOut,
    check_share,
    of_the_plan,
    of_the_population,
    remake,
    without_clients,
    without_examples,
)
from fedspec_torch.run.metrics import Told
from fedspec_torch.run.monitoring import checked_callbacks
from fedspec_torch.run.rates import Rate, Rated
from fedspec_torch.run.runs import Run
from fedspec_torch.run.schedules import Schedule
from fedspec_torch.run.simulation import check_federation
from fedspec_torch.run.trial_log import Trial, Trials, question_record

LAST = 10
"""Share of the rounds that is scored: the last 1/LAST, averaged, since single rounds depend on the cohort."""

BY = ("loss", "accuracy")


@dataclass(frozen=True)
class Tuning:
    """Result of a grid search: all trials, and the best combination.

    Attributes:
        algorithm: the algorithm's id.
        choice: the chosen values by name.
        given: the hyper-parameters and options that stayed fixed.
        grid: the values that were tried, by name.
        trials: every combination, in the order of the search.
        by: ``loss`` or ``accuracy`` on the held-out data, a mean over the last ``judged`` rounds.
        rounds: number of rounds of each run.
        judged: number of last rounds over which the score is averaged.
        held_out: description of the held-out data.
        seed: seed from which the held-out data are drawn.
        seeds: number of runs of each combination.
        rates: the chosen hyper-parameters that vary by round, for ``simulate(..., rates=found.rates, **found.hyper)``.
    """

    algorithm: str
    choice: Mapping[str, Any]
    given: Mapping[str, Any]
    grid: Mapping[str, tuple[Any, ...]]
    trials: tuple[Trial, ...]
    by: str
    rounds: int
    judged: int
    held_out: str
    seed: int
    seeds: int = 1
    rates: Mapping[str, Rate] = field(default_factory=dict, repr=False, compare=False)

    @property
    def hyper(self) -> dict[str, Any]:
        """Hyper-parameters and options of the best combination for ``simulate``, without those in ``rates``."""
        beside = {*self.rates, *self.stated}
        return {n: v for n, v in {**self.given, **self.choice}.items() if n not in beside}

    @property
    def stated(self) -> dict[str, Any]:
        """Best settings of the federation, for ``dataclasses.replace(federation, **found.stated)``."""
        return of_federation(self.choice)

    @property
    def at_edge(self) -> tuple[str, ...]:
        """Names of hyper-parameters whose best value is an end of their grid: a better value may be outside."""
        found = []
        for name, values in self.grid.items():
            numbers = [v for v in values if isinstance(v, int | float)]
            if len(numbers) == len(values) > 1 and self.choice[name] in (min(numbers), max(numbers)):
                found.append(name)
        return tuple(found)


def tune(
    algorithm: str | Algorithm,
    federation: Federation,
    *,
    plan: Schedule,
    grid: Mapping[str, Sequence[Any]],
    rounds: int = 100,
    held_out: Any = 0.2,
    of: str | None = None,
    by: str = "loss",
    reading: str | None = None,
    rates: Rates | None = None,
    seed: int = 0,
    seeds: int = 1,
    save: str | Path | None = None,
    resume: str | Path | None = None,
    on_round: Told | Sequence[Told] | None = None,
    block: int | None = None,
    shards: int | None = None,
    client_state: str | Path | None = None,
    **hyper: Any,
) -> Tuning:
    """Train every combination of a grid, and choose the one with the best score on held-out data.

    A run that diverges is a trial without a score. Of equal scores the first wins. Keep the examples of a final test
    out of the tuning: its result must not depend on them.

    Args:
        algorithm: the algorithm's id, or its row.
        federation: model, loss and data; the federation isn't changed.
        plan: as in ``simulate``.
        grid: the values to try, by the name of a hyper-parameter or option; or of ``batch_size``, ``clip``,
            ``clip_value``, ``weight_decay`` or ``accumulate``, with which the federation is rebuilt.
        rounds: number of rounds of each run.
        held_out: the share to hold out; or examples that no client has, as (inputs, targets) or as a Dataset: then all
            clients keep their data.
        of: the held-out unit: ``clients``, or ``examples`` of each client; None: clients, unless the task needs the
            whole population (:mod:`fedspec_torch.run.held_out`); ``held_out`` of the result describes the choice.
        by: ``loss`` or ``accuracy``, averaged over the last tenth of the rounds.
        reading: a reading of the algorithm; None: the canonical one.
        rates: as in ``simulate``; or a function that returns such rates from a combination's values, the fixed
            arguments and the usual values, by name: its result's names vary by round, and may be in the grid.
        seed: seed from which the held-out data are drawn.
        seeds: number of runs of each combination, over which the score is averaged. Run j holds out data by ``seed`` +
            j, and adds j to the seeds of federation and plan.
        save: a file to which the trials are written after each combination.
        resume: a file that ``save`` wrote; its combinations aren't run again.
        on_round: a function, or several, called with the run and each finished round of every combination; raise
            ``Stop`` to abandon a combination.
        block: as in ``simulate``.
        shards: as in ``simulate``.
        client_state: as in ``simulate``.
        hyper: hyper-parameters and options that stay fixed.

    Raises:
        UnknownNameError: the algorithm, reading, hyper-parameter or option is unknown.
        ParameterError: the grid is empty, repeats a name of ``hyper``, or has a value outside its domain.
        PlanError: the data can't be held out as requested, targets have no accuracy, or there are several ranks.
        DivergedError: every combination diverged or was abandoned.
        CheckpointError: the file to resume belongs to another tuning, or can't be read.
    """
    row = trainer(algorithm)
    check_federation(federation)
    check_whole("rounds", rounds, "a run has at least one round")
    check_whole("seeds", seeds, "a combination is trained at least once")
    if here().size > 1:
        raise PlanError(
            "tune: it runs on one process only; tune without ranks first, and give the ranks the hyper-parameters "
            "that it chose"
        )
    if by not in BY:
        raise UnknownNameError(f"by: got {by!r}; known: {', '.join(BY)}")
    tell = checked_callbacks(on_round)
    more = {"block": block, "shards": shards, "client_state": client_state}
    asked = Grid(row, checked(row, grid, hyper), dict(hyper), reading, plan, rounds, rates, more)
    # What cannot be run is refused before anything is.
    records = [asked.record(combination, len(federation)) for combination in asked.combinations]
    aparts = [_apart(asked, records[0], _drawn(federation, k), held_out, of, seed + k) for k in range(seeds)]
    apart = aparts[0]
    if by == "accuracy" and math.isnan(federation.evaluate(federation.x0, apart.examples)[1]):
        raise PlanError("by: got 'accuracy', but the targets aren't classes; take by='loss'")
    schedule = asked.schedule(len(federation))
    question = {
        "algorithm": row.id,
        "reading": reading,
        "grid": asked.values,
        "given": {n: v if isinstance(v, int | float | str) else str(v) for n, v in hyper.items()},
        "rates of the first": schedule.told(0, rounds, len(federation)) if isinstance(schedule, Rated) else {},
        "rounds": rounds,
        "by": by,
        "seed": seed,
        "seeds": seeds,
        "held out": apart.words,
    }
    kept = Trials.begun(question_record(question, plan, federation, apart.examples), save, resume)
    judged = max(1, rounds // LAST)
    for combination in asked.combinations:
        if kept.of(combination) is None:
            kept.add(_tried(asked, combination, aparts, judged, by, tell))
    trials = tuple(t for c in asked.combinations if (t := kept.of(c)) is not None)
    choice = _best(row, trials, by).settings
    _, by_round = asked.settings(choice)
    words = apart.words
    return Tuning(row.id, choice, asked.given, asked.values, trials, by, rounds, judged, words, seed, seeds, by_round)


def _apart(asked: Grid, h: Any, federation: Federation, held_out: Any, of: str | None, seed: int) -> HeldOut:
    """Split a federation into the data to train on and the data to judge on."""
    if of not in (None, CLIENTS, EXAMPLES):
        raise UnknownNameError(f"of: got {of!r}; known: {CLIENTS}, {EXAMPLES}")
    if not isinstance(held_out, int | float):
        if of is not None:
            raise PlanError("of: given, but held_out already contains the examples; leave out one of the two")
        held_out = test_batch(held_out, federation.keys, federation.x0.device)
        return HeldOut(federation, held_out, f"{len(federation.tested(held_out)[0])} examples that were given")
    share = check_share(held_out)
    if of == CLIENTS and asked.row.event == "exchange":
        raise PlanError(f"of: the clients of {asked.row.id} form a graph, so none can be held out; take of='examples'")
    why = ""
    if of is None:
        why = of_the_population(asked.row, h, federation)
        why = why or of_the_plan(asked.row, h, federation, asked.plan, share, asked.schedule)
    if of == EXAMPLES or why:
        return without_examples(federation, share, seed, why)
    return without_clients(federation, share, seed)


def _drawn(federation: Federation, turn: int) -> Federation:
    """Federation with another seed for minibatches in every turn except the first."""
    return remake(federation, seed=federation.seed + turn) if turn else federation


def _tried(
    asked: Grid, combination: Mapping[str, Any], aparts: Sequence[HeldOut], judged: int, by: str, told: tuple[Told, ...]
) -> Trial:
    """Train one combination with each held-out set, up to the first run without a score."""
    scores, played = list[float](), 0
    for turn, apart in enumerate(aparts):
        run = asked.begun(apart.federation, combination, turn)
        score, reason = _scored(run, apart, judged, by, told)
        played += len(run.history)
        if reason:
            return Trial(combination, None, reason, played, tuple(scores))
        scores.append(score)
    return Trial(combination, fmean(scores), "", played, tuple(scores))


def _scored(run: Run, apart: HeldOut, judged: int, by: str, told: tuple[Told, ...]) -> tuple[float, str]:
    """Train, and look at the last rounds alone: their mean, and why there is none."""
    run.told, reason = told, ""
    try:
        while len(run):
            run.test = apart.examples if len(run) <= judged else None
            run.step()
    except DivergedError as error:
        reason = str(error)
    except Stop:
        # That of the last round comes too late.
        reason = f"given up after round {run.history[-1].round}" if len(run) else ""
    last = [r.test_loss if by == "loss" else r.accuracy for r in run.history[-judged:]]
    score = sum(math.nan if s is None else s for s in last) / max(1, len(last))
    if not reason and not math.isfinite(score):
        reason = f"the {by} on what is held out is {score}"
    return score, reason


def _best(row: Algorithm, trials: Sequence[Trial], by: str) -> Trial:
    scored = [t for t in trials if t.score is not None]
    if not scored:
        said = f"tune: all {len(trials)} combinations of {row.id} have diverged; try smaller rates"
        raise DivergedError(f"{said}. The first: {trials[0].diverged}")
    sign = 1 if by == "loss" else -1
    return min(scored, key=lambda t: sign * (t.score or 0.0))
