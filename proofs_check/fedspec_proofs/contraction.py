"""How much closer one round brings a model to the minimiser, in the worst case over strongly convex clients.

Clients are any mu-strongly convex functions with 1-Lipschitz gradients, in any dimension; all take part, without noise.
x* is the minimiser of their mean F. Two questions, for the rule as the specification has it:

* from |x - x*| <= 1, how far from x* may the model be after the round, if the clients' gradients at x* have the mean
  square zeta^2? (Methods that keep nothing but a model: at zeta = 0 all clients share their minimiser.)
* by which factor does |x - x*|^2 + a mean |c_i - grad F_i(x*)|^2 fall, whatever zeta? (Methods whose clients keep a
  vector c_i that comes to stand for their gradient: SCAFFOLD's control variate, FedDyn's dual variable.)

The answers are certified: multipliers that fractions check, stored beside those of the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms.synchronous import model, run_round
from fedspec.catalogue import CATALOGUE, Method
from fedspec.plan import Plan, Setup
from fedspec_proofs.engines.worst_case.classes import Function, strongly_convex
from fedspec_proofs.engines.worst_case.forms import ORIGIN, basis, vector
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value, square

MU = Fraction(1, 10)
"""Strong convexity, in units of L."""

HELD = {"scaffold": ("c", "c_i"), "feddyn": ("h", "lam_i")}
"""What the server and each client keep beside the model; the server's begins at the mean of the clients'."""

OTHERS: dict[str, dict[str, int]] = {
    "fedavg": {},
    "fedprox": {"mu": 1},
    "fednova": {},
    "scaffold": {"eta": 1},
    "feddyn": {"mu": 1},
}
"""Hyper-parameters beside eta_l."""


@dataclass(frozen=True)
class Round:
    """A round of an algorithm.

    Attributes:
        algorithm: its id.
        steps: local steps of each client.
        eta_l: their rate, in units of 1/L.
        zeta2: mean squared gradient of the clients at x*; of no account where clients keep a vector.
        share: a, where clients keep a vector.
    """

    algorithm: str
    steps: tuple[int, ...]
    eta_l: str
    zeta2: int = 0
    share: str = "0"

    @property
    def keeps(self) -> bool:
        """Whether clients keep a vector."""
        return self.algorithm in HELD

    def __str__(self) -> str:
        last = f"a = {self.share}" if self.keeps else f"zeta^2 = {self.zeta2}"
        return f"{self.algorithm}, tau = {self.steps}, eta_l = {self.eta_l}, {last}"


def _mean(terms: list[Value]) -> Value:
    return sum(terms, Value()) / len(terms)


def problem_of(r: Round, bound: Fraction = Fraction(0)) -> Problem:
    """That the distance after the round, or the sum that falls, is at most so much (times its value before)."""
    n = len(r.steps)
    functions = [Function(f"F{i}", strongly_convex(MU, 1)) for i in range(n)]
    # x* is the origin; the gradients of all clients there sum to zero.
    slopes = [basis(f"s{i}") for i in range(n - 1)]
    slopes.append(sum((-s for s in slopes), ORIGIN))
    for f, s in zip(functions, slopes, strict=True):
        f.meets(ORIGIN, s)
    run: Any = CATALOGUE[r.algorithm].run
    h = run.hyper(eta_l=Fraction(r.eta_l), **{n: Fraction(v) for n, v in OTHERS[r.algorithm].items()})
    plan, x = Plan(tuple(range(n)), r.steps, (1,) * n), vector(basis("x"))
    clients = tuple(f.oracle for f in functions)
    given: dict[str, Value] = {}
    if isinstance(run, Method):
        state = run_round(h, run.init(h, x), clients, plan, local=run.local, norm=run.norm, server=run.server).state
        before, after = Value(constant=Fraction(1)), square(model(state)[0])
        given = {"start": square(x[0]) - 1, "zeta": _mean([square(s) for s in slopes]) - r.zeta2}
    else:
        (mean, each), kept = HELD[r.algorithm], [basis(f"c{i}") for i in range(n)]
        state = replace(
            run.init(h, x, Setup((1,) * n, {"x": (1,)})),
            **{mean: vector(sum(kept, ORIGIN) / n), each: np.stack([vector(c) for c in kept])},
        )
        state, _ = run.step(h, state, clients, plan)
        off = [[square(c - s) for c, s in zip(cs, slopes, strict=True)] for cs in (kept, getattr(state, each)[:, 0])]
        a = Fraction(r.share)
        before, after = square(x[0]) + a * _mean(off[0]), square(model(state)[0]) + a * _mean(off[1])
    given |= {name: q for f in functions for name, q in f.obeys().items()}
    return Problem(after - bound * before, given)
