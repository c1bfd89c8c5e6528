"""Matrix of a round on quadratics, an affine map of the model and of the clients' memories.

    z = (x, m_1, ..., m_n, 1),    z after T rounds = M_T ... M_1 z_0

The blocks come from powers of I - eta_l H_i and from matrices K_i with Delta_i = -K_i (grad F_i(x) + b_i), never from
local steps, and several memories are kept in other coordinates than the rules keep them. All in fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Quadratics, Round
from fedspec.discovered import said
from fedspec.linear import eye
from fedspec.params import flatten
from fedspec.problems.quadratic import local_matrix
from fedspec.readings import Solver
from fedspec_properties.closed_forms import plugin_tables
from fedspec_properties.closed_forms.sums import counts, events_of
from fedspec_suite.measure.scenario import Scenario, lift

Forms = list[Array]
"""New model and new memories, each a matrix [d, size of z]: affine functions of z."""


@dataclass(frozen=True)
class Place:
    """Round in exact numbers: the problem, the hyper-parameters, and z's coordinates as affine functions of z."""

    problem: Quadratics
    h: Any
    o: Any
    memories: int

    @property
    def d(self) -> int:
        """Dimension of the problem."""
        return len(self.problem.H[0])

    @property
    def one(self) -> Array:
        """Identity matrix."""
        return eye(self.problem.H[0])

    def block(self, j: int) -> Array:
        """Return the model (j = 0) or memory j as a function of z."""
        out: Array = np.full((self.d, self.d * (1 + self.memories) + 1), Fraction(0), dtype=object)
        out[:, j * self.d : (j + 1) * self.d] = self.one
        return out

    def gradient(self, i: int) -> Array:
        """Return grad F_i at the model as a function of z."""
        out: Array = self.problem.H[i] @ self.block(0)
        out[:, -1] = out[:, -1] - self.problem.e[i]
        return out

    def reach(self, i: int, tau: int, mu: Any = 0) -> Array:
        """Return K_i of tau steps of SGD: eta_l times the sum of the powers of I - eta_l (H_i + mu I)."""
        step, total = self.one - self.h["eta_l"] * (self.problem.H[i] + mu * self.one), self.one * 0
        for k in range(tau):
            total = total + np.linalg.matrix_power(step, k)
        return np.asarray(self.h["eta_l"] * total)

    def solved(self, i: int, tau: int, solver: str) -> tuple[Array, Any]:
        """Return K_i of a solver, and ||a_i||_1, which is K_i / eta_l without curvature."""
        numbers = {n: self.h[n] for n in ("eta_l", "mu", "rho", "gamma") if n in self.h}
        K, flat = (local_matrix(Solver(solver), H, tau, **numbers) for H in (self.problem.H[i], self.one * 0))
        return K, flat[0, 0] / self.h["eta_l"]

    def shares(self, who: tuple[int, ...], uniform: bool = False) -> list[Any]:
        """Return the weights of some clients, normalised over these."""
        n = [Fraction(1) if uniform else self.problem.examples[i] for i in who]
        return [n_i / sum(n) for n_i in n]

    def weights(self, e: Round) -> list[Any]:
        """Return the weights of a round's participants under the option ``weights``."""
        n = counts(self.o, [self.problem.examples[i] for i in e.participants], e.steps)
        return [n_i / sum(n) for n_i in n]

    @property
    def all(self) -> tuple[int, ...]:
        """Numbers of all clients."""
        return tuple(range(len(self.problem.H)))


def _mean(p: list[Any], forms: Any) -> Array:
    return np.asarray(sum(p_i * form for p_i, form in zip(p, forms, strict=True)))


