"""Lower bounds for all local rates of an interval, by functions that change with the rate.

A local step is eta_l (g + a), where a is what the method adds to a gradient g: nothing for FedAvg and FedNova,
mu (y - x) for FedProx, that and -lam_i for FedDyn, c - c_i for SCAFFOLD. Take clients at the rate low that answer g_k
at their points y_k, and a share t of [low/high, 1]. At the rate low/t let them answer

    t g_k - (1 - t) mu (y_k - x)        (mu = 0 for SCAFFOLD, FedAvg and FedNova),

and let each vector that they keep be t times as large. Then every step is the same, and so is every point. What the
inequalities of the class say of these answers are polynomials in t. They hold from low/high to 1 if their coefficients
in Bernstein's basis do. The values f_k become t f_k - (1 - t) mu |y_k - x|^2 / 2, that at x* becomes t f_0 + (1 - t) e.
Gradients at x* become t times as large, so that zeta falls.

* FedAvg, FedNova and FedProx end at one |x_+ - x*|^2 at all rates of the interval. FedProx takes rates with
  eta_l mu <= 1 alone.
* SCAFFOLD and FedDyn have no least distance, but a form P that falls. No P falls faster than by a factor f if the Gram
  matrix of the state after the round less f times that before it is positive semidefinite: its product with P is the
  form after the round less f times that before. The entries are polynomials in t, here too.

What two clients with equally many steps show, more of them show too. A form P of n clients may be averaged over who is
called first, for that does not make it fall less. It then is one in means and one in mean squares of what is off them,
which two clients have as well (:mod:`fedspec_proofs.worst_cases.more_clients`).

Where parabolas show it, :mod:`fedspec_proofs.worst_cases.parabolas` does without any of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from fedspec.arith import Vector
from fedspec.plan import Oracle
from fedspec_proofs.engines.worst_case.attained import Attained, replayed, unfit
from fedspec_proofs.engines.worst_case.classes import Function, Point
from fedspec_proofs.engines.worst_case.forms import Form, basis
from fedspec_proofs.engines.worst_case.open_rate import RATE
from fedspec_proofs.engines.worst_case.plays import Play, Start, play
from fedspec_proofs.engines.worst_case.proof import Problem, semidefinite
from fedspec_proofs.engines.worst_case.rates import between
from fedspec_proofs.engines.worst_case.values import Value, function_value, inner, square
from fedspec_proofs.worst_cases import parabolas
from fedspec_proofs.worst_cases.one_round import OTHERS, Round, clients_of, obeyed


@dataclass(frozen=True)
class Stretch:
    """An interval of rates, with the clients that prove a lower bound on it.

    Attributes:
        round: the method, steps and zeta^2; its learning rate is ignored.
        low: the smallest rate; 0 itself is excluded.
        high: the largest rate; None: no limit.
        curvatures: the curvatures of the clients' parabolas, one for each client; empty if ``functions`` is set.
        functions: the clients' functions at the rate ``low``; None if ``curvatures`` is set.
    """

    round: Round
    low: Fraction
    high: Fraction | None
    curvatures: tuple[Fraction, ...] = ()
    functions: Attained | None = None

    @property
    def share(self) -> Fraction:
        """Smallest t, which is low/high.

        Raises:
            ValueError: the interval is unbounded or empty, or begins at 0, so that functions can't be scaled to its
                rates.
        """
        if not self.high or not 0 < self.low < self.high:
            raise ValueError(f"lower bound: got rates from {self.low} to {self.high}; they must satisfy 0 < low < high")
        return self.low / self.high

    def __str__(self) -> str:
        r = self.round
        return f"{r.algorithm}, tau = {r.steps}, zeta^2 = {r.zeta2}, eta_l from {self.low} to {self.high or 'infinity'}"


def last_of(r: Round) -> Fraction | None:
    """Largest rate that the algorithm admits; None if it admits every rate."""
    return Fraction(1, OTHERS[r.algorithm]["mu"]) if r.algorithm == "fedprox" else None


def wrong_with(stretches: Sequence[Stretch], least: Fraction) -> str:
    """Reason why these intervals don't prove the lower bound at every rate; empty if the intervals prove it."""
    last = stretches and last_of(stretches[0].round)
    if not stretches or stretches[0].low != 0 or stretches[-1].high != last:
        return f"they do not reach from 0 to {last or 'infinity'}"
    for one, other in pairwise(stretches):
        if one.high is None or one.high < other.low:
            return f"there is a gap above {one.high}"
        if one.round != other.round:
            return "they are about several questions"
    return next((wrong for one in stretches if (wrong := wrong_with_one(one, least))), "")


