"""Grid of a tuning: the values to try, and the fixed arguments of its runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import product
from typing import Any, TypeAlias

from fedspec.catalogue import Algorithm
from fedspec.errors import ParameterError, UnknownNameError
from fedspec.usual import usual
from fedspec_torch.federation.federation import Federation
from fedspec_torch.run.arguments import hyper_of
from fedspec_torch.run.held_out import remake
from fedspec_torch.run.local_work import Epochs
from fedspec_torch.run.rates import Rate, rated
from fedspec_torch.run.runs import Run
from fedspec_torch.run.schedules import Schedule
from fedspec_torch.run.simulation import simulate

Rates: TypeAlias = Mapping[str, Rate] | Callable[[Mapping[str, Any]], Mapping[str, Rate]]
"""Rates by round, or a function that makes them from a combination's values, for example to tune a schedule's rate."""

OF_FEDERATIONS = ("batch_size", "clip", "clip_value", "weight_decay", "accumulate")
"""Settings of the federation that a grid may contain."""


@dataclass(frozen=True)
class Grid:
    """Values to try for an algorithm, and the fixed arguments of the runs.

    Attributes:
        row: the row of the algorithm.
        values: the values to try, by name.
        given: hyper-parameters and options that stay fixed.
        reading: a reading of the algorithm; None: the canonical one.
        plan: the schedule of the runs.
        rounds: number of rounds of each run.
        rates: hyper-parameters that vary by round.
        more: further arguments of ``simulate``: ``block``, ``shards`` and ``client_state``.
    """

    row: Algorithm
    values: Mapping[str, tuple[Any, ...]]
    given: Mapping[str, Any]
    reading: str | None
    plan: Schedule
    rounds: int
    rates: Rates | None
    more: Mapping[str, Any]

    @property
    def combinations(self) -> list[dict[str, Any]]:
        """All combinations of the grid."""
        return combinations(self.values)

    def settings(self, combination: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Rate]]:
        """Return a combination's numbers and options for ``simulate``, and its rates by round."""
        numbers = {n: v for n, v in {**self.given, **combination}.items() if n not in OF_FEDERATIONS}
        if not callable(self.rates):
            return numbers, self.rates or {}
        by_round = self.rates({**usual(self.row, self.reading, numbers), **numbers})
        return {n: v for n, v in numbers.items() if n not in by_round}, by_round

    def record(self, combination: Mapping[str, Any], clients: int) -> Any:
        """Return the algorithm's hyper-parameter record in the first round.

        Raises:
            UnknownNameError: no option has that name, or the option has no such value.
            ParameterError: a number is outside its domain or isn't used under these options.
        """
        numbers, by_round = self.settings(combination)
        _, numbers = rated(self.plan, by_round, self.row, numbers, self.rounds, clients)
        return hyper_of(self.row, self.reading, {**usual(self.row, self.reading, numbers), **numbers})

    def begun(self, federation: Federation, combination: Mapping[str, Any], turn: int = 0) -> Run:
        """Begin the run of a combination, on a federation rebuilt with the combination's settings.

        Args:
            federation: the federation to train.
            combination: values of the grid, one for each name.
            turn: number that is added to the seed of the schedule, if the schedule has a seed.
        """
        numbers, by_round = self.settings(combination)
        if stated := of_federation(combination):
            federation = remake(federation, **stated)
        more: dict[str, Any] = {"rounds": self.rounds, "reading": self.reading, "rates": by_round}
        more["plan"] = in_passes(seeded(self.plan, turn), stated)
        return simulate(self.row, federation, **more, **self.more, **numbers)

    def schedule(self, clients: int) -> Schedule:
        """Return the schedule of the first combination, with its rates, for this number of clients.

        Raises:
            ParameterError: the rates are for another number of clients.
        """
        numbers, by_round = self.settings(self.combinations[0])
        return rated(self.plan, by_round, self.row, numbers, self.rounds, clients)[0]


def combinations(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of values by name; the last name varies fastest."""
    return [dict(zip(values, some, strict=True)) for some in product(*values.values())]


def of_federation(combination: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a combination that sets the federation."""
    return {n: v for n, v in combination.items() if n in OF_FEDERATIONS}


def in_passes(plan: Any, stated: Mapping[str, Any]) -> Any:
    """Return the schedule with its epochs counted in the combination's minibatches, if it sets them."""
    steps = getattr(plan, "steps", None)
    # Of full batches a pass is one step.
    own = {n: sys.maxsize if v is None else v for n, v in stated.items() if n in ("batch_size", "accumulate")}
    return replace(plan, steps=replace(steps, **own)) if own and isinstance(steps, Epochs) else plan


def seeded(plan: Any, turn: int) -> Any:
    """Return the schedule with its seed raised by ``turn``; a schedule without a seed is unchanged."""
    has = turn and is_dataclass(plan) and not isinstance(plan, type) and "seed" in [f.name for f in fields(plan)]
    return replace(plan, seed=plan.seed + turn) if has else plan


def checked(row: Algorithm, grid: Any, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Check a grid, and return its values as tuples.

    Raises:
        ParameterError: the grid is empty; a name has no values or equal values; or a name is also among the fixed
            arguments.
        UnknownNameError: the algorithm has no hyper-parameter or option of that name.
    """
    if not isinstance(grid, Mapping) or not grid:
        raise ParameterError(f"grid: got {grid!r}; give the values to try by name, such as {{'eta_l': [0.01, 0.1]}}")
    found: dict[str, tuple[Any, ...]] = {}
    for name, values in grid.items():
        if name not in (*row.parameters, *OF_FEDERATIONS):
            known = ", ".join((*row.parameters, *OF_FEDERATIONS))
            raise UnknownNameError(f"grid: {row.id} has no {name}; known: {known}")
        if name in given:
            raise ParameterError(f"grid: {name} is also given as one value ({given[name]}); leave out one of the two")
        listed = values.tolist() if hasattr(values, "tolist") else values
        if isinstance(listed, str) or not isinstance(listed, Sequence) or not listed:
            raise ParameterError(f"grid: {name}: got {values!r}; give a list of values to try")
        found[name] = tuple(str(v) if name in row.options else v for v in listed)
        if len({*found[name]}) < len(listed):
            raise ParameterError(f"grid: {name}: a value occurs twice in {listed}; leave one out")
    return found
