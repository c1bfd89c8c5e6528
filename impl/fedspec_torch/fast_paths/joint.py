"""Client functions of joint adaptive algorithms, with the in-place solvers of ``adaptive`` and ``sm3``.

Each function returns, from an algorithm's hyper-parameters and state, the function of its clients, or None if the
algorithm's text should run. The client function trains several clients at once: i is a list, x a stack, and tau a
number of steps, or a tuple of numbers in descending order. Tests compare each function with the text.

Recorded in their place, the texts take 1.0 to 1.1 of the time where loops are compiled. Without Numba, and on a GPU,
they go operator by operator where torch has one kernel for AdaGrad's and Adam's steps: 1.3 to 2.0 of the time. SM3's
sets, which are read one index at a time, aren't recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from fedspec.algorithms import (
    diloco,
    fedada2,
    fedadaadagrad,
    fedadaadam,
    fedblended,
    joint_direct,
    joint_local,
    joint_private,
)
from fedspec.algorithms.server_update import Covered
from fedspec.client.adamw import adamw
from fedspec.client.delay import warmed
from fedspec.mixing.private import clip
from fedspec.population import Client
from fedspec.readings import (
    Adaptivity,
    Clipped,
    CoverName,
    DeadZone,
    InnerState,
    Preconditioner,
    Received,
    Strategy,
    WarmUp,
)
from fedspec.server.adagrad import Adaptive
from fedspec_torch.arith import Stack
from fedspec_torch.fast_paths import adaptive as adaptive_solvers
from fedspec_torch.fast_paths.sm3 import sm3
from fedspec_torch.local import solvers
from fedspec_torch.local.blocks import Block
from fedspec_torch.local.runs import Made, Tau, run_in_place
from fedspec_torch.population import OfStrategies


def changed_by(solver: solvers.InPlace) -> Client:
    """Make a client that sends its change after tau steps of a solver, times its weight Xi if the plan has weights."""

    def client(i: Any, x: Any, gradient: Any, tau: Tau, Xi: Any = None) -> Stack:
        (y,) = run_in_place(solver, x, gradient, tau)
        change = y.sub_(x)
        return change if Xi is None else change.mul_(Xi)

    return client


def rate_of(h: Any) -> solvers.Rate:
    """Return the clients' learning-rate schedule: eta_l with its warm-up."""
    from_zero = h.warm_up_from is WarmUp.ZERO
    return lambda k: 0.0 if from_zero and k == 0 else warmed(h.eta_l, k + 1, h.warm_up, h.warm_up_from)


