"""Runner of a recipe: each trial on each seed, as records that can be stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from fedspec.catalogue import Method
from fedspec.plan import Plan
from fedspec_torch.recipes.measures import MEASURES, Record, measured
from fedspec_torch.recipes.recipe import Recipe, Setting, Trial
from fedspec_torch.recipes.schedules import schedule
from fedspec_torch.run import by_round
from fedspec_torch.run.arguments import trainer
from fedspec_torch.run.divergence import DivergedError
from fedspec_torch.run.grid import combinations
from fedspec_torch.run.runs import Run
from fedspec_torch.run.simulation import simulate
from fedspec_torch.tasks import Task, task

POINTS = 100
"""Largest number of evaluations of a run, at equal intervals."""

TUNING_SEEDS = (1000, 1001)
"""Seeds of tuning runs, which no reported result uses."""


def play(recipe: Recipe, size: str, done: Callable[[str, int], bool] = lambda trial, seed: False) -> Iterator[Record]:
    """Run every trial on every seed that isn't ``done``, and yield each record as its run ends."""
    for trial, seed in product(recipe.trials, range(recipe.sizes[size].seeds)):
        if not done(trial.name, seed):
            yield played(recipe, size, trial, {**trial.set, **trial.tuned}, seed)


def points(trial: Trial) -> list[dict[str, Any]]:
    """Return all combinations of a trial's grid."""
    return combinations(trial.grid)


def tried(recipe: Recipe, size: str, trial: Trial, point: Mapping[str, Any]) -> float:
    """Return the mean of the tuning measure over the tuning seeds at one point of a trial's grid."""
    records = [played(recipe, size, trial, {**trial.set, **point}, seed) for seed in TUNING_SEEDS]
    return sum(measured(recipe.tuning, r, recipe.last, recipe.target) for r in records) / len(records)


def best(recipe: Recipe, trial: Trial, found: Sequence[tuple[dict[str, Any], float]]) -> dict[str, Any]:
    """Return the point of a trial's grid with the best mean, the first of equal ones."""
    sign, grid = MEASURES[recipe.tuning].better, points(trial)
    return max((one for one in found if one[0] in grid), key=lambda one: sign * one[1])[0]


def played(recipe: Recipe, size: str, trial: Trial, hyper: Mapping[str, Any], seed: int) -> Record:
    """Run one trial to its end, or until it diverges, and return its record.

    Returns:
        trial, seed and hyper-parameters; by column what was known after some rounds (``round``, ``loss``,
        ``floats_sent``, ``test_loss``, ``accuracy``, ``distance``); ``weights``; whether it diverged; seconds.
    """
    how = recipe.sizes[size]
    setting = replace(trial.setting, **how.setting)
    begun, since = made(setting, seed), time.perf_counter()
    run = begin(recipe, trial, setting, hyper, how.rounds, begun, seed)
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    diverged = ""
    try:
        for done in run:
            if done.test_loss is None:
                continue
            away = None if begun.minimiser is None else float((run.x - begun.minimiser).norm())
            row = (done.round + 1, done.loss, done.floats_sent, done.test_loss, done.accuracy, away)
            for name, value in zip(COLUMNS, row, strict=True):
                columns[name].append(value)
    except DivergedError as error:
        diverged = str(error)
    return {
        "trial": trial.name,
        "algorithm": trial.algorithm,
        "seed": seed,
        "hyper": dict(hyper),
        "rounds": how.rounds,
        "diverged": diverged,
        "weights": weights(run),
        "seconds": round(time.perf_counter() - since, 2),
        **columns,
    }


COLUMNS = ("round", "loss", "floats_sent", "test_loss", "accuracy", "distance")


def made(setting: Setting, seed: int) -> Task:
    """Build the task, with the setting's gradient method and clipping."""
    found = task(
        setting.data,
        setting.model,
        clients=setting.clients,
        alpha=setting.alpha,
        batch_size=setting.batch,
        seed=seed,
    )
    return replace(found, federation=replace(found.federation, way=setting.way, clip=setting.clip))


def begin(
    recipe: Recipe, trial: Trial, setting: Setting, hyper: Mapping[str, Any], rounds: int, begun: Task, seed: int
) -> Run:
    """Begin the run of a trial, with the recipe's schedule of the client rate if it has one."""
    row, numbers, rates = trainer(trial.algorithm), dict(hyper), {}
    if recipe.fall is not None:
        rates = {"eta_l": by_round.steps(numbers.pop("eta_l"), recipe.fall.at(rounds), 1 / recipe.fall.factor)}
    return simulate(
        row,
        begun.federation,
        plan=schedule(row, setting, begun.federation.setup.examples, seed),
        rounds=rounds,
        reading=trial.reading,
        test=begun.test,
        test_every=max(1, rounds // POINTS),
        rates=rates,
        **numbers,
    )


def weights(run: Run) -> dict[str, float]:
    """Return bias and slowdown of the surrogate objective that a weighted mean of changes minimises.

        w_i = p_i ||a_i||_1 / tau_eff,  tau_eff = sum_i p_i ||a_i||_1,  bias = sum_i (p_i - w_i)^2 / w_i
        slowdown = mean_i tau_i / tau_eff

    They are those of the first round's plan, and of a server that adds the weighted mean of changes. Source: FedNova,
    eqs. (5), (6), (10) and Fig. 4.
    """
    method = run.functions
    (event, *_) = run.plan.events(run.algorithm, run.h, run.federation.setup, run.federation.x0, 0)
    if not isinstance(method, Method) or not isinstance(event, Plan):
        return {}
    norms = [float(method.norm(run.h, tau)) for tau in event.steps]
    total = sum(event.examples)
    p = [n / total for n in event.examples]
    tau_eff = sum(share * norm for share, norm in zip(p, norms, strict=True))
    w = [share * norm / tau_eff for share, norm in zip(p, norms, strict=True)]
    bias = sum((a - b) ** 2 / b for a, b in zip(p, w, strict=True))
    return {"bias": bias, "slowdown": sum(event.steps) / len(event.steps) / tau_eff}
