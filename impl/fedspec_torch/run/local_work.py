"""Numbers of local steps: equal for all clients, drawn for each, given in epochs, or listed.

A number that is drawn once is a function of the seed and the client's number alone: a client takes the same number of
steps in each of its rounds, like clients of different speed and data size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import numpy as np

from fedspec.domains import check_steps
from fedspec.errors import PlanError
from fedspec_torch.arith import check_whole
from fedspec_torch.data.batches import mixed

N = TypeVar("N", int, float)


@dataclass(frozen=True)
class Redrawn:
    """Number of steps drawn uniformly from least to greatest, inclusive, in every round; see :func:`each_round`."""

    least: int
    greatest: int


@dataclass(frozen=True)
class Epochs:
    """Number of passes over a client's examples, equal for all clients or one for each; see :func:`epochs`."""

    passes: float | tuple[float, ...]
    batch_size: int
    accumulate: int = 1


@dataclass(frozen=True)
class ForClients:
    """Number of steps of each client; see :func:`for_clients`."""

    steps: tuple[int, ...]


Steps: TypeAlias = int | tuple[int, int] | Redrawn | Epochs | ForClients
"""Local steps: one number; a pair (least, greatest), drawn once for each client; or one of the records above."""


def each_round(least: int, greatest: int) -> Redrawn:
    """Draw each client's number of steps uniformly from least to greatest, both included, in every round.

    Clients then take as many steps as each other on average, and what unequal work does to an algorithm fades.

    Raises:
        PlanError: ``least`` and ``greatest`` aren't whole numbers >= 1 in ascending order.
    """
    low, high = _ends((least, greatest))
    return Redrawn(low, high)


def epochs(passes: float | Sequence[float], *, batch_size: int, accumulate: int = 1) -> Epochs:
    """Count local steps in passes over a client's examples: tau_i = floor(E_i n_i / (A B)), at least 1.

    Args:
        passes: E, the same for all clients, or E_i in the order of the clients' numbers; for example, 0.5 is half of
            the examples.
        batch_size: B, the federation's batch size; a client with fewer examples has a single minibatch of all its
            examples.
        accumulate: A, the federation's ``accumulate``: the number of minibatches over which a step's gradient is
            averaged.

    Raises:
        PlanError: a number of passes isn't above 0, or B or A isn't a whole number >= 1.
    """
    given: Any = passes.tolist() if hasattr(passes, "tolist") else passes
    # A pair would be read as two ends between which a number is drawn.
    each: list[Any] = given if isinstance(given, list) else [given]
    for some in each or [given]:
        if isinstance(some, bool) or not isinstance(some, int | float) or not 0 < some < float("inf"):
            raise PlanError(
                f"epochs: got {some!r}; give a number above 0, such as 2 or 0.5, or a list with one for each client"
            )
    check_whole("batch_size", batch_size, "a minibatch holds at least one example")
    check_whole("accumulate", accumulate, "a gradient is the mean of at least one minibatch")
    return Epochs(tuple(given) if isinstance(given, list) else given, int(batch_size), int(accumulate))


def for_clients(steps: Sequence[int]) -> ForClients:
    """Set each client's number of steps, in the order of the clients' numbers.

    Raises:
        PlanError: a client's number of steps isn't a whole number >= 1.
    """
    for tau in steps:
        check_steps(tau)
    return ForClients(tuple(map(int, steps)))


def checked_steps(steps: Any) -> Steps:
    """Check numbers of local steps, and return them in the form that schedules use.

    Raises:
        PlanError: the steps are neither a whole number >= 1 nor two such numbers in ascending order.
    """
    if isinstance(steps, Redrawn | Epochs | ForClients):
        return steps
    if isinstance(steps, tuple | list):
        return _ends(steps)
    check_steps(steps)
    return int(steps)


def steps_of(
    steps: Steps, who: Sequence[int], examples: Sequence[float], seed: int, rng: np.random.Generator
) -> tuple[int, ...]:
    """Return the numbers of local steps of some clients.

    Args:
        steps: the numbers of steps, in the form that schedules use.
        who: the clients' numbers.
        examples: n_i of all clients.
        seed: seed of numbers that are drawn once for all rounds.
        rng: generator of numbers that are drawn in this round.

    Raises:
        PlanError: a client has no number of steps.
    """
    match steps:
        case int():
            return (steps,) * len(who)
        case (low, high):
            drawn = mixed(seed, np.asarray(who, dtype=np.uint64), SALT) % np.uint64(high - low + 1)
            return tuple((drawn.astype(np.int64) + low).tolist())
        case Redrawn(low, high):
            return tuple(rng.integers(low, high, size=len(who), endpoint=True).tolist())
        case Epochs(passes, size, times):
            each = _for_each("epochs", passes, examples) if isinstance(passes, tuple) else (passes,) * len(examples)
            # As it is written: 0.1 is a tenth.
            exact = {E: Fraction(str(E)) for E in {*each}}
            some = [(exact[each[i]], int(examples[i])) for i in who]
            return tuple(max(1, int(E * n_i // (times * min(size, n_i or 1)))) for E, n_i in some)
        case ForClients(said):
            taus = _for_each("steps", said, examples)
            return tuple(taus[i] for i in who)


def _for_each(what: str, said: tuple[N, ...], examples: Sequence[float]) -> tuple[N, ...]:
    if len(said) != len(examples):
        raise PlanError(f"{what}: got {len(said)} numbers for {len(examples)} clients; give one for each client")
    return said


SALT = 0x7A75
"""Salt that separates these draws from the draws of minibatches with the same seed."""


def common(steps: Steps) -> int:
    """Return the number of steps that all clients take; the greatest if it is drawn.

    Raises:
        PlanError: clients have different fixed numbers of steps.
    """
    match steps:
        case int():
            return steps
        case (_, high) | Redrawn(_, high):
            return high
    raise PlanError(
        "steps: if clients exchange models after each step, all must take the same number of steps; give one number"
    )


def _ends(steps: Sequence[Any]) -> tuple[int, int]:
    for end in steps:
        check_steps(end)
    if len(steps) != 2 or steps[0] > steps[1]:
        raise PlanError(
            f"steps: got {steps!r}; give a whole number, or the least and the greatest, such as (2, 8), or "
            "for_clients([...]) with one for each client"
        )
    return int(steps[0]), int(steps[1])
