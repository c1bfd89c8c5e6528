"""Random instances for the theorems: some rounds of Fed-LAMB with noise, with every outcome enumerated.

Noise is +s or -s in every coordinate of a gradient at once, a coin of its own for every client, step and round, so that
an expectation is a mean over at most 16 runs. Rounds run on floating-point numbers; v_hat grows as it will.

Both sides of the theorems, printed and repaired, on an instance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import sqrt
from typing import Any

import numpy as np

from fedspec.algorithms.fedlamb import FedLamb
from fedspec.algorithms.local_ams import State
from fedspec.arith import Vector, norm
from fedspec.client.lamb import scaling
from fedspec.plan import Oracle
from fedspec.readings import Normalisation, Phi
from fedspec_proofs.engines import Choose, Sides
from fedspec_proofs.fed_lamb.kit import bounds
from fedspec_proofs.fed_lamb.kit.bounds import Constants
from fedspec_proofs.fed_lamb.kit.problems import Problem, along, vector
from fedspec_proofs.fed_lamb.kit.rounds import F, begin, lamb, one_round
from fedspec_proofs.fed_lamb.kit.walks import inexact
from fedspec_proofs.kit.piecewise import Piecewise, huber
from fedspec_proofs.kit.recorded import Asked, recorded

COINS = 4
"""Largest number n T R of draws, if there is noise."""


@dataclass(frozen=True)
class Run:
    """Outcome of the noise: states before and after each round, and gradients, indexed [round][client][step]."""

    states: tuple[State, ...]
    taken: tuple[tuple[tuple[Vector, ...], ...], ...]


@dataclass(frozen=True)
class Climb:
    """Instance of Fed-LAMB with noisy clients on which a theorem is tried, with the constants of the claim about it.

    Attributes:
        problem: the clients, in floating point.
        x: the initial model.
        s: magnitude of the noise.
        T: number of local steps.
        R: number of rounds.
        slack: factor by which the claimed L_l and Lam_l exceed the true constants.
        sigma: claimed bound of the noise.
        zeta: claimed bound of the heterogeneity.
        phi_m: claimed lower bound of phi.
        phi_M: claimed upper bound of phi.
        root: claimed bound of ||sqrt(v_hat)||, V^2.
        options: hyper-parameters and readings.
        sign: factor of the gradients that clients receive; -1 for ascent.
        who: the participants of every round; empty: all clients.
    """

    problem: Problem
    x: Vector
    s: float
    T: int
    R: int
    slack: float
    sigma: float
    zeta: float
    phi_m: float
    phi_M: float
    root: float
    options: tuple[tuple[str, Any], ...]
    sign: float = 1.0
    who: tuple[int, ...] = ()

    @property
    def h(self) -> FedLamb:
        """Hyper-parameters as the algorithm's record."""
        return lamb(**{"beta1": 0.0, "beta2": 0.5, "eps": 0.0, **dict(self.options)})

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Every outcome of the noise; all are equally likely."""
        n = len(self.problem.parts)
        draws = n * self.T * self.R if self.s else 0
        return tuple(self._run(np.array(coins)) for coins in product((1.0, -1.0), repeat=draws))

    def _run(self, coins: Any) -> Run:
        n = len(self.problem.parts)
        noise = self.s * coins.reshape(self.R, n, self.T) if self.s else np.zeros((self.R, n, self.T))
        states, taken = [begin(self.h, self.x, n, self.problem.sizes)], []
        for r in range(self.R):
            asked: list[Asked] = [[] for _ in range(n)]

            def of(i: int, r: int = r) -> Oracle:
                return lambda k, x: self.sign * along(self.problem.parts[i], x) + noise[r, i, k]

            clients = list(map(recorded, map(of, range(n)), asked))
            states.append(one_round(self.h, states[-1], clients, self.T, self.who))
            taken.append(tuple(tuple(g for _, _, g in some) for some in asked))
        return Run(tuple(states), tuple(taken))

    def mean(self, value: Any) -> float:
        """Expectation of a function of the outcome."""
        return float(sum(map(value, self.runs)) / len(self.runs))

    @property
    def constants(self) -> Constants:
        """Constants of the bounds, as given."""
        h, p = self.h, len(self.x)
        return Constants(
            gap=self.problem.value(self.x) - self.problem.least,
            M=sqrt(self.problem.largest_squared) + self.s * sqrt(p),
            sigma=self.sigma,
            p=float(p),
            n=float(len(self.problem.parts)),
            Lay=float(len(self.problem.sizes)),
            R=float(self.R),
            T=float(self.T),
            beta1=float(h.beta1),
            alpha=h.eta_l,
            least_alpha=h.eta_l,
            phi_m=self.phi_m,
            phi_M=self.phi_M,
            beta2=h.beta2,
            L_bar=self.slack * sum(self.problem.smoothness),
            v0=h.v0,
        )

    @property
    def steepest(self) -> float:
        """Upper bound of ||f'|| everywhere."""
        return sqrt(sum(f.largest**2 for f in self.problem.whole))

    @property
    def per_layer(self) -> dict[str, float]:
        """Terms of the corrected right side."""
        k, lipschitz = self.constants, [self.slack * L for L in self.problem.lipschitz]
        roots = sum(sqrt(size) for size in self.problem.sizes)
        terms = bounds.per_layer_terms(k, bounds.errors(k, self.zeta, roots, lipschitz))
        return {name: float(value) for name, value in terms.items() if name != "drift" or self.T > 1}

    def lengths(self, run: Run) -> float:
        """Mean over rounds of sum_l ||D f'(x)^l||."""
        total = 0.0
        for state in run.states[:-1]:
            scaled = self.problem.gradient(state.x) / np.sqrt(state.v_hat)
            total += sum(norm(scaled[where]) for where in state.layers)
        return total / self.R

    def squares(self, run: Run, power: float = 1.0) -> float:
        """Mean over rounds of ||f'(x)/v_hat^(power/2)||^2."""
        return float(sum(sum(self.problem.gradient(s.x) ** 2 / s.v_hat**power) for s in run.states[:-1]) / self.R)


