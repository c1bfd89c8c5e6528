"""Gradient transforms between a client's backward pass and its step: the words of ``Claim.gradients``, in code order.

    decay l              g + l x                                 ``SGD(weight_decay=l)``: it joins the momentum
    clip-norm c          g min(1, c / ||g||)                     ||g|| over all blocks together
    clip-norm-eps c      g min(1, c / (||g|| + 1e-6))            ``torch.nn.utils.clip_grad_norm_(parameters, c)``
    clip-block-norm c    g_b min(1, c / ||g_b||) in block b      clip-norm for each parameter
    clip-block-norm-eps  the same, with 1e-6 as above            ``clip_grad_norm_([p], c)`` for each parameter
    scale-norm c         g c / ||g||                             a gradient of norm c, whatever its length; 0 stays 0
    scale-norm-eps c     g c / (||g|| + 1e-6)                    clip-norm-eps without the minimum
    clip-value c         min(max(g, -c), c)                      ``torch.nn.utils.clip_grad_value_(parameters, c)``
    accumulate-tokens k  sum_j n_j g_j / sum_j n_j               k micro-batches of n_j tokens, g_j of the mean loss
    accumulate-batches k sum_j g_j / k                           the same, each ``loss / k``

The order counts: PyTorch's optimisers add the decay after a clip that comes before ``optimizer.step()``::

    Claim("momentum", "client", gradients=("clip-norm-eps 1", "decay 0.01"))

Accumulation comes first: the other links take its result. The two differ if the micro-batches have unlike n_j
(``huggingface/transformers``, issue 24725).

External: no paper; the functions are those of torch 2.13.0. In SCAFFOLD and its kind g is the client's own gradient,
before the correction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from fedspec import scalars
from fedspec.arith import Scalar, Vector, maximum, minimum, norm, ratio, where_less
from fedspec.arrays import is_object
from fedspec.errors import ContractError
from fedspec.plan import Oracle, Valued

__all__ = ["LINKS", "MICRO", "Blocks", "Micro", "OfGradient", "accumulates", "chain", "processed", "through"]

Blocks: TypeAlias = Sequence[slice]

OfGradient: TypeAlias = Callable[[Any, Any, Blocks], Any]
"""Transform of a gradient, the model at which it was taken and that model's blocks; or of a client's change, the number
of changes in the round and the blocks."""

TORCH_EPS = 1e-6
"""Constant that ``torch.nn.utils.clip_grad_norm_`` adds to the norm."""


def decayed(rate: float) -> OfGradient:
    """Return the transform that adds ``rate`` times the model to the gradient (L2 penalty)."""
    return lambda g, x, blocks: g + as_number(rate, g) * x


def clipped(most: float) -> OfGradient:
    """Return the transform that clips each coordinate to [-most, most]."""
    return lambda g, x, blocks: minimum(maximum(g, -as_number(most, g)), as_number(most, g))


def shortened(most: float) -> OfGradient:
    """Return the transform that scales a gradient with ||g|| > most down to the norm ``most``."""
    return lambda g, x, blocks: _short(g, as_number(most, g))


def shortened_with_eps(most: float) -> OfGradient:
    """Return the transform that multiplies the gradient by min(1, most / (||g|| + 1e-6))."""
    return lambda g, x, blocks: g * minimum(1, as_number(most, g) / (norm(g) + as_number(TORCH_EPS, g)))


def shortened_in_blocks(most: float) -> OfGradient:
    """Return the transform that scales each block with ||g_b|| > most down to the norm ``most``."""
    return _in_blocks(shortened(most))


def shortened_in_blocks_with_eps(most: float) -> OfGradient:
    """Return the transform that multiplies each block g_b by min(1, most / (||g_b|| + 1e-6))."""
    return _in_blocks(shortened_with_eps(most))


def scaled(most: float) -> OfGradient:
    """Return the transform that scales every gradient to the norm ``most``."""
    return lambda g, x, blocks: as_number(most, g) * ratio(g, norm(g))


def scaled_with_eps(most: float) -> OfGradient:
    """Return the transform that multiplies the gradient by most / (||g|| + 1e-6)."""
    return lambda g, x, blocks: g * (as_number(most, g) / (norm(g) + as_number(TORCH_EPS, g)))


def _in_blocks(link: OfGradient) -> OfGradient:
    return lambda g, x, blocks: np.concatenate([link(g[part], x, (part,)) for part in blocks])


def _short(g: Any, most: Any) -> Any:
    length = norm(g)
    return where_less(0 * g + length, most, g, most * ratio(g, length))


def as_number(c: float, x: Vector) -> Any:
    """Convert a constant to the number type of a vector's entries."""
    return scalars.like(c, x.flat[0]) if is_object(x) and len(x) else c


