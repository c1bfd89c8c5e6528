"""Local training: a solver run for tau steps from the server's model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from fedspec.arith import Scalar, Vector
from fedspec.client.momentum import (
    Momentum,
    begin,
    dampened,
    momentum,
    momentum_proximal_inside,
    momentum_proximal_outside,
    nesterov,
)
from fedspec.client.proximal import proximal_sgd
from fedspec.client.sgd import decayed_sgd, sgd
from fedspec.domains import check_steps, pull
from fedspec.hyper import keywords
from fedspec.mixing.accumulation import a_norm
from fedspec.plan import Oracle
from fedspec.readings import Solver


@runtime_checkable
class HasRate(Protocol):
    """Hyper-parameters with a client learning rate."""

    @property
    def eta_l(self) -> Scalar:
        """The client learning rate."""
        ...


class HasSolver(HasRate, Protocol):
    """Hyper-parameters of FedNova's local solvers, with the choice of solver."""

    @property
    def solver(self) -> Solver:
        """The local solver that runs."""
        ...

    @property
    def mu(self) -> Scalar:
        """Weight of the proximal term."""
        ...

    @property
    def rho(self) -> Scalar:
        """Momentum of the client."""
        ...

    @property
    def gamma(self) -> Scalar:
        """Factor by which the client rate decays at each step."""
        ...


def local_sgd(h: HasRate, x: Vector, gradient: Oracle, tau: int) -> Vector:
    """Local model after tau steps of SGD from x: the client of FedAvg and of its variants that change only the server.

        x_i = x;  tau times: x_i = x_i - eta_l g_i(x_i)

    Raises:
        PlanError: tau is not a whole number >= 1.
    """
    check_steps(tau)
    for k in range(tau):
        x = sgd(x, gradient(k, x), eta_l=h.eta_l)
    return x


def sgd_norm(h: HasRate, tau: int) -> Scalar:
    """Norm ||a||_1 of plain SGD, which is the number of steps."""
    return tau


STEPS: dict[Solver, Callable[..., Any]] = {
    Solver.SGD: sgd,
    Solver.PROXIMAL: proximal_sgd,
    Solver.DECAYED: decayed_sgd,
    Solver.MOMENTUM: momentum,
    Solver.NESTEROV: nesterov,
    Solver.DAMPENED: dampened,
    Solver.MOMENTUM_PROXIMAL_OUTSIDE: momentum_proximal_outside,
    Solver.MOMENTUM_PROXIMAL_INSIDE: momentum_proximal_inside,
}
"""Local step of each of FedNova's solvers."""

READ_BY = {
    n: tuple(f"solver={solver}" for solver, step in STEPS.items() if n in keywords(step))
    for n in ("mu", "rho", "gamma")
}
"""Solvers under which mu, rho and gamma have an effect, in the form of ``Hyper.plays``."""


def local_solve(
    solver: Solver,
    x: Vector,
    gradient: Oracle,
    tau: int,
    *,
    eta_l: Scalar,
    mu: Scalar = 0,
    rho: Scalar = 0,
    gamma: Scalar = 1,
) -> Vector:
    """Local model after tau steps from x of a solver of FedNova's App. B, with anchor x and an empty buffer.

    Raises:
        PlanError: tau is not a whole number >= 1.
    """
    check_steps(tau)
    anchor, state = x, begin(x)
    for k in range(tau):
        g = gradient(k, state.x)
        match solver:
            case Solver.SGD:
                state = Momentum(sgd(state.x, g, eta_l=eta_l), state.u)
            case Solver.PROXIMAL:
                state = Momentum(proximal_sgd(state.x, g, anchor, eta_l=eta_l, mu=mu), state.u)
            case Solver.DECAYED:
                state = Momentum(decayed_sgd(state.x, g, k=k, eta_l=eta_l, gamma=gamma), state.u)
            case Solver.MOMENTUM:
                state = momentum(state, g, eta_l=eta_l, rho=rho)
            case Solver.NESTEROV:
                state = nesterov(state, g, eta_l=eta_l, rho=rho)
            case Solver.DAMPENED:
                state = dampened(state, g, k=k, eta_l=eta_l, rho=rho)
            case Solver.MOMENTUM_PROXIMAL_OUTSIDE:
                state = momentum_proximal_outside(state, g, anchor, eta_l=eta_l, rho=rho, mu=mu)
            case Solver.MOMENTUM_PROXIMAL_INSIDE:
                state = momentum_proximal_inside(state, g, anchor, eta_l=eta_l, rho=rho, mu=mu)
    return state.x


def local_run(h: HasSolver, x: Vector, gradient: Oracle, tau: int) -> Vector:
    """Local model after tau steps of the chosen solver from x."""
    return local_solve(h.solver, x, gradient, tau, eta_l=h.eta_l, mu=h.mu, rho=h.rho, gamma=h.gamma)


def local_norm(h: HasSolver, tau: int) -> Scalar:
    """Norm ||a||_1 of tau steps of the chosen solver.

    Raises:
        ParameterError: eta_l mu is above 1.
    """
    return a_norm(h.solver, tau, alpha=pull(h.eta_l, h.mu), rho=h.rho, gamma=h.gamma)
