"""Rounds of which a quadratic form of the state falls, whatever the clients: what their records have in common."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fedspec_proofs.engines.worst_case.falling import Matrix, quadratic
from fedspec_proofs.engines.worst_case.forms import Form
from fedspec_proofs.engines.worst_case.plays import Play
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value

Words = tuple[tuple[str, ...], ...]
"""A matrix, each entry a fraction in words."""

State = tuple[list[Form], list[Form], dict[str, Value], Play]
"""The vectors of the form, before a round and after it; what functions and rule obey; and the round."""


class Falls:
    """A record of such rounds.

    Attributes:
        form: P, in words; none before it is found.
    """

    form: Words

    @property
    def n(self) -> int:
        """The number of clients."""
        raise NotImplementedError

    @property
    def P(self) -> Matrix:
        """The matrix of the form."""
        return tuple(tuple(map(Fraction, row)) for row in self.form)

    @property
    def slopes(self) -> list[str]:
        """The clients' gradients at x*, which no round sees: what clients keep moves with them when they are tilted."""
        return [f"s{i}" for i in range(self.n - 1)]

    def state(self) -> State:
        """The state of the form, and the round."""
        raise NotImplementedError

    def problem(self, bound: Any = Fraction(0)) -> Problem:
        """Problem that the form is at most so many times its value before."""
        before, after, given, played = self.state()
        start = quadratic(self.P, before)
        return Problem(quadratic(self.P, after) - bound * start, given, bound * start, played)
