"""Fed-LAMB's and Fed-AMS's clients in place: moments, ratio and layers are written over at every step.

Bytes that a step must move for a number of four bytes: g, m, v, y in, m, v, y out, 28 for Fed-AMS, whose v_hat is one
vector for all; it moves 36, since g and m are read twice. Fed-LAMB must have m and y once more, since the lengths of a
layer are known only when all of it is done: 36. It moves 56: the direction is written, and g read twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from torch import Tensor

from fedspec.algorithms import fedlamb, local_ams
from fedspec.algorithms.local_ams import State, begin
from fedspec.arith import norm
from fedspec.population import Client
from fedspec.preconditioner import complement
from fedspec.readings import Averaged, ClientMemory, LocalCorrection, LocalGradient, Normalisation, Phi, Sent
from fedspec_torch.layers.loops import is_compiled
from fedspec_torch.local.blocks import Block
from fedspec_torch.local.runs import Made, Tau, run_in_place
from fedspec_torch.local.solvers import InPlace, Step


def is_plain(h: local_ams.FedAms) -> bool:
    """True for options of the canonical reading, with any memory of one index, correction and count."""
    shared = (
        h.gradient is LocalGradient.FRESH
        and h.memory is not ClientMemory.TWO_INDEX
        and h.bias_correction is not LocalCorrection.IN_PLACE
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

LEAST_DECAY = 2.0**-10
"""The least factor by which a squared gradient is multiplied before it is added."""


def decay_interval(beta2: float) -> int:
    """Steps that v decays for at once; a function of beta2 alone, so that a client's numbers are its own."""
    return max(1, int(math.log(LEAST_DECAY) / math.log(beta2))) if beta2 > 0 else 1


def correction(h: local_ams.FedAms, own: Any, like: Tensor) -> Callable[[int], Tensor]:
    """c(k) = 1 - beta1^t in a column: a number for each client, one where all have taken equally many steps before.

    Either way a client is divided by the same number in the same order of operations, so that it is what it is alone.
    """
    if h.bias_correction is not LocalCorrection.MOMENTS:
        return lambda k: torch.ones((1, 1), dtype=like.dtype, device=like.device)
    t: Any = torch.tensor([own.t], device=like.device) if isinstance(own.t, int) else own.t
    seen, column = t[:1] if len(set(t.tolist())) == 1 else t, cast("Any", complement)
    return lambda k: torch.as_tensor(column(h.beta1, seen + (k + 1), like))


def solver(h: local_ams.FedAms, state: State, own: Any, most: int) -> InPlace:
    """The local steps, at most so many, of clients that begin with these moments, which are handed back.

    A direction's length does not matter: q / lam = y + m / (lam c (sqrt(v_hat) + eps)), c the correction, is one pass.
    Where clients have taken unequally many steps before, what m is multiplied by is a vector for each of them.
    No step reads v_i, so it decays for p steps at once, v_i = beta2^p v_i + (1 - beta2) sum over j < p of
    beta2^(p-1-j) g_j^2, and each adds its term, in one pass. Who is done after fewer divides by beta2 for the others.
    """
    v_hat: Any = state.v_hat
    inverse = 1 / (v_hat.sqrt() + h.eps)
    layers = tuple((l, (l.stop - l.start,)) for l in state.layers)
    p = decay_interval(h.beta2)

    def start(block: Block, y: Tensor) -> Step:
        m, v = block.memory("m"), block.memory("v")
        block.put(m, own.m_i)
        block.put(v, own.v_i)
        if isinstance(h, fedlamb.FedLamb) and not block.layerwise and y.dtype == torch.float32 and is_compiled(y):
            return in_two_passes(h, state, inverse, m, v, correction(h, own, y))
        q = block.memory("q")
        inverses, corrected = [inverse[l] for l in state.layers], correction(h, own, y)
        before, (ys, ms, vs, qs) = block, parts_of(block, y, m, v, q)

        def finish(taken: int, left: int) -> None:
            """Decay v of clients that are done after so many steps, except that of the first few clients."""
            for v_l in vs if taken % p else ():
                v_l[left:].mul_(h.beta2 ** (taken % p - p))

        def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            nonlocal before, ys, ms, vs, qs
            if block.left < before.left:
                finish(k, block.left)
                before, (ys, ms, vs, qs) = block, parts_of(block, y, m, v, q)
            for m_, v_, g_ in block.together(m, v, g):
                m_.lerp_(g_, 1 - h.beta1)
                if k % p == 0:
                    v_.mul_(h.beta2**p)
                v_.addcmul_(g_, g_, value=(1 - h.beta2) * h.beta2 ** (p - 1 - k % p))
            c = corrected(k)[: block.left]
            if isinstance(h, fedlamb.FedLamb):
                in_layers(h, c, ys, ms, qs, inverses)
            else:
                for y_l, m_l, inverse_l in zip(ys, ms, inverses, strict=True):
                    y_l.addcmul_(m_l, inverse_l / c, value=-h.eta_l)
            if k == most - 1:
                finish(most, 0)

        return step

    return InPlace(start, parts=layers, kept=("m", "v"))


