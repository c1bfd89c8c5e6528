"""Best server coefficients for the changes of clients that take different numbers of steps.

A round of FedAvg's clients that ends at x_+ = x + sum_i w_i (x_i - x): FedAvg has w_i = 1/n, FedNova w_i = tau_eff / (n
tau_i). Clients are any mu-strongly convex functions with 1-Lipschitz gradients of mean square zeta^2 at x*, the
minimiser of their mean, and |x - x*| <= 1. The worst |x_+ - x*|^2 is a largest value of squares of forms linear in w,
so it is convex in w, and its least value has two proofs:

* from above, coefficients in fractions with multipliers that prove their number; * from below, functions in fractions:
from there no x + sum_i w_i (x_i - x) comes nearer to x* than that plane does, whatever w is.

By symmetry clients with equally many steps have one coefficient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec.arith import Vector
from fedspec.catalogue import CATALOGUE
from fedspec.plan import Oracle, Plan
from fedspec_proofs.engines.worst_case.attained import Attained, replayed, unfit
from fedspec_proofs.engines.worst_case.forms import ORIGIN, Form, basis
from fedspec_proofs.engines.worst_case.interpolation import added, dot
from fedspec_proofs.engines.worst_case.plays import Play, play
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value, square
from fedspec_proofs.worst_cases.one_round import MU, Round, clients_of, from_one, rounds_after


@dataclass(frozen=True)
class Weighed:
    """A round of FedAvg's clients, with the server's coefficients for their changes.

    Attributes:
        steps: local steps of each client.
        eta_l: the clients' learning rate, in units of 1/L.
        zeta2: mean squared gradient of the clients at x*.
        w: a coefficient for each distinct number of steps, in order of first appearance.
        mu: strong convexity of the clients, in units of L.
    """

    steps: tuple[int, ...]
    eta_l: Fraction
    zeta2: Fraction
    w: tuple[Fraction, ...]
    mu: Fraction = MU

    @property
    def kinds(self) -> list[list[int]]:
        """Indices of the clients, grouped by their number of steps."""
        return Round("fedavg", self.steps, self.eta_l).kinds

    def alone(self, x: Vector, clients: Sequence[Oracle]) -> list[Vector]:
        """Models x_i at the end of single-client FedAvg rounds, one for each client."""
        run: Any = CATALOGUE["fedavg"].run
        plans = [Plan((0,), (tau,), (1,)) for tau in self.steps]
        return [
            rounds_after(run, run.hyper(eta_l=self.eta_l), x, (client,), plan)
            for client, plan in zip(clients, plans, strict=True)
        ]

    def after(self, x: Vector, clients: Sequence[Oracle]) -> Vector:
        """Model x_+ after the round."""
        changes = [x_i - x for x_i in self.alone(x, clients)]
        return sum((w * changes[i] for w, kind in zip(self.w, self.kinds, strict=True) for i in kind), x)

    def __str__(self) -> str:
        said = ", ".join(map(str, self.w))
        return f"tau = {self.steps}, eta_l = {self.eta_l}, zeta^2 = {self.zeta2}, w = {said}"


def problem_of(r: Weighed, bound: Fraction = Fraction(0)) -> Problem:
    """Problem whose claim is |x_+ - x*|^2 <= bound."""
    given, played, _ = _run(r, lambda x, clients: [r.after(x, clients)])
    right = Value(constant=bound)
    return Problem(square(played.ended[0]) - right, given, right, played)


Ways = tuple[tuple[Fraction, ...], ...]
"""Directions in which w may vary: each has one entry per number of steps, and w is a linear combination of them."""


def free(r: Weighed) -> Ways:
    """Directions that span all w."""
    many = range(len(r.kinds))
    return tuple(tuple(Fraction(k == j) for j in many) for k in many)


def nova(r: Weighed) -> Ways:
    """Direction of FedNova's coefficients, w_i proportional to 1/tau_i, whatever tau_eff is."""
    return (tuple(Fraction(1, r.steps[kind[0]]) for kind in r.kinds),)


def plane_of(r: Weighed, ways: Ways) -> tuple[Problem, Form, list[Form]]:
    """Given inequalities, the form x - x*, and the change of x along each direction of w."""
    given, played, x = _run(r, r.alone)
    changes = [sum((played.ended[i] - x for i in kind), ORIGIN) for kind in r.kinds]
    moves = [sum((c * change for c, change in zip(way, changes, strict=True)), ORIGIN) for way in ways]
    return Problem(Value(), given, play=played), x, moves


def _run(
    r: Weighed, run: Callable[[Vector, Sequence[Oracle]], Sequence[Vector]]
) -> tuple[dict[str, Value], Play, Form]:
    functions, slopes = clients_of(len(r.steps), r.mu, unlike=bool(r.zeta2))
    x = basis("x")
    played = play(functions, lambda start, clients: run(start(x), clients))
    return from_one(x, functions, slopes, r.zeta2), played, x


def least(r: Weighed, found: Attained, ways: Ways) -> Fraction:
    """Smallest squared distance |x_+ - x*|^2 over all w at these functions, exactly.

    Raises:
        ValueError: the functions aren't in the class, or FedAvg's clients don't follow the forms.
    """
    problem, x, moves = plane_of(r, ways)
    assert problem.play
    if wrong := unfit(problem, found) or replayed(problem.play, found):
        raise ValueError(f"coefficients: {r}: {wrong}")
    return off_plane(found.at(x), [found.at(move) for move in moves])


def off_plane(x: Sequence[Fraction], ways: Sequence[Sequence[Fraction]]) -> Fraction:
    """Minimum over w of |x + sum_k w_k D_k|^2."""
    rest = across(x, ways)
    return dot(rest, rest)


def across(x: Sequence[Fraction], ways: Sequence[Sequence[Fraction]]) -> tuple[Fraction, ...]:
    """Shortest vector x + sum_k w_k D_k, by Gram-Schmidt orthogonalisation."""
    rest, made = tuple(x), list[tuple[Fraction, ...]]()
    for way in ways:
        new = tuple(way)
        for old in made:
            new = added(new, -dot(new, old) / dot(old, old), old)
        if any(new):
            made.append(new)
            rest = added(rest, -dot(rest, new) / dot(new, new), new)
    return rest


def same_on_forms(r: Weighed, algorithm: str) -> bool:
    """True if the round with these coefficients equals the algorithm's own round, as forms."""
    functions, _ = clients_of(len(r.steps), r.mu)
    x = basis("x")
    other = Round(algorithm, r.steps, r.eta_l, mu=str(r.mu))
    one, two = play(functions, lambda start, clients: [f(start(x), clients) for f in (r.after, other.after)]).ended
    return one == two
