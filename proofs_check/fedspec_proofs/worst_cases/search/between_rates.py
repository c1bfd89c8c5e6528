"""The best local rate, and functions for intervals of all other rates, found by semidefinite programming.

Whatever is found is rounded to fractions and checked as :mod:`fedspec_proofs.worst_cases.between_rates` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fedspec_proofs.engines.worst_case.attained import Attained, share, unfit
from fedspec_proofs.engines.worst_case.solving import fractions_of, worst
from fedspec_proofs.worst_cases.between_rates import Piece, at_lowest, ended
from fedspec_proofs.worst_cases.one_round import MU, Round
from fedspec_proofs.worst_cases.search.one_round import UncertifiedError, largest, slopes_of, stilled

LARGEST = 32
"""Denominators of the rates that are looked at."""

LOST = 2e-4
"""What a simple rate may lose to the best one."""

UNIT = Fraction(1, 10000)
"""Of the ends of intervals."""

NARROW = 1e-3
"""How well the ratio of an interval's ends is known, at the best."""

SPARE = (3e-4, 1e-3, 3e-3)
"""By how much functions in floats end further away than those in fractions have to, so that they can be rounded."""

ROOMS = (1e-4, 3e-5, 1e-5, 1e-6, 1e-7)


def refined(r: Round, low: Fraction, high: Fraction) -> Round:
    """The same with a rate near the best between two, in a fraction as simple as may be.

    The worst case falls and then rises, as a search takes for granted; what is found is certified, whatever it is.
    """
    rate = simplest(lambda rate: largest(replace(r, eta_l=str(rate))), low, high, LARGEST, LOST)
    return replace(r, eta_l=str(rate))


def simplest(
    at: Callable[[Fraction], float], low: Fraction, high: Fraction, largest: int, lost: float, near: float = math.inf
) -> Fraction:
    """The fraction with the least denominator that is hardly worse than the best between two rates.

    Args:
        at: what falls and then rises.
        low: no rate is so small.
        high: none is so large.
        largest: of the denominators that are looked at.
        lost: what the simple rate may lose to the best one.
        near: how far it may be from the best one, as a part of that.

    Raises:
        UncertifiedError: none is.
    """
    least, best = _golden(at, float(low), float(high))
    for denominator in range(1, largest + 1):
        rate = Fraction(round(best * denominator), denominator)
        if low < rate < high and abs(rate - best) < near * best and at(rate) <= least + lost:
            return rate
    raise UncertifiedError(f"between rates: no simple rate near {best}")


def _golden(at: Callable[[Fraction], float], low: float, high: float) -> tuple[float, float]:
    """The least of what falls and then rises between two rates, and where."""
    part = (math.sqrt(5) - 1) / 2

    def near(rate: float) -> float:
        return at(Fraction(rate).limit_denominator(4096))

    inner = [high - part * (high - low), low + part * (high - low)]
    values = [near(rate) for rate in inner]
    while high - low > 1e-3 * high:
        if values[0] < values[1]:
            high, inner = inner[1], [inner[1] - part * (inner[1] - low), inner[0]]
            values = [near(inner[0]), values[0]]
        else:
            low, inner = inner[0], [inner[1], inner[0] + part * (high - inner[0])]
            values = [values[1], near(inner[1])]
    return min(zip(values, inner, strict=True))


def cover(steps: tuple[int, ...], zeta2: Fraction, least: Fraction) -> list[Piece]:
    """Intervals from zero to infinity, with functions that end at least so far away at all rates of each.

    Raises:
        UncertifiedError: at some rate there are none.
    """
    first = UNIT * math.floor(min(_level(steps, MU, least)) / UNIT)
    last = UNIT * math.ceil(max(_level(steps, Fraction(1), least)) / UNIT)
    if first >= last:
        first = last = Fraction(2) / (1 + MU)
    parabolas = Piece(steps, zeta2, Fraction(0), first, None)
    return [parabolas, *_between(steps, zeta2, least, first, last), replace(parabolas, low=last, high=None)]


def _level(steps: tuple[int, ...], curvature: Fraction, least: Fraction) -> list[float]:
    """The rates > 0 at which clients that are all curvature x^2/2 end so far away from x = 1."""
    end = np.polynomial.Polynomial([float(c) for c in ended(steps, curvature)])
    roots = [complex(root) for root in (end**2 - float(least)).roots()]
    return [root.real for root in roots if abs(root.imag) < 1e-6 and root.real > 0]


def _between(
    steps: tuple[int, ...], zeta2: Fraction, least: Fraction, low: Fraction, last: Fraction
) -> Iterator[Piece]:
    while low < last:
        piece = _longest(Piece(steps, zeta2, low, last, None), least)
        assert piece.high
        yield piece
        low = piece.high


def _longest(piece: Piece, least: Fraction) -> Piece:
    """The longest interval from such a rate for which functions are found and rounded."""
    last = piece.high
    assert last

    def far(ratio: float, spare: float) -> bool:
        value = largest(_to(piece, ratio).narrow)
        return math.isfinite(value) and value > float(least) + spare

    whole = float(last / piece.low)
    for spare in SPARE:
        low, high = 1.0, min(whole, float(1 / piece.mu) - 0.1)
        if far(high, spare):
            low = high
        else:
            high = min(high, 2.0)
            while high - low > max(NARROW, (low - 1) / 8):
                middle = (low + high) / 2
                low, high = (middle, high) if far(middle, spare) else (low, middle)
        one = replace(piece, high=last) if low == whole else _to(piece, low)
        if one.high and one.high > one.low and (found := _functions(one, least)):
            return replace(one, functions=found)
    raise UncertifiedError(f"between rates: nothing ends at {float(least)} or further: {piece}")


def _to(piece: Piece, ratio: float) -> Piece:
    return replace(piece, high=UNIT * math.floor(float(piece.low) * ratio / UNIT))


def _functions(piece: Piece, least: Fraction) -> Attained | None:
    """The first functions in fractions that end so far away; those with fewest digits come first."""
    problem = at_lowest(piece, least)
    simpler, slopes = stilled(problem, piece.narrow), slopes_of(piece.narrow)
    simpler = replace(simpler, given={name: q for name, q in simpler.given.items() if q.products})
    for room in ROOMS:
        there = worst(simpler, room)
        for some in fractions_of(there) if there.names else ():
            # At zeta = 0 the program has no gradients at x*: they are zero, and nothing is given of them.
            zeros = {name: (Fraction(0),) * some.d for name in slopes}
            found = replace(some, vectors={**zeros, **some.vectors})
            if not unfit(problem, found) and share(problem, found) >= 1:
                return found
    return None
