"""Clients of Fed-LAMB and Fed-AMS that overwrite their moments and models at every step.

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
from fedspec_torch.compiling import is_compiled
from fedspec_torch.local.blocks import Block
from fedspec_torch.local.runs import Made, Tau, run_in_place
from fedspec_torch.local.solvers import InPlace, Step


def is_plain(h: local_ams.FedAms) -> bool:
    """True if the options are the canonical reading's, apart from memory of one index, bias correction and count."""
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
"""[n, size] vectors of every layer of a model."""

LEAST = 2.0**-20
"""Smallest lam > 0 for which the fast step divides by lam."""

LEAST_DECAY = 2.0**-10
"""Smallest beta2^p by which v decays at once."""


def decay_interval(beta2: float) -> int:
    """Return the number p >= 1 of steps for which v decays at once: the largest with beta2^p >= LEAST_DECAY."""
    return max(1, int(math.log(LEAST_DECAY) / math.log(beta2))) if beta2 > 0 else 1


def correction(h: local_ams.FedAms, own: Any, like: Tensor) -> Callable[[int], Tensor]:
    """Return c(k) = 1 - beta1^t as a column: one row if all clients' t are equal, else a row for each.

    Either way a client is divided by the same number in the same order of operations, so its result is the same as if
    it ran alone.
    """
    if h.bias_correction is not LocalCorrection.MOMENTS:
        return lambda k: torch.ones((1, 1), dtype=like.dtype, device=like.device)
    t: Any = torch.tensor([own.t], device=like.device) if isinstance(own.t, int) else own.t
    seen, column = t[:1] if len(set(t.tolist())) == 1 else t, cast("Any", complement)
    return lambda k: torch.as_tensor(column(h.beta1, seen + (k + 1), like))


def solver(h: local_ams.FedAms, state: State, own: Any, most: int) -> InPlace:
    """Return the in-place solver of at most ``most`` local steps from the moments ``own``; it returns m and v.

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
    """Return a LAMB step in compiled loops, which decays v at every step in the pass that adds g^2."""
    stepped: Any = import_module("fedspec_torch.fast_paths.compiled").lamb
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
    """Take one LAMB step in every layer, and write the layer's direction to q: see :func:`solver`."""
    for y_l, m_l, q_l, inverse_l in zip(ys, ms, qs, inverses, strict=True):
        if h.lam:
            torch.addcmul(y_l, m_l, inverse_l / (c * h.lam), out=q_l)
        else:
            torch.mul(m_l, inverse_l, out=q_l)
    for y_l, q_l, scale in zip(ys, qs, quotients(ys, qs), strict=True):
        y_l.addcmul_(q_l, scale, value=-h.eta_l)


def quotients(xs: Sequence[Tensor], qs: Sequence[Tensor]) -> list[Tensor]:
    """Return for every layer [n, 1] |x| / |q| of each row, 0 where q is 0."""
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
    """Return the solver in place that replaces the client of ``local_ams.run``; None if ``is_plain`` refuses it."""
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
"""Function that makes the fast client, by the step of its program."""
