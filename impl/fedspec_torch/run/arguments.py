"""Arguments of a run: the algorithm, its hyper-parameters and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from fedspec.catalogue import Algorithm, LocalSolver, find
from fedspec.errors import ParameterError, PlanError, UnknownNameError
from fedspec.plugins import BETWEEN
from fedspec.usual import needed
from fedspec_torch.federation.federation import Federation


def trainer(algorithm: str | Algorithm) -> Algorithm:
    """Return the row of an algorithm that can train a federation.

    Raises:
        UnknownNameError: no algorithm has that name.
        PlanError: the algorithm is a local solver, which doesn't train by itself.
    """
    row = find(algorithm)
    if isinstance(row.run, LocalSolver):
        raise PlanError(
            f"algorithm: {row.id} is a local solver, which a single client runs; give an algorithm with level round or "
            "trace"
        )
    return row


def with_own_solver(row: Algorithm, given: Mapping[str, Any]) -> tuple[Algorithm, dict[str, Any]]:
    """Return the row with another local solver if ``solver`` names one, and the remaining arguments.

    Raises:
        UnknownNameError: no local solver has that name.
        ParameterError: ``solver`` is neither an id nor a row, or the algorithm doesn't accept another local solver.
    """
    solver = given.get("solver")
    if solver is None or solver in [*row.options.get("solver", ())]:
        return row, dict(given)
    if not isinstance(solver, str | Algorithm):
        got = f"class {solver.__name__}" if isinstance(solver, type) else type(solver).__name__
        raise ParameterError(f"solver: got {got}; give the id of a local solver, such as adam, or a row of your own")
    return find(f"{row.id}{BETWEEN}{find(solver).id}"), {n: value for n, value in given.items() if n != "solver"}


def hyper_of(row: Algorithm, reading: str | None, given: Mapping[str, Any]) -> Any:
    """Build the record of an algorithm's hyper-parameters and options from the given values.

    Raises:
        UnknownNameError: the algorithm has no hyper-parameter or option of that name.
        ParameterError: a value is missing, outside its domain, or contradicts the reading.
    """
    for name in given:
        if name not in row.parameters:
            known = ", ".join(row.parameters)
            place = f"; give it to Federation(..., {name}=...)" if name in {f.name for f in fields(Federation)} else ""
            raise UnknownNameError(f"{name}: {row.id} has no such hyper-parameter or option; known: {known}{place}")
    options = {n: str(v) for n, v in given.items() if n in row.options}
    resolved = row.resolve(reading or row.readings[0].name, options)
    numbers = {n: v for n, v in given.items() if n in row.numbers}
    assert not isinstance(row.run, LocalSolver)
    if missing := [n for n in needed(row, resolved) if n not in numbers]:
        raise ParameterError(
            f"{', '.join(missing)}: not given, and {row.id} has no usual value for "
            f"{'it' if len(missing) == 1 else 'them'}: give a number (on the command line: --set {missing[0]}=...; in "
            f"your own row: usual={{{missing[0]!r}: ...}})"
        )
    return row.run.hyper(**{**numbers, **resolved})
