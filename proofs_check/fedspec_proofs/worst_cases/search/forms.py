"""Forms that fall among peers, at a server that keeps something, under a compressor, with proofs; needs Clarabel."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from fedspec_proofs.engines.worst_case.falling import without
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.solving import first_proved, worst
from fedspec_proofs.worst_cases import compressed, exchanges, outer, spectral
from fedspec_proofs.worst_cases.compressed import Compressed
from fedspec_proofs.worst_cases.exchanges import Exchanged
from fedspec_proofs.worst_cases.outer import Outer
from fedspec_proofs.worst_cases.search.one_round import DIGITS, UNIT, Certified, UncertifiedError, forms_that_fall
from fedspec_proofs.worst_cases.spectral import Mixed

R = TypeVar("R", Exchanged, Outer, Compressed, Mixed)

OF: dict[type, Any] = {Exchanged: exchanges, Outer: outer, Compressed: compressed, Mixed: spectral}
"""Where the state, the claim and the slopes of each kind of round are."""


def tilted(problem: Problem, r: R) -> Problem:
    """The same where the gradients are zero that a round does not see, for clients can be tilted until they are."""
    slopes = OF[type(r)].slopes_of(r)
    given = {name: without(q, slopes) for name, q in problem.given.items()}
    return Problem(without(problem.claimed, slopes), given, without(problem.right, slopes))


def largest(r: R) -> float:
    """The factor of a form, in floating point."""
    problem = tilted(OF[type(r)].problem_of(r, Fraction(1)), r)
    given = {**problem.given, "start": problem.right - 1}
    return worst(Problem(problem.claimed + problem.right, given)).value


def certified(r: R) -> Certified[R]:
    """The least factor for which a form was found, rounded up to the next thousandth that multipliers prove.

    Raises:
        UncertifiedError: none were found.
    """
    of = OF[type(r)]
    before, after, given, _ = of.state_of(r)
    forms = forms_that_fall(before, after, given, of.slopes_of(r), [[i] for i in range(len(before))])
    ones = [replace(r, form=tuple(tuple(map(str, row)) for row in P)) for P in forms]
    for value, one in sorted(((largest(one), one) for one in ones), key=lambda found: found[0]):
        first = math.ceil(value * DIGITS) if math.isfinite(value) else 0
        if first and (found := first_proved(first, UNIT, partial(of.problem_of, one), partial(tilted, r=one))):
            return Certified(one, value, *found)
    raise UncertifiedError(f"forms that fall: no certificate for {r}")
