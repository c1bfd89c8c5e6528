"""What is averaged is something else first: limited, each change or their mean, or with a decay of the model in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, cast

from fedspec.algorithms.synchronous import model
from fedspec.arith import stack
from fedspec.contract import Event
from fedspec.mixing.weighted import weighted_mean
from fedspec.params import layers, shapes
from fedspec_suite.diagnosis.defects import oracles
from fedspec_suite.diagnosis.defects.defect import Running, Stepping, behind
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions

HOW = {
    "to [-{0}, {0}]": oracles.clipped,
    "to length {}, all blocks together": oracles.shortened,
    "to length {}, block by block": oracles.shortened_in_blocks,
}


DECAY = "{} x is subtracted from Delta before the server takes it (weight decay inside the pseudo-gradient, L2)"


def limited(setting: Setting) -> Mapping[str, Callable[[float], Callable[[Running, Scenario], Running]]]:
    """By what is said of it, with a place for the number, how a mean is limited; nothing where none is taken."""
    mean = cast(FunctionType, weighted_mean)
    if mean not in functions(setting.algorithm, setting.level):
        return {}

    def bounded(around: Callable[[Any, oracles.Blocks], Any]) -> Callable[[Running, Scenario], Running]:
        """The mean stands behind what is made of it and of the blocks of the model."""
        return lambda inner, s: behind({mean: lambda there: around(there, layers(shapes(s.case.x0)))})(inner, s)

    def each(limit: oracles.OfGradient) -> Callable[[Running, Scenario], Running]:
        return bounded(lambda there, l: lambda deltas, p: there(stack([limit(d, d, l) for d in deltas]), p))

    def whole(limit: oracles.OfGradient) -> Callable[[Running, Scenario], Running]:
        return bounded(lambda there, l: lambda deltas, p: limit(there(deltas, p), deltas, l))

    def of(how: Callable[[float], oracles.OfGradient], around: Any) -> Callable[[float], Any]:
        return lambda v: around(how(v))

    def decayed(rate: float) -> Callable[[Running, Scenario], Running]:
        def session(inner: Running, s: Scenario) -> Running:
            def take(inner: Running, event: Event, k: int) -> Any:
                x = model(inner.state)
                with inner.spec.behind({mean: lambda there: lambda deltas, p: there(deltas, p) - rate * x}):
                    return inner.step(event)

            return Stepping(inner, take)

        return session

    return {
        DECAY: decayed,
        **{f"every change is clipped {words}": of(how, each) for words, how in HOW.items()},
        **{f"the mean change is clipped {words}": of(how, whole) for words, how in HOW.items()},
    }
