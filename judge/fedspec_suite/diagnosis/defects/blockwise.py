"""A rule that reads the whole model, applied to each block by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from types import FunctionType
from typing import Any, cast

import numpy as np

from fedspec.arith import concatenate
from fedspec.catalogue import LocalSolver, Method, Program
from fedspec.contract import Level
from fedspec.facts import Fact
from fedspec.params import layers, shapes
from fedspec_suite.diagnosis.defects.defect import Defect, Running, behind
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions, names

WHOLE = {"norm", "total", "largest", "smallest", "where_shorter", "keep_largest"}
"""What makes one number of all coordinates."""


def _parts(s: Scenario) -> tuple[Callable[[Any, slice], Any], Callable[[Any, Any, slice], Any]]:
    """What leaves of a record, or of a vector or stack, one block alone; and what puts a block's into all."""
    d = layers(shapes(s.case.x0))[-1].stop
    inside = np.arange(d)

    def alone(value: Any, at: slice) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{f.name: alone(getattr(value, f.name), at) for f in fields(value)})
        if isinstance(value, np.ndarray) and value.shape[-1:] == (d,):
            return value * ((inside >= at.start) & (inside < at.stop))
        return [alone(v, at) for v in value] if isinstance(value, list) else value

    def joined(all_: Any, some: Any, at: slice) -> Any:
        if is_dataclass(some) and not isinstance(some, type):
            parts = {f.name: joined(getattr(all_, f.name), getattr(some, f.name), at) for f in fields(some)}
            return replace(some, **parts)
        if isinstance(some, dict):
            return {n: joined(all_[n], v, at) for n, v in some.items()}
        if isinstance(some, tuple):
            return tuple(joined(a, v, at) for a, v in zip(all_, some, strict=True))
        if isinstance(some, np.ndarray) and some.shape == (d,):
            return np.concatenate([all_[: at.start], some[at], all_[at.stop :]])
        return some

    return alone, joined


def _by_itself(inner: Running, s: Scenario) -> Running:
    blocks, (alone, joined) = layers(shapes(s.case.x0)), _parts(s)

    def of_blocks(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*given: Any, **named: Any) -> Any:
            all_: Any = None
            for at in blocks:
                of_names = {n: v if n == "cover" else alone(v, at) for n, v in named.items()}
                some = function(*given[:1], *(alone(v, at) for v in given[1:]), **of_names)
                all_ = some if all_ is None else joined(all_, some, at)
            return all_

        return run

    solver = getattr(inner, "solver", None)
    if isinstance(solver, LocalSolver):
        # A solver is given everything by its name, a server its hyper-parameters first.
        inner.solver = replace(solver, rule=of_blocks(solver.rule))
    else:
        inner.run = replace(inner.run, server=of_blocks(inner.run.server))
    return inner


def _apart(f: Callable[..., Any]) -> Callable[[Running, Scenario], Running]:
    """A session in which a function is called for each block, with that block of every vector and stack."""

    def begin(inner: Running, s: Scenario) -> Running:
        blocks = layers(shapes(s.case.x0))
        d = blocks[-1].stop

        def of_block(value: Any, at: slice) -> Any:
            return value[..., at] if getattr(value, "shape", ())[-1:] == (d,) else value

        def around(there: Callable[..., Any]) -> Callable[..., Any]:
            @wraps(there)
            def run(*given: Any, **named: Any) -> Any:
                whole = there(*given, **named)
                if getattr(whole, "shape", ())[-1:] != (d,):
                    return whole
                parts = [
                    there(*(of_block(v, at) for v in given), **{n: of_block(v, at) for n, v in named.items()})
                    for at in blocks
                ]
                return concatenate(parts)

            return run

        return behind({cast(FunctionType, f): around})(inner, s)

    return begin


def of(setting: Setting) -> Iterator[Defect]:
    """What reads the whole model and is applied to each block by itself."""
    run = setting.algorithm.run
    if setting.algorithm.has(Fact.MATRICES) or "phi" in setting.algorithm.options:
        # These rules are of layers themselves.
        return
    if isinstance(run, Program) and setting.level in {"round", "trace"} and "peers" not in setting.takes:
        # Without a dead zone no step is too short.
        whole = WHOLE if "eps_s" in setting.numbers else WHOLE - {"where_shorter"}
        for f in functions(setting.algorithm, setting.level):
            if whole & {*names(f)}:
                words = f"{f.__name__} is applied to each block by itself, not to the whole model"
                yield Defect(words=words, session=_apart(f))
        return
    if setting.level not in {"client", "server"} and not isinstance(run, Method):
        return
    level: Level = "server" if isinstance(run, Method) else setting.level
    if any(WHOLE & {*names(f)} for f in functions(setting.algorithm, level)):
        words = "every block is stepped by itself: a length, a sum or a largest number is that of a block"
        yield Defect(words=words, session=_by_itself)
