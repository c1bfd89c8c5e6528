"""Contraction factor of a quadratic Lyapunov function in a round of EF21, for any clients and compressor of a class.

Clients are any mu-strongly convex functions with 1-Lipschitz gradients, in any dimension; all take part, with equal
weights, without noise. The compressor C is any map with |C(v) - v|^2 <= (1 - alpha) |v|^2, such as top-k with
alpha = k/d. x* is the minimiser of the clients' mean. A round ends with a step, x = w - eta mean g_i, and w is where
its gradients were taken. A positive definite form P in w - x* and all g_i - grad F_i(w) is looked for that falls in
every round after the first. With P found, multipliers that fractions check prove the factor.

A round sees its clients through their mean alone, and so does x*. So a certificate of two clients may be averaged over
who is called first, and divided among n: the form in w - x*, the mean of all e_i = g_i - grad F_i(w) and the mean
square of what they are off it falls by the same factor (:mod:`.more_clients` has the argument).

The round is that of the row in the order of its box, by the row's own rules; what C makes of a vector is a vector of
which that inequality alone is known. A test holds it to the row's step with top-k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec.mixing.tracked import descend, learnt, mean_estimate, unknown
from fedspec.plan import Oracle
from fedspec_proofs.engines.worst_case.forms import Form, basis
from fedspec_proofs.engines.worst_case.plays import Start, play
from fedspec_proofs.engines.worst_case.values import square
from fedspec_proofs.worst_cases.falls import Falls, State
from fedspec_proofs.worst_cases.more_clients import divided, spread
from fedspec_proofs.worst_cases.one_round import clients_of, obeyed

Compress = Callable[[int, Vector], Vector]
"""Function of (i, v): the message that client i sends for the vector v."""

ROWS = ("ef21",)
"""Algorithms that this module covers."""


@dataclass(frozen=True)
class Compressed(Falls):
    """A round of EF21 with n clients.

    Attributes:
        alpha: alpha of the compressor, as text.
        eta: the server's rate, in units of 1/L, as text.
        n: number of clients.
    """

    alpha: str
    eta: str
    n: int = 2

    def __str__(self) -> str:
        return f"ef21, alpha = {self.alpha}, eta = {self.eta}"

    def after(
        self, x: Vector, g_i: Sequence[Vector], clients: Sequence[Oracle], compress: Compress
    ) -> tuple[Vector, list[Vector]]:
        """Model and the server's gradient estimates after a round, by the row's own rules."""
        p_i = [unknown(f(0, x), g) for f, g in zip(clients, g_i, strict=True)]
        known = [learnt(g, compress(i, p)) for i, (g, p) in enumerate(zip(g_i, p_i, strict=True))]
        eta: Any = Fraction(self.eta)
        return descend(x, mean_estimate(np.stack(known)), eta=eta), known

    def state(self) -> State:
        """State w - x* and all g_i - grad F_i(w), before and after a round, with the inequalities that hold."""
        functions, _ = clients_of(self.n, Fraction(self.mu))
        w, g_i = basis("w"), [basis(f"g{i}") for i in range(self.n)]
        sent = [basis(f"c{i}") for i in range(self.n)]
        whole: dict[int, Form] = {}
        eta: Any = Fraction(self.eta)

        def run(start: Start, clients: Sequence[Oracle]) -> list[Vector]:
            def compress(i: int, p: Vector) -> Vector:
                whole[i] = p[0]
                return start(sent[i])

            known = [*map(start, g_i)]
            x = descend(start(w), mean_estimate(np.stack(known)), eta=eta)
            return [x, *self.after(x, known, clients, compress)[1]]

        played = play(functions, run)
        x, *known = played.ended
        given = {}
        for i, p in whole.items():
            given[f"C{i}"] = square(sent[i] - p) - (1 - Fraction(self.alpha)) * square(p)

        def seen(y: Form, known: Sequence[Form]) -> list[Form]:
            return [y, *(g - f.at(y).g for g, f in zip(known, functions, strict=True))]

        before, after = seen(w, g_i), seen(x, known)
        return before, after, given | obeyed(functions), played


def among(r: Compressed, proof: Mapping[str, Fraction], n: int) -> tuple[Compressed, dict[str, Fraction]]:
    """Extend the round, its quadratic form and its multipliers to n clients.

    The multipliers of a client are the mean of the old clients' multipliers, divided among n.
    """
    P = spread(r.P, [[*range(r.n)]], [0] * n, Fraction(n, r.n))
    form = tuple(tuple(map(str, row)) for row in P)
    return replace(r, n=n, form=form), divided(proof, [range(r.n)], [range(n)], "FC")
