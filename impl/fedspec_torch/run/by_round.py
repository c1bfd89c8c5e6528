"""Learning-rate schedules over rounds: functions of the round number r = 0, 1, ...

Pass them as ``simulate(..., rates={"eta_l": by_round.cosine(0.1, 100)})``; any function of r works too. The functions
of this module depend on r alone, so fedspec checks them for all rounds before the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import cos, pi
from typing import TypeAlias

from fedspec.errors import ParameterError
from fedspec_torch.arith import check_whole

ByRound: TypeAlias = Callable[[int], float]
"""Function from the round number to a rate."""


@dataclass(frozen=True)
class Known:
    """Schedule that depends on the round number alone; two with equal text are equal.

    Attributes:
        words: text of the call that made the schedule.
        at: function that returns the value in a round.
    """

    words: str
    at: ByRound = field(compare=False)

    def __call__(self, r: int) -> float:
        """Return the rate of round r."""
        return self.at(r)

    def __repr__(self) -> str:
        return self.words


def exponential(rate: float, factor: float) -> ByRound:
    """Exponential decay: rate factor^r.

    Raises:
        ParameterError: the rate or the factor is below 0.
    """
    _check(rate=rate, factor=factor)
    return Known(f"exponential({rate}, {factor})", lambda r: rate * factor**r)


def steps(rate: float, at: Sequence[int], factor: float = 0.1) -> ByRound:
    """Step decay: multiply the rate by ``factor`` at each round in ``at``, rate factor^|{a in at: a <= r}|.

    Raises:
        ParameterError: the rate, the factor or a round is below 0.
    """
    _check(rate=rate, factor=factor)
    ends = tuple(at)
    return Known(f"steps({rate}, {ends}, {factor})", lambda r: rate * factor ** sum(a <= r for a in ends))


def cosine(rate: float, rounds: int, least: float = 0.0) -> ByRound:
    """Cosine decay from the rate to ``least`` over R rounds: least + (rate - least) (1 + cos(pi r / R)) / 2.

    After R rounds it stays the least. Of a run of R rounds the last one, r = R - 1, is a little above it; a longer run
    needs a least that is above 0.

    Raises:
        ParameterError: the rate or ``least`` is below 0.
        PlanError: ``rounds`` isn't a whole number >= 1.
    """
    _check(rate=rate, least=least)
    check_whole("rounds", rounds, "it falls over at least one round")
    return Known(
        f"cosine({rate}, {rounds}, {least})",
        lambda r: least + (rate - least) * (1 + cos(pi * min(r, rounds) / rounds)) / 2,
    )


def warm_up(rounds: int, then: float | ByRound) -> ByRound:
    """Linear warm-up: multiply the rate by min(1, (r + 1) / W) for W rounds; ``then`` counts rounds from 0.

    Raises:
        ParameterError: the rate is a number below 0.
        PlanError: ``rounds`` isn't a whole number >= 1.
    """
    check_whole("rounds", rounds, "it rises over at least one round")
    if not callable(then):
        _check(then=then)
    after: ByRound = then if callable(then) else lambda r: then

    def rate(r: int) -> float:
        return after(r) * min(1.0, (r + 1) / rounds)

    # Of a function of the user's own nobody knows what it depends on.
    is_known = isinstance(then, Known) or not callable(then)
    return Known(f"warm_up({rounds}, {then!r})", rate) if is_known else rate


def _check(**numbers: float) -> None:
    for name, number in numbers.items():
        if not 0 <= number < float("inf"):
            raise ParameterError(f"{name}: got {number!r}; give a finite number of at least 0")
