"""Contraction of two server states in a round, in a quadratic norm, for servers with momentum or late changes.

Clients are any mu-strongly convex functions with 1-Lipschitz gradients, in any dimension; all take part, with equal
weights, without noise. The state is the server's model and what it keeps beside it:

    fedavgm, slowmo    x, v: the momentum buffer (DiLoCo's outer momentum, with SGD for its clients' AdamW)
    cc-fedavg          x and the D models before it, where every change comes from a model that is D versions old

A positive definite form P in the difference of two states is looked for that falls when both have a round of the same
clients. With P found, multipliers that fractions check prove the factor. Below 1 there is one state that a round leaves
where it is, and the rounds go there from everywhere. Its model is x*, the minimiser of the clients' mean, where they
take one step or share their minimiser; else it is another. A row's own functions are run on linear forms, twice.

Only a client's k-th points of the two runs are compared: where the states are the same, every other inequality may be
strict, so that its multiplier is zero. What is left has only differences in it, of points and of gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec.algorithms.buffered import Waiting
from fedspec.algorithms.synchronous import run_round
from fedspec.arith import Vector
from fedspec.catalogue import CATALOGUE
from fedspec.errors import ParameterError
from fedspec.plan import Arrival, Oracle, Plan
from fedspec.server.momentum import ServerMomentum
from fedspec_proofs.engines.worst_case.classes import Function, Point, strongly_convex
from fedspec_proofs.engines.worst_case.forms import ORIGIN, Form, basis
from fedspec_proofs.engines.worst_case.plays import Start, play
from fedspec_proofs.worst_cases.falls import Falls, State

MOMENTA = ("fedavgm", "slowmo")
"""Algorithms whose server keeps a momentum buffer v."""

LATE = ("cc-fedavg",)
"""Algorithms whose server receives late changes."""

MOST_LATE = 8
"""Largest delay of a change, in versions."""


@dataclass(frozen=True)
class Outer(Falls):
    """A round of an algorithm whose server keeps vectors beside its model.

    Attributes:
        algorithm: the algorithm's id, one of :data:`MOMENTA` or :data:`LATE`.
        tau: local steps of each client.
        eta_l: the clients' learning rate, in units of 1/L.
        numbers: all other hyper-parameters and options, as text.
        delay: delay D of the changes, in versions; 0 without late changes.
        n: number of clients; a proof for two holds for more (:mod:`fedspec_proofs.worst_cases.more_clients`).
    """

    algorithm: str
    tau: int
    eta_l: str
    numbers: tuple[tuple[str, str], ...] = ()
    delay: int = 0
    n: int = 2

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the state's vectors, the model first."""
        return ("x", "v") if self.algorithm in MOMENTA else tuple(f"x{k}" for k in range(self.delay + 1))

    @property
    def hyper(self) -> Any:
        """Hyper-parameters as the algorithm's record."""
        row = CATALOGUE[self.algorithm]
        given = {n: v if n in row.options else Fraction(v) for n, v in self.numbers}
        numbers = {"buffer": self.n} if self.algorithm in LATE else {}
        run: Any = row.run
        return run.hyper(eta_l=Fraction(self.eta_l), **numbers, **given)

    def __str__(self) -> str:
        said = "".join(f", {n} = {v}" for n, v in self.numbers)
        said += f", D = {self.delay}" if self.algorithm in LATE else ""
        return f"{self.algorithm}, tau = {self.tau}, eta_l = {self.eta_l}{said}"

    def after(self, state: Sequence[Vector], clients: Sequence[Oracle]) -> list[Vector]:
        """State after a round, by the row's own functions."""
        run: Any = CATALOGUE[self.algorithm].run
        if self.algorithm in MOMENTA:
            plan, begun = Plan(tuple(range(self.n)), (self.tau,) * self.n, (1,) * self.n), ServerMomentum(*state)
            how = {"local": run.local, "norm": run.norm, "server": run.server}
            ended: Any = run_round(self.hyper, begun, tuple(clients), plan, **how).state
            return [ended.x, ended.v]
        late = [Arrival(i, self.tau, self.delay) for i in range(self.n)]
        waiting, _ = run.step(self.hyper, Waiting(state[0], tuple(state[::-1])), tuple(clients), *late)
        return [*waiting.versions[-1 : -self.delay - 2 : -1]]

    @property
    def slopes(self) -> list[str]:
        """Empty, since the analysis contains only differences of gradients."""
        return []

    def state(self) -> State:
        """Difference of two states, before and after a round, with the functions' inequalities and both recorded runs.

        The second state is zero: what a round makes of a difference does not depend on where it is. The gradients of
        the first run are those of the second and a difference, F0.g2 = F0.g0 + F0.d0.

        Raises:
            ParameterError: the algorithm's server keeps no momentum and no old versions, or the delay is invalid.
        """
        if self.algorithm not in (*MOMENTA, *LATE):
            raise ParameterError(f"outer: got {self.algorithm}; it must be one of {', '.join((*MOMENTA, *LATE))}")
        if not 0 <= self.delay <= (MOST_LATE if self.algorithm in LATE else 0):
            late = f"delay {self.delay}; it must be 0 to {MOST_LATE} for {', '.join(LATE)}, and 0 otherwise"
            raise ParameterError(f"outer: got {self.algorithm} with {late}")
        functions = [Function(f"F{i}", strongly_convex(Fraction(self.mu), 1)) for i in range(self.n)]
        before = [basis(name) for name in self.names]

        def run(start: Start, clients: Sequence[Oracle]) -> list[Vector]:
            return [*self.after([start(ORIGIN)] * len(before), clients), *self.after([*map(start, before)], clients)]

        played = play(functions, run)
        zero, one = played.ended[: len(before)], played.ended[len(before) :]
        given = {}
        for f in functions:
            asked = [Point(_apart(p.x, self.tau), _apart(p.g, self.tau), p.f) for p in f.points.values()]
            for k in range(self.tau):
                given[f"{f.name} {k}"] = f.of(asked[k], asked[k + self.tau]) + f.of(asked[k + self.tau], asked[k])
        return before, [_apart(b - a, self.tau) for a, b in zip(zero, one, strict=True)], given, played


def _apart(y: Form, tau: int) -> Form:
    """Form with the gradients of the first run written as the second run's gradients plus differences."""
    total = ORIGIN
    for name, c in y.parts:
        of, _, k = name.rpartition(".g")
        late = of and int(k) >= tau
        total = total + c * (basis(f"{of}.g{int(k) - tau}") + basis(f"{of}.d{int(k) - tau}") if late else basis(name))
    return total
