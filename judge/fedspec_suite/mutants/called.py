"""The functions of the specification that an algorithm runs."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from fedspec.catalogue import Algorithm, LocalSolver, Method, Program
from fedspec.contract import Level
from fedspec_suite.measure.reached import WHERE, looked_up


def functions(algorithm: Algorithm, level: Level) -> list[FunctionType]:
    """The functions of the specification that an algorithm may call at a level, from those that its row holds."""
    return called_by(held(algorithm, level))


def held(algorithm: Algorithm, level: Level) -> list[Any]:
    """The functions that the row of an algorithm holds and runs at a level."""
    match algorithm.run:
        case LocalSolver(rule=rule):
            return [rule]
        case Method(server=server, local=local, norm=norm):
            return [server] if level == "server" else [server, local, norm]
        case Program(step=step, served=served):
            return [served.server] if served and level == "server" else [step]


def called_by(held: Sequence[Any]) -> list[FunctionType]:
    """These functions and those of the specification that they may call."""
    found: list[FunctionType] = []
    waiting = [f for f in held if isinstance(f, FunctionType)]
    while waiting:
        function = waiting.pop(0)
        if function in found or not function.__module__.startswith(WHERE):
            continue
        found.append(function)
        space = inspect.unwrap(function).__globals__
        named = (space.get(name) for name in names(function))
        waiting += [f for f in named if isinstance(f, FunctionType)]
    return found


def names(function: FunctionType) -> list[str]:
    """What a function looks up in its module."""
    return looked_up(inspect.unwrap(function).__code__)
