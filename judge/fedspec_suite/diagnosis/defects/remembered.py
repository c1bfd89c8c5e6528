"""Defects of a client's solver that doesn't reset: it keeps its state of the last round, or the first model.

A client's solver lives inside a round. These defects therefore wrap the functions that begin and step the solver, for
as long as an event lasts.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial, wraps
from types import FunctionType
from typing import Any

from fedspec.algorithms.synchronous import model
from fedspec.contract import Arrival, Event
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, behind, calling
from fedspec_suite.diagnosis.defects.lagging import clients_of
from fedspec_suite.measure.function_copies import Around
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions


@dataclass(frozen=True)
class Solver:
    """Local solver with a state: its begin function, if any, its step functions, and its state fields."""

    begin: FunctionType | None
    steps: tuple[FunctionType, ...]
    names: tuple[str, ...]


def _kind(function: FunctionType) -> Any:
    """Record type that a function returns; None if the function returns no record."""
    kind = typing.get_type_hints(inspect.unwrap(function)).get("return")
    return kind if is_dataclass(kind) else None


def _solvers_of(found: Sequence[FunctionType]) -> list[Solver]:
    """The local solvers among some functions."""
    local = [f for f in found if f.__module__.startswith("fedspec.client.")]
    kinds = list(dict.fromkeys(kind for kind in map(_kind, local) if kind is not None))
    out = []
    for kind in kinds:
        begin = next((f for f in local if f.__name__ == "begin" and _kind(f) is kind), None)
        steps = tuple(f for f in local if f is not begin and _kind(f) is kind)
        out.append(Solver(begin, steps, tuple(f.name for f in fields(kind) if f.name != "x")))
    return out


OWN, ROUND, EVER = "when its next round begins", "from client to client, anew in every round", "from client to client"
"""Words for the life of a solver's state, and for the clients that share it."""


def _lives_on(solvers: Sequence[Solver], names: Sequence[str], how: str, inner: Running, s: Scenario) -> Running:
    """Fields of a client's solver begin a round as the client's last round, or the client before, left the fields."""
    kept: dict[Any, Any] = {}
    now: list[Any] = [None]
    who: Iterator[int] = iter(())

    def begun(anew: Any) -> Any:
        now[0] = next(who, None)
        before = kept.get((now[0], type(anew)))
        shared = [n for n in names if hasattr(before, n) and hasattr(anew, n)]
        return replace(anew, **{n: getattr(before, n) for n in shared}) if shared else anew

    def begins(there: Callable[..., Any], *given: Any, **named: Any) -> Any:
        return begun(there(*given, **named))

    def steps(by_count: bool, there: Callable[..., Any], state: Any, *given: Any, **named: Any) -> Any:
        # A shared state goes on where the last step of anybody left it. Where a solver is begun without a function of
        # its own, its count says that it is.
        new = how != OWN or (by_count and getattr(state, "t", None) == 0)
        after = there(begun(state) if new else state, *given, **named)
        kept[now[0], type(after)] = after
        return after

    around: dict[FunctionType, Any] = {solver.begin: calling(begins) for solver in solvers if solver.begin}
    around |= {f: calling(steps, not solver.begin) for solver in solvers for f in solver.steps}

    def take(inner: Running, event: Event, k: int) -> Any:
        nonlocal who
        who = iter(_computing(event) if how == OWN else ())
        if how == ROUND:
            kept.clear()
        with inner.spec.behind(around):
            return inner.step(event)

    return Stepping(inner, take)


def _computing(event: Event) -> tuple[int, ...]:
    """Clients that run a solver in an event, in turn."""
    return (event.client,) if isinstance(event, Arrival) else clients_of(event)


def _pulled(
    found: Sequence[FunctionType], to_which: Callable[[list[Any]], Any], inner: Running, s: Scenario
) -> Running:
    """The proximal term pulls to one of the models that the events so far have found."""
    met: list[Any] = []

    def anchored(there: Callable[..., Any]) -> Callable[..., Any]:
        names, to = inspect.signature(there), to_which(met)

        @wraps(there)
        def step(*given: Any, **named: Any) -> Any:
            bound = names.bind(*given, **named)
            bound.arguments["anchor"] = to
            return there(*bound.args, **bound.kwargs)

        return step

    def around(inner: Running) -> Around:
        met.append(model(inner.state))
        return dict.fromkeys(found, anchored)

    return behind(around)(inner, s)


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of clients that remember earlier rounds, if the clients run a local solver."""
    found = functions(setting.algorithm, setting.level)
    solvers = _solvers_of(found)
    names = tuple(dict.fromkeys(n for solver in solvers for n in solver.names))
    for some in [names, *((n,) for n in names if len(names) > 1)] if names else ():
        said = "what" if some == names else "the count of steps" if some == ("t",) else some[0]
        of_solver = f"{said} a client's solver keeps" if some == names else f"{said} of a client's solver"
        yield Defect(words=f"{of_solver} lives on {OWN}", session=partial(_lives_on, solvers, some, OWN))
        for how in (ROUND, EVER):
            yield Defect(words=f"{of_solver} goes on {how}", session=partial(_lives_on, solvers, some, how))
    anchored = [f for f in found if "anchor" in inspect.signature(f).parameters]
    pulls: dict[str, Callable[[list[Any]], Any]] = {"the very first model": lambda met: met[0]}
    if setting.algorithm.event == "arrival":
        pulls["the server's present model, not to the one downloaded"] = lambda met: met[-1]
    else:
        pulls["the model of the round before"] = lambda met: met[-2:][0]
    for which, to in pulls.items() if anchored else ():
        yield Defect(words=f"the proximal term pulls to {which}", session=partial(_pulled, anchored, to))
