"""What a client makes of every gradient, whatever runs it: a decay in it, a limit on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from types import SimpleNamespace
from typing import Any

from fedspec.algorithms.synchronous import model
from fedspec.arith import maximum, minimum, norm, ratio, where_less
from fedspec.params import layers, shapes
from fedspec_suite.diagnosis.defects.defect import Running
from fedspec_suite.diagnosis.edits.of_arrays import each_of
from fedspec_suite.measure.scenario import Scenario

Blocks = Sequence[slice]

OfGradient = Callable[[Any, Any, Blocks], Any]
"""Another gradient, from it, the model that it is taken at and the blocks of that."""


def regraded(change: OfGradient) -> Callable[[Running, Scenario], Running]:
    """Every gradient is another, in a solver by itself and in the clients of a round."""

    def session(inner: Running, s: Scenario) -> Running:
        blocks = layers(shapes(s.case.x0))

        def oracle(gradient: Callable[..., Any]) -> Callable[..., Any]:
            return lambda k, y: change(gradient(k, y), y, blocks)

        if hasattr(inner, "solver"):
            rule = inner.solver.rule

            @wraps(rule)
            def other(**given: Any) -> Any:
                x = model(given["state"] if "state" in given else given["x"])
                return rule(**{**given, "g": change(given["g"], x, blocks)})

            inner.solver = replace(inner.solver, rule=other)
        elif getattr(inner, "problem", None):
            inner.problem = SimpleNamespace(clients=[oracle(g) for g in inner.problem.clients])
        elif hasattr(inner, "clients"):
            inner.clients = [oracle(g) for g in inner.clients]
        return inner

    return session


def decayed(rate: float) -> OfGradient:
    """A multiple of the model is added (L2)."""
    return lambda g, x, blocks: g + rate * x


def clipped(most: float) -> OfGradient:
    """Every coordinate is moved into an interval about zero."""
    return lambda g, x, blocks: minimum(maximum(g, -most), most)


def shortened(most: float) -> OfGradient:
    """It is no longer than that."""
    return lambda g, x, blocks: _short(g, most)


def shortened_in_blocks(most: float) -> OfGradient:
    """It is no longer than that in any block."""
    return lambda g, x, blocks: each_of(blocks, lambda part: _short(part, most), g)


def _short(g: Any, most: float) -> Any:
    length = norm(g)
    return where_less(0 * g + length, most, g, most * ratio(g, length))
