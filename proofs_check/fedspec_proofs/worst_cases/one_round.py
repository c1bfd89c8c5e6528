"""Worst-case progress of rounds towards the minimiser, over strongly convex clients.

Clients are any mu-strongly convex functions with 1-Lipschitz gradients, in any dimension; all take part, without noise.
x* is the minimiser of their mean F. Four questions, for the rule as the specification has it:

* from |x - x*| <= 1, how far from x* may the model be after the round, if the clients' gradients at x* have the mean
  square zeta^2? (Methods that keep nothing but a model: at zeta = 0 all clients share their minimiser.)
* by which factor do two models come closer in a round? Below 1 there is one model that a round leaves where it is, and
  the rounds go there from everywhere.
* how far is that model from x*?
* by which factor does |x - x*|^2 + a mean |c_i - grad F_i(x*)|^2, or another positive definite quadratic form in
  x - x* and all c_i - grad F_i(x*), fall, whatever zeta? (Methods whose clients keep a vector c_i that comes to stand
  for their gradient: SCAFFOLD's control variate, FedDyn's dual variable.)

The answers are certified: multipliers that fractions check, stored beside those of the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms.synchronous import model, run_round
from fedspec.arith import Vector
from fedspec.catalogue import CATALOGUE, Method, Program
from fedspec.plan import Exchange, Oracle, Plan, Setup
from fedspec_proofs.engines.worst_case.classes import Function, Point, strongly_convex
from fedspec_proofs.engines.worst_case.falling import Matrix, quadratic
from fedspec_proofs.engines.worst_case.forms import ORIGIN, Form, basis, form
from fedspec_proofs.engines.worst_case.plays import Play, Start, play
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value, square

MU = Fraction(1, 10)
"""Default strong convexity of the clients, in units of L."""

STRONG = {
    "strong": "every F_i is mu-strongly convex, mu = L/10",
    "smooth": "every F_i has gradients that are Lipschitz with constant L = 1, in any dimension",
}
"""Assumptions of claims about such clients."""

HELD = {"scaffold": ("c", "c_i"), "feddyn": ("h", "lam_i")}
"""Names of the vectors that the server and each client keep beside the model; the server's starts as the clients'
mean.
"""

OTHERS: dict[str, dict[str, int]] = {
    "fedavg": {},
    "fedprox": {"mu": 1},
    "fednova": {},
    "scaffold": {"eta": 1},
    "feddyn": {"mu": 1},
}
"""Hyper-parameters other than eta_l, with default values."""


def method_of(steps: Sequence[int]) -> str:
    """``fednova`` if the clients' steps differ; else ``fedavg``, which FedNova then equals."""
    return "fednova" if len(set(steps)) > 1 else "fedavg"


