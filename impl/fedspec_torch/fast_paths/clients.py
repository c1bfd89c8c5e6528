"""Clients in place, in the place of those of the specification's text; what the server does stays the text's.

Each makes, from an algorithm's hyper-parameters and state, what one of its clients does, or None where the text is to
be run. A client is called for several at once: i is a list, x a stack, and tau a number of steps, or a tuple of them,
the most first. Tests hold each to the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from fedspec.algorithms import (
    cc_adaptive,
    cc_fedavg,
    cc_fedavgm,
    cc_fedsgd,
    diloco,
    fedasync,
    fedbuff,
    feddyn,
    fednova_alg2,
    fednova_sampled,
    fednova_solvers,
    fednova_vr,
    fedsgd,
    private,
    scaffold,
    vrl_sgd,
)
from fedspec.algorithms.local import local_norm
from fedspec.client.adamw import adamw
from fedspec.domains import pull
from fedspec.mixing.accumulation import a_norm, momentum_norm
from fedspec.mixing.private import clip
from fedspec.population import Client
from fedspec.readings import Clipped, Control, InnerState, Loop, Normalise, Solver, Stored, choice
from fedspec_torch.arith import Stack, column
from fedspec_torch.fast_paths import adaptive
from fedspec_torch.local import solvers
from fedspec_torch.local.block_results import Computed, Numbers
from fedspec_torch.local.runs import run_in_place

Made: TypeAlias = Callable[[Any, Any], Client | None]
"""From hyper-parameters and state to what a client does."""

Tau: TypeAlias = int | tuple[int, ...]


def each_of(number: Callable[[int], Any], tau: Tau, like: Stack) -> Any:
    """A number made of every client's steps: a column, or one number where all take as many."""
    return number(tau) if isinstance(tau, int) else column([number(t) for t in tau], like)


def sgd_of(h: Any) -> solvers.InPlace:
    """Plain SGD at the clients' rate."""
    return solvers.along(lambda k: h.eta_l)


def scaffold_client(h: scaffold.Scaffold, state: scaffold.State) -> Client:
    """Clients of :func:`fedspec.algorithms.scaffold.step`; option II computes no gradient beyond the steps'."""

    def client(i: Any, x: Any, gradient: Any, tau: Tau) -> tuple[Stack, Stack]:
        c_i: Any = state.c_i[i]
        # The next block's may be written to the same buffer, and so may the changes.
        control = None if h.control is Control.MEAN_GRADIENT else gradient(0, x).clone()
        (y,) = run_in_place(solvers.along(lambda k: h.eta_l, state.c, c_i), x, gradient, tau)
        delta = y.sub_(x)
        return delta, mean_gradients(h, c_i, state.c, delta, tau) if control is None else control

    return client


def mean_gradients(h: scaffold.Scaffold, c_i: Any, c: Any, delta: Any, tau: Tau) -> Computed:
    """c_i^+ of option II: c_i - c - Delta_i / (eta_l tau_i)."""
    divisor = each_of(lambda t: delta.new_tensor(h.eta_l * t), tau, delta)

    def part(rows: slice, at: slice) -> Stack:
        own = divisor[rows] if divisor.ndim else divisor
        return torch.addcdiv(c[at], delta[rows, at], own).neg_().add_(c_i[rows, at])

    return Computed(delta, part)


def vrl_sgd_client(h: vrl_sgd.VrlSgd, state: vrl_sgd.State) -> Client:
    """Clients of :func:`fedspec.algorithms.vrl_sgd.step`."""

    def client(i: Any, x: Any, gradient: Any, tau: Tau) -> tuple[Stack, Stack]:
        (y,) = run_in_place(solvers.along(lambda k: h.eta_l, -state.v_i[i]), x, gradient, tau)
        return y, y - x

    return client


def feddyn_client(h: feddyn.FedDyn, state: feddyn.State) -> Client:
    """Clients of :func:`fedspec.algorithms.feddyn.step`."""

    def client(i: Any, x: Any, gradient: Any, tau: Tau) -> tuple[Stack, Stack]:
        lam_i: Any = state.lam_i[i]
        (y,) = run_in_place(solvers.proximal(h.eta_l, h.mu, -lam_i), x, gradient, tau)
        delta = y.sub_(x)
        return delta, Computed(delta, lambda rows, at: torch.sub(lam_i[rows, at], delta[rows, at], alpha=h.mu))

    return client


def directions(h: Any, y: Any, x: Any, tau: Tau, norm: Callable[[int], float]) -> tuple[Any, Any]:
    """Messages of FedNova's clients, written over y: d_i, and ||a_i||_1 of each."""
    lengths = norm(tau) if isinstance(tau, int) else Numbers(map(norm, tau))
    return y.sub_(x).div_(each_of(lambda t: -h.eta_l * norm(t), tau, x)), lengths


def fednova_vr_client(h: fednova_vr.FedNovaVR, state: fednova_vr.State) -> Client:
    """Clients of :func:`fedspec.algorithms.fednova_vr.step`."""
    mean: Any = state.p @ state.d

    def client(i: Any, x: Any, gradient: Any, tau: Tau) -> tuple[Stack, Any]:
        c_i = mean - state.d[i]
        solver = solvers.fednova(h.solver, eta_l=h.eta_l, mu=h.mu, rho=h.rho, gamma=h.gamma, shift=c_i)
        d_i, lengths = directions(h, run_in_place(solver, x, gradient, tau)[0], x, tau, lambda t: local_norm(h, t))
        return d_i.sub_(c_i), lengths

    return client


