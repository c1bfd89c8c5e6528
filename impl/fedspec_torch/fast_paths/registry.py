"""Registry of fast replacements for the specification's functions; tests compare each with the original."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedspec.algorithms import afga, dadam, local, peers
from fedspec.entry import Program
from fedspec.population import Client
from fedspec.readings import Solver
from fedspec_torch.arith import Stack
from fedspec_torch.fast_paths import cross_client
from fedspec_torch.fast_paths import gossip as fast_gossip
from fedspec_torch.fast_paths import joint as fast_joint
from fedspec_torch.fast_paths import lamb as fast_lamb
from fedspec_torch.fast_paths import peers as fast_peers
from fedspec_torch.local.runs import run_in_place
from fedspec_torch.local.solvers import Rate, along
from fedspec_torch.plan import Oracle


def rate_of_run(h: local.HasSolver) -> Rate | None:
    """Return the rates of :func:`fedspec.algorithms.local.local_run` if it is plain or decayed SGD, else None."""
    match h.solver:
        case Solver.SGD:
            return lambda k: h.eta_l
        case Solver.DECAYED:
            return lambda k: h.eta_l * h.gamma**k
    return None


RATES: dict[Callable[..., Any], Callable[[Any], Rate | None]] = {
    local.local_sgd: lambda h: lambda k: h.eta_l,
    local.local_run: rate_of_run,
}
"""Function from hyper-parameters to plain SGD's learning-rate schedule (None: another solver), by the function of the
specification that trains a client. SGD runs in place without a trace, since tracing takes a tenth of a small round of
20 clients of 8,000 numbers.

SGD is taken in place without being recorded, which takes a tenth of a small round of 20 clients of 8,000 numbers.
"""


def local_sgd(rate: Rate, x: Stack, gradient: Oracle, tau: int | tuple[int, ...]) -> Stack:
    """Run SGD in place for a block of clients, whose numbers of steps may differ.

    A step of a stack of 16 x 8192 in float64 on one CPU core: 0.04 ms; by the rule 0.6 ms, most of it for fresh memory.
    """
    return run_in_place(along(rate), x, gradient, tau)[0]


UNDIVIDED: dict[Callable[..., Any], Callable[..., Any]] = {
    afga.step: fast_gossip.step,
    afga.gossip_fedamsgrad: fast_gossip.in_one_set,
    afga.step_adapted: fast_gossip.step_adapted,
    peers.dsgd: fast_peers.dsgd,
    peers.gossip_pga: fast_peers.gossip_pga,
    dadam.dadam: fast_peers.dadam,
}
"""Fast steps by the program's step, for runs where one rank holds all clients."""

TEXTS = cross_client.TEXTS
"""Client texts that need less memory than the program's own, by the program's step; they are traced like other
texts.
"""

CLIENTS = fast_joint.CLIENTS | fast_lamb.CLIENTS | TEXTS
"""Function that makes a fast client, by the program's step; the rest of the program runs as written. Clients of
other programs are traced.
"""


def client_of(program: Program, h: Any, state: Any) -> Client | None:
    """Return the fast client of a program; None: run the program's text."""
    make = CLIENTS.get(program.step)
    return make(h, state) if make else None