def in_two_passes(
    h: fedlamb.FedLamb, state: State, inverse: Tensor, m: Tensor, v: Tensor, corrected: Callable[[int], Tensor]
) -> Step:
    """Step of LAMB in compiled loops; v decays at every step, in the pass that adds to it."""
    stepped: Any = import_module("fedspec_torch.layers.compiled_lamb").stepped
    layers = np.array([(l.start, l.stop) for l in state.layers])

    def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
        pulls = (h.lam * corrected(k)).expand(len(m), 1).flatten().contiguous()
        vectors = (y[: block.left].numpy(), g.numpy(), m.numpy(), v.numpy(), inverse.numpy(), pulls.numpy())
        stepped(*vectors, layers, h.beta1, h.beta2, h.eta_l)

    return step


def parts_of(block: Block, *vectors: Tensor) -> list[Parts]:
    """Split each vector into its layers, a 2-D tensor for each layer."""
    return [[block.part(vector, j).flatten(1) for j in range(len(block.parts))] for vector in vectors]


def in_layers(h: fedlamb.FedLamb, c: Tensor, ys: Parts, ms: Parts, qs: Parts, inverses: Parts) -> None:
    """A step of every layer, whose direction is written to q: see :func:`solver`."""
    for y_l, m_l, q_l, inverse_l in zip(ys, ms, qs, inverses, strict=True):
        if h.lam:
            torch.addcmul(y_l, m_l, inverse_l / (c * h.lam), out=q_l)
        else:
            torch.mul(m_l, inverse_l, out=q_l)
    for y_l, q_l, scale in zip(ys, qs, quotients(ys, qs), strict=True):
        y_l.addcmul_(q_l, scale, value=-h.eta_l)


def quotients(xs: Sequence[Tensor], qs: Sequence[Tensor]) -> list[Tensor]:
    """[n, 1] of every part: the length of x over that of q, row by row; 0 where q is 0."""
    found = torch.stack([torch.linalg.vector_norm(part, dim=1, keepdim=True) for part in (*xs, *qs)])
    info = torch.finfo(found.dtype)
    low, high = info.smallest_normal**0.5 / info.eps, info.max**0.5 * info.eps
    least, most = found.aminmax()
    if bool(least > low) and bool(most < high):
        return [*(found[: len(xs)] / found[len(xs) :])]
    sure = (found > low).logical_and_(found < high).all(1).flatten()
    # The specification's own norm where squares vanish or overflow.
    parts = zip((*xs, *qs), found, sure.tolist(), strict=True)
    lengths: list[Any] = [length if is_sure else norm(part) for part, length, is_sure in parts]  # type: ignore[arg-type]
    return [torch.where(q > 0, x / q, 0) for x, q in zip(lengths[: len(xs)], lengths[len(xs) :], strict=True)]


def lamb_client(h: local_ams.FedAms, state: State) -> Client | None:
    """Clients of :func:`fedspec.algorithms.local_ams.run`; None under options that are not plain."""
    if not is_plain(h):
        return None

    def client(i: Any, x: Any, gradient: Any, T: Tau) -> tuple[Any, ...]:
        most = T if isinstance(T, int) else T[0]
        y, m_i, v_i = run_in_place(solver(h, state, begin(h, state, i), most), x, gradient, T)
        return y, m_i, v_i, v_i, ()

    return client


CLIENTS: dict[Callable[..., Any], Made] = {
    fedlamb.step: lamb_client,
    local_ams.step: lamb_client,
}
"""By the step of the program whose clients they are."""
