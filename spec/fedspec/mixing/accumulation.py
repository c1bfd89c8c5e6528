"""Accumulation vectors a_i, the weights of a local solver's gradients in its change: Delta_i = -eta_l G_i a_i.

Entry k multiplies the gradient taken at the k-th local iterate, k = 0..tau-1. Closed forms with a 0/0 (rho = 1,
alpha = 0, ...) are written as the geometric sums that they come from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedspec.arith import Scalar
from fedspec.domains import REAL, check_steps, outside
from fedspec.errors import ParameterError, PlanError
from fedspec.readings import Solver, choice
from fedspec.rules import rule


def _powers(r: Scalar, n: int) -> Scalar:
    """1 + r + ... + r^(n-1)."""
    return sum(r**j for j in range(n))


def _two_powers(a: Scalar, b: Scalar, n: int) -> Scalar:
    """(a^n - b^n) / (a - b)."""
    return sum(a**j * b ** (n - 1 - j) for j in range(n))


def _impulse(alpha: Scalar, rho: Scalar, n: int) -> Scalar:
    """y_n of y_(n+1) = (1 + rho - alpha) y_n - rho y_(n-1), y_0 = 0, y_1 = 1."""
    y, before = 1 + alpha * 0, alpha * 0
    for _ in range(n - 1):
        y, before = (1 + rho - alpha) * y - rho * before, y
    return y


_ENTRY: dict[Solver, Callable[..., Any]] = {
    Solver.SGD: lambda k, tau, alpha, rho, gamma: 1,
    Solver.PROXIMAL: lambda k, tau, alpha, rho, gamma: (1 - alpha) ** (tau - 1 - k),
    Solver.DECAYED: lambda k, tau, alpha, rho, gamma: gamma**k,
    Solver.MOMENTUM: lambda k, tau, alpha, rho, gamma: _powers(rho, tau - k),
    Solver.NESTEROV: lambda k, tau, alpha, rho, gamma: _powers(rho, tau - k + 1),
    Solver.DAMPENED: lambda k, tau, alpha, rho, gamma: 1 - rho ** (tau - k),
    Solver.MOMENTUM_PROXIMAL_OUTSIDE: lambda k, tau, alpha, rho, gamma: _two_powers(1 - alpha, rho, tau - k),
    Solver.MOMENTUM_PROXIMAL_INSIDE: lambda k, tau, alpha, rho, gamma: _impulse(alpha, rho, tau - k),
}


SUMMED = frozenset(Solver) - {Solver.SGD, Solver.PROXIMAL, Solver.DECAYED, Solver.DAMPENED}
"""Solvers whose entries are sums, so that computing a vector takes time quadratic in the number of steps."""


def accumulation(solver: Solver, tau: int, *, alpha: Scalar = 0, rho: Scalar = 0, gamma: Scalar = 1) -> list[Scalar]:
    """Accumulation vector a of a solver after tau local steps; alpha = eta_l mu.

        Delta_i = - eta_l G_i a_i                 fednova.a
        a_k = 1                                   fednova.a_sgd [solver=sgd]
        a_k = (1-alpha)^(tau-1-k)                 fednova.a_proximal [solver=proximal]
        a_k = gamma^k                             fednova.a_decayed [solver=decayed]
        a_k = (1-rho^(tau-k)) / (1-rho)           fednova.a_momentum [solver=momentum]
        a_k = (1-rho^(tau-k+1)) / (1-rho)         fednova.a_nesterov [solver=nesterov]
        a_k = 1-rho^(tau-k)                       fednova.a_dampened [solver=dampened]
        a_k = ((1-alpha)^n-rho^n) / (1-alpha-rho), n = tau-k  fednova.a_outside [solver=momentum-proximal-outside]
        a_k = y_(tau-k), y_(n+1) = (1+rho-alpha) y_n - rho y_(n-1)  fednova.a_inside [solver=momentum-proximal-inside]

    Raises:
        PlanError: tau isn't a whole number >= 1, or is too large for a vector.
        ParameterError: another argument is infinite, NaN or not a number.

    Source: FedNova, App. B, eqs. (31)-(45); the last four rows are ours, by the same derivation.
    """
    check_steps(tau)
    longest = 2**14 if solver in SUMMED else 2**24
    if tau > longest:
        raise PlanError(f"steps: got {tau}; the accumulation vector of {solver} has at most {longest} entries")
    # Outside their domains they have sums too, and claims ask for them.
    for name, number in (("alpha", alpha), ("rho", rho), ("gamma", gamma)):
        if outside(number, REAL):
            raise ParameterError(f"{name}: got {number!r}; give a {REAL.words}")
    solver = choice(Solver, "solver", solver)
    return [_ENTRY[solver](k, tau, alpha, rho, gamma) for k in range(tau)]


def a_norm(solver: Solver, tau: int, *, alpha: Scalar = 0, rho: Scalar = 0, gamma: Scalar = 1) -> Scalar:
    """FedNova's ||a||_1: the plain sum of the entries, which is the l1 norm if no entry is negative."""
    return sum(accumulation(solver, tau, alpha=alpha, rho=rho, gamma=gamma))


@rule
def momentum_norm(tau: int, *, rho: Scalar) -> Scalar:
    """Norm ||a_i||_1 of heavy-ball momentum.

        a_i = [tau_i - rho (1 - rho^tau_i) / (1 - rho)] / (1 - rho)  fednova-alg2.a_i

    Source: FedNova, Alg. 2, line 12 (L984).
    """
    return a_norm(Solver.MOMENTUM, tau, rho=rho)


@rule
def code_norm(tau: int, *, alpha: Scalar, rho: Scalar) -> Scalar:
    """Divisor of FedNova's code for momentum with a proximal term, accumulated over the steps; alpha = eta_l mu.

        b = rho b + 1                              fednova-code.b
        n = (1 - alpha) (n + b) + 1                fednova-code.n

    It counts the step of the momentum and that of the pull one after the other. No solver has these entries: it is the
    norm of momentum where alpha = 0 but for tau, which is added to it. The code itself has n = n + b there, and
    n = (1 - alpha) n + 1 where rho = 0: it is this rule where both are positive. b in the second line is the new one.

    Raises:
        PlanError: tau is not a whole number >= 1.

    External: ``JYWa/FedNova``, ``distoptim/FedNova.py``, ``step``, from "compute local normalizing vector a_i" on.
    """
    check_steps(tau)
    b, n = rho * 0, alpha * 0
    for _ in range(tau):
        b = rho * b + 1
        n = (1 - alpha) * (n + b) + 1
    return n
