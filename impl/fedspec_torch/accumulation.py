"""Accumulation vectors a_i: what a local solver makes of its gradients, Delta_i = -eta_l G_i a_i.

Entry k multiplies the gradient taken at the k-th local iterate, k = 0..tau-1. For every solver but the decayed one
it depends on n = tau - k, the number of steps still to go, alone; so one table serves clients with any numbers of
steps, and its running sums are their ||a_i||_1.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from fedspec.domains import check_steps
from fedspec.readings import Solver
from fedspec_torch.arith import Scalar, Weights


def _table(solver: Solver, count: int, alpha: Scalar, rho: Scalar, gamma: Scalar) -> Float[Tensor, "count"]:
    """The entries for n = 1, 2, ..., count steps to go; of the decayed solver, for k = 0, 1, ..., count - 1."""
    n = torch.arange(1, count + 1, dtype=torch.float64)
    match solver:
        case Solver.SGD:
            return torch.ones_like(n)
        case Solver.PROXIMAL:
            return (1 - alpha) ** (n - 1)
        case Solver.DECAYED:
            return gamma ** (n - 1)
        case Solver.MOMENTUM:
            return (rho ** (n - 1)).cumsum(0)
        case Solver.NESTEROV:
            return 1 + rho * (rho ** (n - 1)).cumsum(0)
        case Solver.DAMPENED:
            return 1 - rho**n
    # What one gradient has moved the model by after n steps; the pull acts on the model or through the buffer u.
    y, u, entries = 1.0, 1.0, [1.0]
    for _ in range(count - 1):
        if solver is Solver.MOMENTUM_PROXIMAL_OUTSIDE:
            u = rho * u
            y = (1 - alpha) * y + u
        else:
            u = rho * u - alpha * y
            y = y + u
        entries.append(y)
    return torch.tensor(entries, dtype=torch.float64)


def accumulation(
    solver: Solver, tau: int, *, alpha: Scalar = 0, rho: Scalar = 0, gamma: Scalar = 1
) -> Float[Tensor, "tau"]:
    """The accumulation vector a of a solver after tau local steps, alpha = eta_l mu, in float64 on the CPU.

        sgd                        a_k = 1                                                  fednova.a_sgd
        proximal                   a_k = (1-alpha)^(tau-1-k)                                fednova.a_proximal
        decayed                    a_k = gamma^k                                            fednova.a_decayed
        momentum                   a_k = (1-rho^(tau-k)) / (1-rho)                          fednova.a_momentum
        nesterov                   a_k = (1-rho^(tau-k+1)) / (1-rho)                        fednova.a_nesterov
        dampened                   a_k = 1-rho^(tau-k)                                      fednova.a_dampened
        momentum-proximal-outside  a_k = ((1-alpha)^n-rho^n) / (1-alpha-rho), n = tau-k     fednova.a_outside
        momentum-proximal-inside   a_k = y_(tau-k), y_(n+1) = (1+rho-alpha) y_n - rho y_(n-1)  fednova.a_inside

    Raises:
        PlanError: tau is not a whole number >= 1.

    Source: FedNova, App. B, eqs. (31)-(45); the last four rows by the same derivation.
    """
    check_steps(tau)
    table = _table(solver, tau, alpha, rho, gamma)
    return table if solver is Solver.DECAYED else table.flip(0)


def a_norm(solver: Solver, steps: Sequence[int], *, alpha: Scalar = 0, rho: Scalar = 0, gamma: Scalar = 1) -> Weights:
    """||a_i||_1 of every client as FedNova uses it, the plain sum of the entries, in float64 on the CPU.

    Raises:
        PlanError: a number of steps is not a whole number >= 1.
    """
    for tau in steps:
        check_steps(tau)
    return _table(solver, max(steps), alpha, rho, gamma).cumsum(0)[torch.tensor(steps) - 1]
