"""Contraction of a Lyapunov function for peers, for any symmetric mixing matrix with eigenvalues in an interval.

W is symmetric, W 1 = 1, and its other eigenvalues are in [low, high]; it may change from one exchange to the next.
Nothing else of it is known. For stacks A_t that are mixed by one W, let a_t be A_t less the mean of its rows, and b_t
what is left of W A_t. Then the means stay, and for all numbers p_t

    mean <b_s, a_t> = mean <a_s, b_t>
    mean <b - low a, b - high a> <= 0,   a = sum p_t a_t,  b = sum p_t b_t

These hold of every such W (Colla and Hendrickx, arXiv 2203.05963, of which the abstract was opened, have guarantees
over such a class; PEPit's SymmetricLinearOperator has the inequalities, as a matrix that is positive semidefinite).
For two stacks a few directions p are taken.

The form is A |x|^2 + mean (B |X_i - x|^2 + 2 C <X_i - x, k_i> + D |k_i|^2), x the mean of the models less x*, k_i =
c_i + grad F_i(x*); the c_i are those of :mod:`.exchanges`. All is made of means over clients. So two clients'
multipliers, divided, serve any number of them (:mod:`.more_clients`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec.errors import ParameterError
from fedspec.plan import Oracle
from fedspec_proofs.engines.exact import objects
from fedspec_proofs.engines.worst_case.falling import Matrix
from fedspec_proofs.engines.worst_case.forms import ORIGIN, Form, basis
from fedspec_proofs.engines.worst_case.plays import Play, Start, play
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value, inner, square
from fedspec_proofs.worst_cases.exchanges import Peers
from fedspec_proofs.worst_cases.falls import State
from fedspec_proofs.worst_cases.one_round import clients_of, mean_of, obeyed

FARTHEST = 6
"""Largest absolute value of an entry of a direction."""


class Unknown(np.ndarray[Any, Any]):
    """An unknown mixing matrix, for runs on forms, which records its products; as an array it is J = 11'/n."""

    mixed: list[tuple[list[Form], list[Form]]]

    def __matmul__(self, A: Any) -> Any:
        """Product W A on forms: the rows' mean plus new unknown vectors of sum zero; the pair is recorded."""
        n, rows = len(A), [row[0] for row in A]
        mean = sum(rows, ORIGIN) / n
        left = [basis(f"W{len(self.mixed)}.{i}") for i in range(n - 1)]
        left.append(-sum(left, ORIGIN))
        self.mixed.append(([row - mean for row in rows], left))
        return objects(mean + b for b in left)[:, None]


def unknown(n: int) -> Unknown:
    """Unknown mixing matrix for n clients."""
    W = np.full((n, n), Fraction(1, n), dtype=object).view(Unknown)
    W.mixed = []
    return W