@dataclass(frozen=True)
class Micro:
    """Gradients of micro-batches, each of the mean loss, and their numbers of tokens."""

    rows: tuple[Vector, ...]
    tokens: tuple[Scalar, ...]


@dataclass(frozen=True)
class Accumulated:
    """Transform of the gradients of k micro-batches to their mean, weighted by their tokens or not."""

    k: int
    by_tokens: bool

    def __call__(self, g: Any, x: Any, blocks: Blocks) -> Any:
        """Return the mean.

        Raises:
            ContractError: there are other than k micro-batches.
        """
        n = len(g.rows) if isinstance(g, Micro) else 0
        if n != self.k:
            raise ContractError(f"event.tokens: got {n} micro-batches; send {self.k}, which the claim accumulates")
        weights: Sequence[Any] = g.tokens if self.by_tokens else [as_number(1, g.rows[0])] * n
        total = sum(weights[1:], start=weights[0])
        return sum((w * row for w, row in zip(weights[1:], g.rows[1:], strict=True)), weights[0] * g.rows[0]) / total


def accumulates(link: str) -> bool:
    """True if a link of a claim accumulates gradients."""
    return link.startswith("accumulate-")


MICRO = ("accumulate-tokens", "accumulate-batches")
"""Names of the links that accumulate."""

LINKS: Mapping[str, Callable[[float], OfGradient]] = {
    "decay": decayed,
    "clip-norm": shortened,
    "clip-norm-eps": shortened_with_eps,
    "clip-block-norm": shortened_in_blocks,
    "clip-block-norm-eps": shortened_in_blocks_with_eps,
    "scale-norm": scaled,
    "scale-norm-eps": scaled_with_eps,
    "clip-value": clipped,
}
"""Gradient transforms by name; each key maps to a function from one number to the transform."""


_ACCUMULATED = f"; or {' or '.join(MICRO)} and a number of micro-batches, as in 'accumulate-tokens 4'"


def chain(
    said: Sequence[str],
    where: str = "gradients",
    numbered: Mapping[str, Callable[[float], OfGradient]] = LINKS,
    bare: Mapping[str, OfGradient] = MappingProxyType({}),
) -> tuple[OfGradient, ...]:
    """Parse a claim's transforms of gradients or messages, such as ``clip-norm 1``, into functions.

    Args:
        said: the links in order.
        where: the field, for the error.
        numbered: links of one number.
        bare: links without a number.

    Raises:
        ContractError: a link is unknown, or its number is not positive.
    """
    # Messages neither decay nor accumulate.
    links, of_gradients = [], "decay" in numbered
    for link in said:
        name, _, number = link.partition(" ")
        try:
            c = float(number)
        except ValueError:
            c = math.nan
        if link in bare:
            links.append(bare[link])
        elif name in MICRO and of_gradients and c >= 1 and c == int(c):
            links.append(Accumulated(int(c), name == MICRO[0]))
        elif name in numbered and c > 0 and math.isfinite(c):
            links.append(numbered[name](c))
        else:
            alone = f", or {' or '.join(bare)} alone" if bare else ""
            raise ContractError(
                f"{where}: got {link!r}; write one of {', '.join(numbered)} and a positive number, as in "
                f"'clip-norm 1'{alone}{_ACCUMULATED if of_gradients else ''}"
            )
    return tuple(links)


def through(links: Sequence[OfGradient], g: Vector | Micro, x: Vector | int, blocks: Blocks) -> Vector:
    """Apply transforms to a gradient or a change in order; before an accumulation, to that of each micro-batch.

    Raises:
        ContractError: there are micro-batches, and no transform accumulates them.
    """
    for link in links:
        if isinstance(g, Micro) and not isinstance(link, Accumulated):
            g = Micro(tuple(link(row, x, blocks) for row in g.rows), g.tokens)
        else:
            g = link(g, x, blocks)
    if isinstance(g, Micro):
        raise ContractError("event.tokens: got micro-batches, and the claim accumulates none; leave tokens out")
    return g


def processed(links: Sequence[OfGradient], blocks: Blocks, oracle: Oracle) -> Oracle:
    """Wrap a client's oracle so that its gradients pass through the transforms; its loss stays unchanged."""
    if not links:
        return oracle

    def gradient(k: int, x: Vector) -> Vector:
        return through(links, oracle(k, x), x, blocks)

    if isinstance(oracle, Valued):
        vars(gradient)["value"] = oracle.value
    return gradient
