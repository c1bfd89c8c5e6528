"""Forms of the specification's functions that are measured to be faster on stacks; tests hold them to the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedspec.algorithms import afga, dadam, fedprox, local, peers
from fedspec.entry import Program
from fedspec.population import Client
from fedspec_torch.arith import Stack
from fedspec_torch.fast_paths import clients as fast_clients
from fedspec_torch.fast_paths import gossip as fast_gossip
from fedspec_torch.fast_paths import joint as fast_joint
from fedspec_torch.fast_paths import lamb as fast_lamb
from fedspec_torch.fast_paths import peers as fast_peers
from fedspec_torch.local import solvers
from fedspec_torch.local.runs import run_in_place
from fedspec_torch.plan import Oracle


def local_sgd(h: local.HasRate, x: Stack, gradient: Oracle, tau: int | tuple[int, ...]) -> Stack:
    """:func:`fedspec.algorithms.local.local_sgd` in place.

    A step of a stack of 16 x 8192 in float64 on one CPU core: 0.04 ms; by the rule 0.6 ms, most of it for fresh memory.
    """
    return run_in_place(solvers.along(lambda k: h.eta_l), x, gradient, tau)[0]


def local_run(h: local.HasSolver, x: Stack, gradient: Oracle, tau: int | tuple[int, ...]) -> Stack:
    """:func:`fedspec.algorithms.local.local_run` in place."""
    solver = solvers.fednova(h.solver, eta_l=h.eta_l, mu=h.mu, rho=h.rho, gamma=h.gamma)
    return run_in_place(solver, x, gradient, tau)[0]


def local_proximal(h: fedprox.FedProx, x: Stack, gradient: Oracle, tau: int | tuple[int, ...]) -> Stack:
    """:func:`fedspec.algorithms.fedprox.local` in place."""
    return run_in_place(solvers.proximal(h.eta_l, h.mu), x, gradient, tau)[0]


FAST: dict[Callable[..., Any], Callable[..., Any]] = {
    local.local_sgd: local_sgd,
    local.local_run: local_run,
    fedprox.local: local_proximal,
}
"""Fast versions by function of the specification; they take clients of unequal numbers of steps at once."""

UNDIVIDED: dict[Callable[..., Any], Callable[..., Any]] = {
    afga.step: fast_gossip.step,
    afga.gossip_fedamsgrad: fast_gossip.in_one_set,
    afga.step_adapted: fast_gossip.step_adapted,
    peers.dsgd: fast_peers.dsgd,
    peers.gossip_pga: fast_peers.gossip_pga,
    dadam.dadam: fast_peers.dadam,
}
"""Fast steps of programs, if one rank has all clients."""

CLIENTS = fast_clients.CLIENTS | fast_joint.CLIENTS | fast_lamb.CLIENTS
"""Fast clients by the step of a program, whose other parts run as written.

Recorded in their place (:mod:`fedspec_torch.tracing.clients`), or on tensors where they cannot be, each text took more
than 1.03 of the form's time in one of four cases at least: 20 clients, 784-10 and 64-128-10, 5 and 1 to 8 steps.
"""


def client_of(program: Program, h: Any, state: Any) -> Client | None:
    """Fast client of a program; None: the program's text is run."""
    make = CLIENTS.get(program.step)
    return make(h, state) if make else None
