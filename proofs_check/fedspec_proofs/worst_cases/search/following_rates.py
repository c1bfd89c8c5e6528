"""Search for the best local rates, and for functions that prove that no rate is better; needs Clarabel.

Whatever is found is rounded to fractions and checked as :mod:`fedspec_proofs.worst_cases.following_rates` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fedspec_proofs.engines.worst_case.attained import Attained
from fedspec_proofs.engines.worst_case.conic import Linear, unknowns
from fedspec_proofs.engines.worst_case.conic import largest as greatest
from fedspec_proofs.engines.worst_case.forms import basis
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.rates import Polynomial
from fedspec_proofs.engines.worst_case.solving import Worst, fractions_of, unknown
from fedspec_proofs.engines.worst_case.values import square
from fedspec_proofs.worst_cases import parabolas
from fedspec_proofs.worst_cases.following_rates import Stretch, last_of, problem_of, wrong_with_one
from fedspec_proofs.worst_cases.one_round import MU, Round, method_of
from fedspec_proofs.worst_cases.search.one_round import UncertifiedError, largest, least_factor

TRIED = ("1/32", "1/16", "1/8", "1/4", "1/2", "1", "3/2", "2")
PULLED = ("1/32", "1/16", "1/8", "1/4", "1/2", "3/4", "1")
"""Rates to try first, FedProx's none above 1/mu; the best rate is searched between the neighbours of the best."""

PART = Fraction(99, 100)
"""Share of the number at the best rate that must be proved at every other rate; more if parabolas suffice."""

LARGEST = 40
"""Largest denominator of the rates that are tried."""

LOST = 1e-3
"""Largest accepted loss of a simple rate compared with the best rate."""

NEAR = 0.05
"""Largest relative distance of a simple rate from the best one."""

UNIT = Fraction(1, 10000)
"""Unit to which the ends of intervals are rounded."""

ROOM = 1e-4
"""Margin, of distances and of eigenvalues in floats, above which an interval is tried in fractions."""

SPARED = (1e-5, 1e-6, 1e-7)
"""Slacks in the inequalities of the class, which leave room to round the functions."""

FAR = Fraction(4)
"""Rate above which a single unbounded interval is used, for algorithms that admit every rate."""

ALIKE = (MU, Fraction(1))
"""Curvatures of the quadratic clients to try; all clients get the same curvature."""


def refined(r: Round) -> Round:
    """Round with a simple fraction as its rate, near the best rate between the neighbours of the best one tried.

    The search assumes that the worst case falls and then rises; its result is certified in any case.

    Raises:
        UncertifiedError: no simple rate is near the best one.
    """

    def at(rate: Fraction) -> float:
        one = replace(r, eta_l=str(rate))
        return least_factor(one) if r.keeps else largest(one)

    tried = [Fraction(rate) for rate in (PULLED if r.algorithm == "fedprox" else TRIED)]
    k = min(range(1, len(tried) - 1), key=lambda k: at(tried[k]))
    limits = (32, 2e-4) if r.algorithm == method_of(r.steps) else (LARGEST, LOST, NEAR)
    return replace(r, eta_l=str(simplest(at, tried[k - 1], tried[k + 1], *limits)))


def simplest(
    at: Callable[[Fraction], float], low: Fraction, high: Fraction, largest: int, lost: float, near: float = math.inf
) -> Fraction:
    """Fraction with the smallest denominator whose value is within ``lost`` of the best between two rates.

    Args:
        at: function of a rate, which decreases and then increases.
        low: a lower limit of the rate, exclusive.
        high: an upper limit of the rate, exclusive.
        largest: largest denominator.
        lost: largest loss of the simple rate against the best one.
        near: largest relative distance of the simple rate from the best one.

    Raises:
        UncertifiedError: no fraction with such a denominator is near enough.
    """
    least, best = _golden(at, float(low), float(high))
    for denominator in range(1, largest + 1):
        rate = Fraction(round(best * denominator), denominator)
        if low < rate < high and abs(rate - best) < near * best and at(rate) <= least + lost:
            return rate
    raise UncertifiedError(f"best rate: no fraction with a denominator <= {largest} is near {best}")


def _golden(at: Callable[[Fraction], float], low: float, high: float) -> tuple[float, float]:
    """Minimum of a function that decreases and then increases, between two rates, and its rate."""
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


def cover(r: Round, least: Fraction, *, plain: bool = False) -> list[Stretch]:
    """Cover all rates of the algorithm by intervals: quadratics where they prove the bound, other functions elsewhere.

    Raises:
        UncertifiedError: at some rate neither parabolas nor other functions prove the bound, or only parabolas are
            allowed and they don't.
    """
    return [*_cover(r, least, plain)]


