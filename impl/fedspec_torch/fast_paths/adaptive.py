"""Adaptive local solvers that update their vectors in place; tests compare each with its rule's text.

Bytes that a step must move for a number of four bytes, the gradient's own included: 20 for AdaGrad (y, v both ways, g
in), 28 for Adam (and m), 16 for a step over the length of its gradient, which is read twice. With a dead zone, or at
steps that leave v alone, the direction is written and read again: 8 more. AdaGrad and Adam are one pass each, of
torch's fused kernels; a step of 54 clients x 9610 in float32 on one core of a Xeon takes 0.36 and 0.47 ms, where that
of SGD with all its products takes about 2 ms. SM3: :mod:`fedspec_torch.fast_paths.sm3`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from fedspec.client.delay import due, updates
from fedspec_torch.arith import Stack, Vector, Weights
from fedspec_torch.fast_paths.servers import fused
from fedspec_torch.local.blocks import Block
from fedspec_torch.local.solvers import InPlace, Rate, Step
from fedspec_torch.tracing.passes import lengths


def adagrad(
    rate: Rate, *, eps: float, v0: float | Vector = 0.0, z: int = 1, epoch: int = 1, eps_s: float = 0
) -> InPlace:
    """:func:`fedspec.client.agdu.agdu` in place; its second moment starts at a number or the server's vector."""

    def begin(block: Block, y: Tensor) -> Step:
        v = begun(block, "v", v0)
        u = v if eps_s == 0 and z == 1 else block.memory("u")

        def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            along_quotient(block, y, g, v, u, adds=due(k + 1, z, epoch), rate=rate(k), eps=eps, eps_s=eps_s)

        return step

    return InPlace(begin)


def adam(
    rate: Rate,
    *,
    beta1: float,
    beta2: float,
    eps: float,
    m0: float = 0.0,
    v0: float | Vector = 0.0,
    corrects_m: bool = True,
    corrects_v: bool = True,
) -> InPlace:
    """:func:`fedspec.client.admu.admu` without delay or dead zone, in place; v may start at a vector from the server.

    Args:
        rate: the learning rate of each step.
        beta1: the decay beta1 of the first moment m.
        beta2: the decay beta2 of the second moment v.
        eps: the constant eps in the denominator.
        m0: the initial value of m.
        v0: the initial value of v.
        corrects_m: True if m is divided by 1 - beta1^t (bias correction).
        corrects_v: True if v is divided by 1 - beta2^t (bias correction); requires ``corrects_m``.
    """

    def begin(block: Block, y: Tensor) -> Step:
        m, v = begun(block, "m", m0), begun(block, "v", v0)

        def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            t = k + 1.0 if corrects_v else float("inf")
            lr = rate(k) / (1 - beta1 ** (k + 1)) if corrects_m and not corrects_v else rate(k)
            for y_, g_, m_, v_ in block.together(y, g, m, v):
                fused(y_, g_, m_, v_, step=t, lr=lr, beta1=beta1, beta2=beta2, eps=eps)

        return step

    return InPlace(begin)


def adamw(
    *, eta_l: float, beta1: float, beta2: float, eps: float, wd: float, m: Stack, v: Stack, t: Sequence[int]
) -> InPlace:
    """:func:`fedspec.client.adamw.adamw` by torch's fused kernel, from each client's stored moments and step counts."""

    def begin(block: Block, y: Tensor) -> Step:
        moments = written(block, "m", m), written(block, "v", v)

        def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            vectors = (y, g, *moments)
            if len({*t[: block.left]}) == 1:
                together = [(t[0], some) for some in block.together(*vectors)]
            else:
                parts = [[block.part(u, j) for u in vectors] for j in range(len(block.parts))]
                together = [(t[i], tuple(u[i] for u in some)) for some in parts for i in range(block.left)]
            for count, some in together:
                fused(*some, step=count + k + 1.0, lr=eta_l, beta1=beta1, beta2=beta2, eps=eps, wd=wd)

        return step

    return InPlace(begin, kept=("m", "v"))


