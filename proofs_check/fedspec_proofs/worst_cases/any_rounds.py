"""Worst distance from the minimiser after some rounds, for any algorithm of the catalogue whose rounds are linear.

From |x - x*| <= 1 and the algorithm's own initial state, R rounds of all clients with equal weights. The clients are
any mu-strongly convex functions with 1-Lipschitz gradients, whose gradients at x* have the mean square zeta^2. If peers
exchange models by a given matrix, all begin at x, and |x_R - x*|^2 is the mean over them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Vector, concatenate
from fedspec.domains import COUNT, DOMAINS, WHOLE
from fedspec.entry import Algorithm, LocalSolver, Program
from fedspec.errors import ParameterError
from fedspec.mixing.gossip import check_mixing
from fedspec.plan import Exchange, Oracle, Plan, Setup
from fedspec_proofs.engines.worst_case.forms import basis
from fedspec_proofs.engines.worst_case.plays import play
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value, square
from fedspec_proofs.worst_cases.exchanges import mixing_of
from fedspec_proofs.worst_cases.falls import Words
from fedspec_proofs.worst_cases.one_round import MU, clients_of, from_one, rounds_after
from fedspec_proofs.worst_cases.premises import Given, NotLinearError, ask, check_same

__all__ = ["NotLinearError", "Rounds", "check", "problem_of"]

AS_IT_IS = Given()


@dataclass(frozen=True)
class Rounds:
    """Question: the worst distance after so many rounds, with these steps, hyper-parameters and constants.

    Attributes:
        row: the row of the algorithm.
        steps: the local steps of each client.
        numbers: the hyper-parameters by name.
        mu: strong convexity of the clients, in units of L.
        zeta2: zeta^2, in units of L^2 |x - x*|^2.
        rounds: R, the number of rounds.
        mixing: the mixing matrix of the peers, as text; empty if there is a server.
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
        """Hyper-parameters as the algorithm's record, which rejects unknown names."""
        return self.hyper_in(Fraction)

    def hyper_in(self, kind: Callable[[Fraction], Any]) -> Any:
        """Hyper-parameters with each number converted by ``kind``; counts stay integers."""
        assert not isinstance(self.row.run, LocalSolver)
        numbers = {n: _in(n, v, kind) for n, v in self.numbers.items()}
        return self.row.run.hyper(**numbers)

    def after(self, x: Vector, clients: Sequence[Oracle], given: Given = AS_IT_IS) -> list[Vector]:
        """Model after the rounds, or the models of all peers, computed by the algorithm's own functions."""
        run, n = self.row.run, len(self.steps)
        assert not isinstance(run, LocalSolver)
        places = given.places or tuple(range(n))
        h, clients = self.hyper_in(float if given.floats else Fraction), [clients[i] for i in places]
        setup = Setup((given.examples,) * n, given.shapes or {"x": x.shape})
        if self.mixing:
            W = mixing_of(self.mixing)[np.ix_(places, places)]
            exchange = Exchange((), (tuple(range(n)),) * self.steps[0], W.astype(float) if given.floats else W)
            X = rounds_after(run, h, concatenate([x] * n), clients, exchange, self.rounds, setup).reshape(n, -1)
            return [X[places.index(i)] for i in range(n)]
        order = tuple(range(n))[:: -1 if given.backwards else 1]
        plan = Plan(order, tuple(self.steps[places[k]] for k in order), (given.examples,) * n)
        return [rounds_after(run, h, x, clients, plan, self.rounds, setup)]


def _in(name: str, value: Any, kind: Callable[[Fraction], Any]) -> Any:
    if not isinstance(value, Fraction):
        return value
    counts = name in DOMAINS and DOMAINS[name].domain in (COUNT, WHOLE) and value.denominator == 1
    return int(value) if counts else kind(value)


def check(asked: Rounds) -> None:
    """Reject questions that the method can't answer, such as local solvers or a missing mixing matrix.

    Raises:
        ParameterError: the algorithm has no rounds of a server or of peers, it sends parts of vectors, a number is
            missing or outside its domain, or the mixing matrix is missing or not needed.
        MixingError: the matrix is not doubly stochastic.
    """
    row, run = asked.row, asked.row.run
    event = run.event if isinstance(run, Program) else "round"
    peers = event == "exchange" and row.takes == ("peers",)
    if isinstance(run, LocalSolver) or not (peers or event == "round"):
        kind = "a local solver" if isinstance(run, LocalSolver) else f"run by {event}s"
        raise ParameterError(f"worst-case: {row.id} is {kind}; only rounds of all clients or of all peers are analysed")
    if peers and not asked.mixing:
        raise ParameterError(f"worst-case: {row.id} is run by exchanges; give their mixing matrix (--mixing)")
    if row.runs("top_k"):
        raise ParameterError(
            f"worst-case: {row.id} sends the largest entries of a vector; here a vector is one symbol, which has no "
            "entries to choose from"
        )
    if asked.mixing:
        if not peers:
            raise ParameterError(f"worst-case: {row.id} has a server and no mixing matrix; leave --mixing out")
        check_mixing(mixing_of(asked.mixing))
        if asked.steps != asked.steps[:1] * len(asked.mixing):
            raise ParameterError(
                f"worst-case: got steps {asked.steps} for {len(asked.mixing)} peers; all must be equal"
            )
    _ = asked.hyper
    if not 0 <= asked.mu < 1:
        raise ParameterError(f"worst-case: got mu = {asked.mu}; it is in units of L and must be in [0, 1)")


def problem_of(asked: Rounds, bound: Fraction = Fraction(0)) -> Problem:
    """Problem whose claim is |x_R - x*|^2 <= bound.

    Raises:
        ParameterError: a number is outside its domain, or the rule needs data that such rounds don't have.
        NotLinearError: the rule violates a premise of the proof; the message has the failing statement if there is one.
    """
    check(asked)
    x, n = basis("x"), len(asked.steps)
    unlike = bool(asked.zeta2)
    made = ask(asked.row.id, asked.after, lambda star: clients_of(n, asked.mu, unlike=unlike, star=star)[0], x)
    functions, slopes = clients_of(n, asked.mu, unlike=unlike)
    played = play(functions, lambda start, clients: asked.after(start(x), clients))
    check_same(asked.row.id, made, played)
    right = Value(constant=bound)
    given = from_one(x, functions, slopes, asked.zeta2)
    left = sum(map(square, played.ended), Value()) / len(played.ended)
    return Problem(left - right, given, right, played)