def fednova_alg2_client(h: fednova_alg2.FedNovaAlg2, state: fednova_vr.State) -> Client | None:
    """Clients of :func:`fedspec.algorithms.fednova_alg2.step`; None for the printed loop, which may be empty."""
    if h.loop is not Loop.SHIFTED:
        return None
    mean: Any = state.p @ state.d

    def client(i: Any, x: Any, gradient: Any, tau: Tau) -> tuple[Stack, Any]:
        c_i = mean - state.d[i]
        y = run_in_place(solvers.momentum(h.eta_l, h.rho, shift=c_i), x, gradient, tau)[0]
        d_i, lengths = directions(h, y, x, tau, lambda t: momentum_norm(t, rho=h.rho))
        return (d_i.sub_(c_i) if h.stored is Stored.UNCORRECTED else d_i), lengths

    return client


def fednova_sampled_client(h: fednova_sampled.FedNovaSampled, state: Any) -> Client:
    """Clients of :func:`fedspec.algorithms.fednova_sampled.step`."""
    solver = solvers.fednova(h.solver, eta_l=h.eta_l, mu=h.mu, rho=h.rho, gamma=h.gamma)

    def client(i: Any, x: Any, gradient: Any, tau: Tau) -> tuple[Stack, Any]:
        return directions(h, run_in_place(solver, x, gradient, tau)[0], x, tau, lambda t: local_norm(h, t))

    return client


def fednova_solvers_client(h: fednova_solvers.FedNovaSolvers, state: Any) -> Client:
    """Clients of :func:`fedspec.algorithms.fednova_solvers.step`."""

    def client(i: Any, x: Any, gradient: Any, tau: Tau, strategy: str) -> tuple[Stack, Any]:
        own = choice(Solver, "strategies", strategy)
        solver = solvers.fednova(own, eta_l=h.eta_l, mu=h.mu, rho=h.rho, gamma=h.gamma)

        def norm(t: int) -> Any:
            return a_norm(own, t, alpha=pull(h.eta_l, h.mu), rho=h.rho, gamma=h.gamma)

        return directions(h, run_in_place(solver, x, gradient, tau)[0], x, tau, norm)

    return client


def diloco_client(h: diloco.DiLoCo, state: diloco.State) -> Client:
    """Clients of :func:`fedspec.algorithms.diloco.step`."""

    def client(i: Any, x: Any, gradient: Any, tau: Tau) -> tuple[Stack, Stack, Stack]:
        if h.inner is InnerState.RESET:
            m_i, v_i, t = torch.zeros_like(x), torch.zeros_like(x), [0] * len(x)
        else:
            m_i, v_i, t = state.m_i[i], state.v_i[i], [state.t[j] for j in i]
        y, m_i, v_i = run_in_place(adaptive.adamw(**h.of(adamw), m=m_i, v=v_i, t=t), x, gradient, tau)
        return y.sub_(x), m_i, v_i

    return client


def fed_sgd_client(h: fedsgd.FedSgd, state: Any) -> Client:
    """Clients of :func:`fedspec.algorithms.fedsgd.step`."""
    return lambda i, x, gradient, tau: run_in_place(sgd_of(h), x, gradient, tau)[0]


def dp_fedavg_client(h: private.DpFedAvg, state: Any) -> Client | None:
    """Clients of :func:`fedspec.algorithms.private.step`; None if gradients are clipped."""
    if h.clipped is Clipped.GRADIENTS:
        return None
    return lambda i, x, gradient, tau: clip(run_in_place(sgd_of(h), x, gradient, tau)[0].sub_(x), clip_norm=h.clip_norm)


def late_client(h: Any, state: Any) -> Client:
    """Clients of Client-Centric's Algorithm 3 and of :func:`fedspec.algorithms.fedbuff.step`."""

    def client(i: Any, x_mu: Any, gradient: Any, K: int) -> Stack:
        change = run_in_place(sgd_of(h), x_mu, gradient, K)[0].sub_(x_mu)
        return change.div_(K) if getattr(h, "normalise", None) is Normalise.PER_STEP else change

    return client


def fedasync_client(h: fedasync.FedAsync, state: Any) -> Client:
    """Clients of :func:`fedspec.algorithms.fedasync.step`."""
    return lambda i, x_mu, gradient, K: run_in_place(solvers.proximal(h.eta_l, h.mu), x_mu, gradient, K)[0]


CLIENTS: dict[Callable[..., Any], Made] = {
    scaffold.step: scaffold_client,
    vrl_sgd.step: vrl_sgd_client,
    feddyn.step: feddyn_client,
    fednova_vr.step: fednova_vr_client,
    fednova_alg2.step: fednova_alg2_client,
    fednova_sampled.step: fednova_sampled_client,
    fednova_solvers.step: fednova_solvers_client,
    diloco.step: diloco_client,
    fedsgd.step: fed_sgd_client,
    private.step: dp_fedavg_client,
    cc_fedavg.cc_fedavg: late_client,
    cc_fedavgm.cc_fedavgm: late_client,
    cc_fedsgd.cc_fedsgd: late_client,
    cc_adaptive.cc_fedadagrad: late_client,
    cc_adaptive.cc_fedadam: late_client,
    cc_adaptive.cc_fedams: late_client,
    fedbuff.step: late_client,
    fedasync.step: fedasync_client,
}
"""By the step of the program whose clients they are."""