def _scaffold(z: Place, e: Round) -> Forms:
    """Memory i is c_i; c is their mean, and c_i a mixture of the gradient at x and of the correction."""
    uniform = z.o["weights"] == "uniform"
    kept = [z.block(1 + i) for i in z.all]
    c = _mean(z.shares(z.all, uniform), kept)
    deltas, new = [], list(kept)
    for i, tau in zip(e.participants, e.steps, strict=True):
        K, g, b = z.reach(i, tau), z.gradient(i), c - kept[i]
        M = K / (z.h["eta_l"] * tau)
        deltas.append(-K @ (g + b))
        new[i] = g if z.o["control"] == "gradient-at-x" else M @ g - (z.one - M) @ b
    return [z.block(0) + z.h["eta"] * _mean(z.shares(e.participants, uniform), deltas), *new]


def _feddyn(z: Place, e: Round) -> Forms:
    """Memory i is the sum of the changes that client i has made, -lam_i / mu; h is in no memory."""
    moved, Y = [z.block(1 + i) for i in z.all], []
    for i, tau in zip(e.participants, e.steps, strict=True):
        delta = -z.reach(i, tau, z.h["mu"]) @ (z.gradient(i) + z.h["mu"] * moved[i])
        moved[i] = moved[i] + delta
        Y.append(z.block(0) + delta)
    return [_mean(z.shares(e.participants, True), Y) + _mean(z.shares(z.all, True), moved), *moved]


def _vrl(z: Place, e: Round) -> Forms:
    """Memory i is v_i."""
    steps = dict(zip(e.participants, e.steps, strict=True))
    v = [z.block(1 + i) for i in z.all]
    deltas = [-z.reach(i, steps[i]) @ (z.gradient(i) - v[i]) for i in z.all]
    delta = _mean(z.shares(z.all, z.o["weights"] == "uniform"), deltas)
    tau = {i: Fraction(sum(e.steps), len(e.steps)) if z.o["divisor"] == "mean-steps" else steps[i] for i in z.all}
    return [z.block(0) + delta, *(v[i] + (delta - deltas[i]) / (z.h["eta_l"] * tau[i]) for i in z.all)]


def _remembered(z: Place, e: Round) -> Forms:
    """Memory i is what client i sent last, in units of the rate."""
    sent = [z.block(1 + i) for i in z.all]
    for i, tau in zip(e.participants, e.steps, strict=True):
        sent[i] = z.reach(i, tau) @ z.gradient(i) / z.h["eta_l"]
    return [z.block(0) - z.h["eta_l"] * _mean(z.shares(z.all, True), sent), *sent]


def _skipping(z: Place, e: Round) -> Forms:
    """Memory i is h_i."""
    kept, tau = [z.block(1 + i) for i in z.all], e.steps[0]
    deltas = [-z.reach(i, tau) @ (z.gradient(i) - kept[i]) for i in z.all]
    delta, by = _mean(z.shares(z.all, True), deltas), z.h["chance"] / z.h["eta_l"]
    return [z.block(0) + delta, *(kept[i] + by * (delta - deltas[i]) for i in z.all)]


def _corrected(z: Place, e: Round, solver: str, uniform: bool) -> Forms:
    """Memory i is d_i, by which the next round is corrected."""
    steps = dict(zip(e.participants, e.steps, strict=True))
    p, d = z.shares(z.all, uniform), [z.block(1 + i) for i in z.all]
    stored, short = z.o.get("stored", "uncorrected"), z.o.get("loop") == "printed"
    sent, kept, norms = [], [], []
    for i in z.all:
        K, a = z.solved(i, steps[i], solver)
        if short:
            K = z.solved(i, steps[i] - 1, solver)[0] if steps[i] > 1 else z.one * 0
        g, c = z.gradient(i), _mean(p, d) - d[i]
        M = K / (z.h["eta_l"] * a)
        sent.append(M @ (g + c))
        kept.append(sent[i] if stored == "corrected" else M @ g - (z.one - M) @ c)
        norms.append(a)
    return [z.block(0) - z.h["eta_l"] * _mean(p, norms) * _mean(p, sent), *kept]