def admu(
    rate: Rate,
    *,
    beta1: float,
    beta2: float,
    eps: float,
    z: int = 1,
    epoch: int = 1,
    eps_s: float = 0,
    m0: float = 0.0,
    v0: float = 0.0,
) -> InPlace:
    """:func:`fedspec.client.admu.admu` in place; a step shorter than eps_s leaves y, but updates the momentum."""
    if z == 1 and eps_s == 0:
        return adam(rate, beta1=beta1, beta2=beta2, eps=eps, m0=m0, v0=v0)

    def begin(block: Block, y: Tensor) -> Step:
        m, v, u = begun(block, "m", m0), begun(block, "v", v0), block.memory("u")

        def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            t = k + 1
            c1, c2 = 1 - beta1**t, 1 - beta2 ** updates(t, z, epoch)
            for y_, g_, m_, v_, u_ in block.together(y, g, m, v, u):
                m_.lerp_(g_, 1 - beta1)
                if due(t, z, epoch):
                    v_.mul_(beta2).addcmul_(g_, g_, value=1 - beta2)
                torch.sqrt(v_, out=u_).div_(c2**0.5).add_(eps)
                if eps_s == 0:
                    y_.addcdiv_(m_, u_, value=-rate(k) / c1)
                else:
                    torch.div(m_, u_, out=u_).div_(c1)
            if eps_s != 0:
                unless_short(block, y, u, rate(k), eps_s)

        return step

    return InPlace(begin)


def written(block: Block, name: str, rows: Stack | Vector) -> Tensor:
    """Return the block's vector of that name, filled with a stack's rows or with one vector for all clients."""
    v = block.memory(name)
    block.put(v, rows)
    return v


def begun(block: Block, name: str, start: float | Vector) -> Tensor:
    """Return the block's vector of that name, filled with a number or with one vector for all clients."""
    return written(block, name, start) if isinstance(start, Tensor) else block.memory(name).fill_(start)


def along_quotient(
    block: Block, y: Tensor, g: Tensor, v: Tensor, u: Tensor, *, adds: bool, rate: float, eps: float, eps_s: float
) -> None:
    """Step from y by rate u, u = g / (sqrt(v) + eps), for clients with |u| >= eps_s; if ``adds``, add g^2 to v first.

    The direction u is written only if a single-pass step isn't possible; otherwise u may be any vector.
    """
    for y_, g_, v_, u_ in block.together(y, g, v, u):
        if adds and eps_s == 0:
            accumulated(y_, g_, v_, rate, eps)
            continue
        if adds:
            v_.addcmul_(g_, g_)
        torch.sqrt(v_, out=u_).add_(eps)
        if eps_s == 0:
            y_.addcdiv_(g_, u_, value=-rate)
        else:
            torch.div(g_, u_, out=u_)
    if eps_s != 0:
        unless_short(block, y, u, rate, eps_s)


def accumulated(y: Any, g: Any, v: Any, rate: float, eps: float) -> None:
    """Add g^2 to v, then step from y by rate g / (sqrt(v) + eps): one fused pass for contiguous vectors on a CPU."""
    if y.device.type == "cpu" and y.is_contiguous() and g.is_contiguous():
        once: Any = torch.ones(())
        run: Any = torch._fused_adagrad_
        run([y], [g], [v], [once], lr=rate, lr_decay=0, weight_decay=0, eps=eps, maximize=False)
    else:
        v.addcmul_(g, g)
        y.addcdiv_(g, v.sqrt().add_(eps), value=-rate)


def length(block: Block, u: Tensor) -> Weights:
    """[left, 1] Euclidean length of each client's whole vector u."""
    return lengths(torch.cat([lengths(block.part(u, j).flatten(1)) for j in range(len(block.parts))], 1))


def shortened(block: Block, y: Tensor, u: Tensor, factor: Weights) -> None:
    """Add to each client's y its u times the client's factor."""
    for j, (_, shape) in enumerate(block.parts):
        block.part(y, j).addcmul_(block.part(u, j), factor.view(-1, *(1 for _ in shape)))


def unless_short(block: Block, y: Tensor, u: Tensor, rate: float, eps_s: float) -> None:
    """Step from y by rate u for each client whose u isn't shorter than eps_s."""
    far: Any = ~(length(block, u) < eps_s)
    shortened(block, y, u, far.to(y.dtype).mul_(-rate))
