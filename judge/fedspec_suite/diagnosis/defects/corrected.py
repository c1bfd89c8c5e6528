"""A running maximum of second moments that are corrected before it is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from types import FunctionType
from typing import Any, cast

from fedspec.algorithms.synchronous import model
from fedspec.arith import maximum
from fedspec.contract import Begin, Event
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, part, with_x
from fedspec_suite.diagnosis.defects.state import state_fields
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting


def _before_maximum(first: bool) -> Callable[[Running, Scenario], Running]:
    """The maximum takes v / (1 - beta2^t); where asked, the first moment is corrected in the step too."""

    def session(inner: Running, s: Scenario) -> Running:
        steps = [0]

        def take(inner: Running, event: Event, k: int) -> Any:
            if isinstance(event, Begin):
                steps[0] = 0
                return inner.step(event)
            # A server that waits for several updates has made as many steps as it has versions, but for the first.
            steps[0] = len(inner.state.versions) if hasattr(inner.state, "versions") else steps[0] + 1
            h = inner.keywords if hasattr(inner, "keywords") else vars(inner.h)
            kept, x = part(inner.state, "v_hat"), model(inner.state)

            def around(there: Callable[..., Any]) -> Callable[..., Any]:
                @wraps(there)
                def larger(a: Any, b: Any) -> Any:
                    return there(a, b / (1 - h["beta2"] ** steps[0]) if a is kept else b)

                return larger

            with inner.spec.behind({cast(FunctionType, maximum): around}):
                answer = inner.step(event)
            if not first:
                return answer
            after = x + (model(inner.state) - x) / (1 - h["beta1"] ** steps[0])
            inner.state = with_x(inner.state, after)
            return {**answer, "x": after}

        return Stepping(inner, take)

    return session


def of(setting: Setting) -> Iterator[Defect]:
    """Defects of the running maximum, if the state keeps a maximum of second moments with decay beta2."""
    if "v_hat" in state_fields(setting) and {"beta1", "beta2"} <= {*setting.numbers}:
        words = "v is divided by 1 - beta2^t before the maximum takes it"
        yield Defect(words=f"{words}, and m is not corrected", tail="v_hat", session=_before_maximum(False))
        yield Defect(words=f"{words}, and m by 1 - beta1^t in the step", tail="v_hat", session=_before_maximum(True))