def decaying(solver: solvers.InPlace, rate: solvers.Rate, wd: float) -> solvers.InPlace:
    """Wrap a solver so that each step first multiplies the model by 1 - rate wd (decoupled weight decay)."""

    def begin(block: Block, y: Tensor) -> solvers.Step:
        assert solver.begin is not None
        step = solver.begin(block, y)

        def both(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            for (y_,) in block.together(y):
                y_.mul_(1 - rate(k) * wd)
            step(k, block, y, g)

        return both

    return replace(solver, begin=begin)


def fedada2_client(h: fedada2.FedAda2, state: Covered) -> Client | None:
    """Make the client of :func:`fedspec.algorithms.fedada2.step`; None for Adam, or covers other than axes."""
    cover: Any = state.cover
    if h.client is Adaptivity.ADAM or h.cover is not CoverName.AXES:
        return None
    own = sm3(cover, rate_of(h), eps=h.eps, v0=h.v0_l, z=h.z, epoch=h.epoch, eps_s=h.eps_s, idle=h.idle)
    return changed_by(decaying(own, rate_of(h), h.wd) if h.wd else own)


def joint_local_client(h: joint_local.JointLocal, state: Adaptive) -> Client:
    """Make the client of :func:`fedspec.algorithms.joint_local.step`."""
    if h.client is Adaptivity.ADAM:
        return changed_by(adaptive_solvers.adam(rate_of(h), beta1=h.beta1_l, beta2=h.beta2_l, eps=h.eps))
    return changed_by(adaptive_solvers.adagrad(rate_of(h), eps=h.eps))


def joint_direct_client(h: joint_direct.JointDirect, state: Adaptive) -> Client:
    """Make the client of :func:`fedspec.algorithms.joint_direct.step`.

    If the sent second moment is subtracted from v again, (v - beta2^t v_0) / (1 - beta2^t) equals the bias-corrected v
    from 0.
    """
    sent: Any = state.v
    if h.client is Adaptivity.ADAGRAD:
        return changed_by(adaptive_solvers.adagrad(rate_of(h), eps=h.eps, v0=sent))
    return changed_by(
        adaptive_solvers.adam(
            rate_of(h),
            beta1=h.beta1_l,
            beta2=h.beta2_l,
            eps=h.eps,
            v0=0.0 if h.received is Received.WITHOUT_START else sent,
            corrects_m=h.received is not Received.UNCORRECTED,
            corrects_v=h.received in (Received.CORRECTED, Received.WITHOUT_START),
        )
    )


def fedadaadagrad_client(h: fedadaadagrad.FedAdaAdagrad, state: Adaptive) -> Client:
    """Make the client of :func:`fedspec.algorithms.fedadaadagrad.step`."""
    return changed_by(delayed_adagrad(h))


def delayed_adagrad(h: fedadaadagrad.FedAdaAdagrad) -> solvers.InPlace:
    """Return the in-place AdaGrad with FedAda2's delay z and dead zone eps_s."""
    return adaptive_solvers.adagrad(rate_of(h), eps=h.eps, v0=h.v0_l, z=h.z, epoch=h.epoch, eps_s=h.eps_s)


def fedadaadam_client(h: fedadaadam.FedAdaAdam, state: Adaptive) -> Client | None:
    """Make the client of :func:`fedspec.algorithms.fedadaadam.step`; None if a short step clears the momentum."""
    return changed_by(delayed_adam(h)) if h.dead_zone is DeadZone.STEP else None


def delayed_adam(h: Any) -> solvers.InPlace:
    """Return the in-place Adam with FedAda2's delay z and dead zone eps_s."""
    more: dict[str, Any] = {"eps": h.eps, "m0": h.m0_l, "v0": h.v0_l, "z": h.z, "epoch": h.epoch, "eps_s": h.eps_s}
    return adaptive_solvers.admu(rate_of(h), beta1=h.beta1_l, beta2=h.beta2_l, **more)


def dp_joint_client(h: joint_private.DpJoint, state: Covered) -> Client | None:
    """Make the client of :func:`fedspec.algorithms.joint_private.step`, with the clipped change.

    None with clipped gradients, Adam over sets, or sets other than axes: then the text runs as written.
    """
    cover: Any = state.cover
    sent: Any = state.server.v
    match h.preconditioner, h.client:
        case _ if h.clipped is Clipped.GRADIENTS:
            return None
        case Preconditioner.COMPRESSED, Adaptivity.ADAGRAD if h.cover is CoverName.AXES:
            solver = sm3(cover, rate_of(h), eps=h.eps)
        case Preconditioner.COMPRESSED, _:
            return None
        case _, Adaptivity.ADAGRAD:
            solver = adaptive_solvers.adagrad(rate_of(h), eps=h.eps, v0=sent)
        case _:
            solver = adaptive_solvers.adam(rate_of(h), beta1=h.beta1_l, beta2=h.beta2_l, eps=h.eps, v0=sent)
    changed = changed_by(solver)
    return lambda i, x, gradient, tau: clip(changed(i, x, gradient, tau), clip_norm=h.clip_norm)


def fedblended_client(h: fedblended.FedBlended, state: Covered) -> Client | None:
    """Make the client of :func:`fedspec.algorithms.fedblended.step` for AdaGrad, Adam and SM3's AdaGrad.

    None with sets other than axes, or SGD with a dead zone: then the text runs as written.
    """
    cover: Any = state.cover
    if h.cover is not CoverName.AXES or h.eps_s != 0:
        return None
    solver = {
        Strategy.ADAGRAD: delayed_adagrad(h),
        Strategy.ADAM: delayed_adam(h),
        Strategy.SM3_ADAGRAD: sm3(cover, rate_of(h), eps=h.eps, v0=h.v0_l, z=h.z, epoch=h.epoch),
    }

    def client(*args: Any, strategy: str, **more: Any) -> Any:
        return changed_by(solver[Strategy(strategy)])(*args, **more)

    return OfStrategies(client, frozenset(solver))


def diloco_client(h: diloco.DiLoCo, state: diloco.State) -> Client:
    """Make the client of :func:`fedspec.algorithms.diloco.step`."""

    def client(i: Any, x: Any, gradient: Any, tau: Tau) -> tuple[Stack, Stack, Stack]:
        if h.inner is InnerState.RESET:
            m_i, v_i, t = torch.zeros_like(x), torch.zeros_like(x), [0] * len(x)
        else:
            m_i, v_i, t = state.m_i[i], state.v_i[i], [state.t[j] for j in i]
        y, m_i, v_i = run_in_place(adaptive_solvers.adamw(**h.of(adamw), m=m_i, v=v_i, t=t), x, gradient, tau)
        return y.sub_(x), m_i, v_i

    return client


CLIENTS: dict[Callable[..., Any], Made] = {
    fedada2.step: fedada2_client,
    joint_local.step: joint_local_client,
    joint_direct.step: joint_direct_client,
    fedadaadagrad.step: fedadaadagrad_client,
    fedadaadam.step: fedadaadam_client,
    joint_private.step: dp_joint_client,
    fedblended.step: fedblended_client,
    diloco.step: diloco_client,
}
"""Function that makes the fast client, by the step of its program."""
