"""Random instances for searches: FedNova's general rule on noisy quadratics, and the constants that a bound is given.

The averages over rounds are exact: the round of the specification is an affine map with additive noise, read off by
running it, and means and covariances go through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms.fednova import FedNova
from fedspec.arith import Array, Vector, Weights
from fedspec.errors import ShapeError
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import NovaWeights, Solver, TauEff
from fedspec_proofs.claim import Dropped, Finding
from fedspec_proofs.engines import Choose, Inequality, Sides, curried, moments
from fedspec_proofs.fednova.kit.bounds import (
    Constants,
    gap,
    least_kappa,
    mixed,
    rational,
    theorem_1_rates,
    theorem_1_terms,
    weights,
)
from fedspec_proofs.fednova.kit.settings import Setting, record_of

SCHEDULES = (Solver.SGD, Solver.DECAYED, Solver.MOMENTUM)
"""Solvers whose rounds are searched at any rate; FedProx has separate claims."""

BETAS = tuple(map(rational, ("1", "9/8", "5/4", "3/2", "2", "4")))

TURN: Array = np.array([[rational(3, 5), rational(-4, 5)], [rational(4, 5), rational(3, 5)]])
"""Rotation with rational entries, so that matrices that do not commute have rational eigenvalues."""


@dataclass(frozen=True)
class Run:
    """An algorithm on quadratics, its noise, its start, and the constants that the bound is given.

    Attributes:
        s: the algorithm with its problem.
        top: the largest eigenvalue of all clients' Hessians.
        variance: variance of a gradient's noise in each coordinate.
        x: the first model.
        T: number of rounds.
        L: claimed smoothness; sigma2, beta2 and kappa2 are claimed values too.
        kappa_holds: True if beta2 and kappa2 bound the dissimilarity.
    """

    s: Setting
    top: Any
    variance: Any
    x: Vector
    T: int
    L: Any
    sigma2: Any
    beta2: Any
    kappa2: Any
    kappa_holds: bool

    @property
    def w(self) -> Weights:
        """Weights of the surrogate objective."""
        return weights(self.s)


def quadratics(choose: Choose, m: int, d: int) -> tuple[QuadraticClients, Fraction]:
    """Random clients with rational eigenvalues, and the largest eigenvalue."""
    H, top = [], rational(0)
    for _ in range(m):
        eigenvalues = [choose.of(*map(rational, ("1", "2", "1/2", "3", "1/4"))) for _ in range(d)]
        top = max(top, *eigenvalues)
        H_i = np.diag(np.array(eigenvalues, dtype=object)) * rational(1)
        H.append(TURN @ H_i @ TURN.T if d == 2 and choose.whole(0, 1) else H_i)
    return QuadraticClients(np.stack(H), choose.array(m, d, low=-2, high=2, denominator=2)), top


def dissimilarity_constants(choose: Choose, problem: QuadraticClients, w: Weights) -> tuple[Fraction, Fraction, bool]:
    """Constants beta^2 and kappa^2 of Assumption 3 for these weights, mostly the smallest valid ones."""
    fit = [(b, k) for b in BETAS if (k := least_kappa(problem, w, b)) is not None]
    if not fit:
        return rational(1), rational(0), False
    beta2, kappa2 = fit[min(choose.whole(0, 1), len(fit) - 1)]
    short = choose.of(1, 1, 0)
    return beta2, rational(kappa2 * short), bool(short or kappa2 == 0)


@curried
def run(choose: Choose, solvers: tuple[Solver, ...]) -> Run:
    """Return a maker of random instances with one of the solvers; any constant given to the bound may be wrong."""
    m, d = choose.of(2, 1, 2), choose.of(1, 1, 1, 2)
    problem, top = quadratics(choose, m, d)
    steps = tuple(choose.of(2, 1, 3, 4) for _ in range(m))
    examples = tuple(choose.of(1, 1, 3) for _ in range(m))
    eta = choose.of(*(rational(2) ** k for k in (-2, -3, -1, -5, 0, 2))) / top
    alpha = choose.of(*map(rational, ("1", "1/2", "1", "1/8", "0")))
    fixed = choose.of(False, True)
    h = record_of(
        FedNova,
        eta_l=eta,
        mu=alpha / eta,
        rho=choose.of(*map(rational, ("1/2", "3/4", "0"))),
        gamma=choose.of(*map(rational, ("1/2", "3/4", "1"))),
        tau_eff=choose.of(*map(rational, ("1", "1/8", "4", "1/2"))),
        solver=choose.of(*solvers),
        nova_weights=choose.of(NovaWeights.NOVA, NovaWeights.IMPLIED),
        tau_eff_choice=TauEff.FIXED if fixed else TauEff.WEIGHTED_NORM,
    )
    s = Setting(h, problem, steps, examples)
    x = start(s) + (choose.vector(d, -2, 2, 2) if choose.of(False, True) else 0)
    variance = choose.of(*map(rational, ("0", "0", "1", "1/16")))
    beta2, kappa2, holds = dissimilarity_constants(choose, problem, weights(s))
    L = top * choose.of(*map(rational, ("1", "1", "1/8")))
    sigma2 = d * variance * choose.of(1, 1, 0)
    return Run(s, top, variance, x, choose.of(16, 64, 1, 4), L, sigma2, beta2, kappa2, holds)


def rate(s: Setting) -> Any:
    """Learning rate eta of the clients."""
    assert isinstance(s.h, FedNova)
    return s.h.eta_l


def start(s: Setting) -> Vector:
    """Fixed point of the round, where the gradient stops decreasing; the minimiser if there is no fixed point."""
    try:
        return s.limit()
    except ShapeError:
        return s.problem.minimiser(weights(s))


def average(run: Run, w: Weights) -> Any:
    """Mean (1/T) sum over t < T of E |grad F_w(x_t)|^2, exactly."""
    d = len(run.x)
    noises = sum(run.s.steps) * d if run.variance else 0
    step = moments.affine(lambda x, xi: run.s.round(x, xi if noises else None), d, noises)
    now = moments.start(run.x)
    A, c, total = mixed(w, run.s.problem.H), -mixed(w, run.s.problem.e), rational(0)
    for _ in range(run.T):
        total += moments.second_moment(now, A, c)
        now = moments.push(step, now, run.variance)
    return total / run.T


ASSUMPTIONS = {
    "smooth": "L is at least the largest eigenvalue of every H_i (Assumption 1)",
    "variance": "sigma^2 is at least the variance of a gradient, independent over steps and clients (Assumption 2)",
    "dissimilar": "beta^2 >= 1 and kappa^2 bound the dissimilarity for the weights w (Assumption 3)",
    "rate": "eta L <= 1 / (2 tau_eff), eq. (98)",
    "drift": "4 eta^2 L^2 C <= 1 / (2 beta^2 + 1), eq. (99)",
}


def bound(solvers: tuple[Solver, ...], constants: Callable[[Setting], Constants]) -> Inequality[Run]:
    """Inequality of eq. (97) under (98) and (99), for a choice of the constants."""

    def rates(r: Run) -> tuple[bool, bool]:
        return theorem_1_rates(constants(r.s), eta=rate(r.s), L=r.L, beta2=r.beta2)

    def sides(r: Run) -> Iterable[Sides]:
        w = r.w
        right = theorem_1_terms(
            constants(r.s),
            gap=gap(r.s.problem, w, r.x),
            eta=rate(r.s),
            L=r.L,
            sigma2=r.sigma2,
            kappa2=r.kappa2,
            m=len(w),
            T=r.T,
        )
        yield average(r, w), right

    return Inequality(
        run(solvers),
        {
            "smooth": lambda r: r.top <= r.L,
            "variance": lambda r: r.sigma2 >= len(r.x) * r.variance,
            "dissimilar": lambda r: r.kappa_holds,
            "rate": lambda r: rates(r)[0],
            "drift": lambda r: rates(r)[1],
        },
        sides,
    )


def with_dropped(found: Finding, **dropped: Dropped) -> Finding:
    """Finding with replaced outcomes of some dropped assumptions; unchanged if it has none."""
    return replace(found, dropped={**found.dropped, **dropped}) if found.dropped else found
