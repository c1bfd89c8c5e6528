"""Means of means: the mean over groups of what clients send, of the mean within each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import count
from types import FunctionType
from typing import Any, cast

from fedspec import population
from fedspec.catalogue import Program
from fedspec_suite.diagnosis.defects.defect import Defect, around_clients, behind
from fedspec_suite.measure.setting import Setting


def _by(group: Callable[[Any], Sequence[Hashable]]) -> Any:
    """Changes scaled so that their mean is that over the groups of the mean within each."""

    def of_client(client: Callable[..., Any], clients: Any, plan: Any, x: Any) -> Callable[..., Any]:
        keys = group(plan)
        sizes = Counter(keys)
        factors, place = [len(keys) / (len(sizes) * sizes[key]) for key in keys], count()

        def one(*given: Any, **named: Any) -> Any:
            return client(*given, **named) * factors[next(place)]

        return one

    return behind({cast(FunctionType, population.each): around_clients(of_client)})


def of(setting: Setting) -> Iterator[Defect]:
    """What may be averaged twice where clients send their changes, and all of these count alike."""
    if setting.level != "round" or setting.options.get("weights", "uniform") != "uniform":
        return
    if not isinstance(setting.algorithm.run, Program) or "repeats" not in setting.takes:
        return
    yield Defect(
        words="of a client that is drawn twice the mean counts once",
        tail="delta",
        session=_by(lambda p: p.participants),
    )
    if "strategies" in setting.takes:
        yield Defect(
            words="Delta is the mean over the strategies of the mean within each",
            tail="delta",
            session=_by(lambda p: p.strategies),
        )
