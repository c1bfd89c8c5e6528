"""Base class of rounds that shrink a quadratic form of the state for any clients of a class."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec_proofs.engines.worst_case.falling import Matrix, quadratic
from fedspec_proofs.engines.worst_case.forms import Form
from fedspec_proofs.engines.worst_case.plays import Play
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value
from fedspec_proofs.worst_cases.one_round import MU

Words = tuple[tuple[str, ...], ...]
"""A matrix with entries such as ``"1/4"``."""

State = tuple[list[Form], list[Form], dict[str, Value], Play]
"""Vectors of the form before and after a round, inequalities of functions and rule, and the recorded round."""


@dataclass(frozen=True, kw_only=True)
class Falls:
    """Base class of records of such rounds.

    Attributes:
        form: matrix P of the quadratic form, as text; empty before one is found.
        mu: strong convexity of the clients, in units of L.
    """

    form: Words = ()
    mu: str = str(MU)

    @property
    def n(self) -> int:
        """Number of clients."""
        raise NotImplementedError

    @property
    def P(self) -> Matrix:
        """Matrix of the quadratic form."""
        return tuple(tuple(map(Fraction, row)) for row in self.form)

    @property
    def slopes(self) -> list[str]:
        """Names of the clients' gradients at x*; a round is the same if both these and the clients' vectors shift."""
        return [f"s{i}" for i in range(self.n - 1)]

    def state(self) -> State:
        """State before and after the round, inequalities, and the recorded round."""
        raise NotImplementedError

    def problem(self, bound: Any = Fraction(0)) -> Problem:
        """Problem whose claim is: the form after the round <= bound times the form before it."""
        before, after, given, played = self.state()
        start = quadratic(self.P, before)
        return Problem(quadratic(self.P, after) - bound * start, given, bound * start, played)
