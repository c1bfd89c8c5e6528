"""Schedules of a recipe: its clients' numbers of local steps, and the clients of each round."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedspec.entry import Algorithm
from fedspec.plan import Arrival, Plan, Setup
from fedspec_torch.arith import Vector
from fedspec_torch.recipes.recipe import Normal, Setting
from fedspec_torch.run.local_work import Redrawn, Steps, common, epochs, for_clients, steps_of
from fedspec_torch.run.schedules import Arrivals, Schedule, arrivals, cohorts
from fedspec_torch.tasks import plan

SALT = 0x5EC
"""Salt that separates these draws from the draws of cohorts with the same seed."""


@dataclass(frozen=True)
class Fresh:
    """Schedule of cohorts with numbers of steps drawn in every round, from distributions ``cohorts`` lacks."""

    size: int | None
    setting: Setting
    seed: int

    def events(self, algorithm: Algorithm, h: Any, setup: Setup, x: Vector, round: int) -> tuple[Plan]:
        """Return the plan of that round."""
        steps = drawn(self.setting, setup.examples, np.random.default_rng([self.seed, round, SALT]))
        return cohorts(self.size, steps=steps, seed=self.seed).events(algorithm, h, setup, x, round)


@dataclass(frozen=True)
class Willing:
    """Schedule of late updates whose clients arrive with unequal probabilities, and otherwise as in ``arrivals``."""

    plan: Arrivals
    shares: tuple[float, ...]

    @property
    def largest_delay(self) -> int:
        """Largest delay of an update."""
        return self.plan.largest_delay

    def events(self, algorithm: Algorithm, h: Any, setup: Setup, x: Vector, round: int) -> tuple[Arrival, ...]:
        """Return the arrivals before that server step."""
        drawn = self.plan.events(algorithm, h, setup, x, round)
        rng = np.random.default_rng([self.plan.seed, round, SALT])
        who = rng.choice(setup.clients, size=len(drawn), p=self.shares).tolist()
        steps = steps_of(self.plan.steps, who, setup.examples, self.plan.seed, rng)
        return tuple(replace(one, client=i, steps=tau) for one, i, tau in zip(drawn, who, steps, strict=True))


def shares_of(setting: Setting) -> tuple[float, ...]:
    """Return the clients' probabilities of arrival: 0 for the last, ``eager`` times higher for the first half."""
    come = setting.clients - setting.absent
    often = [setting.eager] * (come // 2) + [1.0] * (come - come // 2)
    return (*(one / sum(often) for one in often), *(0.0,) * setting.absent)


def schedule(row: Algorithm, setting: Setting, examples: tuple[float, ...], seed: int) -> Schedule:
    """Make the schedule of clients and their numbers of steps."""
    own = isinstance(setting.steps, Normal) or isinstance(setting.epochs, tuple)
    if setting.redraw and own:
        return Fresh(setting.cohort, setting, seed)
    steps = drawn(setting, examples, np.random.default_rng([seed, SALT]))
    match row.event:
        case "exchange":
            return plan(row, setting.clients, setting.cohort, steps=common(steps), graph=setting.graph, seed=seed)
        case "arrival":
            late = arrivals(steps=steps, largest_delay=setting.delay, seed=seed)
            unlike = setting.absent or setting.eager != 1
            return Willing(late, shares_of(setting)) if unlike else late
    return plan(row, setting.clients, setting.cohort, steps=steps, seed=seed)


def drawn(setting: Setting, examples: tuple[float, ...], rng: np.random.Generator) -> Steps:
    """Return the local work as schedules take it, with one drawn number a client if the setting draws."""
    match setting.steps, setting.epochs:
        case Normal(mean, deviation, least, greatest), _:
            numbers = np.clip(np.rint(rng.normal(mean, deviation, len(examples))), least, greatest)
            return for_clients([int(tau) for tau in numbers])
        case _, (low, high):
            passes = rng.integers(low, high, size=len(examples), endpoint=True)
            taken = [passes * int(n) // min(setting.batch, int(n)) for passes, n in zip(passes, examples, strict=True)]
            return for_clients([max(1, int(tau)) for tau in taken])
        case _, float() | int() as passes:
            return epochs(passes, batch_size=setting.batch)
        case (low, high), _:
            return Redrawn(low, high) if setting.redraw else (low, high)
        case int() as tau, _:
            return tau
    return 1