@dataclass(frozen=True)
class Round:
    """A round of an algorithm, with the constants of its worst case.

    Attributes:
        algorithm: the algorithm's id.
        steps: local steps of each client.
        eta_l: the clients' learning rate, in units of 1/L; a fraction as text, or an open rate.
        zeta2: mean squared gradient of the clients at x*; ignored if clients keep a vector.
        share: weight a of the clients' vectors in the Lyapunov function, if clients keep a vector.
        form: matrix P, as text, if the Lyapunov function is <P, Gram(x - x*, c_1 - grad F_1(x*), ...)>; else empty.
        mu: strong convexity of the clients, in units of L.
        numbers: hyper-parameters with values other than in :data:`OTHERS`.
    """

    algorithm: str
    steps: tuple[int, ...]
    eta_l: Any
    zeta2: int | Fraction = 0
    share: str = "0"
    form: tuple[tuple[str, ...], ...] = ()
    mu: str = str(MU)
    numbers: tuple[tuple[str, str], ...] = ()

    @property
    def P(self) -> Matrix:
        """Matrix of the quadratic form, for algorithms whose clients keep a vector."""
        if self.form:
            return tuple(tuple(map(Fraction, row)) for row in self.form)
        n = len(self.steps)
        weights = [Fraction(1), *[Fraction(self.share) / n] * n]
        return tuple(tuple(w if i == j else Fraction(0) for j in range(n + 1)) for i, w in enumerate(weights))

    @property
    def kinds(self) -> list[list[int]]:
        """Indices of the clients grouped by number of steps, in order of first appearance."""
        return [[i for i, s in enumerate(self.steps) if s == tau] for tau in dict.fromkeys(self.steps)]

    @property
    def keeps(self) -> bool:
        """True if the algorithm's clients keep a vector."""
        return self.algorithm in HELD

    @property
    def rate(self) -> Any:
        """Local rate eta_l as a number."""
        return Fraction(self.eta_l) if isinstance(self.eta_l, str) else self.eta_l

    @property
    def plan(self) -> Plan:
        """Plan with every client taking part, with equal weights."""
        return Plan(tuple(range(len(self.steps))), self.steps, (1,) * len(self.steps))

    @property
    def hyper(self) -> Any:
        """Hyper-parameters as the algorithm's record."""
        others = {n: Fraction(v) for n, v in OTHERS[self.algorithm].items()}
        others |= {n: Fraction(v) for n, v in self.numbers}
        run: Any = CATALOGUE[self.algorithm].run
        return run.hyper(eta_l=self.rate, **others)

    def __str__(self) -> str:
        last = f"a = {self.share}" if self.keeps else f"zeta^2 = {self.zeta2}"
        last = "a form of its own" if self.form else last
        return f"{self.algorithm}, tau = {self.steps}, eta_l = {self.eta_l}, {last}"

    def after(self, x: Vector, clients: Sequence[Oracle]) -> Vector:
        """Model after a round, for algorithms that keep nothing but a model."""
        run = CATALOGUE[self.algorithm].run
        assert isinstance(run, Method)
        return rounds_after(run, self.hyper, x, clients, self.plan)

    def kept(self, x: Vector, each: Sequence[Vector], clients: Sequence[Oracle], off: Any = 0) -> list[Vector]:
        """Model, server's vector and clients' vectors after a round, for algorithms whose clients keep a vector.

        The server begins with the mean of what the clients begin with, or so far off it.
        """
        run: Any = CATALOGUE[self.algorithm].run
        h, (server, client) = self.hyper, HELD[self.algorithm]
        begun = run.init(h, x, Setup((1,) * len(each), {"x": (len(x),)}))
        state = replace(begun, **{server: sum(each[1:], each[0]) / len(each) + off, client: np.stack(each)})
        state, _ = run.step(h, state, tuple(clients), self.plan)
        return [model(state), getattr(state, server), *getattr(state, client)]


def rounds_after(
    run: Method | Program,
    h: Any,
    x: Vector,
    clients: Sequence[Oracle],
    plan: Plan | Exchange,
    rounds: int = 1,
    setup: Setup | None = None,
) -> Vector:
    """Model after some rounds from the algorithm's initial state, by its own functions."""
    some = tuple(clients)
    if isinstance(run, Method):
        assert isinstance(plan, Plan)
        state = run.init(h, x)
        for _ in range(rounds):
            state = run_round(h, state, some, plan, local=run.local, norm=run.norm, server=run.server).state
        return model(state)
    state = run.init(h, x, setup or Setup((1,) * len(some), {"x": (len(x),)}))
    for _ in range(rounds):
        state, _ = run.step(h, state, some, plan)
    return model(state)


def mean_of(terms: Sequence[Value]) -> Value:
    """Mean of some values."""
    return sum(terms, Value()) / len(terms)


def clients_of(
    n: int, mu: Fraction = MU, *, unlike: bool = True, star: Form = ORIGIN
) -> tuple[list[Function], list[Form]]:
    """Clients whose mean has its minimiser at ``star``, and their gradients there: of sum zero, or all zero."""
    functions = [Function(f"F{i}", strongly_convex(mu, 1)) for i in range(n)]
    slopes = [basis(f"s{i}") if unlike else ORIGIN for i in range(n - 1)]
    slopes.append(sum((-s for s in slopes), ORIGIN))
    for f, s in zip(functions, slopes, strict=True):
        f.meets(star, s)
    return functions, slopes


