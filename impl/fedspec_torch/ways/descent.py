"""Explicit forward and backward passes of chains of layers for n clients at once, in buffers that every step reuses.

    z = W h + c,  h' = a(z)                                    forward
    dW = dz h^T,  dc = dz 1,  dh = W^T dz,  dz = dh * a'(z)    backward

SGD needs no gradient by itself: W - eta_l dz h^T is one product that adds to W. Other solvers have the gradients of all
layers written out before they step. For both the layers lie one after another, each [n, outputs, inputs], since a
product is written at full speed only where its matrices are neighbours (:mod:`fedspec_torch.local.blocks`); a stack
[n, d] is made of them when the steps are done.

A product whose right factor is transposed takes two to six times as long where few outputs meet it: 0.37 ms for 0.06 ms
at 100 clients, 64 features, 10 classes, b = 32 on one core of a Xeon. So on a CPU a narrow first layer turns round its
weights and what it gives, which are smaller. Where many outputs meet it, it takes no longer (0.68 and 0.70 ms with 128,
with torch 2.13.0 on an EPYC beside other work).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from fedspec_torch.arith import Stack, Weights
from fedspec_torch.data.examples import Minibatch
from fedspec_torch.local.blocks import Block
from fedspec_torch.local.runs import taken
from fedspec_torch.local.solvers import InPlace
from fedspec_torch.ways.chains import Chain, Linear, Loss
from fedspec_torch.ways.workspace import Workspace

Biases: TypeAlias = Sequence[Tensor | None]

Change: TypeAlias = Callable[[int, Tensor, Tensor, float], object]
"""Consumer of the gradient of layer j, which is factor * dz h^T: called with (j, dz [n, outputs, b], h^T, factor)."""


def gradients(
    chain: Chain, loss: Loss, x: Stack, batch: Minibatch, work: Workspace, g: Stack, *, told: bool
) -> Weights:
    """Write the gradients [n, d] of a block at the models x to g; return the losses [n], empty if ``told`` is false."""
    layers, block = [stage.linear for stage in chain.stages], work.block(chain, x)
    # With out= at a stride of d the product takes three times as long.
    written = block.memory("g")
    W = [weights(x, layer) for layer in layers]
    c = [None if layer.bias is None else x[:, layer.bias].unsqueeze(2) for layer in layers]
    losses = passed(chain, loss, W, c, batch, work, writes(*matrices(chain, block, written), work), told=told)
    for j, (at, _) in enumerate(block.parts):
        g[:, at] = block.part(written, j).flatten(1)
    return losses


def writes(W: Sequence[Tensor], c: Biases, work: Workspace) -> Change:
    """Return a consumer that writes each layer's gradient to these matrices."""

    def write(j: int, dz: Tensor, right: Tensor, factor: float) -> None:
        torch.baddbmm(W[j], dz, right, beta=0, alpha=factor, out=W[j])
        bias = c[j]
        if bias is not None:
            torch.mul(torch.sum(dz, 2, keepdim=True, out=work.sums[j]), factor, out=bias)

    return write


def adds(W: Sequence[Tensor], c: Biases, work: Workspace, rate: float) -> Change:
    """Return a consumer that subtracts rate times each layer's gradient from these matrices in one product."""

    def add(j: int, dz: Tensor, right: Tensor, factor: float) -> None:
        W[j].baddbmm_(dz, right, alpha=-rate * factor)
        bias = c[j]
        if bias is not None:
            bias.add_(torch.sum(dz, 2, keepdim=True, out=work.sums[j]), alpha=-rate * factor)

    return add


def matrices(chain: Chain, block: Block, v: Tensor) -> tuple[list[Tensor], list[Tensor | None]]:
    """Return views of a vector: W [n, outputs, inputs] and c [n, outputs, 1] of every layer."""
    places = {at.start: j for j, (at, _) in enumerate(block.parts)}
    layers = [stage.linear for stage in chain.stages]
    W = [block.part(v, places[layer.weight.start]) for layer in layers]
    biases = [layer.bias and block.part(v, places[layer.bias.start]).unsqueeze(2) for layer in layers]
    return W, biases