def _cover(r: Round, least: Fraction, plain: bool) -> Iterator[Stretch]:
    low, last = Fraction(0), last_of(r)
    reach = FAR if last is None else last
    alike = {(c,) * len(r.steps): parabolas.over(r, (c,) * len(r.steps), least) for c in ALIKE}
    while low < reach:
        # The widest interval of parabolas from here, or functions up to where there are some again.
        ends = {h: _reached(some, low, reach) for h, some in alike.items()}
        curvatures = max(ends, key=lambda h: ends[h])
        if ends[curvatures] > low:
            one = Stretch(r, low, ends[curvatures], curvatures)
        elif plain:
            raise UncertifiedError(f"following: no parabolas prove {float(least)} at the rate {low}: {r}")
        else:
            one = _longest(Stretch(r, low, _next([*alike.values()], low, reach)), least)
        assert one.high
        low = one.high
        yield one
    if last is None:
        far = [Stretch(r, low, None, h) for h in alike]
        yield next(one for one in far if not wrong_with_one(one, least))


def _reached(some: Sequence[Polynomial], low: Fraction, reach: Fraction) -> Fraction:
    """Largest rate up to which parabolas show the bound from a rate on, without a gap, as fractions check."""
    far = low
    for step in (100 * UNIT, UNIT):
        while far < reach and any(parabolas.value(p, far + step) <= 0 for p in some):
            far += step
    far = min(far, reach)
    if far == low or parabolas.nowhere_above(some, low, far):
        return far
    # A gap between two rates that were looked at: to the last unit before it.
    shown, beyond = 0, math.ceil((far - low) / UNIT)
    while beyond - shown > 1:
        middle = (shown + beyond) // 2
        found = parabolas.nowhere_above(some, low, low + middle * UNIT)
        shown, beyond = (middle, beyond) if found else (shown, middle)
    return low + shown * UNIT


def _next(every: Sequence[Sequence[Polynomial]], low: Fraction, reach: Fraction) -> Fraction:
    """The next rate at which parabolas show it."""
    far = low + UNIT
    while far < reach and not any(parabolas.value(p, far) <= 0 for some in every for p in some):
        far += 5 * UNIT
    return min(far, reach)


def _longest(one: Stretch, least: Fraction) -> Stretch:
    """The longest interval from such a rate for which functions are found and rounded."""
    whole, high = one.high, one.high
    assert whole and high
    while high > one.low + UNIT:
        tried = replace(one, high=high)
        if found := _functions(tried, least):
            return replace(tried, functions=found)
        high = UNIT * math.floor((one.low + (high - one.low) * Fraction(7, 10)) / UNIT)
        high = min(high, UNIT * math.floor(one.low * Fraction(13, 10) / UNIT))
    raise UncertifiedError(f"following: no functions prove {float(least)} from the rate {one.low}: {one.round}")


def _functions(one: Stretch, least: Fraction) -> Attained | None:
    """First functions in fractions that prove the bound; functions with the fewest digits come first."""
    for spared in SPARED:
        there = _in_floats(one, least, spared)
        if not there.names or not there.value >= ROOM:
            return None
        for found in fractions_of(there):
            if not wrong_with_one(replace(one, functions=found), least):
                return found
    return None


def _in_floats(one: Stretch, least: Fraction, spared: float) -> Worst:
    """Functions that show it with the most room: how much further they end, or the least eigenvalue that is left."""
    problem, state = problem_of(one, least)
    size = sum((square(basis(f"c{i}")) for i in range(len(one.round.steps))), square(basis("x")))
    entries = {f"{k} {i} {j}": c for k, m in enumerate(state) for i, row in enumerate(m) for j, c in enumerate(row)}
    whole = Problem(problem.claimed, {**problem.given, **entries, **({"size": size} if state else {})})
    said, gram, there = unknown(whole, more=1)
    room = unknowns(gram.c.shape[-1])[-1]
    above = [said(q) * -1.0 - spared for q in problem.given.values()]
    if not state:
        return there(greatest(room, above=[*above, said(problem.claimed) - room], semidefinite=[gram]))
    matrices = [gram]
    for m in state:
        parts = [[said(c) for c in row] for row in m]
        M = Linear(np.array([[p.c for p in row] for row in parts]), np.array([[p.b for p in row] for row in parts]))
        M.c[..., -1] -= np.eye(len(m))
        matrices.append(M)
    return there(greatest(room, zero=[said(size) - 1.0], above=above, semidefinite=matrices))