def wrong_with_one(one: Stretch, least: Fraction) -> str:
    """Reason why an interval doesn't prove the lower bound at its rates; empty if it does."""
    found = one.functions
    if found is None:
        return parabolas.wrong_with(one.round, one.curvatures, one.low, one.high, least)
    try:
        problem, state = problem_of(one, least)
        if lacking := [n for n in _names(problem, state) if n not in found.vectors and n not in found.values]:
            return f"there is no {lacking[0]}"
        if wrong := unfit(problem, found):
            return wrong
        for t in (Fraction(1), one.share):
            if wrong := replayed(play_at(one, t), found):
                return f"{one}: {wrong}"
    except ValueError as error:
        return str(error)
    if not one.round.keeps:
        return "" if found.of(problem.claimed) >= 0 else f"{one}: it ends nearer"
    if not any(found.vectors["x"]):
        return f"{one}: it begins at x*"
    whole = all(semidefinite([[found.of(c) for c in row] for row in matrix]) for matrix in state)
    return "" if whole else f"{one}: some form falls faster"


def _names(problem: Problem, state: Sequence[Sequence[Sequence[Value]]]) -> set[str]:
    """The names of all vectors and values that occur."""
    every = [problem.claimed, *problem.given.values(), *(c for matrix in state for row in matrix for c in row)]
    return {name for q in every for pair in q.products for name in pair} | {name for q in every for name in q.values}


def play_at(one: Stretch, t: Any) -> Play:
    """Record the round at the local rate low/t; gradients are scaled so that each step stays that at the rate low.

    Raises:
        ValueError: at the new rate, the rule evaluates gradients at other points.
    """
    r, n = one.round, len(one.round.steps)
    x, each = basis("x"), [basis(f"c{i}") for i in range(n)]
    functions, _ = clients_of(n, Fraction(r.mu), unlike=bool(r.zeta2))

    def at(rate: Any, part: Any, start: Start, clients: Sequence[Oracle]) -> list[Vector]:
        now = replace(r, eta_l=rate)
        if not r.keeps:
            return [now.after(start(x), clients)]
        end, _, *ends = now.kept(start(x), [start(part * c) for c in each], clients)
        return [end, *ends]

    play(functions, lambda start, clients: at(one.low, Fraction(1), start, clients))
    there = [_following(f, t, x, Fraction(OTHERS[r.algorithm].get("mu", 0))) for f in functions]
    played = play(there, lambda start, clients: at(one.low / t, t, start, clients))
    if any(len(f.points) != len(g.points) for f, g in zip(functions, there, strict=True)):
        raise ValueError("lower bound: at the rate low/t, the rule evaluates gradients at other points than at low")
    return played


def _following(f: Function, t: Any, x: Form, pull: Fraction) -> Function:
    """Client whose gradient answers at the rate low/t give the same steps as at the rate low."""

    def moved(k: int, p: Point) -> Point:
        if not k:
            return Point(p.x, t * p.g, t * p.f + (1 - t) * function_value(f"{f.name}.e"))
        off = p.x - x
        return Point(p.x, t * p.g - (1 - t) * pull * off, t * p.f - (1 - t) * (pull / 2) * square(off))

    return Function(f.name, f.of, {y: moved(k, p) for k, (y, p) in enumerate(f.points.items())})


def problem_of(one: Stretch, least: Fraction) -> tuple[Problem, list[list[list[Value]]]]:
    """Inequalities of the functions, with a distance as the problem's claim, or matrices for a quadratic form.

    The claim is that a round ends further away than the least. The matrices are to be positive semidefinite.

    Raises:
        ValueError: the interval is unbounded or empty, or begins at 0; or the round ends at different points at its two
            ends.
    """
    r, low = one.round, one.share
    played = play_at(one, RATE)
    given = {f"{name} {k}": q for name, v in obeyed(played.functions).items() for k, q in enumerate(_along(v, low))}
    x, slopes = basis("x"), [next(iter(f.points.values())).g for f in play_at(one, Fraction(1)).functions]
    right = Value(constant=least)
    if not r.keeps:
        given["start"] = square(x) - 1
        if r.zeta2:
            given["zeta"] = sum((square(s) for s in slopes), Value()) / len(slopes) - r.zeta2
        if played.ended != play_at(one, Fraction(1)).ended:
            raise ValueError("lower bound: at the rate low/t, the round ends at another point than at low")
        return Problem(square(played.ended[0]) - right, given, right, played), []
    before, after = [x, *(RATE * basis(f"c{i}") for i in range(len(r.steps)))], played.ended
    entries = [
        [_along(inner(a, b) - least * inner(u, v), low, 2) for b, v in zip(after, before, strict=True)]
        for a, u in zip(after, before, strict=True)
    ]
    return Problem(-right, given, right, played), [[[c[k] for c in row] for row in entries] for k in range(3)]


def _along(value: Value, low: Fraction, degree: int = 0) -> list[Value]:
    """The coefficients of a polynomial in t from low to 1, in Bernstein's basis of at least such a degree."""
    return between(value, low, Fraction(1), degree)
