"""Results that come out of turn, kept until everything that stands before them has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from fedspec_suite.judge.plan import Planned, Task
from fedspec_suite.measure.verdict import Result


@dataclass
class Turns:
    """The table that is coming into being.

    Attributes:
        subjects: how many there are.
        finish: what is done to the result of an offer, by its number, before it is given.
        plans: what is to be done with those that were asked, by place.
        came: the results of each task, by its place.
        given: how many of them were given.
    """

    subjects: int
    finish: Callable[[Task, int, Result], Result]
    plans: dict[int, Planned] = field(default_factory=dict)
    came: dict[tuple[int, int], list[Result]] = field(default_factory=dict)
    given: dict[tuple[int, int], int] = field(default_factory=dict)

    def ready(self, *, rest: bool = False) -> Iterator[Result]:
        """What can be printed: nothing stands before it that is still to come, or the rest will never come."""
        if not rest and not any(one.usable for one in self.plans.values()):
            # It may turn out that there is nothing to judge, which is then all that is said.
            return
        for place in range(self.subjects):
            if place not in self.plans:
                if rest:
                    continue
                return
            for number, step in enumerate(self.plans[place].steps):
                slot = place, number
                some = self.came.get(slot, []) if isinstance(step, Task) else [step]
                before, self.given[slot] = self.given.get(slot, 0), len(some)
                for k in range(before, len(some)):
                    yield self.finish(step, step.offers[k][0], some[k]) if isinstance(step, Task) else some[k]
                if isinstance(step, Task) and len(some) < len(step.offers) and not rest:
                    return

    def far(self) -> str:
        """How far the work is, in words."""
        done = sum(map(len, self.came.values()))
        if len(self.plans) < self.subjects:
            return f"{done} offer{'s' * (done != 1)} so far"
        tasks = [step for one in self.plans.values() for step in one.steps if isinstance(step, Task)]
        return f"{done} of {sum(len(task.offers) for task in tasks)} offers"
