"""Parsers of ``fedspec simulate``'s options for hyper-parameters, local steps and cohorts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from fedspec.catalogue import id_of
from fedspec.entry import Algorithm
from fedspec.errors import ParameterError
from fedspec_suite.cli.assignments import Settings, assigned, number_or_word, several

Shape: TypeAlias = Callable[[float], Any]
"""Function from a constant rate to a schedule that changes it by round."""


def set_and_tried(
    setting: Sequence[str], tuning: Sequence[str], rows: Sequence[Algorithm]
) -> tuple[Settings, Settings]:
    """Parse --set and --tune for each algorithm; values for a single algorithm take precedence over values for all.

    Raises:
        ParameterError: a value can't be read, belongs to no algorithm, or is given in both --set and --tune.
    """
    given = assigned("--set", setting, rows, number_or_word)
    grids = assigned("--tune", tuning, rows, several)
    for row in rows:
        own, tried = given[row.id], grids[row.id]
        for name in [*own]:
            if name in tried and own[name][1] == tried[name][1]:
                raise ParameterError(f"--tune {name}: --set gives it for {row.id} too; leave out one of the two")
            if name in tried:
                del (tried if own[name][1] else own)[name]
    plain = [{id: {n: value for n, (value, _) in said.items()} for id, said in each.items()} for each in (given, grids)]
    return plain[0], plain[1]


def with_values(
    preset: str, given: Settings, grids: Settings, readings: Mapping[str, str | None]
) -> tuple[Settings, Settings, dict[str, str | None]]:
    """Add a preset's values, grids and readings to the given ones, which take precedence.

    Raises:
        UnknownNameError: no preset has that name.
        ParameterError: the preset has nothing for an algorithm.
    """
    presets = import_module("fedspec_torch.recipes.presets")
    both = {name: presets.with_preset(preset, name, given[name], grids[name]) for name in given}
    own = {name: value for name, value in readings.items() if value is not None}
    return (
        {name: values for name, (values, _) in both.items()},
        {name: values for name, (_, values) in both.items()},
        {**presets.preset(preset).reading, **own},
    )


def own_solvers(setting: Sequence[str], rows: Sequence[Algorithm]) -> tuple[list[str], list[Algorithm]]:
    """Apply ``solver=ID`` settings that name another local solver; return the other settings, and the rows.

    Raises:
        UnknownNameError: no local solver has that name.
        ParameterError: the algorithm doesn't accept another local solver.
    """
    with_own_solver = import_module("fedspec_torch.run.arguments").with_own_solver
    left, found = list[str](), [*rows]
    for said in setting:
        name, _, value = said.partition("=")
        *only, name = name.split(":", 1)
        asked = [j for j, row in enumerate(rows) if name == "solver" and (not only or row.id == id_of(only[0]))]
        kept = not asked
        for j in asked:
            found[j], more = with_own_solver(rows[j], {name: value})
            kept = kept or bool(more)
        if kept:
            left.append(said)
    return left, found


def local_work(text: str | None, redraw: bool, passes: float | None, batch: int, accumulate: int) -> Any:
    """Parse local work: ``10`` steps, ``2-8`` drawn once for each client or in every round, or epochs.

    Raises:
        ParameterError: the text is neither a whole number >= 1 nor two such numbers in ascending order; or both steps
            and epochs are given.
    """
    own = import_module("fedspec_torch")
    if passes is not None:
        if text is not None or redraw:
            raise ParameterError("--epochs: it sets the local work, as --steps and --redraw do; leave these out")
        return own.epochs(passes, batch_size=batch, accumulate=accumulate)
    found = spread(text or "5")
    if redraw and isinstance(found, int):
        raise ParameterError(
            f"--redraw: --steps {found} is a fixed number; give the least and the greatest, such as 2-8"
        )
    return own.each_round(*found) if redraw else found


def spread(text: str) -> Any:
    """Parse a number of local steps, or a range: ``10``, ``2-8``.

    Raises:
        ParameterError: the text is neither a whole number >= 1 nor two such numbers in ascending order.
    """
    low, dash, high = text.partition("-")
    try:
        found = (int(low), int(high)) if dash else (int(low), int(low))
    except ValueError:
        found = (0, 0)
    if not 1 <= found[0] <= found[1]:
        raise ParameterError(f"--steps {text}: give a whole number >= 1, or a range such as 2-8")
    return found if dash else found[0]


def cohort_of(asked: int | None, clients: int) -> int:
    """Return the number of clients in a round: as asked, or 10, or all if there are fewer.

    Raises:
        ParameterError: there are fewer clients than requested.
    """
    if asked is not None and asked > clients:
        raise ParameterError(
            f"--cohort {asked}: there are {clients} clients; ask for 1 to {clients}, or for more --clients"
        )
    return min(asked or 10, clients)


def shape_of(schedule: str | None, decay: float, warm_up: int, rounds: int) -> Shape | None:
    """Parse the schedule of eta_l over rounds; None if it is constant.

    Args:
        schedule: ``cosine``, ``cosine:least=0.001``, ``steps:50,75``, ``steps:50,75,factor=0.5``; None: eta_l is
            constant.
        decay: factor of eta_l after every round.
        warm_up: number of rounds of linear warm-up of eta_l.
        rounds: number of rounds of a run.

    Raises:
        ParameterError: the schedule is unknown, has too few or too many numbers, or is given twice.
    """
    if schedule is None and decay == 1 and not warm_up:
        return None
    by_round = import_module("fedspec_torch").by_round
    if schedule is not None and decay != 1:
        raise ParameterError(f"--schedule {schedule}: --decay {decay:g} is a schedule too; leave out one of the two")
    name, at, numbers = _schedule(schedule or "")

    def shape(rate: float) -> Any:
        made = rate
        if name == "cosine":
            made = by_round.cosine(rate, rounds, **numbers)
        elif name == "steps":
            made = by_round.steps(rate, at, **numbers)
        elif decay != 1:
            made = by_round.exponential(rate, decay)
        return by_round.warm_up(warm_up, made) if warm_up else made

    return shape


def _schedule(text: str) -> tuple[str, list[int], dict[str, float]]:
    """The name of a schedule, the rounds in which it falls, and its numbers by name."""
    name, _, rest = text.partition(":")
    words = [word.strip() for word in rest.split(",") if word.strip()]
    named = dict(word.split("=", 1) for word in words if "=" in word)
    bare = [word for word in words if "=" not in word]
    known = {"": (), "cosine": ("least",), "steps": ("factor",)}.get(name)
    try:
        at, numbers = [int(word) for word in bare], {n: float(v) for n, v in named.items()}
    except ValueError:
        known = None
    if known is None or not {*numbers} <= {*known} or bool(at) != (name == "steps") or min(at, default=0) < 0:
        raise ParameterError(
            f"--schedule {text}: give cosine, cosine:least=0.001, steps:50,75 or steps:50,75,factor=0.5 (rounds from 0)"
        )
    return name, at, numbers


def falling(numbers: dict[str, Any], shape: Shape | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split off the client rate as a schedule by round, if it changes; return the other numbers and the schedule."""
    if shape is None or "eta_l" not in numbers:
        return numbers, {}
    return {n: v for n, v in numbers.items() if n != "eta_l"}, {"eta_l": shape(numbers["eta_l"])}
