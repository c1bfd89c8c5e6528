"""How far rounds of any algorithm of the catalogue may end from the minimiser, if they are linear; and which are not.

From |x - x*| <= 1, all else that it keeps as it begins, R rounds of all clients with equal weights. These are any
mu-strongly convex functions with 1-Lipschitz gradients, whose gradients at x* have the mean square zeta^2. Where peers
exchange models by a given matrix, all begin at x, and |x_R - x*|^2 is the mean over them.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import fedspec
from fedspec.arith import Vector
from fedspec.entry import Algorithm, LocalSolver, Program
from fedspec.errors import FedspecError, ParameterError
from fedspec.mixing.gossip import check_mixing
from fedspec.plan import Exchange, Oracle, Plan
from fedspec_proofs.engines.worst_case.forms import basis
from fedspec_proofs.engines.worst_case.plays import play
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value, square
from fedspec_proofs.worst_cases.exchanges import Words, mixing_of
from fedspec_proofs.worst_cases.one_round import MU, clients_of, from_one, rounds_after

SPEC = Path(fedspec.__file__).parent
BENEATH = ("arith.py", "rules.py", "scalars.py", "records.py", "functions.py")
"""Of the specification's files, those that compute for a rule."""


class NotLinearError(FedspecError):
    """A round multiplies, divides by, compares or takes the root of what is not a given number."""


@dataclass(frozen=True)
class Rounds:
    """What is asked.

    Attributes:
        row: the algorithm.
        steps: the local steps of each client.
        numbers: hyper-parameters.
        mu: strong convexity of the clients, in units of L.
        zeta2: zeta^2, in units of L^2 |x - x*|^2.
        rounds: R.
        mixing: the matrix by which peers mix, in words; none where there is a server.
    """

    row: Algorithm
    steps: tuple[int, ...]
    numbers: Mapping[str, Fraction]
    mu: Fraction = MU
    zeta2: Fraction = Fraction(0)
    rounds: int = 1
    mixing: Words = ()

    @property
    def hyper(self) -> Any:
        """The record of the numbers, which refuses those that it does not take."""
        assert not isinstance(self.row.run, LocalSolver)
        return self.row.run.hyper(**self.numbers)

    def after(self, x: Vector, clients: Sequence[Oracle]) -> list[Vector]:
        """The model after the rounds, or those of all peers, by the algorithm's own functions."""
        run, n = self.row.run, len(self.steps)
        assert not isinstance(run, LocalSolver)
        everyone = tuple(range(n))
        if self.mixing:
            exchange = Exchange((), (everyone,) * self.steps[0], mixing_of(self.mixing))
            X = rounds_after(run, self.hyper, np.concatenate([x] * n), clients, exchange, self.rounds)
            return [*X.reshape(n, -1)]
        plan = Plan(everyone, self.steps, (1,) * n)
        return [rounds_after(run, self.hyper, x, clients, plan, self.rounds)]


def check(asked: Rounds) -> None:
    """Refuse what no such question can be asked of.

    Raises:
        ParameterError: the algorithm has no rounds of a server or of peers, it sends parts of vectors, a number is
            missing or outside, or there is a matrix and nobody to mix by it, or none.
        MixingError: the matrix is not doubly stochastic.
    """
    row, run = asked.row, asked.row.run
    event = run.event if isinstance(run, Program) else "round"
    peers = event == "exchange" and row.takes == ("peers",)
    if isinstance(run, LocalSolver) or not (peers or event == "round"):
        kind = "a local solver" if isinstance(run, LocalSolver) else f"run by {event}s"
        raise ParameterError(f"worst-case: {row.id} is {kind}; this is about rounds of all clients, or of all peers")
    if peers and not asked.mixing:
        raise ParameterError(f"worst-case: {row.id} is run by exchanges; say by which matrix (--mixing)")
    if row.runs("top_k"):
        raise ParameterError(
            f"worst-case: {row.id} sends the largest entries of a vector; the form that stands for a vector is one "
            "entry, which would be sent whole"
        )
    if asked.mixing:
        if not peers:
            raise ParameterError(f"worst-case: {row.id} has a server, so that no matrix mixes; leave --mixing out")
        check_mixing(mixing_of(asked.mixing))
        if asked.steps != asked.steps[:1] * len(asked.mixing):
            raise ParameterError(f"worst-case: steps {asked.steps} of {len(asked.mixing)} peers; all take equally many")
    _ = asked.hyper
    if not 0 <= asked.mu < 1:
        raise ParameterError(f"worst-case: got mu = {asked.mu}; it is in units of L, at least 0 and below 1")


def problem_of(asked: Rounds, bound: Fraction = Fraction(0)) -> Problem:
    """That |x_R - x*|^2 is at most so much.

    Raises:
        ParameterError: a number is outside of its domain.
        NotLinearError: with the statement that is not linear.
    """
    check(asked)
    functions, slopes = clients_of(len(asked.steps), asked.mu, unlike=bool(asked.zeta2))
    x = basis("x")
    try:
        played = play(functions, lambda start, clients: asked.after(start(x), clients))
    except ParameterError as error:
        # Numbers outside of their domain say nothing of the rule.
        raise ParameterError(f"worst-case: {asked.row.id}: {error}") from error
    except (TypeError, AttributeError, ArithmeticError, ValueError) as error:
        raise NotLinearError(f"worst-case: {asked.row.id}: {_where(error)}") from error
    right = Value(constant=bound)
    given = from_one(x, functions, slopes, asked.zeta2)
    left = sum(map(square, played.ended), Value()) / len(played.ended)
    return Problem(left - right, given, right, played)


def _where(error: Exception) -> str:
    """The last statement of a rule before it failed."""
    said = "its rounds are not linear in the model and the gradients"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "fedspec_proofs" not in f.filename]
    own = [f for f in frames if Path(f.filename).name not in BENEATH and "site-packages" not in f.filename]
    if not own:
        return f"{said}: {error}"
    last = own[-1]
    file = Path(last.filename)
    place = file.relative_to(SPEC) if file.is_relative_to(SPEC) else file.name
    return f"{said}; {place}, line {last.lineno}: {last.line}"
