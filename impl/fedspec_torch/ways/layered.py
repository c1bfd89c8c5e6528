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
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import torch
from torch import Tensor

from fedspec_torch.arith import Ended, Stack, Weights
from fedspec_torch.data.examples import Minibatch
from fedspec_torch.gradients.interface import Job, Run
from fedspec_torch.gradients.methods import Network
from fedspec_torch.local.blocks import Block
from fedspec_torch.local.runs import taken
from fedspec_torch.ways.chains import Chain, Loss, explicit
from fedspec_torch.ways.graphs import replayed

Biases: TypeAlias = Sequence[Tensor | None]

Change: TypeAlias = Callable[[int, Tensor, Tensor, float], object]
"""Consumer of the gradient of layer j, which is factor * dz h^T: called with (j, dz [n, outputs, b], h^T, factor)."""


@dataclass(frozen=True, eq=False)
class Workspace:
    """Buffers for n clients with minibatches of b.

    Attributes:
        z: [n, outputs, b], the output of each layer.
        dh: [n, inputs, b], the derivative of the loss by each layer's input.
        sums: [n, outputs, 1], work space for sums over outputs.
        dz: [n, outputs, b] the derivative of the loss by the last layer's output.
        narrow: weights [n, inputs, outputs] and outputs [n, b, outputs] of the first layer, if this layer is narrow.
        vectors: work vectors of n d numbers, by name.
        parts: views of these buffers for the first few clients, by their number.
    """

    z: tuple[Tensor, ...]
    dh: tuple[Tensor, ...]
    sums: tuple[Tensor, ...]
    dz: Tensor
    narrow: tuple[Tensor, Tensor]
    vectors: dict[str, Tensor]
    parts: dict[int, Workspace] = field(default_factory=dict)

    @classmethod
    def of(cls, chain: Chain, x: Stack, b: int) -> Workspace:
        """Allocate the buffers for such a stack, without initial values."""
        n, layers = len(x), [stage.linear for stage in chain.stages]
        first = layers[0]
        narrow = first.outputs < b
        return cls(
            tuple(x.new_empty(n, l.outputs, b) for l in layers),
            (x.new_empty(0), *(x.new_empty(n, l.inputs, b) for l in layers[1:])),
            tuple(x.new_empty(n, l.outputs, 1) for l in layers),
            x.new_empty(n, layers[-1].outputs, b),
            (x.new_empty(n, first.inputs, first.outputs * narrow), x.new_empty(n, b * narrow, first.outputs)),
            {},
        )

    def first(self, n: int) -> Workspace:
        """Return views of the first n clients' buffers."""
        if n == len(self.dz):
            return self
        if n not in self.parts:
            self.parts[n] = Workspace(**{name: _first(part, n) for name, part in vars(self).items()})
        return self.parts[n]

    def block(self, chain: Chain, x: Stack) -> Block:
        """Return a block whose vectors are in this workspace; x may have fewer clients than the workspace."""

        def memory(name: str) -> Tensor:
            if name not in self.vectors or len(self.vectors[name]) < x.numel():
                self.vectors[name] = x.new_empty(x.numel())
            return self.vectors[name][: x.numel()]

        return Block(len(x), len(x), chain.parts, layerwise=True, memory=memory)


def _first(part: Any, n: int) -> Any:
    if isinstance(part, tuple):
        return tuple(_first(inner, n) for inner in part)
    return part if isinstance(part, dict) else part[:n]


def workspace(network: Network, x: Stack, b: int) -> Workspace:
    """Return this thread's workspace for such a block with minibatches of b."""
    found: Workspace = network.kept("work", lambda: Workspace.of(explicit(network)[0], x, b), x, b)
    return found.first(len(x))


def layered(network: Network, x: Stack, batch: Minibatch, *, told: bool = True) -> tuple[Stack, Weights]:
    """Gradients of chains of linear layers and activations, by explicit forward and backward passes in torch.

    If the caller doesn't ask for losses, they are empty.

    Raises:
        LayersError: there is no explicit derivative of the module or the loss.
    """
    chain, loss = explicit(network)
    g, work = network.buffer(x), workspace(network, x, batch.leaves[0].shape[1])
    block = work.block(chain, x)
    # With out= at a stride of d the product takes three times as long.
    written = block.memory("g")
    W, c = matrices(chain, replace(block, layerwise=False), x)
    losses = passed(chain, loss, W, c, batch, work, changes(*matrices(chain, block, written), work), told=told)
    for j, (at, _) in enumerate(block.parts):
        g[:, at] = block.part(written, j).flatten(1)
    return g, losses


def run(job: Job) -> Run | None:
    """Return the run of a solver whose parts, if it has any, are the layers'; None for minibatches of several sizes.

    The models are in memory that the next gradient, or the next run, is written to.
    """
    (chain, loss), sizes, solver = explicit(job.network), job.batches.sizes, job.solver
    parts = [at for at, _ in solver.parts]
    if (sizes != sizes[0]).any() or (parts and parts != [at for at, _ in chain.parts]):
        return None
    b = int(sizes[0])

    def in_place(tau: Sequence[int]) -> Ended:
        work, seen = workspace(job.network, job.x, b), list[Minibatch]()

        def steps(x: Stack, batch: Callable[[int, int], Minibatch]) -> Ended:
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
                change = changes(W, c, some, -solver.rate(k), adds=True) if solver.rate else changes(*dy, some)
                seen[:] = [batch(k, left)]
                found = passed(chain, loss, W, c, seen[0], some, change, told=k == 0)
                losses = found if k == 0 else losses
                if step:
                    step(k, block, y, g)
            kept = [whole.memory(name) for name in solver.kept]
            # At once: of several pieces the C library gives the memory back, and each round's would be fresh.
            room = x.new_empty(len(kept), *x.shape)
            models = whole.stack(y, whole.memory(solver.spare).view(x.shape))
            return (models, *map(whole.stack, kept, room)), losses

        # What cannot be read is no fault of the module.
        _ = job.batches.walk
        with job.naming(seen):
            ended = replayed(job, tau, b, steps, [work, *work.vectors.values()])
            return ended or steps(job.x, lambda k, n: job.batches.first(n).all_at(k, b))

    return in_place


def changes(W: Sequence[Tensor], c: Biases, work: Workspace, scale: float = 1, *, adds: bool = False) -> Change:
    """Return a consumer that writes a multiple of each gradient to these matrices, or adds it in one product."""

    def change(j: int, dz: Tensor, right: Tensor, factor: float) -> None:
        by, bias = scale * factor, c[j]
        torch.baddbmm(W[j], dz, right, beta=int(adds), alpha=by, out=W[j])
        if bias is not None:
            total = torch.sum(dz, 2, keepdim=True, out=work.sums[j])
            _ = bias.add_(total, alpha=by) if adds else torch.mul(total, by, out=bias)

    return change


def matrices(chain: Chain, block: Block, v: Tensor) -> tuple[list[Tensor], list[Tensor | None]]:
    """Return views of a vector: W [n, outputs, inputs] and c [n, outputs, 1] of every layer."""
    places = {at.start: j for j, (at, _) in enumerate(block.parts)}
    layers = [stage.linear for stage in chain.stages]
    W = [block.part(v, places[layer.weight.start]) for layer in layers]
    biases = [layer.bias and block.part(v, places[layer.bias.start]).unsqueeze(2) for layer in layers]
    return W, biases


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
