"""That no rate is better: functions at which FedNova ends far from x*, a few for each interval of local rates.

Clients are any mu-strongly convex functions with 1-Lipschitz gradients of mean square at most zeta^2 at x*, the
minimiser of their mean; they take some steps, from |x - x*| <= 1. |x_+ - x*|^2 >= least is to be shown for every
eta_l > 0. Three kinds of intervals:

* (0, high]: all clients are mu x^2/2. The round ends at a polynomial in eta_l, with K steps each (1 - eta_l mu)^K, that
  Bernstein's basis bounds.
* [low, infinity): all are x^2/2, and every coefficient of the bound in eta_l - low is >= 0.
* [low, high]: functions F_i in fractions, with curvatures in [mu high/low, 1], at the rate low. At another rate
  eta_l = c low of the interval F_i / c takes the same steps, for eta_l grad F_i / c = low grad F_i. Its curvatures are
  in [mu high/(c low), 1/c], inside [mu, 1], and its gradients at x* have mean square zeta^2/c^2 at most. So
  |x_+ - x*|^2 is the same at every rate of the interval.

Where the mean square is to be zeta^2 itself, one more coordinate makes it so: of it |x_+ - x*|^2 can only grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from fedspec.arith import Vector
from fedspec.plan import Oracle
from fedspec_proofs.engines.worst_case.attained import Attained, replayed, unfit
from fedspec_proofs.engines.worst_case.classes import Function, convex
from fedspec_proofs.engines.worst_case.forms import Form, basis, vector
from fedspec_proofs.engines.worst_case.interpolation import dot
from fedspec_proofs.engines.worst_case.open_rate import RATE
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.rates import Polynomial
from fedspec_proofs.worst_cases import parabolas
from fedspec_proofs.worst_cases.one_round import MU, Round, problem_of


def method_of(steps: Sequence[int]) -> str:
    """FedNova, which is FedAvg where all take equally many steps and has its name there."""
    return "fednova" if len(set(steps)) > 1 else "fedavg"


@dataclass(frozen=True)
class Piece:
    """What is shown of the rates of an interval.

    Attributes:
        steps: local steps of each client.
        zeta2: mean squared gradient of the clients at x*, at most.
        low: the smallest rate; zero is not a rate.
        high: the largest; none where there is none.
        functions: at the rate low; none where clients are parabolas, all of them alike.
        mu: strong convexity of the clients, in units of L.
    """

    steps: tuple[int, ...]
    zeta2: Fraction
    low: Fraction
    high: Fraction | None
    functions: Attained | None
    mu: Fraction = MU

    @property
    def narrow(self) -> Round:
        """A round at the lowest rate, of clients who may be flattened as much as the highest asks for.

        Raises:
            ValueError: no such clients are left.
        """
        share = self.high / self.low if self.high and self.low else Fraction(0)
        if not 1 < share < 1 / self.mu:
            raise ValueError(f"between rates: from {self.low} to {self.high} there are no functions of the class")
        return Round(method_of(self.steps), self.steps, str(self.low), self.zeta2, mu=str(self.mu * share))

    def __str__(self) -> str:
        return f"tau = {self.steps}, zeta^2 = {self.zeta2}, eta_l from {self.low} to {self.high or 'infinity'}"


def wrong_with(pieces: Sequence[Piece], least: Fraction) -> str:
    """Why these do not show that every rate may end so far away; empty where they do."""
    if not pieces or pieces[0].low != 0 or pieces[-1].high is not None:
        return "they do not reach from 0 to infinity"
    for one, other in pairwise(pieces):
        if one.high is None or one.high < other.low:
            return f"there is a gap above {one.high}"
        if (one.steps, one.zeta2, one.mu) != (other.steps, other.zeta2, other.mu):
            return "they are about several questions"
    if not same_at_every_rate(pieces[0].steps):
        return "the rule does not take the same steps at another rate"
    return next((wrong for one in pieces if (wrong := wrong_with_one(one, least))), "")


def wrong_with_one(piece: Piece, least: Fraction) -> str:
    """Why an interval does not show it of its rates; empty where it does."""
    if piece.functions is None:
        return _of_parabolas(piece, least)
    try:
        problem = at_lowest(piece, least)
        wrong = _unlike(problem, piece.functions) or unfit(problem, piece.functions)
    except ValueError as error:
        return str(error)
    assert problem.play
    if wrong := wrong or replayed(problem.play, piece.functions):
        return f"{piece}: {wrong}"
    (end,) = problem.play.ended
    reached = dot(piece.functions.at(end), piece.functions.at(end))
    return "" if reached >= least else f"{piece}: it ends at {float(reached)}"


def at_lowest(piece: Piece, least: Fraction) -> Problem:
    """That the round at the lowest rate ends nearer than this, for functions that serve all of its rates."""
    return problem_of(piece.narrow, least)


def _unlike(problem: Problem, found: Attained) -> str:
    """Whether a vector or a value is missing of which the problem is made."""
    lacking = [name for name in problem.basis if name not in found.vectors]
    lacking += [name for q in problem.given.values() for name in q.values if name not in found.values]
    return f"there is no {lacking[0]}" if lacking else ""


def _of_parabolas(piece: Piece, least: Fraction) -> str:
    """Where all clients are mu x^2/2, or x^2/2 where the rate has no largest: from x = 1, by the rule itself."""
    curvature = piece.mu if piece.high else Fraction(1)
    over = parabolas.over(*_alike(piece.steps, curvature), least)
    shown = parabolas.nowhere_above(over, piece.low, piece.high, halves=0)
    return "" if shown else f"{piece}: parabolas of curvature {curvature} come nearer"


def ended(steps: Sequence[int], curvature: Fraction) -> Polynomial:
    """Where a round of clients curvature x^2/2 ends from x = 1, as a polynomial in the rate."""
    ((end,),) = parabolas.matrix(*_alike(steps, curvature))
    return end


def _alike(steps: Sequence[int], curvature: Fraction) -> tuple[Round, list[Fraction]]:
    return Round(method_of(steps), tuple(steps), ""), [curvature] * len(steps)


def same_at_every_rate(steps: tuple[int, ...]) -> bool:
    """Whether the rule takes the same steps at a rate with gradients divided by it as at 1: the forms are the same."""

    def end(rate: Any) -> Form:
        functions = [Function(f"F{i}", convex(1)) for i in range(len(steps))]

        def oracle(f: Function) -> Oracle:
            def asked(k: int, y: Vector) -> Vector:
                return vector(f.at(y[0]).g / rate)

            return asked

        (out,) = Round(method_of(steps), steps, rate).after(vector(basis("x")), [oracle(f) for f in functions])
        assert isinstance(out, Form)
        return out

    return end(RATE) == end(Fraction(1))
