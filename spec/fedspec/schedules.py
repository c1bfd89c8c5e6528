"""Schedules of rates that an implementation computes by itself: the words of ``Claim.schedules``.

    eta_t = eta s(t)        t = 0, 1, ... counts rounds, local steps, or the local steps of one round

No paper fixes a schedule, so a claim says it by hyper-parameter: a shape, what it counts, and its numbers::

    Claim("fedavgm", "server", schedules={"eta": "cosine/round period=100 floor=0.1"})

With period T, floor f, factor c and power k:

================  ==========================================  ===============================================
shape             s(t)                                        for example
================  ==========================================  ===============================================
step              c^floor(t / T)                              ``StepLR(step_size=T, gamma=c)``
exponential       c^t                                         ``ExponentialLR(gamma=c)``
linear            1 - (1 - f) min(t / T, 1)                   ``LinearLR(1, f, total_iters=T)``
cosine            f + (1 - f) (1 + cos(pi min(t/T, 1))) / 2   the next one, held at f from T on
cosine-unclamped  f + (1 - f) (1 + cos(pi t / T)) / 2         ``CosineAnnealingLR(T, eta_min=f * eta)``
quarter-cosine    f + (1 - f) cos(pi min(t/T, 1) / 2)         slow at first, steepest at T
polynomial        (1 - min(t/T, 1))^k                         ``PolynomialLR(total_iters=T, power=k)``
inverse           T / (t + T)                                 1 / (t + 1) with T = 1, as in theorems for FedAvg
inverse-sqrt      1 / sqrt(t + 1)                             theorems with eta proportional to 1 / sqrt(t)
warm-up           min((t + 1) / T, 1)                         ``LinearLR(1 / T, 1, total_iters=T - 1)``
warm-up-from-zero min(t / T, 1)                               ``LambdaLR``, as ``transformers`` warms up
table             the t-th of ``values``, then the last one   ``MultiStepLR``, or any other schedule
================  ==========================================  ===============================================

A factor may be 0: the rule then runs with a rate of 0, so the model stays and the moments move.

External: no paper; the examples are classes of torch.optim.lr_scheduler, in torch 2.13.0, and
``get_constant_schedule_with_warmup`` of ``transformers``, read at 005edac.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from math import cos, floor, pi, sqrt
from typing import Any, TypeAlias

from fedspec import scalars
from fedspec.arith import Scalar, minimum
from fedspec.contract import Begin, Event, Gradient
from fedspec.domains import resting
from fedspec.errors import ContractError

__all__ = [
    "FACTORS",
    "SHAPES",
    "Clock",
    "Every",
    "Factor",
    "Schedule",
    "Schedules",
    "factor_of",
    "factors",
    "read",
    "schedule_of",
    "timed",
]

Factor: TypeAlias = Callable[[int], float]
"""Function from the number t of rounds or steps so far to the factor s(t) of the case's rate."""


class Every(StrEnum):
    """Unit in which a schedule counts."""

    ROUND = "round"
    STEP = "step"
    STEP_OF_ROUND = "step-of-round"


def step(t: int, period: float, factor: float) -> Scalar:
    """Step decay."""
    return factor ** floor(t / period)


def exponential(t: int, factor: float) -> Scalar:
    """Exponential decay."""
    return factor**t


def linear(t: int, period: float, floor: float) -> Scalar:
    """Linear decay to the floor, held there."""
    return 1 - (1 - floor) * minimum(t / period, 1)


def cosine(t: int, period: float, floor: float) -> Scalar:
    """Half a cosine to the floor, held there."""
    return floor + (1 - floor) * (1 + cos(pi * minimum(t / period, 1))) / 2


def cosine_unclamped(t: int, period: float, floor: float) -> Scalar:
    """Cosine between 1 and the floor, for ever."""
    return floor + (1 - floor) * (1 + cos(pi * t / period)) / 2


def quarter_cosine(t: int, period: float, floor: float) -> Scalar:
    """A quarter of a cosine to the floor, held there."""
    return floor + (1 - floor) * cos(pi * t / period / 2) if t < period else floor


def polynomial(t: int, period: float, power: float) -> Any:
    """Polynomial decay to 0, held there."""
    return (1 - minimum(t / period, 1)) ** power


def inverse(t: int, period: float) -> Scalar:
    """Decay as the inverse of the count."""
    return period / (t + period)


def inverse_sqrt(t: int) -> Scalar:
    """Decay as the inverse of the root of the count."""
    return 1 / sqrt(t + 1)


def warm_up(t: int, period: float) -> Scalar:
    """Linear warm-up from 1 / period."""
    return minimum((t + 1) / period, 1)


def warm_up_from_zero(t: int, period: float) -> Scalar:
    """Linear warm-up from 0."""
    return minimum(t / period, 1)


def table(t: int, *values: float) -> Scalar:
    """The t-th of some values, then the last one."""
    return values[min(t, len(values) - 1)]