def run_in_place(
    chain: Chain,
    loss: Loss,
    solver: InPlace,
    x: Stack,
    batch: Callable[[int, int], Minibatch],
    work: Workspace,
    tau: Sequence[int],
) -> tuple[tuple[Stack, ...], Weights]:
    """Return the models after tau_i steps from x with the solver's ``kept`` vectors, and the losses [n] at x.

    The models are in memory that the next gradient, or the next run, is written to.

    Args:
        chain: the layers of the module.
        loss: the loss of a minibatch.
        solver: the local solver.
        x: the models from which the clients begin; they aren't overwritten.
        batch: function that returns the minibatches of a step for the first few clients.
        work: work space for that many clients.
        tau: each client's number of local steps, in descending order.
    """
    whole = work.block(chain, x)
    y = whole.memory("y")
    whole.put(y, x)
    step = solver.begin and solver.begin(whole, y)
    g = y if solver.rate else whole.memory("g")
    losses, now = x.new_empty(0), 0
    for k, left in taken(tau):
        if left != now:
            now, block, some = left, whole.first(left), work.first(left)
            W, c = matrices(chain, block, y)
            dy = (W, c) if g is y else matrices(chain, block, g)
        change = adds(W, c, some, solver.rate(k)) if solver.rate else writes(*dy, some)
        found = passed(chain, loss, W, c, batch(k, left), some, change, told=k == 0)
        losses = found if k == 0 else losses
        if step:
            step(k, block, y, g)
    kept = [whole.memory(name) for name in solver.kept]
    # At once: of several pieces the C library gives the memory back, and each round's would be fresh.
    room = x.new_empty(len(kept), *x.shape)
    models = whole.stack(y, whole.memory(solver.spare).view(x.shape))
    return (models, *map(whole.stack, kept, room)), losses


def weights(x: Stack, layer: Linear) -> Tensor:
    """Return a layer's weights in a stack [n, d] as matrices, a view."""
    W: Tensor = x[:, layer.weight].view(len(x), layer.outputs, layer.inputs)
    return W


def passed(
    chain: Chain,
    loss: Loss,
    W: Sequence[Tensor],
    c: Biases,
    batch: Minibatch,
    work: Workspace,
    change: Change,
    *,
    told: bool,
) -> Weights:
    """Run forward and backward, and give each layer's gradient to ``change``, last layer first; return the losses.

    When ``change`` is called for a layer, the pass no longer needs the layer's weights.
    """
    inputs = batch.leaves[0].flatten(2)
    if chain.before:
        for name in chain.before:
            inputs = _FRESH[name](inputs)
    kept, below = [], [inputs]
    h: Tensor
    for j, stage in enumerate(chain.stages):
        h = _affine(c[j], W[j], h, work.z[j]) if j else _first_layer(c[0], W[0], inputs, work)
        outputs = []
        for number, name in enumerate(stage.activations):
            # Nobody reads z once it has passed the first activation.
            h = (_FRESH if number else _IN_PLACE)[name](h)
            outputs.append(h)
        kept.append(outputs)
        below.append(h.mT)
    losses, factor = loss(h, batch.leaves[-1], work.dz, told)
    dz = work.dz
    for j in reversed(range(len(chain.stages))):
        for name, h in zip(chain.stages[j].activations[::-1], kept[j][::-1], strict=True):
            _BACKWARD[name](dz, h)
        dh = torch.bmm(W[j].mT, dz, out=work.dh[j]) if j else dz
        change(j, dz, below[j], factor)
        dz = dh
    return losses


def _first_layer(c: Tensor | None, W: Tensor, inputs: Tensor, work: Workspace) -> Tensor:
    z, (narrow, turned) = work.z[0], work.narrow
    if W.device.type == "cpu" and narrow.numel():
        torch.bmm(inputs, narrow.copy_(W.mT), out=turned)
        z.copy_(turned.mT)
        return z if c is None else z.add_(c)
    return _affine(c, W, inputs.mT, z)


def _affine(c: Tensor | None, W: Tensor, h: Tensor, z: Tensor) -> Tensor:
    return torch.bmm(W, h, out=z) if c is None else torch.baddbmm(c, W, h, out=z)


_IN_PLACE = {"relu": torch.relu_, "tanh": torch.tanh_}
_FRESH = {"relu": torch.relu, "tanh": torch.tanh}
_BACKWARD: dict[str, Callable[[Tensor, Tensor], object]] = {
    "relu": lambda dz, h: torch.ops.aten.threshold_backward.grad_input(dz, h, 0, grad_input=dz),
    "tanh": lambda dz, h: torch.ops.aten.tanh_backward.grad_input(dz, h, grad_input=dz),
}
