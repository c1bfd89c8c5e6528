"""Contraction factor of a quadratic Lyapunov function for peers that average with a given matrix, without a server.

Clients are any mu-strongly convex functions with 1-Lipschitz gradients, in any dimension; all compute, without noise.
x* is the minimiser of their mean, W doubly stochastic, in fractions. These methods keep, beside a model X_i at each
client, vectors c_i of sum zero that come to stand for -grad F_i(x*):

    k-gt      C_i
    diging    Y_i - G_i, the tracker less the own gradient
    d2        (X_before - X)_i / eta_l - (G_before)_i
    led       dual_i / (eta_l tau)

So (X_i - x*, c_i + grad F_i(x*)) is zero where they rest, and a positive definite form P in it, c_n left out as minus
the sum of the others, is looked for that falls in every exchange. With P found, multipliers that fractions check prove
the factor (:mod:`.one_round` has the same for rounds of a server). A row's own functions are run on linear forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms.d2 import Before
from fedspec.algorithms.diging import Trackers, own_gradients
from fedspec.algorithms.k_gt import Corrected
from fedspec.algorithms.led import Dual
from fedspec.arith import Mixing, Stack, Vector
from fedspec.catalogue import CATALOGUE
from fedspec.errors import ParameterError
from fedspec.plan import Exchange, Oracle
from fedspec_proofs.engines.worst_case.forms import ORIGIN, Form, basis
from fedspec_proofs.engines.worst_case.plays import play
from fedspec_proofs.worst_cases.falls import Falls, State, Words
from fedspec_proofs.worst_cases.one_round import clients_of, obeyed

Begin = Callable[[Any, Stack, Stack, Sequence[Oracle], int], Any]
"""Builds an algorithm's state from its hyper-parameters, X, c, the clients and tau."""

Read = Callable[[Any, Any, int], Stack]
"""Reads c from an algorithm's hyper-parameters, its state and tau."""


def _d2_begins(h: Any, X: Stack, c: Stack, clients: Sequence[Oracle], tau: int) -> Before:
    """The step sees X_before - eta_l G_before alone; here it is all in X_before."""
    return Before(X, X + h.eta_l * c, X * 0)


def _diging_begins(h: Any, X: Stack, c: Stack, clients: Sequence[Oracle], tau: int) -> Trackers:
    G = own_gradients(clients, 0, X)
    return Trackers(X, c + G, G, begun=True)


KEPT: dict[str, tuple[Begin, Read]] = {
    "k-gt": (lambda h, X, c, clients, tau: Corrected(X, c), lambda h, state, tau: state.C),
    "diging": (_diging_begins, lambda h, state, tau: state.Y - state.G),
    "d2": (_d2_begins, lambda h, state, tau: (state.X_before - state.X) / h.eta_l - state.G),
    "led": (
        lambda h, X, c, clients, tau: Dual(X, h.eta_l * tau * c),
        lambda h, state, tau: state.dual / (h.eta_l * tau),
    ),
}
"""Conversions by algorithm: from X and c to its state, and from its state to c."""

OTHERS: dict[str, dict[str, Fraction]] = {"k-gt": {"eta": Fraction(1)}, "diging": {}, "d2": {}, "led": {}}
"""Hyper-parameters other than eta_l, with default values."""


