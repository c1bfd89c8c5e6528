"""Without a server, where no gradient depends on the model: the mean of all models, as a sum over the steps."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from fedspec.arith import Array
from fedspec.catalogue import find
from fedspec.contract import Exchange
from fedspec.params import flatten
from fedspec_properties.closed_forms import own
from fedspec_suite.measure.scenario import Scenario, lift

Step = Callable[[Any, Any, Any], Any]


def _descent(past: Any, h: Any, o: Any) -> Any:
    return -h["eta_l"] * past[-1]


def _tracked(past: Any, h: Any, o: Any) -> Any:
    """Trackers have the mean of the gradients, but for a first step without any."""
    return 0 * past[0] if len(past) == 1 and o["start"] == "zero" else -h["eta_l"] * past[-1]


def _scaled(past: Any, h: Any, o: Any) -> Any:
    """Corrections have the mean 0, and an exchange moves by eta times the local steps."""
    return -h["eta"] * h["eta_l"] * past[-1]


MEANS: dict[str, Step] = {
    **dict.fromkeys(("dsgd", "gossip-pga", "led", "d2", "choco"), _descent),
    "diging": _tracked,
    "k-gt": _scaled,
}
"""The last move of the clients' mean model from their mean gradients of all steps: mixing moves no mean."""


@cache
def steps() -> dict[str, Step]:
    """Those of fedspec, and what plugins say of rows without a server."""
    return MEANS | {name: step for name, step in own.table("STEPS").items() if "peers" in find(name).takes}


def means(s: Scenario) -> list[Array]:
    """The mean model after each exchange, exactly."""
    exact = lift(s, Fraction)
    problem, step = exact.case.problem, steps()[s.case.algorithm]
    assert problem is not None
    n = len(problem.e)
    x = flatten(exact.case.x0).reshape(n, -1).sum(axis=0) / n
    past: list[Array] = []
    out = []
    for e in exact.events:
        assert isinstance(e, Exchange)
        for _ in e.computing:
            # The gradient of -e' x is -e.
            past.append(-problem.e.sum(axis=0) / n)
            x = x + step(past, exact.case.hyper, exact.case.options)
        out.append(x)
    return out
