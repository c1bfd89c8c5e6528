"""Forms of the specification's functions that are measured to be faster on stacks; tests hold them to the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from fedspec.algorithms import afga, fedada2, fedlamb, joint_local, local
from fedspec.domains import check_steps
from fedspec.readings import Solver
from fedspec_torch import fast_gossip, fast_joint, fast_lamb
from fedspec_torch.arith import Stack
from fedspec_torch.plan import Oracle


def local_sgd(h: local.HasRate, x: Stack, gradient: Oracle, tau: int | tuple[int, ...]) -> Stack:
    """The local models after tau steps of SGD from x; the first step makes a new stack, the others write to it.

    Of clients with unequal numbers of steps, those with most come first, and step k is taken by the first few: nobody
    computes a step that is not taken.

    Clients that are written out take all their steps by themselves (:class:`fedspec_torch.training.Trained`).

    A step of a stack of 16 x 8192 in float64 on one CPU core: 0.04 ms; by the rule 0.6 ms, most of it for fresh memory.
    """
    steps = tau if isinstance(tau, tuple) else (tau,) * len(x)
    for tau_i in steps[:: max(1, len(steps) - 1)]:
        check_steps(tau_i)
    alone = getattr(gradient, "descended", None)
    x_i: Stack = None if alone is None else alone(x, h.eta_l, steps)
    if x_i is not None:
        return x_i
    if isinstance(tau, tuple):
        return _local_sgd_ragged(h, x, gradient, tau)
    x_i = torch.sub(x, gradient(0, x), alpha=h.eta_l)
    for k in range(1, tau):
        torch.sub(x_i, gradient(k, x_i), alpha=h.eta_l, out=x_i)
    return x_i


def _local_sgd_ragged(h: local.HasRate, x: Stack, gradient: Oracle, tau: tuple[int, ...]) -> Stack:
    x_i = torch.sub(x, gradient(0, x), alpha=h.eta_l)
    left = len(tau)
    for k in range(1, tau[0]):
        while tau[left - 1] <= k:
            left -= 1
        rows = x_i[:left]
        torch.sub(rows, gradient(k, rows), alpha=h.eta_l, out=rows)
    return x_i


def local_run(h: local.HasSolver, x: Stack, gradient: Oracle, tau: int | tuple[int, ...]) -> Stack:
    """The local models after tau steps of the chosen solver; SGD is written over as in :func:`local_sgd`."""
    if h.solver is Solver.SGD:
        return local_sgd(h, x, gradient, tau)
    assert isinstance(tau, int)
    return local.local_run(h, x, gradient, tau)


def is_ragged(form: Callable[..., Any], h: Any) -> bool:
    """Whether local training takes clients of unequal numbers of steps at once."""
    return form is local.local_sgd or (form is local.local_run and h.solver is Solver.SGD)


FAST: dict[Callable[..., Any], Callable[..., Any]] = {local.local_sgd: local_sgd, local.local_run: local_run}
"""What is run in place of a function of the specification."""

STEPS: dict[Callable[..., Any], Callable[..., Any]] = {
    fedada2.step: fast_joint.fedada2_step,
    fedlamb.step: fast_lamb.step,
    joint_local.step: fast_joint.joint_local_step,
}
"""Likewise, of the steps of programs."""

UNDIVIDED: dict[Callable[..., Any], Callable[..., Any]] = {afga.step: fast_gossip.step}
"""Likewise, where one rank has all clients."""
