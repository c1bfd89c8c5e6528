"""Local training: a solver run from the server's model, for all clients of a block at once.

Step k is taken by the clients with tau_i > k; the others keep what they have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import torch

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
from fedspec.domains import check_steps
from fedspec.readings import Solver
from fedspec_torch.arith import Mask, Scalar, Stack, Weights, masked, on_stacks
from fedspec_torch.plan import Oracle


class HasRate(Protocol):
    """Hyper-parameters with a client learning rate."""

    @property
    def eta_l(self) -> Scalar:
        """The client learning rate."""
        ...


def schedule(steps: Sequence[int], device: torch.device) -> Iterator[tuple[int, Mask | None]]:
    """Every local step k with the mask of the clients that take it, None while all do.

    Raises:
        PlanError: a number of steps is not a whole number >= 1.
    """
    for tau in steps:
        check_steps(tau)
    all_until, end = min(steps), max(steps)
    tau_i = torch.tensor(steps, device=device) if all_until < end else None
    for k in range(end):
        yield k, None if tau_i is None or k < all_until else tau_i > k


def local_sgd(h: HasRate, x: Stack, gradient: Oracle, steps: Sequence[int]) -> Stack:
    """The local models after tau_i steps of SGD from x: the client of FedAvg and of all that change its server only.

        x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i)

    The first step makes a new stack, the others write to it.

    Raises:
        PlanError: a number of steps is not a whole number >= 1.
    """
    x_i = x
    for k, active in schedule(steps, x.device):
        x_i = sgd_in_place(x_i, gradient(k, x_i), eta_l=h.eta_l, active=active, out=None if x_i is x else x_i)
    return x_i


@on_stacks
def sgd_in_place(x: Stack, g: Stack, *, eta_l: Scalar, active: Mask | None = None, out: Stack | None = None) -> Stack:
    """The rule :func:`fedspec.client.sgd.sgd` as one fused pass whose result may be written to x itself.

    A stack of 16 x 8192 in float64 on one CPU core: 0.04 ms, the rule 0.6 ms, most of it for fresh memory.
    """
    if active is None:
        return torch.sub(x, g, alpha=eta_l, out=out)
    return torch.where(active[:, None], torch.sub(x, g, alpha=eta_l), x, out=out)


def sgd_norm(h: HasRate, steps: Sequence[int]) -> Weights:
    """||a_i||_1 of plain SGD: the number of steps."""
    return torch.tensor(steps, dtype=torch.float64)


def local_solve(
    solver: Solver,
    x: Stack,
    gradient: Oracle,
    steps: Sequence[int],
    *,
    eta_l: Scalar,
    mu: Scalar = 0,
    rho: Scalar = 0,
    gamma: Scalar = 1,
) -> Stack:
    """The local models after tau_i steps of a solver of FedNova's App. B, from x; anchor x, buffers empty.

    Raises:
        PlanError: a number of steps is not a whole number >= 1.
    """
    anchor, state = x, begin(x)
    for k, active in schedule(steps, x.device):
        g = gradient(k, state.x)
        match solver:
            case Solver.SGD:
                state = Momentum(masked(sgd, active)(state.x, g, eta_l=eta_l), state.u)
            case Solver.PROXIMAL:
                state = Momentum(masked(proximal_sgd, active)(state.x, g, anchor, eta_l=eta_l, mu=mu), state.u)
            case Solver.DECAYED:
                state = Momentum(masked(decayed_sgd, active)(state.x, g, k=k, eta_l=eta_l, gamma=gamma), state.u)
            case Solver.MOMENTUM:
                state = masked(momentum, active)(state, g, eta_l=eta_l, rho=rho)
            case Solver.NESTEROV:
                state = masked(nesterov, active)(state, g, eta_l=eta_l, rho=rho)
            case Solver.DAMPENED:
                state = masked(dampened, active)(state, g, k=k, eta_l=eta_l, rho=rho)
            case Solver.MOMENTUM_PROXIMAL_OUTSIDE:
                state = masked(momentum_proximal_outside, active)(state, g, anchor, eta_l=eta_l, rho=rho, mu=mu)
            case Solver.MOMENTUM_PROXIMAL_INSIDE:
                state = masked(momentum_proximal_inside, active)(state, g, anchor, eta_l=eta_l, rho=rho, mu=mu)
    return state.x
