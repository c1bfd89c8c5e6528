"""Weight decay and clipping of every gradient, of the changes that a server averages, or of their mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from types import FunctionType
from typing import Any, cast

from fedspec.algorithms.synchronous import model
from fedspec.arith import stack
from fedspec.chain import Blocks, Word, applied
from fedspec.mixing.weighted import weighted_mean
from fedspec.params import layers, shapes
from fedspec_suite.diagnosis.defects.defect import Running, behind, calling
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions


def regraded(change: Callable[[Any, Any, Blocks], Any], inner: Running, s: Scenario) -> Running:
    """Wrap a session so that every gradient is changed, by its model and blocks, in a solver or in a round's clients.

    A link changes it as a claim's word does.
    """
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
    elif hasattr(inner, "clients"):
        inner.clients = [oracle(g) for g in inner.clients]
    return inner


HOW = {
    "to [-{0}, {0}]": "clip-value",
    "to length {}, all blocks together": "clip-norm",
    "to length {}, block by block": "clip-block-norm",
}


DECAY = "{} x is subtracted from Delta before the server takes it (weight decay inside the pseudo-gradient, L2)"


MEAN = cast(FunctionType, weighted_mean)


def around_mean(around: Callable[[Any, Blocks], Any]) -> Callable[[Running, Scenario], Running]:
    """Replace the mean by a function made of it and of the blocks of the model."""
    return lambda inner, s: behind({MEAN: lambda there: around(there, layers(shapes(s.case.x0)))})(inner, s)


def limited(setting: Setting) -> Mapping[str, Callable[[float], Callable[[Running, Scenario], Running]]]:
    """Return clippings of the mean by their words; none if the algorithm takes no weighted mean."""
    if MEAN not in functions(setting.algorithm, setting.level):
        return {}

    def each(link: Word) -> Callable[[Running, Scenario], Running]:
        return around_mean(lambda there, l: lambda deltas, p: there(stack([applied(link, d, d, l) for d in deltas]), p))

    def whole(link: Word) -> Callable[[Running, Scenario], Running]:
        return around_mean(lambda there, l: lambda deltas, p: applied(link, there(deltas, p), deltas, l))

    def of(name: str, around: Any) -> Callable[[float], Any]:
        return lambda v: around(Word(name, v))

    def decayed(rate: float, x: Any, there: Callable[..., Any], deltas: Any, p: Any) -> Any:
        return there(deltas, p) - rate * x

    def decaying(rate: float) -> Callable[[Running, Scenario], Running]:
        return behind(lambda inner: {MEAN: calling(decayed, rate, model(inner.state))})

    return {
        DECAY: decaying,
        **{f"every change is clipped {words}": of(how, each) for words, how in HOW.items()},
        **{f"the mean change is clipped {words}": of(how, whole) for words, how in HOW.items()},
    }
