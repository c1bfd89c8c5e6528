"""Whole local runs of plain SGD in one GPU launch: one Triton program for each client keeps its weights in registers.

    y = y - rate(k) grad F_i(y; minibatch k),    k = 0 .. tau_i - 1

For a linear layer, or two with a ReLU between them, under cross-entropy, in float32. Step by step the models are read
and written tau_i times and every operation is launched by itself; here a model is read once and written once, a program
reads its minibatches where they lie, and unequal tau_i are loops of unequal length. Anything else is refused with its
reason, and taken in place (:mod:`fedspec_torch.ways.layered`) or by gradients as before.

Triton compiles the kernel for a GPU; with TRITON_INTERPRET=1 it runs it in NumPy, on tensors of a CPU, which is how
tests hold its numbers to the specification's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedspec_torch.arith import Ended, Stack
from fedspec_torch.data.batches import Walk
from fedspec_torch.gradients.interface import Job, Run
from fedspec_torch.gradients.methods import Network
from fedspec_torch.refusals import Reason
from fedspec_torch.ways.chains import Chain, cross_entropy, explicit
from fedspec_torch.ways.chains import refusal as not_written

WEIGHTS = 3 * 2**12
"""Largest number of padded weights of a program: 48 KiB in float32."""

TILE = 2**12
"""Largest number of padded entries of a minibatch, or of a layer's output on it."""


def is_at_hand(x: Tensor) -> bool:
    """True if Triton can run on the tensor: it is on a GPU, or Triton interprets kernels (TRITON_INTERPRET)."""
    interprets = os.environ.get("TRITON_INTERPRET", "").lower() in ("1", "true", "on", "yes", "y")
    return x.device.type == "cuda" or interprets


def refusal(network: Network, x: Stack, walk: Walk) -> str:
    """Return why the kernel can't run such a block; "" if it can."""
    if not_written(network):
        return "a module or loss that is not written out"
    chain, loss = explicit(network)
    if not is_at_hand(x):
        return f"tensors on {x.device.type}, {Reason.NO_GPU}"
    if find_spec("triton") is None:
        return "triton is not installed"
    if loss is not cross_entropy:
        return "a loss other than cross-entropy"
    kinds = [stage.activations for stage in chain.stages]
    if chain.before or kinds not in ([()], [("relu",), ()]):
        return "layers other than linear, or linear, ReLU, linear"
    if (x.dtype, walk.leaves[0].dtype) != (torch.float32, torch.float32):
        return f"{x.dtype} and inputs in {walk.leaves[0].dtype}, not float32"
    if walk.leaves[-1].ndim != 1 or walk.leaves[-1].is_floating_point():
        return "targets that are no class numbers, one for each example"
    if len(set(walk.sizes)) > 1:
        return "minibatches of several sizes"
    B, F, H, C = (padded(size) for size in sizes(chain, walk))
    weights, tile = (F * H + H * C if H else F * C), B * max(F, H, C)
    if weights > WEIGHTS or tile > TILE:
        return f"{weights} weights, minibatches of {tile} numbers when padded; a program holds {WEIGHTS} and {TILE}"
    return ""


def run(job: Job) -> Run | str | None:
    """Return the run of plain SGD, or why the kernel can't take it; None without a GPU, or for another solver."""
    if not job.solver.is_plain or (job.way != "fused" and not is_at_hand(job.x)):
        return None
    return refusal(job.network, job.x, job.batches.walk) or partial(launched, job)


def launched(job: Job, tau: Sequence[int]) -> Ended:
    """Return the models after tau_i steps of a job that the kernel takes, with the losses [n] at the first models."""
    from fedspec_torch.ways.fused_kernel import kernel

    (chain, _), x, walk, rate = explicit(job.network), job.x, job.batches.walk, job.solver.rate
    assert rate
    (n, d), out = x.shape, job.network.buffer(x)
    x = x if x.stride(1) == 1 else x.contiguous()
    table = np.stack([np.asarray(tau), walk.starts[:n], walk.counts[:n]], 1).astype(np.int64)
    rates = np.array([rate(k) for k in range(tau[0])], np.float32)
    where, losses = x.device, x.new_empty(n)
    order = walk.leaves[-1] if walk.order is None else walk.order
    real, names = sizes(chain, walk), ("B", "F", "H", "C")
    with torch.cuda.device(where) if where.type == "cuda" else nullcontext():
        kernel[n,](
            x,
            out,
            losses,
            walk.leaves[0].flatten(1),
            walk.leaves[-1],
            torch.from_numpy(table).to(where),
            order,
            torch.from_numpy(rates).to(where),
            x.stride(0),
            d,
            0 if walk.order is None else walk.order.shape[1],
            ORDERED=walk.order is None,
            **dict(zip(names, real, strict=True)),
            **{f"{name}_": padded(size) for name, size in zip(names, real, strict=True)},
            **places(chain),
            PRECISION="ieee",
            num_warps=warps(*real[1:]),
            num_stages=1,
        )
    return (out,), losses


def sizes(chain: Chain, walk: Walk) -> tuple[int, int, int, int]:
    """Return the numbers of examples in a minibatch, features, hidden units (0: no hidden layer) and classes."""
    first, last = chain.stages[0].linear, chain.stages[-1].linear
    return int(walk.sizes[0]), first.inputs, first.outputs if first is not last else 0, last.outputs


def padded(size: int) -> int:
    """Return the power of two, at least 16, to which an axis is padded; 0 for a missing axis."""
    return max(16, 1 << (size - 1).bit_length()) if size else 0


def places(chain: Chain) -> dict[str, int]:
    """Return the offsets of weights and biases in a model's vector; -1 for a missing one."""
    first, last = chain.stages[0].linear, chain.stages[-1].linear

    def at(part: slice | None) -> int:
        return -1 if part is None else int(part.start)

    hidden = (-1, -1) if first is last else (at(first.weight), at(first.bias))
    return dict(zip(("W_AT", "A_AT", "V_AT", "C_AT"), (*hidden, at(last.weight), at(last.bias)), strict=True))


def warps(features: int, hidden: int, classes: int) -> int:
    """Return the number of warps of a program: 8 for at least 2^13 padded weights, else 4 (not tuned on a GPU)."""
    F, H, C = map(padded, (features, hidden, classes))
    weights: Any = F * H + H * C if H else F * C
    return 8 if weights >= 64 * 128 else 4
