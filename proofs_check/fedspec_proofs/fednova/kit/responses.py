"""Responses of FedNova's local solvers to a unit gradient, in closed form, with symbolic hyper-parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec.algorithms.local import local_solve
from fedspec.arith import Vector
from fedspec.client.momentum import (
    Momentum,
    dampened,
    momentum,
    momentum_proximal_inside,
    momentum_proximal_outside,
    nesterov,
)
from fedspec.client.proximal import proximal_sgd
from fedspec.client.sgd import sgd
from fedspec.mixing.accumulation import accumulation
from fedspec.problems.quadratic import given
from fedspec.readings import Solver
from fedspec_proofs.engines.draw import Draw, several

Step = Callable[[Momentum, Vector, Vector], Momentum]


@dataclass(frozen=True)
class Hyper:
    """Hyper-parameters of all solvers; alpha = eta mu."""

    eta: Any
    mu: Any
    rho: Any
    gamma: Any

    @property
    def alpha(self) -> Any:
        """Proximal product alpha = eta mu."""
        return self.eta * self.mu


def hyper(draw: Draw) -> Hyper:
    """Hyper-parameters as variables; fractions for alpha, rho and gamma are mapped below one, as the rules require."""
    eta, mu, rho, gamma = several(draw, "eta, mu, rho, gamma", positive=True)
    mu = below_one(mu) / eta if isinstance(mu, Fraction) else mu
    return Hyper(eta, mu, below_one(rho), below_one(gamma))


def left_over(draw: Draw, solver: Solver, steps: int, vector: Solver, tau: int) -> Vector:
    """Change of some local steps, plus eta sum_k a_k g_k with the first entries of a solver's vector of tau steps."""
    h, x, g = hyper(draw), draw("x", 2), draw("g", steps, 2)
    end = local_solve(solver, x, given(list(g)), steps, eta_l=h.eta, mu=h.mu, rho=h.rho, gamma=h.gamma)
    a = accumulation(vector, tau, alpha=h.alpha, rho=h.rho, gamma=h.gamma)
    rest: Vector = end - x + h.eta * sum(a[k] * g[k] for k in range(steps))
    return rest


def shares(draw: Draw, m: int) -> Any:
    """Positive weights p_i that sum to one."""
    n = draw("n", m, positive=True)
    return n / sum(n)


def below_one(value: Any) -> Any:
    """Map a positive fraction into (0, 1); a symbol is returned unchanged."""
    return value / (1 + value) if isinstance(value, Fraction) else value


@dataclass(frozen=True)
class Response:
    """Response of a solver with constant coefficients to a unit gradient, n steps later, in closed form.

    Attributes:
        step: function of one step of the solver, from a state, a gradient and the anchor.
        closed: function from (1 - alpha)^n and rho^n to y_n, the displacement divided by -eta_l, and b_n, the buffer.
    """

    step: Step
    closed: Callable[[Any, Any], tuple[Any, Any]]


def _plain(rule: Callable[[Vector, Vector, Vector], Vector]) -> Step:
    return lambda state, g, anchor: Momentum(rule(state.x, g, anchor), state.u)


def responses(h: Hyper) -> dict[Solver, Response]:
    """Responses of the solvers that have a closed form."""
    eta, mu, rho, alpha = h.eta, h.mu, h.rho, h.alpha
    return {
        Solver.SGD: Response(
            _plain(lambda x, g, anchor: sgd(x, g, eta_l=eta)),
            lambda B, R: (1, 0),
        ),
        Solver.PROXIMAL: Response(
            _plain(lambda x, g, anchor: proximal_sgd(x, g, anchor, eta_l=eta, mu=mu)),
            lambda B, R: (B / (1 - alpha), 0),
        ),
        Solver.MOMENTUM: Response(
            lambda state, g, anchor: momentum(state, g, eta_l=eta, rho=rho),
            lambda B, R: ((1 - R) / (1 - rho), R / rho),
        ),
        Solver.NESTEROV: Response(
            lambda state, g, anchor: nesterov(state, g, eta_l=eta, rho=rho),
            lambda B, R: ((1 - rho * R) / (1 - rho), R / rho),
        ),
        Solver.DAMPENED: Response(
            lambda state, g, anchor: dampened(state, g, k=0, eta_l=eta, rho=rho),
            lambda B, R: (1 - R, (1 - rho) * R / rho),
        ),
        Solver.MOMENTUM_PROXIMAL_OUTSIDE: Response(
            lambda state, g, anchor: momentum_proximal_outside(state, g, anchor, eta_l=eta, rho=rho, mu=mu),
            lambda B, R: ((B - R) / (1 - alpha - rho), R / rho),
        ),
    }


CLOSED = (
    Solver.SGD,
    Solver.PROXIMAL,
    Solver.MOMENTUM,
    Solver.NESTEROV,
    Solver.DAMPENED,
    Solver.MOMENTUM_PROXIMAL_OUTSIDE,
)


def inside_buffer(h: Hyper) -> Step:
    """Step of momentum with the proximal pull inside the buffer; its response is a recurrence."""
    return lambda state, g, anchor: momentum_proximal_inside(state, g, anchor, eta_l=h.eta, rho=h.rho, mu=h.mu)