FACTORS: dict[str, Callable[..., Scalar]] = {
    "step": step,
    "exponential": exponential,
    "linear": linear,
    "cosine": cosine,
    "cosine-unclamped": cosine_unclamped,
    "quarter-cosine": quarter_cosine,
    "polynomial": polynomial,
    "inverse": inverse,
    "inverse-sqrt": inverse_sqrt,
    "warm-up": warm_up,
    "warm-up-from-zero": warm_up_from_zero,
    "table": table,
}
"""Factor s(t) of each shape, from t and the numbers of the schedule."""

SHAPES: Mapping[str, tuple[str, ...]] = {
    shape: tuple(inspect.signature(factor).parameters)[1:] for shape, factor in FACTORS.items()
}
"""Names of the numbers of each shape."""


@dataclass(frozen=True)
class Schedule:
    """A schedule as a claim declares it.

    Attributes:
        shape: a key of ``SHAPES``.
        every: the unit that the schedule counts: steps or rounds.
        numbers: the schedule's numbers, in the order of ``SHAPES``; all values of a table.
    """

    shape: str
    every: Every
    numbers: tuple[float, ...]

    @property
    def factor(self) -> Factor:
        """Function from t to s(t)."""
        return partial(factor_of, self)

    @property
    def rests(self) -> bool:
        """True if a factor is 0: a floor or a value is, or the schedule begins or ends there."""
        return self.shape in ("warm-up-from-zero", "polynomial") or 0 in self.numbers


Schedules: TypeAlias = Mapping[str, tuple[Every, Factor]]
"""Unit and factor of each scheduled rate, by hyper-parameter."""


def read(said: Mapping[str, str]) -> Schedules:
    """Parse the schedules of a claim.

    Raises:
        ContractError: a value isn't a schedule.
    """
    return factors({name: schedule_of(words) for name, words in said.items()})


def factors(schedules: Mapping[str, Schedule]) -> Schedules:
    """Unit and factor of each schedule."""
    return {name: (s.every, partial(factor_of, s)) for name, s in schedules.items()}


def factor_of(schedule: Schedule, t: int) -> float:
    """Factor s(t) of a schedule."""
    return float(FACTORS[schedule.shape](t, *schedule.numbers))


@dataclass(frozen=True)
class Clock:
    """Counters of a session: rounds, local steps, and local steps of the current round."""

    rounds: int = 0
    steps: int = 0
    here: int = 0

    def factor(self, every: Every, factor: Factor) -> float:
        """Value of a schedule's factor at the current count of its unit."""
        return factor({Every.ROUND: self.rounds, Every.STEP: self.steps, Every.STEP_OF_ROUND: self.here}[every])


def timed(event: Event, clock: Clock, hyper: Mapping[str, Any], schedules: Schedules) -> tuple[Event, Clock]:
    """Return the event with its scheduled rates, eta_t = eta s(t), and the clock after the event."""
    if isinstance(event, Begin):
        # A session may begin with one, before any step.
        return event, replace(clock, rounds=clock.rounds + (clock.steps > 0), here=0)
    rates = {n: hyper[n] * scalars.like(clock.factor(*how), hyper[n]) for n, how in schedules.items()}
    if isinstance(event, Gradient):
        return replace(event, eta_l=rates.get("eta_l")), replace(clock, steps=clock.steps + 1, here=clock.here + 1)
    with resting():
        return replace(event, hyper=rates), replace(clock, rounds=clock.rounds + 1)


def schedule_of(said: str, where: str = "schedules") -> Schedule:
    """Parse one schedule of a claim, for example ``step/round period=2 factor=0.5``.

    Raises:
        ContractError: shape, unit or a number is unknown or missing, or a rate would be negative or not finite.
    """
    head, *given = said.split()
    shape, _, every = head.partition("/")
    if shape not in SHAPES or every not in set(Every):
        raise ContractError(
            f"{where}: got {said!r}; write SHAPE/EVERY with a shape of {', '.join(SHAPES)} and {', '.join(Every)}, "
            f"as in 'cosine/round period=100 floor=0.1'"
        )
    names = SHAPES[shape]
    told = dict(part.partition("=")[::2] for part in given)
    if set(told) != set(names) or len(told) != len(given):
        want = " ".join(f"{n}=..." for n in names) or "nothing"
        raise ContractError(f"{where}: {shape} takes {want}; got {' '.join(given) or 'nothing'}")
    try:
        numbers = tuple(float(part) for name in names for part in told[name].split(","))
    except ValueError:
        raise ContractError(f"{where}: got {' '.join(given)}; give numbers, as in values=1,0.5,0.25") from None
    # A floor or a value of a table may be 0.
    positive = () if shape == "table" else numbers[:1] if "floor" in told else numbers
    if not all(math.isfinite(n) and n >= 0 for n in numbers) or 0 in positive or not any(numbers or (1,)):
        raise ContractError(
            f"{where}: {said!r} makes a rate that is always 0, negative or not finite; give positive numbers (a floor "
            f"and values of a table may be 0)"
        )
    if "period" in told and numbers[0] != int(numbers[0]):
        raise ContractError(f"{where}: period={told['period']}; give a whole number of rounds or steps")
    return Schedule(shape, Every(every), numbers)
