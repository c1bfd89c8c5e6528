"""What edited text may use beside the specification: the blocks of the model, what was averaged, the event's number."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

from fedspec.arith import concatenate
from fedspec.contract import Event
from fedspec.mixing.weighted import weighted_mean
from fedspec_suite.judge.defects.defect import Defect, Running, behind, stepping

BLOCKS: list[slice] = []
"""The blocks of the model in the case that runs."""

NUMBER = [1]
"""Which event is taken."""

AVERAGED: list[Any] = []
"""What was averaged last: the stack, the weights and how."""


def in_each_block(f: Callable[[Any], Any], v: Any) -> Any:
    """Of each block's numbers one, for all of them."""
    return concatenate([v[..., l] * 0 + f(v[..., l]) for l in BLOCKS])


def over_clients(f: Callable[[Any], Any]) -> Any:
    """The mean over the clients of a function of what each of them sent."""
    sent, p, mean = AVERAGED
    return mean(f(sent), p)


def event_number() -> int:
    """The number of the event that is taken, from 1."""
    return NUMBER[0]


def _counted(inner: Running, event: Event, k: int) -> Any:
    NUMBER[:] = [k + 1]
    return inner.step(event)


COUNTED = stepping("", _counted)
"""What makes it known which event is taken."""


def _remembering(mean: Callable[..., Any]) -> Callable[..., Any]:
    def call(sent: Any, p: Any, *args: Any, **keywords: Any) -> Any:
        AVERAGED[:] = sent, p, mean
        return mean(sent, p, *args, **keywords)

    return call


REMEMBERED = Defect(words="", session=behind({cast(FunctionType, weighted_mean): _remembering}))
"""What makes it known what was averaged."""

GIVEN = {"in_each_block": in_each_block, "over_clients": over_clients, "event_number": event_number}
"""By the name that the text has for it."""