def obeyed(functions: Sequence[Function]) -> dict[str, Value]:
    return {name: q for f in functions for name, q in f.obeys().items()}


def from_one(x: Form, functions: Sequence[Function], slopes: Sequence[Form], zeta2: Fraction) -> dict[str, Value]:
    """Inequalities for |x - x*| <= 1 and clients whose gradients at x* have the mean square zeta^2 or are zero."""
    unlike = {"zeta": mean_of([square(s) for s in slopes]) - zeta2} if zeta2 else {}
    return {"start": square(x) - 1, **unlike, **obeyed(functions)}


def problem_of(r: Round, bound: Any = Fraction(0)) -> Problem:
    """Problem that the squared distance after the round, or the form's growth factor, is at most ``bound``."""
    functions, slopes = clients_of(len(r.steps), Fraction(r.mu))
    x = basis("x")
    if not r.keeps:
        played = play(functions, lambda start, clients: [r.after(start(x), clients)])
        given = {"start": square(x) - 1, "zeta": mean_of([square(s) for s in slopes]) - r.zeta2}
        right, left = bound * Value(constant=Fraction(1)), square(played.ended[0])
        return Problem(left - right, given | obeyed(functions), right, played)
    before, after, given, played = state_of(r)
    start, left = quadratic(r.P, before), quadratic(r.P, after)
    return Problem(left - bound * start, given, bound * start, played)


def state_of(r: Round) -> tuple[list[Form], list[Form], dict[str, Value], Play]:
    """State x - x* and all c_i - grad F_i(x*), before and after a round, with inequalities and the round."""
    functions, slopes = clients_of(len(r.steps), Fraction(r.mu))
    x, each = basis("x"), [basis(f"c{i}") for i in range(len(r.steps))]
    played = play(functions, lambda start, clients: r.kept(start(x), [start(c) for c in each], clients))
    end, server, *ends = played.ended
    if server != sum(ends, ORIGIN) / len(ends):
        raise ValueError(f"contraction: {r.algorithm}'s server vector must be the mean of its clients', and is not")
    before, after = ([y, *(c - s for c, s in zip(cs, slopes, strict=True))] for y, cs in ((x, each), (end, ends)))
    return before, after, obeyed(functions), played


def apart(r: Round, bound: Any) -> Problem:
    """Problem that a round contracts the squared distance between two models by ``bound``."""
    functions = [Function(f"F{i}", strongly_convex(MU, 1)) for i in range(len(r.steps))]
    x = basis("x")
    played = play(functions, lambda start, clients: [r.after(start(y), clients) for y in (x, ORIGIN)])
    one, other = played.ended
    right = bound * square(x)
    return Problem(square(one - other) - right, obeyed(functions), right, played)


def resting(r: Round, bound: Any) -> Problem:
    """Problem that a fixed point x of the round has |x - x*|^2 <= bound zeta^2, with zeta = 1."""
    functions, slopes = clients_of(len(r.steps), Fraction(r.mu))
    x = basis("x")

    def run(start: Start, clients: Sequence[Oracle]) -> list[Vector]:
        return [r.after(start(x), clients)]

    (end,) = play(functions, run).ended
    # The last gradient that was asked for is what the others leave to it, so that the round ends where it began.
    last = f"{functions[-1].name}.g{r.steps[-1]}"
    parts = dict((end - x).parts)
    own = parts.pop(last)
    rest = form({name: -c / own for name, c in parts.items()})

    def settled(y: Form) -> Form:
        share = dict(y.parts).get(last, Fraction(0))
        return y + share * (rest - basis(last))

    for f in functions:
        f.points = {settled(y): Point(settled(p.x), settled(p.g), p.f) for y, p in f.points.items()}
    given = {"zeta": mean_of([square(s) for s in slopes]) - 1, **obeyed(functions)}
    right = Value(constant=bound)
    return Problem(square(x) - right, given, right, Play(tuple(functions), run, (settled(end),)))
