"""Clients that meet Assumptions 1 and 2 with known rational constants: Huber's function, scaled and shifted.

    F_i(x) = s_i sum_j H(x_j - c_ij),    H(y) = y^2/2 where |y| <= 1, else |y| - 1/2
    [grad F_i(x)]_j = s_i max(-1, min(1, x_j - c_ij))

F_i is s_i-smooth and its gradient is at most s_i in every coordinate; f is their mean.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from fedspec.algorithms.server_update import Covered
from fedspec.arith import Array, Vector, maximum, minimum
from fedspec.errors import InexactError
from fedspec.plan import Oracle, Plan, Setup
from fedspec.server.adagrad import Adaptive
from fedspec_proofs.engines import exact
from fedspec_proofs.kit.piecewise import Piecewise, average, huber
from fedspec_proofs.kit.recorded import Asked, recorded


def slope(y: Any) -> Any:
    """Derivative H'(y) = clip(y, -1, 1) of Huber's function, for a number or vector of any type."""
    return maximum(minimum(y, 1), -1)


@dataclass(frozen=True)
class Huber:
    """N clients in d dimensions, each a scaled and shifted Huber function.

    Attributes:
        centres: [N, d] the clients' minimisers.
        scales: [N] the clients' scales, positive.
    """

    centres: Array
    scales: Vector

    @property
    def clients(self) -> tuple[Oracle, ...]:
        """Full-batch gradient of each client, the same at every local step."""
        return tuple(lambda k, x, s=s, c=c: s * slope(x - c) for s, c in zip(self.scales, self.centres, strict=True))

    @property
    def L(self) -> Any:
        """Smoothness constant of all clients."""
        return max(self.scales)

    @property
    def G(self) -> Any:
        """Bound of every coordinate of every client's gradient."""
        return max(self.scales)

    def gradient(self, x: Vector) -> Vector:
        """Gradient of f at x."""
        mean: Vector = np.sum([client(0, x) for client in self.clients], axis=0) / len(self.scales)
        return mean

    @property
    def _along(self) -> list[Piecewise]:
        """f as a sum of functions of single coordinates."""
        return [average([huber(s, c) for s, c in zip(self.scales, cs, strict=True)]) for cs in self.centres.T]

    def value(self, x: Vector) -> Any:
        """Value f(x), up to a constant that does not depend on x."""
        return sum(f.value(y) for f, y in zip(self._along, x, strict=True))

    def minimiser(self) -> Vector:
        """Point where the gradient of f vanishes, exactly."""
        return np.array([f.minimiser for f in self._along], dtype=self.centres.dtype)

    def gap(self, x: Vector) -> Any:
        """Gap f(x) - f(x*)."""
        return self.value(x) - self.value(self.minimiser())

    def floats(self) -> Huber:
        """Copy of the clients in floating point."""
        return Huber(self.centres.astype(float), self.scales.astype(float))


def problem(*clients: tuple[Any, Any]) -> Huber:
    """Make scalar clients from pairs (scale, centre)."""
    scales, centres = (exact.vector(*numbers) for numbers in zip(*clients, strict=True))
    return Huber(centres[:, None], scales)


BALANCED = problem((1, -1), (1, Fraction(1, 3)), (1, Fraction(1, 3)))
"""At 0 the clients' steps 1/2, -1/4, -1/4 cancel (eps = 1), while their gradients 1, -1/3, -1/3 do not."""

Round = Callable[[Any, Any, Sequence[Oracle], Plan], tuple[Any, dict[str, Any]]]
"""Function of a round: the step function of an algorithm of FedAda2."""


@dataclass(frozen=True)
class Run:
    """Result of some rounds: the models, and whether the last round changed nothing.

    Attributes:
        xs: the models x_0, x_1, ...
        still: True if a round left the server's whole state unchanged, so that all later rounds do so too.
        exact: True if the rounds ran on fractions.
    """

    xs: tuple[Vector, ...]
    still: bool
    exact: bool

    @property
    def starts(self) -> tuple[Vector, ...]:
        """Models from which the rounds started."""
        return self.xs[:-1]

    def least(self, f: Huber) -> Any:
        """Smallest squared gradient length of f over x_0, x_1, ...; without the last model, unless it is still."""
        points = self.xs if self.still else self.xs[:-1]
        g = [f.gradient(x) for x in points]
        return min((v * v).sum() for v in g)

    def floor(self, f: Huber) -> Any:
        """Rational lower bound of the smallest squared gradient length over all rounds; 0 if none is known."""
        return self.least(f) if self.still and self.exact else Fraction(0)


def everybody(f: Huber, K: int, **more: Any) -> Plan:
    """Plan of a round in which every client takes K steps."""
    N = len(f.scales)
    return Plan(tuple(range(N)), (K,) * N, (1,) * N, **more)


def rounds(step: Round, h: Any, f: Huber, x: Vector, plan: Plan, T: int) -> Run:
    """Run at most T rounds from x; stop after a round that leaves the server's state unchanged.

    Fractions are tried first; where a root is not rational everything runs in floating point instead.
    """
    try:
        return _rounds(step, h, f, x, plan, T, exact=True)
    except InexactError:
        return _rounds(step, floating(h), f.floats(), x.astype(float), plan, T, exact=False)


def floating(h: Any) -> Any:
    """Copy of the hyper-parameters in floating point."""
    return type(h)(**{n: float(v) if isinstance(v, Fraction) else v for n, v in vars(h).items()})


def gradients(step: Round, h: Any, f: Huber, x: Vector, plan: Plan) -> list[list[tuple[Vector, bool]]]:
    """Gradients of a round from x in floating point, by client, each with True if its step was taken.

    It is dropped where the model stays. Every client is asked once more than it takes steps, so that the model after
    its last one is seen.
    """
    asked: Asked = []
    h, x = floating(h), x.astype(float)
    one_more = replace(plan, steps=tuple(K + 1 for K in plan.steps))
    state = _box(h).init(h, x, Setup((1,) * len(f.scales), {"w": (len(x),)}))
    step(h, state, tuple(recorded(client, asked) for client in f.floats().clients), one_more)
    out: list[list[tuple[Vector, bool]]] = []
    for (k, at, g), (after_k, after, _) in pairwise(asked):
        if k == 0:
            out.append([])
        if after_k == k + 1:
            out[-1].append((g, bool((after != at).any())))
    return out


def _rounds(step: Round, h: Any, f: Huber, x: Vector, plan: Plan, T: int, *, exact: bool) -> Run:
    state = _box(h).init(h, x, Setup((1,) * len(f.scales), {"w": (len(x),)}))
    xs = [x]
    for _ in range(T):
        before, (state, _) = _server(state), step(h, state, f.clients, plan)
        after = _server(state)
        xs.append(state.x)
        if (before.x == after.x).all() and (before.m == after.m).all() and (before.v == after.v).all():
            return Run(tuple(xs), True, exact)
    return Run(tuple(xs), False, exact)


def _box(h: Any) -> Any:
    """The module of the algorithm that a record is for."""
    return sys.modules[type(h).__module__]


def _server(state: Any) -> Adaptive:
    """The server's part of a state."""
    return state.server if isinstance(state, Covered) else state