def downhill(choose: Choose, c: Any) -> Piecewise:
    """Random piecewise function times c, bounded below; the simplest is Huber's."""
    if choose.of(True, False):
        return huber(c * choose.of(F(1), F(1, 2), F(4)), choose.rational(-2, 2, 2), choose.of(F(1), F(2), F(1, 2)))
    a, width = choose.rational(-2, 1, 2), choose.of(F(1), F(1, 2), F(2))
    low, high = choose.of(F(-1), F(-2), F(-1, 2)), choose.of(F(1), F(2), F(1, 2))
    return Piecewise((a, a + width, a + 2 * width), (c * low, c * choose.rational(-2, 2, 2), c * high))


def climb(choose: Choose, steps: int = 2) -> Climb:
    """Random instance, with mostly true constants; ``steps`` is the largest number of local steps."""
    n, sizes, T = choose.whole(1, 2), choose.of((1,), (1, 1), (2,)), choose.whole(1, steps)
    s = choose.of(0.0, 0.0, 0.5, 2.0, 1.25)
    R = choose.of(*range(1, max(1, COINS // (n * T)) + 1)) if s else choose.of(6, 1, 3)
    c = choose.of(F(1), F(1), F(1, 64))
    exact = Problem(tuple(tuple(downhill(choose, c) for _ in range(sum(sizes))) for _ in range(n)), sizes)
    problem, alpha, s = inexact(exact), choose.of(0.5, 1.0, 0.125, 1 / 64), float(c * s)
    x = vector(float(choose.of(alpha / 2, 0.0, 1.0, -1.5, 3.0)) for _ in range(sum(sizes)))
    phi = choose.of(Phi.CONSTANT, Phi.CLIP)
    low, high = (0.5, 1.5) if phi is Phi.CLIP else (1.0, 1.0)
    w = choose.of(1.0, 4.0, 0.125, 1 / 64)
    options: dict[str, Any] = {"eta_l": alpha, "v0": w * w, "phi": phi}
    if phi is Phi.CLIP:
        options |= {"phi_m": low, "phi_M": high}
    largest = problem.largest_squared + (2 * sqrt(problem.largest_squared * len(x)) + s * len(x)) * s
    root = sqrt(len(x) * max(w * w, largest))
    return Climb(problem, x, s, T, R, 1.0, s, problem.heterogeneity(), low, high, root, tuple(options.items()))


def single(choose: Choose) -> Climb:
    """Random instance with one local step."""
    return climb(choose, 1)


def plain(problem: Problem, x: float, R: int, **changes: Any) -> Climb:
    """Instance in one coordinate with steps of length 1 and v0 = 64, where every assumption holds."""
    options = (("eta_l", 1.0), ("v0", 64.0), ("phi", Phi.CONSTANT))
    zeta = inexact(problem).heterogeneity()
    made = Climb(inexact(problem), vector([x]), 0.0, 1, R, 1.0, 0.0, zeta, 1.0, 1.0, 8.0, options)
    return replace(made, **changes)


HILL = Problem(((huber(F(1), reach=F(2)),),), (1,))
APART = Problem(tuple((huber(F(1), F(b), F(4)),) for b in (0, 0, 0, 4)), (1,))
BEYOND = Problem(((huber(F(1), F(-9)),),), (1,))
AWAY = Problem(tuple((huber(F(1), F(b)),) for b in (3, *[0] * 15)), (1,))

HOLDS = {
    "setting": lambda c: c.h.lam == c.h.eps == 0 and c.h.v0 > 0 and c.h.normalisation is Normalisation.LAYER,
    "H1": lambda c: c.slack >= 1,
    "unbiased": lambda c: c.sign == 1,
    "H3": lambda c: c.sigma >= c.s,
    "H4": lambda c: all(_scaled(c, state) for run in c.runs for state in run.states[:-1]),
    "zeta": lambda c: c.zeta >= c.problem.heterogeneity() * (1 - 1e-12),
    "everybody": lambda c: not c.who,
    "beta1 = 0": lambda c: c.h.beta1 == 0,
}


def _scaled(c: Climb, state: State) -> bool:
    """H4 at the model that a round begins with; later ones are not looked at, and phi is clipped or constant there."""
    h = c.h
    return all(c.phi_m <= scaling(state.x[at], h.phi, h.phi_m, h.phi_M) <= c.phi_M for at in state.layers)


DECAYED = (("eta_l", 0.5), ("v0", 64.0), ("phi", Phi.CONSTANT), ("lam", 10.0**6))

WITHOUT: Mapping[str, Climb] = {
    "setting": plain(BEYOND, 1.0, 80, options=DECAYED),
    "H1": plain(HILL, 0.5, 6, slack=0.125),
    "unbiased": plain(HILL, 1.5, 10, sign=-1.0),
    "H3": plain(HILL, 1.5, 4, s=4.0),
    "H4": plain(BEYOND, 1.0, 80, options=(("eta_l", 0.5), ("v0", 64.0), ("phi", Phi.IDENTITY))),
    "zeta": plain(APART, 1.0, 40, zeta=0.0, options=(("eta_l", 0.25), ("v0", 64.0), ("phi", Phi.CONSTANT))),
    "everybody": plain(AWAY, 3.0, 60, who=(0,), options=(("eta_l", 0.25), ("v0", 64.0), ("phi", Phi.CONSTANT))),
    "beta1 = 0": plain(HILL, 3.0, 60, options=(("eta_l", 1.0), ("v0", 64.0), ("phi", Phi.CONSTANT), ("beta1", 0.9))),
}
"""For each assumption, an instance that violates it alone: decay to 0, which is not the minimum; x^2/2 with too
small an L; noiseless gradients of the wrong sign; noise with sigma = 0; phi that vanishes at 0, in front of the
minimum; clients that differ; only the odd one of sixteen clients taking part; momentum that overshoots.
"""


def printed(c: Climb) -> Iterator[Sides]:
    """Both sides of Theorem 1, eq. (4)."""
    yield c.mean(c.squares), float(bounds.theorem_1(c.constants))


def printed_third(c: Climb) -> Iterator[Sides]:
    """Both sides of Theorem 3, eq. (22), with the cst of L808."""
    k = c.constants
    yield c.mean(lambda run: c.squares(run, 0.5)), float(bounds.theorem_3(k, k.L_bar))


def summed(c: Climb, rate: float = 1.0, squared: bool = True) -> Iterator[Sides]:
    """Both sides of the corrected theorems: lengths, and both squares by M. ``rate`` spoils the term with alpha."""
    right = {**c.per_layer, "rate": rate * c.per_layer["rate"]}
    yield c.mean(c.lengths), right
    if squared:
        yield c.mean(c.squares), _times(c.steepest / sqrt(c.constants.v0), right, "squares: ")
        yield c.mean(lambda run: c.squares(run, 0.5)), _times(c.steepest, right, "squares, root: ")


def _times(factor: float, terms: Mapping[str, float], line: str = "") -> dict[str, float]:
    return {f"{line}{name}": factor * value for name, value in terms.items()}


def converted(c: Climb) -> Iterator[Sides]:
    """Both sides of the corrected corollary, for the gradient itself, with V^2 >= ||sqrt(v_hat)||."""
    yield c.mean(lambda run: c.squares(run, 0.0)), _times(c.root * c.steepest, c.per_layer)


def descended(c: Climb, by_least: bool = False) -> Iterator[Sides]:
    """Both sides of the descent of f in one round of each outcome, with the errors of its stochastic gradients.

    ``by_least`` spoils the factor of the errors: phi_m in place of phi_M.
    """
    k = c.constants
    for run in c.runs:
        for before, after, taken in zip(run.states, run.states[1:], run.taken, strict=False):
            g = c.problem.gradient(before.x)
            scaled, at = g / np.sqrt(before.v_hat), before.layers
            progress = k.alpha * k.T * k.phi_m * sqrt(k.v0) * sum(norm(scaled[where]) for where in at)
            errors = sum(norm(g[w] - one[w]) for row in taken for one in row for w in at) / len(taken)
            bend = k.alpha**2 * k.T**2 * k.phi_M**2 / 2 * k.L_bar
            change = c.problem.value(after.x) - c.problem.value(before.x)
            scale = k.phi_m if by_least else k.phi_M
            yield float(change + progress), {"errors": float(2 * k.alpha * scale * errors), "rate": float(bend)}
