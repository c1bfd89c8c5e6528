"""SM3's local solver in place, its cover the axes of each parameter; a test compares it with its rule's text.

Bytes that a step must move for a number of four bytes, the gradient's own included: 12, y both ways and g in, since v
is made of the accumulators. It is held of a few clients' part at a time: written, read and written where g^2 is added,
read for the greatest along each axis, most of that in the caches. With v held of all at once a round took 0.98 times as
long for the MLP (d = 9610) and 1.03 times for the 2NN (d = 199 210), on one core of an EPYC beside other work. With a
dead zone, or where steps leave v alone, v and the direction are vectors like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from math import prod
from typing import Any

import torch
from torch import Tensor

from fedspec.client.delay import due
from fedspec.covers import Slices
from fedspec.readings import Idle
from fedspec_torch.compiling import is_compiled
from fedspec_torch.fast_paths.adaptive import accumulated, along_quotient
from fedspec_torch.local.blocks import Block, Part, parts_of
from fedspec_torch.local.solvers import InPlace, Rate, Step

FEW = 2**19
"""Entries of a parameter, over clients, for which v is computed at a time."""


def sm3(
    cover: Slices,
    rate: Rate,
    *,
    eps: float,
    v0: float = 0.0,
    z: int = 1,
    epoch: int = 1,
    eps_s: float = 0,
    idle: Idle = Idle.CARRIED,
) -> InPlace:
    """:func:`fedspec.client.sm3_delayed.sm3_ii_delayed` in place, with a cover made of the axes of each parameter."""
    parts = parts_of(cover.shapes)
    if z == 1 and eps_s == 0:
        return InPlace(partial(at_every_step, parts, rate, eps, v0), parts=parts)

    def begin(block: Block, y: Tensor) -> Step:
        nu = block.zeros("nu")
        mu = [[y.new_full((block.n, *along), v0) for along in sides(shape)] for _, shape in parts]
        u = block.memory("u")

        def least(block: Block) -> None:
            for j, slices in enumerate(mu):
                first, *others = (m[: block.left] for m in slices)
                nu_j = block.part(nu, j)
                if not others:
                    nu_j.copy_(first)
                for number, m in enumerate(others):
                    torch.minimum(nu_j if number else first.expand_as(nu_j), m, out=nu_j)

        def greatest(block: Block) -> None:
            for j, slices in enumerate(mu):
                nu_j, axes = block.part(nu, j), range(1, 1 + len(slices))
                for a, m in zip(axes, slices, strict=True):
                    if len(slices) == 1:
                        m[: block.left] = nu_j
                    else:
                        torch.amax(nu_j, [b for b in axes if b != a], keepdim=True, out=m[: block.left])

        def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            now = due(k + 1, z, epoch)
            if now or idle is Idle.RECOMPUTED:
                least(block)
            along_quotient(block, y, g, nu, u, adds=now, rate=rate(k), eps=eps, eps_s=eps_s)
            if now:
                greatest(block)
            elif idle is Idle.RESET:
                for m in (m for slices in mu for m in slices):
                    m.zero_()

        return step

    return InPlace(begin, parts=parts)


def at_every_step(parts: Sequence[Part], rate: Rate, eps: float, v0: float, block: Block, y: Tensor) -> Step:
    """Return SM3's step without delay or dead zone; v is computed for a few clients at a time, in the cache."""
    mu = [[y.new_full((block.n, *along), v0) for along in sides(shape)] for _, shape in parts]
    if not block.layerwise and is_compiled(y) and all(len(shape) in (1, 2) for _, shape in parts):
        return in_one_pass(parts, rate, eps, mu)
    few = [min(block.n, max(1, FEW // prod(shape))) for _, shape in parts]
    room = y.new_empty(max(size * prod(shape) for size, (_, shape) in zip(few, parts, strict=True)))

    def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
        for j, (slices, size) in enumerate(zip(mu, few, strict=True)):
            vectors = (block.part(y, j), block.part(g, j), *(m[: block.left] for m in slices))
            pieces = [torch.split(vector, size) for vector in vectors]
            for y_, g_, first, *others in zip(*pieces, strict=True):
                v = room[: y_.numel()].view(y_.shape) if others else first
                for number, m in enumerate(others):
                    torch.minimum(v if number else first.expand_as(v), m, out=v)
                accumulated(y_, g_, v, rate(k), eps)
                axes = range(1, 1 + len(slices)) if others else ()
                for a, m in zip(axes, (first, *others), strict=False):
                    torch.amax(v, [b for b in axes if b != a], keepdim=True, out=m)

    return step


def in_one_pass(parts: Sequence[Part], rate: Rate, eps: float, mu: Sequence[Sequence[Tensor]]) -> Step:
    """Return SM3's step on vectors and matrices in compiled loops."""
    stepped: Any = import_module("fedspec_torch.fast_paths.compiled").sm3
    room = mu[0][0].new_empty(2 * max(max(shape) for _, shape in parts)).numpy()

    def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
        for (at, _), slices in zip(parts, mu, strict=True):
            rows, columns, *_ = (*(m[: block.left].flatten(1).numpy() for m in slices), room[None, :0])
            stepped(y[: block.left].numpy(), g.numpy(), at.start, rows, columns, rate(k), eps, room)

    return step


def sides(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return for each axis the shape that remains when the other axes are reduced to size 1."""
    return [tuple(size if b == a else 1 for b, size in enumerate(shape)) for a in range(len(shape))]
