"""Worst cases of rounds: found by semidefinite programming, with multipliers that prove them; needs Clarabel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, Generic, TypeVar

from fedspec.errors import FedspecError
from fedspec_proofs.engines.worst_case.falling import Matrix, fitted, positive, rounded, without
from fedspec_proofs.engines.worst_case.forms import Form, form
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.solving import first_proved, worst
from fedspec_proofs.engines.worst_case.values import Value
from fedspec_proofs.worst_cases.one_round import Round, problem_of, state_of

DIGITS = 1000
UNIT = Fraction(1, DIGITS)
MOST = 4
"""Upper limit of the search for a form's factor."""
ROOM = 1e-6
"""Slack of a linear matrix inequality, so that its solution can be rounded."""
FREE = Fraction(10**9)
"""Multiplier of the inequality mean |s_i|^2 <= 0; a large one does no harm."""


class UncertifiedError(FedspecError):
    """The search found no multipliers that prove a bound."""


Q = TypeVar("Q")


@dataclass(frozen=True)
class Certified(Generic[Q]):
    """Certified bound of a question, with its multipliers.

    Attributes:
        round: the round, with its Lyapunov function if one is searched for.
        worst: the value that the program attains, in floats.
        bound: the proved bound.
        proof: the multipliers.
    """

    round: Q
    worst: float
    bound: Fraction
    proof: Mapping[str, Fraction]


def stilled(problem: Problem, r: Round) -> Problem:
    """Simplify a problem by setting clients' gradients at x* to zero, if clients keep a vector or zeta is 0.

    Such methods do not see a linear function that is added to an F_i if its vector moves with it, which a test shows on
    forms. So the program has directions in which nothing changes, and no room in them. The result is checked without
    this, at zeta = 0 with :data:`FREE` of the inequality that says so.
    """
    return tilted(problem, slopes_of(r)) if r.keeps or not r.zeta2 else problem


def tilted(problem: Problem, slopes: Sequence[str]) -> Problem:
    """Simplify a problem by setting the named gradients at x* to zero."""
    given = {name: without(q, slopes) for name, q in problem.given.items()}
    return Problem(without(problem.claimed, slopes), given, without(problem.right, slopes))


def slopes_of(r: Round) -> list[str]:
    """Names of the clients' gradients at x* except the last, which is minus the sum of the others."""
    return [f"s{i}" for i in range(len(r.steps) - 1)]


def greatest(problem: Problem, falls: bool) -> float:
    """Largest left side of a claim, in floats; for a form's factor, relative to a form of 1 before the round."""
    given = {**problem.given, **({"start": problem.right - 1} if falls else {})}
    return worst(Problem(problem.claimed + problem.right, given)).value


def largest(r: Round) -> float:
    """Worst case of a round, in floating point."""
    return greatest(stilled(problem_of(r, Fraction(1)), r), r.keeps)


def falling(r: Round) -> Iterator[Round]:
    """Yield the round with quadratic forms from the search, forms with the smallest factor first."""
    before, after, given, _ = state_of(r)
    alike = [[0], *([i + 1 for i in kind] for kind in r.kinds)]
    for found in forms_that_fall(before, after, given, slopes_of(r), alike):
        yield replace(r, form=tuple(tuple(map(str, row)) for row in found))


def forms_that_fall(
    before: Sequence[Form],
    after: Sequence[Form],
    given: Mapping[str, Value],
    slopes: Sequence[str],
    alike: Sequence[Sequence[int]],
) -> Iterator[Matrix]:
    """Yield positive definite matrices, in fractions, of Lyapunov functions, in ascending order of their factor.

    Args:
        before: the state's vectors before a round.
        after: the state's vectors after the round.
        given: inequalities that the functions satisfy.
        slopes: the names of the clients' gradients at x*, which the rounds don't read.
        alike: interchangeable vectors of the state.
    """
    before, after, given = _without_slopes(before, after, given, slopes)
    high = _first(before, after, given, DIGITS)
    for factor, denominator in product(range(high, high + 4), (10**3, 10**5)):
        _, P = fitted(before, after, given, factor / DIGITS)
        if len(P) and positive(found := rounded(P, alike, denominator)):
            yield found


def _without_slopes(
    before: Sequence[Form], after: Sequence[Form], given: Mapping[str, Value], slopes: Sequence[str]
) -> tuple[list[Form], list[Form], dict[str, Value]]:
    """State before and after a round, and the inequalities, if the clients' gradients at x* are zero."""
    there, then = ([form({n: c for n, c in y.parts if n not in slopes}) for y in u] for u in (before, after))
    return there, then, {name: without(q, slopes) for name, q in given.items()}


def _first(before: Sequence[Form], after: Sequence[Form], given: Mapping[str, Value], digits: int) -> int:
    """The least factor with which the inequality has room, in such parts of one."""
    low, high = 0, MOST * digits
    while high - low > 1:
        middle = (low + high) // 2
        has_room = fitted(before, after, given, middle / digits)[0] > ROOM
        low, high = (low, middle) if has_room else (middle, high)
    return high


def least_factor(r: Round) -> float:
    """Smallest factor for which the search finds a Lyapunov function of the round, in floating point."""
    before, after, given, _ = state_of(r)
    return _first(*_without_slopes(before, after, given, slopes_of(r)), 10 * DIGITS) / (10 * DIGITS)


def certified(r: Round) -> Certified[Round]:
    """Worst case of a round, rounded up to the next thousandth that multipliers prove.

    Raises:
        UncertifiedError: the search found no multipliers.
    """
    ones = [*falling(r)] if r.keeps else [r]
    more = {} if r.keeps or r.zeta2 else {"zeta": FREE}
    return first_certified(r, ones, largest, problem_of, stilled, more)


def first_certified(
    asked: Q,
    ones: Iterable[Q],
    value_of: Callable[[Q], float],
    claim: Callable[[Q, Any], Problem],
    simpler: Callable[[Problem, Q], Problem],
    more: Mapping[str, Fraction] | None = None,
) -> Certified[Q]:
    """Certify the candidate with the smallest value whose bound, rounded up to a thousandth, multipliers prove.

    Args:
        asked: the rounds, for messages.
        ones: the rounds to try, for example with different Lyapunov functions.
        value_of: function that returns the worst case of a round, in floating point.
        claim: function that makes the claim about a round, at a bound.
        simpler: function that simplifies the claim for the program.
        more: multipliers that are known in advance.

    Raises:
        UncertifiedError: the search found no multipliers.
    """
    for value, one in sorted(((value_of(one), one) for one in ones), key=lambda found: found[0]):
        first = math.ceil(value * DIGITS) if math.isfinite(value) else 0
        way = partial(claim, one), lambda problem, one=one: simpler(problem, one)
        if first and (found := first_proved(first, UNIT, *way, more or {})):
            return Certified(one, value, *found)
    raise UncertifiedError(f"worst cases: found no certificate of a bound for {asked}")
