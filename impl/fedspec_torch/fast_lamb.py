"""Fed-LAMB's and Fed-AMS's clients in place: moments, ratio and layers are written over at every step.

Bytes that a step must move for a number of four bytes: g, m, v, y in, m, v, y out, 28 for Fed-AMS, whose v_hat is one
vector for all; it moves 36, since g and m are read twice. Fed-LAMB must have m and y once more, since the lengths of a
layer are known only when all of it is done: 36. It moves 56: the direction is written, and g read twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from fedspec.algorithms import fedlamb, local_ams
from fedspec.algorithms.local_ams import State, after, begin
from fedspec.arith import norm
from fedspec.mixing.periodic import model_mean, moment_maximum
from fedspec.plan import Plan
from fedspec.population import Clients, each
from fedspec.readings import Averaged, ClientMemory, Exponent, LocalCorrection, LocalGradient, Normalisation, Phi, Sent
from fedspec_torch.blocks import Block
from fedspec_torch.local_runs import run_in_place
from fedspec_torch.solvers import InPlace, Step


def is_plain(h: local_ams.FedAms) -> bool:
    """Whether the options are those of the canonical reading, with or without bias correction and memory."""
    shared = (
        h.gradient is LocalGradient.FRESH
        and h.memory is not ClientMemory.TWO_INDEX
        and h.bias_correction is not LocalCorrection.IN_PLACE
        and h.exponent is Exponent.LOCAL
        and h.sent is Sent.RAW
        and h.averaged is Averaged.PARTICIPANTS
    )
    if not isinstance(h, fedlamb.FedLamb):
        return shared
    return (
        shared and h.normalisation is Normalisation.LAYER and h.phi is Phi.IDENTITY and (h.lam == 0 or h.lam >= LEAST)
    )


Parts: TypeAlias = Sequence[Tensor]
"""[n, size] of every layer."""

LEAST = 2.0**-20
"""The least lam > 0 by which a direction is divided."""

VANISHING = 2.0**-40
"""The least factor by which a squared gradient is multiplied at once."""


def solver(h: local_ams.FedAms, state: State, own: Any, T: int) -> InPlace:
    """The T local steps of clients that begin with these moments, which are handed back.

    A direction's length does not matter: q / lam = y + m / (lam c (sqrt(v_hat) + eps)), c the correction, is one pass.
    No step reads v_i = beta2^T v_i + (1 - beta2) sum over t of beta2^(T-t) g_t^2: each adds its term, in one pass.
    """
    v_hat: Any = state.v_hat
    inverse = 1 / (v_hat.sqrt() + h.eps)
    layers = tuple((l, (l.stop - l.start,)) for l in state.layers)
    # Where the first terms would vanish before they are added, v_i decays step by step.
    at_once = h.beta2**T >= VANISHING

    def start(block: Block, y: Tensor) -> Step:
        m, v, q = (block.memory(name) for name in ("m", "v", "q"))
        block.put(m, own.m_i)
        block.put(v, own.v_i)
        if at_once:
            v.mul_(h.beta2**T)
        inverses = [inverse[l] for l in state.layers]

        def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            m.lerp_(g, 1 - h.beta1)
            if at_once:
                v.addcmul_(g, g, value=(1 - h.beta2) * h.beta2 ** (T - 1 - k))
            else:
                v.mul_(h.beta2).addcmul_(g, g, value=1 - h.beta2)
            c = 1 - h.beta1 ** (k + 1) if h.bias_correction is LocalCorrection.MOMENTS else 1.0
            ys, ms, qs = ([block.part(vector, j).flatten(1) for j in range(len(layers))] for vector in (y, m, q))
            if isinstance(h, fedlamb.FedLamb):
                in_layers(h, c, ys, ms, qs, inverses)
                return
            for y_l, m_l, inverse_l in zip(ys, ms, inverses, strict=True):
                y_l.addcmul_(m_l, inverse_l, value=-h.eta_l / c)

        return step

    return InPlace(start, parts=layers, kept=("m", "v"))


def in_layers(h: fedlamb.FedLamb, c: float, ys: Parts, ms: Parts, qs: Parts, inverses: Parts) -> None:
    """A step of every layer, whose direction is written to q: see :func:`solver`."""
    for y_l, m_l, q_l, inverse_l in zip(ys, ms, qs, inverses, strict=True):
        if h.lam:
            torch.addcmul(y_l, m_l, inverse_l, value=1 / (c * h.lam), out=q_l)
        else:
            torch.mul(m_l, inverse_l, out=q_l)
    for y_l, q_l, scale in zip(ys, qs, quotients(ys, qs), strict=True):
        y_l.addcmul_(q_l, scale, value=-h.eta_l)


def quotients(xs: Sequence[Tensor], qs: Sequence[Tensor]) -> list[Tensor]:
    """[n, 1] of every part: the length of x over that of q, row by row; 0 where q is 0."""
    found = torch.stack([torch.linalg.vector_norm(part, dim=1, keepdim=True) for part in (*xs, *qs)])
    info = torch.finfo(found.dtype)
    low, high = info.smallest_normal**0.5 / info.eps, info.max**0.5 * info.eps
    sure = (found > low).logical_and_(found < high).all(1).flatten()
    if bool(sure.all()):
        return [*(found[: len(xs)] / found[len(xs) :])]
    # The specification's own norm where squares vanish or overflow.
    parts = zip((*xs, *qs), found, sure.tolist(), strict=True)
    lengths: list[Any] = [length if is_sure else norm(part) for part, length, is_sure in parts]  # type: ignore[arg-type]
    return [torch.where(q > 0, x / q, 0) for x, q in zip(lengths[: len(xs)], lengths[len(xs) :], strict=True)]


def step(h: local_ams.FedAms, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """The step of Fed-LAMB or of Fed-AMS; under other options as it is written."""
    if not is_plain(h):
        if isinstance(h, fedlamb.FedLamb):
            return fedlamb.step(h, state, clients, plan)
        return local_ams.step(h, state, clients, plan)

    def client(i: int, x: Any, gradient: Any, T: int) -> tuple[Any, ...]:
        return run_in_place(solver(h, state, begin(h, state, i), T), x, gradient, T)

    x_i, m_i, v_i = each(client, clients, plan, state.x)
    n = len(plan.participants)
    x, most = model_mean(x_i, clients=n), moment_maximum(state.v_hat, v_i, clients=n)
    return after(state, plan, x=x, v_hat=most, m_i=m_i, v_i=v_i), {"m_i": m_i, "s_i": v_i, "v_hat": most}
