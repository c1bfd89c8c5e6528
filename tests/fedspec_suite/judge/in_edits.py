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


def one_by_one(f: Callable[[Any, Any], Any], start: Any) -> Any:
    """What a function makes of something and each update that was averaged, one after another."""
    for row in AVERAGED[0]:
        start = f(start, row)
    return start


def by_means_so_far(f: Callable[[Any, Any], Any], start: Any) -> Any:
    """The same of the mean of each update and those before it."""
    total: Any = 0
    for k, row in enumerate(AVERAGED[0], 1):
        total = total + row
        start = f(start, total / k)
    return start


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

AVERAGING = (over_clients, one_by_one, by_means_so_far)
"""What asks what was averaged."""

GIVEN = {f.__name__: f for f in (in_each_block, event_number, *AVERAGING)}
"""By the name that the text has for it."""
