"""Gradient check: compare a method's losses and gradients with plain autograd's on the caller's own module.

A way that is written out, or that hands its own tensors to the module, may see something else than the module with its
parameters set does: a replaced ``forward``, parameters in a closure, a penalty on ``model.parameters()`` in the loss, a
row that torch's vmap keeps for the first client only. So before a way is taken, and again while a run goes on, two
clients' losses and gradients are compared, at models a little beside theirs, where nobody has computed anything before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from fedspec_torch.arith import Stack, Weights
from fedspec_torch.data.examples import Minibatch
from fedspec_torch.gradients.methods import ALONE, CHANNELS_LAST, METHODS, Method, Network, looped, unwritten
from fedspec_torch.gradients.module_state import hooked
from fedspec_torch.gradients.vmap_guard import asks
from fedspec_torch.refusals import LayersError, ModuleError, Reason

BESIDE = 1e-2
"""Distance of the checked models from the clients' models, relative to each parameter and to the root mean square."""

ROUNDINGS = 64
"""Allowed difference of two methods in rounding units; larger if plain autograd itself is less exact."""

TRIES = 3
"""Number of models at which a method must differ before it is rejected: a number at a kink may fall to either side."""


@dataclass(frozen=True, eq=False)
class Look:
    """Two clients' minibatches and nearby models, on which methods are compared with plain autograd.

    Of a model that fills the device it is one client's: clients are trained one after another there.

    Attributes:
        network: the module and the loss.
        about: [2, d] the clients' models, or [1, d] if these are equal; the comparison runs at models near them.
        batch: a copy of the minibatches.
        seed: seed from which the nearby models are drawn.
    """

    network: Network
    about: Stack
    batch: Minibatch
    seed: int

    @classmethod
    def at(cls, network: Network, x: Stack, batch: Minibatch, seed: int = 0) -> Look:
        """Take the first and the last client of a block."""
        if network.is_large:
            return cls(network, x[:1], batch.copied([0]), seed)
        ends = [0, len(x) - 1]
        return cls(network, x[ends], batch.copied(ends), seed)

    def of_first(self) -> Look:
        """Return this check for the first client only."""
        return replace(self, about=self.about[:1], batch=self.batch.alone(0))

    def plain(self, tried: int = 0) -> tuple[Stack, Stack, Weights]:
        """Return nearby models, and plain autograd's gradients and losses there; each further try is nearer."""
        x = self._model(tried)
        return x, *looped(self.network, x, self._copied(x))

    def _copied(self, x: Stack) -> Minibatch:
        """Return the minibatches of these models; a call overwrites the copy's running statistics."""
        return self.batch.copied(range(len(x)))

    def _model(self, tried: int = 0) -> Stack:
        # Clients who have taken their steps have left memory for a large model.
        out = self.network.buffer(self.about, "y") if self.network.is_large else None
        return nearby_models(self.about, self.seed + tried, BESIDE ** (1 + tried), out)

    def seen(self, plain: tuple[Stack, Stack, Weights] | None = None) -> tuple[Stack, Weights]:
        """Return values that a later check compares: entries and norm of the first client's gradient, and its loss.

        For a large model, the loss alone: it takes a forward pass and no gradient.
        """
        if not self.network.is_large:
            _, g, losses = plain or self.plain()
            every = g[:1, :: max(1, g.shape[1] // SOME)]
            return torch.cat([every, g[:1].norm(dim=1, keepdim=True)], dim=1), losses[:1]
        if plain:
            return plain[2].new_empty(1, 0), plain[2]
        x = self._model()
        lying, client = self.network.lying_in(x[0]), self.network.of_client(self.batch, 0)
        with lying as parameters, client, torch.enable_grad(), unwritten(parameters):
            loss = self.network.value_of(self.network.module, tuple(part[0] for part in self.batch.leaves))
        return x.new_empty(1, 0), loss.detach()[None]

    def differs(self, name: str, method: Method, plain: tuple[Stack, Stack, Weights] | None = None) -> str:
        """Describe how a method's gradients differ from plain autograd's; "" if they agree up to rounding.

        Raises:
            Exception: the method fails on this module or minibatch.
        """
        said = ""
        for tried in range(TRIES):
            x, *want = plain if plain and not tried else self.plain(tried)
            if not bool(want[1].isfinite().all()):
                continue
            batch = self._copied(x)
            gap = largest_error(found := method(self.network, x, batch), want)
            # Only what is not equal asks how exact plain autograd is.
            if gap <= self.rounding or gap <= self._inexact(x, want) or self._saturated(name, x, found, want):
                return "" if name in ALONE else self._other_statistics(x, batch)
            said = said or f"{gap:.2g} apart, most in {self._most(found[0], want[0])}"
        return said

    def check(self, name: str, method: Method, plain: tuple[Stack, Stack, Weights] | None = None) -> None:
        """Raise an error if a method's gradients differ from plain autograd's.

        Raises:
            LayersError: the method doesn't support the module or the loss.
            ModuleError: the method's gradients differ from plain autograd's on the module.
        """
        if refused := refusal(self.network, name):
            raise LayersError(refused)
        if differs := self.differs(name, method, plain):
            raise ModuleError(
                f"{name}: it {Reason.DIFFERS} than plain autograd on the module with its parameters set ({differs}): "
                "there, the module or the loss reads its parameters, or a minibatch, differently, as in a closure, a "
                "list, model.parameters() or a custom derivative; name way='looped', which is plain autograd"
            )

    def _other_statistics(self, x: Stack, batch: Minibatch) -> str:
        """Say if running statistics after a call aren't those after plain autograd's."""
        if batch.statistics is None:
            return ""
        looped(self.network, x, plain := self._copied(x))
        assert plain.statistics is not None
        near = torch.allclose(batch.statistics, plain.statistics, rtol=self.rounding, atol=self.rounding)
        return "" if near else "its running statistics are others"

    @property
    def rounding(self) -> float:
        """Largest relative difference of two methods that counts as rounding."""
        return self._unit * (ROUNDINGS if self._unit < 2**-20 else ROUNDINGS / 8)

    @cached_property
    def _unit(self) -> float:
        """Rounding unit of a product."""
        if self.network.precision:
            return float(2**-8)
        if self.about.dtype == torch.float32 and self.about.device.type == "cuda":
            convolved = any(isinstance(p, nn.modules.conv._ConvNd | nn.RNNBase) for p in self.network.module.modules())
            if torch.backends.cuda.matmul.allow_tf32 or (convolved and torch.backends.cudnn.allow_tf32):
                return float(2**-10)
        return torch.finfo(self.about.dtype).eps

    def _inexact(self, x: Stack, want: Sequence[Tensor]) -> float:
        """Tolerance if plain autograd changes by more when the model changes by a unit in the last place."""
        moved = looped(self.network, nearby_models(x, self.seed, self._unit), self._copied(x))
        return float(min(self.rounding + 16 * largest_error(moved, want), max(self.rounding, self._unit**0.5)))

    def _saturated(self, name: str, x: Stack, found: Sequence[Tensor], want: Sequence[Tensor]) -> bool:
        """True if a way that is written out is as near as cross-entropy is exact.

        Where a class is all but certain, p - 1 is the difference of two numbers near 1, and rounded as these are. So
        gradients are apart by roundings of those that outputs would have which are sent back whole.
        """
        loss = self.network.loss
        if name in METHODS or not (loss is nn.functional.cross_entropy or isinstance(loss, nn.CrossEntropyLoss)):
            return False

        def whole(output: Tensor, targets: Tensor) -> Tensor:
            signs = torch.ones(output.shape[1], dtype=output.dtype, device=output.device)
            signs[1::2] = -1
            return (output * signs).sum() / len(output)

        longest, _ = looped(Network(self.network.module, whole, self.network.precision), x, self.batch)
        gaps = (found[0] - want[0]).norm(dim=1) - self.rounding * want[0].norm(dim=1)
        allowed = self.rounding / 8 * longest.norm(dim=1)
        return bool((gaps <= allowed).all()) and largest_error((want[0], found[1]), want) <= self.rounding

    def _most(self, g: Stack, want: Stack) -> str:
        parts = self.network.named(g - want)
        return max(parts, key=lambda name: float(parts[name].norm()))


def nearby_models(x: Stack, seed: int, share: float = BESIDE, out: Stack | None = None) -> Stack:
    """Return models near one or two rows of a stack, displaced in opposite directions drawn from the seed."""
    generator = torch.Generator(x.device).manual_seed(seed)
    aside = torch.rand(x.shape[1], generator=generator, dtype=x.dtype, device=x.device).mul_(2 * share).sub_(share)
    size = x.norm(dim=1, keepdim=True) / x.shape[1] ** 0.5
    out = torch.abs(x, out=out).add_(torch.where(size > 0, size, 1))
    for row in out:
        row.mul_(aside)
        aside.neg_()
    return out.add_(x)


SOME = 2**16
"""Entries of a gradient that are stored for a later comparison."""

PIECE = 2**16
"""Entries of a gradient that are compared at a time, in float64."""


def largest_error(one: Sequence[Tensor], other: Sequence[Tensor]) -> float:
    """Return the largest relative error of the clients' gradients, in Euclidean norm, or of their losses.

    An entry that is NaN in both results doesn't count; an entry that is NaN in only one result counts as an infinite
    difference.
    """
    (g, losses), (want, told) = ([part.detach() for part in pair] for pair in (one, other))
    losses, told = losses.double(), told.double()
    off, length = torch.zeros_like(losses), torch.zeros_like(losses)
    far = losses.isfinite() != told.isfinite()
    for here, there in zip(torch.split(g, PIECE, 1), torch.split(want, PIECE, 1), strict=True):
        far |= (here.isfinite() != there.isfinite()).any(dim=1)
        a, b = (part.double().nan_to_num(0, 0, 0) for part in (here, there))
        off += (a - b).square().sum(1)
        length += b.square().sum(1)
    if bool(far.any()):
        return float("inf")
    gradients = off.sqrt() / (length.sqrt() + 1e-3 * told.abs())
    # A small loss is the difference of outputs, and rounded as these are.
    values = (losses - told).abs() / (told.abs() + 1)
    return float(torch.maximum(gradients.nan_to_num(0), values).max())


def refusal(network: Network, name: str) -> str:
    """Return why a method isn't compared with autograd: the comparison couldn't show its fault; "" if it is."""
    if name == CHANNELS_LAST and name not in network.ways:
        return network.by_itself or f"it {Reason.NO_IMAGES}, as convolutions of images have"
    if name not in (*ALONE, "stacked") and network.by_itself:
        return network.by_itself
    if name not in ("stacked", "vmapped"):
        return ""
    parts = dict(network.module.named_modules())
    if isinstance(network.loss, nn.Module):
        parts |= {"the loss": network.loss}
    for where, part in parts.items():
        if hooked(part):
            return f"{where or 'the module'} ({type(part).__name__}) {Reason.HOOKED}"
        if name == "stacked" and isinstance(part, nn.Embedding | nn.EmbeddingBag) and part.padding_idx is not None:
            # torch's backward pass of stacked embeddings leaves out the padding row of the first client only.
            return f"{where or 'the module'} ({type(part).__name__}) has a padding row, which {Reason.UNBEARABLE}"
    return asks(network.module, network.loss, network.asked, name)