def _sampled(z: Place, e: Round) -> Forms:
    """No memory; the weights of a draw from the sample sizes themselves."""
    n, q, m = z.problem.examples, len(e.participants), len(z.problem.H)
    p = [n[i] / sum(n) for i in e.participants]
    w = {
        "self-normalised": z.shares(e.participants),
        "with-replacement": [Fraction(1, q)] * q,
        "without-replacement": [m * p_i / q for p_i in p],
    }[z.o["sampled_weights"]]
    K, a = zip(*(z.solved(i, t, z.o["solver"]) for i, t in zip(e.participants, e.steps, strict=True)), strict=True)
    tau_eff = {"sample": _mean(w, a), "sum": _mean(p, a), "fixed": z.h.get("tau_eff")}[z.o["sampled_steps"]]
    moves = [tau_eff / a_i * K_i @ z.gradient(i) for i, K_i, a_i in zip(e.participants, K, a, strict=True)]
    return [z.block(0) - _mean(w, moves)]


def _solvers(z: Place, e: Round) -> Forms:
    """No memory; K_i and ||a_i||_1 of the solver that the plan names for a client."""
    p, runs = z.weights(e), (e.participants, e.steps, e.strategies)
    K, a = zip(*(z.solved(i, tau, solver) for i, tau, solver in zip(*runs, strict=True)), strict=True)
    moves = [K_i @ z.gradient(i) / a_i for i, K_i, a_i in zip(e.participants, K, a, strict=True)]
    return [z.block(0) - _mean(p, a) * _mean(p, moves)]


def _momentum(z: Place, e: Round) -> Forms:
    """The only memory is the model of the round before: x + beta (x - x_before) + P."""
    p, x = z.weights(e), z.block(0)
    K, a = zip(*(z.solved(i, t, z.o["solver"]) for i, t in zip(e.participants, e.steps, strict=True)), strict=True)
    P = _mean(p, [-K_i @ z.gradient(i) / a_i for i, K_i, a_i in zip(e.participants, K, a, strict=True)])
    return [x + z.h["beta"] * (x - z.block(1)) + _mean(p, a) * P, x]


def _vr(z: Place, e: Round) -> Forms:
    return _corrected(z, e, z.o["solver"], z.o["weights"] == "uniform")


def _alg2(z: Place, e: Round) -> Forms:
    return _corrected(z, e, "momentum", z.o["weights"] == "uniform")


Map = Callable[[Place, Round], Forms]

MAPS: dict[str, Map] = {
    "scaffold": _scaffold,
    "feddyn": _feddyn,
    "vrl-sgd": _vrl,
    "mifa": _remembered,
    "scaffnew": _skipping,
    "fednova-vr": _vr,
    "fednova-alg2": _alg2,
    "fednova-sampled": _sampled,
    "fednova-solvers": _solvers,
    "fednova-momentum": _momentum,
}
"""Map of a round, by algorithm."""


@cache
def maps() -> dict[str, Map]:
    """Return the maps of all closed-form modules and of plugins."""
    return {
        name: form
        for table in (*said(__package__, "MAPS"), plugin_tables.table("MAPS"))
        for name, form in table.items()
    }


def models(s: Scenario) -> list[Array]:
    """Return the exact model after each round."""
    exact = lift(s, Fraction)
    problem, x = exact.case.problem, flatten(exact.case.x0)
    assert problem is not None
    d, name = len(x), s.case.algorithm
    memories = {"fednova-sampled": 0, "fednova-solvers": 0, "fednova-momentum": 1, "fedpd": 2 * len(problem.H)}.get(
        name, len(problem.H)
    )
    place = Place(problem, exact.case.hyper, s.case.options, memories)
    memory = x if name == "fednova-momentum" else np.full(d * memories, Fraction(0), dtype=object)
    z, out = np.concatenate([x, memory, [Fraction(1)]]), []
    for event in events_of(Round, exact):
        z = np.concatenate([*(form @ z for form in maps()[name](place, event)), z[-1:]])
        out.append(z[:d])
    return out
