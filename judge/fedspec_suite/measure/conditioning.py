"""Ill-conditioned operations of a rule (squared differences, choices, comparisons, divisions), found by running it.

The rule runs on numbers that know which clients, or which steps, they are made of. Whatever it computes itself is
compared within the bounds of its own rounding. These dangers are those of other ways to compute the same: squares in
the place of differences, a total less what is left out, an order of the last in the place of the first.
"""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from fedspec.arith import Array, digits
from fedspec.contract import Event, Gradient, Messages
from fedspec.division import STABILISERS
from fedspec.params import flatten
from fedspec_suite.measure.bench import specified
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.running_error import Running, Running64
from fedspec_suite.measure.scenario import Scenario, running, with_hyper
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.tagged_numbers import Operation, TaggedNumber

Danger: TypeAlias = Literal["near", "unlike", "equal", "small"]
"""``near``: it squares what the data of two clients differ by, and they may agree in most digits.
``unlike``: it chooses among clients, so one of them may be huge and leave no trace but rounding.
``equal``: it chooses between numbers, or takes a sign, so two of them may be equal.
``small``: it has a stabiliser, beside which what it divides by may be small."""

LOOKED_AT = 3
"""Number of cases in which the rule is run."""

MANY = 4
"""Clients of such a case; with fewer clients, some rules leave no client out."""


_DIFFERENCE = 1 << 60


class _Traced(TaggedNumber, Running64):
    """A running number that knows whose data it is made of, and notes what is done with them."""

    __slots__ = ("of",)
    noted: ClassVar[set[Danger]]
    first: ClassVar[bool]
    of: int
    """A bit for each client whose data it is made of, and one where it is made of what those of two differ by."""

    def __init__(self, value: Any, bound: float = 0.0) -> None:
        super().__init__(value, bound)
        self.of = 0

    def _made(self, out: Any, how: Operation, *others: Any) -> Any:
        if out is NotImplemented:
            return out
        made_of: list[Any] = [self, *map(self._of, others)]
        if any(out is x for x in made_of):
            out = Running.near(out, out.bound)
        sources = [x.of for x in made_of]
        # The compared ones of a step are behind those that it chooses between.
        one, other = sources[-2:] if len(sources) > 1 else (0, 0)
        apart = bool(one & ~_DIFFERENCE and other & ~_DIFFERENCE and one != other)
        if how == "step" and any(sources):
            self.noted.add("equal")
        if self.first and how in {"choice", "step"} and apart:
            self.noted.add("unlike")
        if self.first and how == "*" and one & other & _DIFFERENCE:
            self.noted.add("near")
        out.of = reduce(or_, sources) | (_DIFFERENCE if how == "-" and apart else 0)
        return out


@cache
def dangers(setting: Setting) -> tuple[Danger, ...]:
    """List the dangers of a setting's rule, in a fixed order."""
    noted: set[Danger] = {"small"} if {*STABILISERS} & {*setting.numbers} else set()
    crowd = max(MANY, setting.crowd)
    more = {} if setting.level == "client" else {"clients": (crowd, crowd)}
    for s in draw_cases(scenarios(setting, **more), LOOKED_AT, seed=0):
        _watch(with_hyper(s, kept=1) if "kept" in s.case.hyper else s, noted)
    return tuple(d for d in ("near", "unlike", "equal", "small") if d in noted)


def _watch(s: Scenario, noted: set[Danger]) -> None:
    """Run the first two events of a case; of the second only what it chooses is noted, since all is made of all."""
    number: Any = type("Traced", (_Traced,), {"__slots__": (), "noted": noted, "first": True})
    with digits(), np.errstate(invalid="ignore", over="ignore"):
        lifted = running(s, {s.case.dtype: number})
        for i, e_i in enumerate([] if lifted.case.problem is None else lifted.case.problem.e):
            _label(e_i, i)
        session = specified(lifted)
        for k, event in enumerate(lifted.events[:2]):
            for i, sent in enumerate(_data(event)):
                _label(sent, i + k)
            session.step(event)
            number.first = False


def _data(event: Event) -> list[Array]:
    """Data of an event: the change of every client, or one gradient."""
    match event:
        case Messages(messages=messages):
            return [flatten(m.delta) for m in messages]
        case Gradient(g=g):
            return [flatten(g)]
    return []


def _label(numbers: Array, client: int) -> None:
    for x in numbers:
        x.of = 1 << client
