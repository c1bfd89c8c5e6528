"""FedAda2's clients and those of joint adaptivity in place, by the forms of :mod:`fedspec_torch.solvers`.

By the rules most of the time goes to fresh memory, and to SM3's sets read one index at a time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedspec.algorithms import fedada2, joint_local
from fedspec.algorithms.server_update import Covered, server_update
from fedspec.client.delay import warmed
from fedspec.plan import Plan
from fedspec.population import Client, Clients, each
from fedspec.readings import Adaptivity
from fedspec.server.adagrad import Adaptive
from fedspec_torch import solvers
from fedspec_torch.covers import AxisCover
from fedspec_torch.local_runs import run_in_place


def changed_by(solver: solvers.InPlace) -> Client:
    """A client that sends its change after tau steps of a solver."""

    def client(i: int, x: Any, gradient: Any, tau: int) -> Any:
        (y,) = run_in_place(solver, x, gradient, tau)
        return y.sub_(x)

    return client


def rate_of(h: joint_local.JointLocal) -> solvers.Rate:
    """The clients' rate with its warm-up."""
    return lambda k: warmed(h.eta_l, k + 1, h.warm_up)


def fedada2_step(h: fedada2.FedAda2, state: Covered, clients: Clients, plan: Plan) -> tuple[Covered, dict[str, Any]]:
    """:func:`fedspec.algorithms.fedada2.step`; with Adam clients, or sets other than axes, as it is written."""
    cover: Any = state.cover
    if h.client is Adaptivity.ADAM or not isinstance(cover, AxisCover):
        return fedada2.step(h, state, clients, plan)
    solver = solvers.sm3(cover, rate_of(h), eps=h.eps, v0=h.v0_l, z=h.z, epoch=h.epoch, eps_s=h.eps_s, idle=h.idle)
    deltas = each(changed_by(solver), clients, plan, state.x)
    server, shown = server_update(
        state.server, deltas, plan, eta=h.eta, beta1=h.beta1, beta2=h.beta2, tau=h.tau, server=h.server
    )
    return replace(state, server=server), shown


def joint_local_step(
    h: joint_local.JointLocal, state: Adaptive, clients: Clients, plan: Plan
) -> tuple[Adaptive, dict[str, Any]]:
    """:func:`fedspec.algorithms.joint_local.step`."""
    if h.client is Adaptivity.ADAM:
        solver = solvers.adam(rate_of(h), beta1=h.beta1_l, beta2=h.beta2_l, eps=h.eps)
    else:
        solver = solvers.adagrad(rate_of(h), eps=h.eps)
    deltas = each(changed_by(solver), clients, plan, state.x)
    return server_update(state, deltas, plan, eta=h.eta, beta1=h.beta1, beta2=h.beta2, tau=h.tau, server=h.server)