@dataclass(frozen=True)
class Mixed(Peers):
    """An exchange with any mixing matrix of a class; the form is A, B, C, D: its matrix in x, X_i - x and k_i.

    Attributes:
        algorithm: the algorithm's id, one of :data:`fedspec_proofs.worst_cases.exchanges.KEPT`.
        low: the smallest eigenvalue besides the eigenvalue 1, as text.
        high: the largest eigenvalue besides the eigenvalue 1, as text.
        tau: number of local steps of each peer; k-gt and led exchange after the last step, diging and d2 after each
            step.
        eta_l: the peers' learning rate, in units of 1/L.
        n: number of clients.
        numbers: hyper-parameters with values other than in :data:`fedspec_proofs.worst_cases.exchanges.OTHERS`.
    """

    algorithm: str
    low: str
    high: str
    tau: int
    eta_l: str
    n: int = 2
    numbers: tuple[tuple[str, str], ...] = ()

    @property
    def P(self) -> Matrix:
        """Matrix of the form, with zeros for products of x with the other vectors."""
        P = [[Fraction(c) for c in row] for row in self.form]
        P[0][1] = P[0][2] = P[1][0] = P[2][0] = Fraction(0)
        return tuple(map(tuple, P))

    def __str__(self) -> str:
        return f"{self.algorithm}, W in [{self.low}, {self.high}], tau = {self.tau}, eta_l = {self.eta_l}"

    def forms_of(self) -> tuple[list[list[Form]], list[list[Form]], dict[str, Value], Play]:
        """X_i - x* and k_i before and after an exchange, inequalities of functions and matrix, and the recorded run."""
        functions, slopes = clients_of(self.n, Fraction(self.mu))
        X, c = self.forms()
        W = unknown(self.n)

        def run(start: Start, clients: Sequence[Oracle]) -> list[Vector]:
            W.mixed.clear()
            return self.mixed([*map(start, X)], [*map(start, c)], clients, W)

        played = play(functions, run)
        ends, kept = [*played.ended[: self.n]], [*played.ended[self.n :]]
        k, k_after = ([a + s for a, s in zip(some, slopes, strict=True)] for some in (c, kept))
        return [X, k], [ends, k_after], obeyed(functions) | of_class(self, W.mixed), played

    def state(self) -> State:
        """State x, X_1 - x and k_1 for two clients; the quadratic form is built from these vectors."""
        before, after, given, played = self.forms_of()

        def seen(some: list[list[Form]]) -> list[Form]:
            X, k = some
            x = sum(X, ORIGIN) / self.n
            return [x, X[0] - x, k[0]]

        return seen(before), seen(after), given, played

    def problem(self, bound: Any = Fraction(0)) -> Problem:
        """Problem that the form of any number of clients is at most ``bound`` times its value before."""
        before, after, given, played = self.forms_of()
        start = self.value(before)
        return Problem(self.value(after) - bound * start, given, bound * start, played)

    def value(self, some: Sequence[Sequence[Form]]) -> Value:
        """Value of the form for any number of clients."""
        X, k = some
        x, P = sum(X, ORIGIN) / self.n, self.P
        off = [
            P[1][1] * square(y - x) + 2 * P[1][2] * inner(y - x, a) + P[2][2] * square(a)
            for y, a in zip(X, k, strict=True)
        ]
        return P[0][0] * square(x) + mean_of(off)


def of_class(r: Mixed, mixed: Sequence[tuple[list[Form], list[Form]]]) -> dict[str, Value]:
    """Inequalities <= 0 that stacks satisfy before and after multiplication with a matrix of the class, by name.

    Raises:
        ParameterError: there are more than two stacks, or the interval isn't inside [-1, 1].
    """
    low, high = Fraction(r.low), Fraction(r.high)
    if len(mixed) > 2:
        stacks = f"{r.algorithm} mixes {len(mixed)} stacks in an exchange of {r.tau} steps"
        raise ParameterError(f"spectral: {stacks}; inequalities exist for at most two, so take fewer steps")
    if not -1 <= low < high <= 1:
        raise ParameterError(f"spectral: eigenvalues in [{low}, {high}]; the interval must lie in [-1, 1], low < high")
    given = {}
    ways: list[tuple[int, ...]] = [(1,)] if len(mixed) == 1 else [*directions()]
    for way in ways:
        a, b = (
            [sum((p * y[i] for p, y in zip(way, some, strict=True)), ORIGIN) for i in range(r.n)]
            for some in zip(*mixed, strict=True)
        )
        given[f"W {','.join(map(str, way))}"] = mean_of(
            [inner(v - low * u, v - high * u) for u, v in zip(a, b, strict=True)]
        )
    if len(mixed) > 1:
        (a, b), (e, f) = mixed
        off = mean_of([inner(a[i], f[i]) - inner(b[i], e[i]) for i in range(r.n)])
        given |= {"S +": off, "S -": -off}
    return given


def directions() -> list[tuple[int, int]]:
    """Coprime pairs of whole numbers up to :data:`FARTHEST`, without their negatives."""
    span = range(-FARTHEST, FARTHEST + 1)
    return [(p, q) for p, q in product(range(FARTHEST + 1), span) if gcd(p, q) == 1 and (p, q) > (0, 0)]