class Peers(Falls):
    """An exchange of an algorithm whose state is all X_i and c_i."""

    algorithm: str
    tau: int
    eta_l: str
    numbers: tuple[tuple[str, str], ...]

    @property
    def hyper(self) -> Any:
        """Hyper-parameters as the algorithm's record."""
        run: Any = CATALOGUE[self.algorithm].run
        others = OTHERS[self.algorithm] | {n: Fraction(v) for n, v in self.numbers}
        return run.hyper(eta_l=Fraction(self.eta_l), **others)

    def mixed(self, X: Sequence[Vector], c: Sequence[Vector], clients: Sequence[Oracle], W: Any) -> list[Vector]:
        """All X_i and c_i after an exchange with matrix W, by the row's own functions; every client takes tau steps."""
        run: Any = CATALOGUE[self.algorithm].run
        (begin, read), h = KEPT[self.algorithm], self.hyper
        plan = Exchange((), (tuple(range(self.n)),) * self.tau, W)
        state, _ = run.step(h, begin(h, np.stack(X), np.stack(c), clients, self.tau), tuple(clients), plan)
        return [*state.X, *read(h, state, self.tau)]

    def forms(self) -> tuple[list[Form], list[Form]]:
        """Forms X_i and c_i before an exchange; the last c_i is minus the sum of the other c_i."""
        X, c = [basis(f"x{i}") for i in range(self.n)], [basis(f"c{i}") for i in range(self.n - 1)]
        return X, [*c, -sum(c, ORIGIN)]


@dataclass(frozen=True)
class Exchanged(Peers):
    """An exchange with a given mixing matrix.

    Attributes:
        algorithm: the algorithm's id, one of :data:`KEPT`.
        W: the mixing matrix, as text.
        tau: number of local steps of each peer; k-gt and led exchange after the last step, diging and d2 after each
            step.
        eta_l: the peers' learning rate, in units of 1/L.
        numbers: hyper-parameters with values other than in :data:`OTHERS`.
    """

    algorithm: str
    W: Words
    tau: int
    eta_l: str
    numbers: tuple[tuple[str, str], ...] = ()

    @property
    def n(self) -> int:
        """Number of clients."""
        return len(self.W)

    def __str__(self) -> str:
        rows = "; ".join(", ".join(row) for row in self.W)
        return f"{self.algorithm}, W = ({rows}), tau = {self.tau}, eta_l = {self.eta_l}"

    def after(self, X: Sequence[Vector], c: Sequence[Vector], clients: Sequence[Oracle]) -> list[Vector]:
        """All X_i and c_i after the exchange."""
        return self.mixed(X, c, clients, mixing_of(self.W))

    def state(self) -> State:
        """State, all X_i - x* and all c_i + grad F_i(x*) but the last, before and after, with inequalities.

        Raises:
            ParameterError: the algorithm's clients keep no vectors c_i.
            ValueError: the c_i don't sum to zero after the exchange.
        """
        if self.algorithm not in KEPT:
            raise ParameterError(f"exchanges: got {self.algorithm}; it must be one of {', '.join(KEPT)}")
        functions, slopes = clients_of(self.n, Fraction(self.mu))
        X, c = self.forms()
        played = play(functions, lambda start, clients: self.after([*map(start, X)], [*map(start, c)], clients))
        ends, kept = played.ended[: self.n], played.ended[self.n :]
        if sum(kept, ORIGIN) != ORIGIN:
            raise ValueError(f"exchanges: the kept vectors c_i of {self.algorithm} must sum to zero, but don't")

        def seen(X: Sequence[Form], c: Sequence[Form]) -> list[Form]:
            return [*X, *(a + s for a, s in zip(c[:-1], slopes[:-1], strict=True))]

        return seen(X, c), seen(ends, kept), obeyed(functions), played


def mixing_of(W: Words) -> Mixing:
    """Convert a matrix of strings to an array of fractions.

    Raises:
        ParameterError: the matrix isn't square, or an entry isn't a fraction.
    """
    if any(len(row) != len(W) for row in W):
        raise ParameterError(f"W: got rows of {[*map(len, W)]} entries; a mixing matrix must be square")
    try:
        return np.array([[Fraction(c) for c in row] for row in W], dtype=object)
    except (ValueError, ZeroDivisionError) as error:
        raise ParameterError(f"W: {error}; its entries must be fractions such as 1/4") from error


def circulant(*row: str) -> Words:
    """Circulant matrix of a ring, from its first row: each row is the row above, shifted by one place."""
    return tuple(tuple(row[(j - i) % len(row)] for j in range(len(row))) for i in range(len(row)))
