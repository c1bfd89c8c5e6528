"""Triton kernel of :mod:`fedspec_torch.ways.fused`: one program runs one client's local steps.

The module is imported if Triton is available, and compiled once for each shape of model and minibatch. Every axis is
padded to a power of two, at least 16, as Triton's products require; padded entries are masked and stay zero.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


def steps(
    x: tl.tensor,
    y: tl.tensor,
    losses: tl.tensor,
    inputs: tl.tensor,
    targets: tl.tensor,
    walk: tl.tensor,
    order: tl.tensor,
    rates: tl.tensor,
    apart: tl.tensor,
    d: tl.tensor,
    most: tl.tensor,
    ORDERED: tl.constexpr,
    B: tl.constexpr,
    F: tl.constexpr,
    H: tl.constexpr,
    C: tl.constexpr,
    B_: tl.constexpr,
    F_: tl.constexpr,
    H_: tl.constexpr,
    C_: tl.constexpr,
    W_AT: tl.constexpr,
    A_AT: tl.constexpr,
    V_AT: tl.constexpr,
    C_AT: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """Run tau_i SGD steps of one client (the Triton program's number), with its weights in registers throughout.

        h = relu(X W + a), z = h V + c; without a hidden layer z = X V + c
        g = (softmax(z) - one at the target) / b
        dV = h^T g, dc = 1^T g, dh = g V^T where h > 0, dW = X^T dh, da = 1^T dh

    Args:
        x: [n, d] the initial models, with ``apart`` numbers from one row to the next.
        y: [n, d] the tensor to which the final models are written.
        losses: [n] the tensor to which the clients' mean losses at step 0 are written.
        inputs: [T, F] the examples of all clients.
        targets: [T] the classes of all examples.
        walk: [n, 3] for each client tau_i, the row of its first example, and its number of examples.
        order: [n, most] the order in which each client takes its examples; read only if ORDERED is false.
        rates: [largest tau_i] the learning rate of each step.
        apart: the stride of the rows of x, in numbers.
        d: number of coordinates of a model.
        most: the width of ``order``.
        ORDERED: True if the examples are taken in their order in memory.
        B: number of examples in a minibatch.
        F: number of features.
        H: number of units of the hidden layer; 0: no hidden layer.
        C: number of classes.
        B_: B padded to a power of two, at least 16.
        F_: F padded likewise.
        H_: H padded likewise.
        C_: C padded likewise.
        W_AT: index of the first entry of W [H, F] in a model.
        A_AT: index of the first entry of the bias a of W in a model; -1: no bias.
        V_AT: index of the first entry of V [C, H], or [C, F] without a hidden layer, in a model.
        C_AT: index of the first entry of the bias c of V in a model; -1: no bias.
        PRECISION: precision of matrix products: "ieee" is full float32.
    """
    i = tl.program_id(0).to(tl.int64)
    taken = tl.load(walk + 3 * i)
    first = tl.load(walk + 3 * i + 1)
    count = tl.load(walk + 3 * i + 2)
    e = tl.arange(0, B_)
    f = tl.arange(0, F_)
    c = tl.arange(0, C_)
    own = e < B
    x += i * apart
    y += i * d
    # Weights stand [outputs, inputs] in the vector and are held [inputs, outputs].
    if H > 0:
        h = tl.arange(0, H_)
        at_W = W_AT + h[None, :] * F + f[:, None]
        in_W = (f[:, None] < F) & (h[None, :] < H)
        at_V = V_AT + c[None, :] * H + h[:, None]
        in_V = (h[:, None] < H) & (c[None, :] < C)
        W = tl.load(x + at_W, mask=in_W, other=0.0)
        a = tl.zeros([H_], tl.float32)
        if A_AT >= 0:
            a = tl.load(x + A_AT + h, mask=h < H, other=0.0)
    else:
        at_V = V_AT + c[None, :] * F + f[:, None]
        in_V = (f[:, None] < F) & (c[None, :] < C)
    V = tl.load(x + at_V, mask=in_V, other=0.0)
    bias = tl.zeros([C_], tl.float32)
    if C_AT >= 0:
        bias = tl.load(x + C_AT + c, mask=c < C, other=0.0)
    for k in range(taken):
        place = (k * B + e) % count
        if not ORDERED:
            place = tl.load(order + i * most + place, mask=own, other=0)
        row = first + place
        X = tl.load(inputs + row[:, None] * F + f[None, :], mask=own[:, None] & (f[None, :] < F), other=0.0)
        target = tl.load(targets + row, mask=own, other=0)
        below = X
        if H > 0:
            below = tl.dot(X, W, input_precision=PRECISION) + a[None, :]
            # What is no number stays none.
            below = tl.where(below <= 0, 0.0, below)
        z = tl.dot(below, V, input_precision=PRECISION) + bias[None, :]
        z = tl.where(c[None, :] < C, z, float("-inf"))
        top = tl.max(z, 1)
        p = tl.exp(z - top[:, None])
        total = tl.sum(p, 1)
        hit = target[:, None] == c[None, :]
        at_target = tl.sum(tl.where(hit, z, 0.0), 1)
        # A class that the model does not have makes model and loss no numbers.
        known = (target >= 0) & (target < C)
        each = tl.where(known, top + tl.log(total) - at_target, float("nan"))
        tl.store(losses + i, tl.sum(tl.where(own, each, 0.0), 0) / B, mask=k == 0)
        g = (p / total[:, None] - tl.where(hit, 1.0, 0.0)) / B
        g = tl.where(own[:, None], tl.where(known[:, None], g, float("nan")), 0.0)
        rate = tl.load(rates + k)
        if H > 0:
            dh = tl.dot(g, tl.trans(V), input_precision=PRECISION)
            dh = tl.where(below <= 0, 0.0, dh)
            W -= rate * tl.dot(tl.trans(X), dh, input_precision=PRECISION)
            if A_AT >= 0:
                a -= rate * tl.sum(dh, 0)
        V -= rate * tl.dot(tl.trans(below), g, input_precision=PRECISION)
        if C_AT >= 0:
            bias -= rate * tl.sum(g, 0)
    if H > 0:
        tl.store(y + at_W, W, mask=in_W)
        if A_AT >= 0:
            tl.store(y + A_AT + h, a, mask=h < H)
    tl.store(y + at_V, V, mask=in_V)
    if C_AT >= 0:
        tl.store(y + C_AT + c, bias, mask=c < C)


kernel: Any = triton.jit(steps)
"""Compiled kernel; its launch grid is the clients."""
