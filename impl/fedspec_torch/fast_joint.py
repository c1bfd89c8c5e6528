"""FedAda2's clients in place: SM3, AdaGrad and Adam on stacks whose vectors are written over at every step.

A step of 27 clients x 9610 in float32 on one CPU core: SM3 3 ms, Adam 2 ms; by the rules 16 and 7 ms, most of it for
fresh memory, and for SM3's sets read one index at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from fedspec.algorithms import fedada2, joint_local
from fedspec.algorithms.server_update import Covered, server_update
from fedspec.client.delay import due, unless_short, warmed
from fedspec.plan import Oracle, Plan
from fedspec.population import Clients, each
from fedspec.readings import Adaptivity, Idle
from fedspec.server.adagrad import Adaptive
from fedspec_torch.arith import Stack
from fedspec_torch.covers import AxisCover
from fedspec_torch.fast_servers import fused

Local = Callable[[int, Stack, Oracle, int], Stack]


def sm3_client(h: fedada2.FedAda2, cover: AxisCover) -> Local:
    """The client of :func:`fedspec.algorithms.fedada2.step` that runs ``sm3_ii_delayed``."""

    def client(i: int, x: Any, gradient: Any, tau: int) -> Any:
        y, nu, u = x.clone(), torch.zeros_like(x), torch.empty_like(x)
        mu = x.new_full((len(x), cover.q), h.v0_l)
        for k in range(tau):
            g = gradient(k, y)
            if due(k + 1, h.z, h.epoch):
                nu = cover.least(mu, out=nu).addcmul_(g, g)
                mu = cover.greatest(nu)
            elif h.idle is Idle.RESET:
                mu = torch.zeros_like(mu)
            elif h.idle is Idle.RECOMPUTED:
                nu = cover.least(mu, out=nu)
            torch.sqrt(nu, out=u).add_(h.eps)
            descend(y, g, u, warmed(h.eta_l, k + 1, h.warm_up), h.eps_s)
        return y.sub_(x)

    return client


def adagrad_client(h: joint_local.JointLocal) -> Local:
    """The client of :func:`fedspec.algorithms.joint_local.step` that runs ``agdu``."""

    def client(i: int, x: Any, gradient: Any, tau: int) -> Any:
        y, v, u = x.clone(), torch.zeros_like(x), torch.empty_like(x)
        for k in range(tau):
            g = gradient(k, y)
            v.addcmul_(g, g)
            torch.sqrt(v, out=u).add_(h.eps)
            descend(y, g, u, warmed(h.eta_l, k + 1, h.warm_up), 0)
        return y.sub_(x)

    return client


def adam_client(h: joint_local.JointLocal) -> Local:
    """The client of :func:`fedspec.algorithms.joint_local.step` that runs ``admu``."""

    def client(i: int, x: Any, gradient: Any, tau: int) -> Any:
        y, m, v = x.clone(), torch.zeros_like(x), torch.zeros_like(x)
        for k in range(tau):
            rate = warmed(h.eta_l, k + 1, h.warm_up)
            fused(y, gradient(k, y), m, v, step=k + 1, lr=rate, beta1=h.beta1_l, beta2=h.beta2_l, eps=h.eps)
        return y.sub_(x)

    return client


def descend(y: Any, g: Any, u: Any, rate: float, eps_s: float) -> None:
    """Step from y by rate g / u, unless g / u is shorter than eps_s; y and u are written over."""
    if eps_s == 0:
        y.addcdiv_(g, u, value=-rate)
    else:
        torch.div(g, u, out=u)
        y.sub_(unless_short(u, u, eps_s), alpha=rate)


def fedada2_step(h: fedada2.FedAda2, state: Covered, clients: Clients, plan: Plan) -> tuple[Covered, dict[str, Any]]:
    """:func:`fedspec.algorithms.fedada2.step`; with Adam clients, or sets other than axes, as it is written."""
    cover: Any = state.cover
    if h.client is Adaptivity.ADAM or not isinstance(cover, AxisCover):
        return fedada2.step(h, state, clients, plan)
    deltas = each(sm3_client(h, cover), clients, plan, state.x)
    server, shown = server_update(
        state.server, deltas, plan, eta=h.eta, beta1=h.beta1, beta2=h.beta2, tau=h.tau, server=h.server
    )
    return replace(state, server=server), shown


def joint_local_step(
    h: joint_local.JointLocal, state: Adaptive, clients: Clients, plan: Plan
) -> tuple[Adaptive, dict[str, Any]]:
    """:func:`fedspec.algorithms.joint_local.step`."""
    client = adam_client(h) if h.client is Adaptivity.ADAM else adagrad_client(h)
    deltas = each(client, clients, plan, state.x)
    return server_update(state, deltas, plan, eta=h.eta, beta1=h.beta1, beta2=h.beta2, tau=h.tau, server=h.server)
