"""Chain of a client's gradient, from backward pass to step: the words of ``Claim.gradients``, in the order of the code.

    decay l              g + l x                                 ``SGD(weight_decay=l)``: it joins the momentum
    clip-norm c          g min(1, c / ||g||)                     ||g|| over all blocks together
    clip-norm-eps c      g min(1, c / (||g|| + 1e-6))            ``torch.nn.utils.clip_grad_norm_(parameters, c)``
    clip-block-norm c    g_b min(1, c / ||g_b||) in block b      clip-norm for each parameter
    clip-block-norm-eps  the same, with 1e-6 as above            ``clip_grad_norm_([p], c)`` for each parameter
    clip-value c         min(max(g, -c), c)                      ``torch.nn.utils.clip_grad_value_(parameters, c)``

The order counts: PyTorch's optimisers add the decay after a clip that comes before ``optimizer.step()``::

    Claim("momentum", "client", gradients=("clip-norm-eps 1", "decay 0.01"))

External: no paper; the functions are those of torch 2.13.0. In SCAFFOLD and its kind g is the client's own gradient,
before the correction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from fedspec import scalars
from fedspec.arith import Vector, maximum, minimum, norm, ratio, where_less
from fedspec.arrays import is_object
from fedspec.errors import ContractError
from fedspec.plan import Oracle, Valued

__all__ = ["LINKS", "Blocks", "OfGradient", "chain", "processed", "through"]

Blocks: TypeAlias = Sequence[slice]

OfGradient: TypeAlias = Callable[[Any, Any, Blocks], Any]
"""Function from a gradient, the model that it is taken at and the blocks of that to another gradient; or from a change,
the number of changes beside it and the blocks to what the server receives."""

TORCH_EPS = 1e-6
"""Constant that ``torch.nn.utils.clip_grad_norm_`` adds to the length."""


def decayed(rate: float) -> OfGradient:
    """A multiple of the model is added (L2)."""
    return lambda g, x, blocks: g + as_number(rate, g) * x


def clipped(most: float) -> OfGradient:
    """Each coordinate is moved into an interval about zero."""
    return lambda g, x, blocks: minimum(maximum(g, -as_number(most, g)), as_number(most, g))


def shortened(most: float) -> OfGradient:
    """The gradient is shortened to the length ``most`` if it is longer."""
    return lambda g, x, blocks: _short(g, as_number(most, g))


def shortened_with_eps(most: float) -> OfGradient:
    """The gradient is shortened by a length to which a small number is added."""
    return lambda g, x, blocks: g * minimum(1, as_number(most, g) / (norm(g) + as_number(TORCH_EPS, g)))


def shortened_in_blocks(most: float) -> OfGradient:
    """The gradient is shortened, in each block, to the length ``most`` if it is longer there."""
    return _in_blocks(shortened(most))


def shortened_in_blocks_with_eps(most: float) -> OfGradient:
    """The gradient is shortened, in each block, by a length to which a small number is added."""
    return _in_blocks(shortened_with_eps(most))


def _in_blocks(link: OfGradient) -> OfGradient:
    return lambda g, x, blocks: np.concatenate([link(g[part], x, (part,)) for part in blocks])


def _short(g: Any, most: Any) -> Any:
    length = norm(g)
    return where_less(0 * g + length, most, g, most * ratio(g, length))


def as_number(c: float, x: Vector) -> Any:
    """A constant in the arithmetic of a vector."""
    return scalars.like(c, x.flat[0]) if is_object(x) and len(x) else c


LINKS: Mapping[str, Callable[[float], OfGradient]] = {
    "decay": decayed,
    "clip-norm": shortened,
    "clip-norm-eps": shortened_with_eps,
    "clip-block-norm": shortened_in_blocks,
    "clip-block-norm-eps": shortened_in_blocks_with_eps,
    "clip-value": clipped,
}
"""Functions of a gradient by name, each of one number."""


def chain(
    said: Sequence[str],
    where: str = "gradients",
    numbered: Mapping[str, Callable[[float], OfGradient]] = LINKS,
    bare: Mapping[str, OfGradient] = MappingProxyType({}),
) -> tuple[OfGradient, ...]:
    """Read what a claim says that a client does to each gradient, or to its message (``fedspec.rounding``).

    Args:
        said: the links in order.
        where: the field, for the error.
        numbered: links of one number.
        bare: links without a number.

    Raises:
        ContractError: a link is unknown, or its number is not positive.
    """
    links = []
    for link in said:
        name, _, number = link.partition(" ")
        try:
            c = float(number)
        except ValueError:
            c = math.nan
        if link in bare:
            links.append(bare[link])
        elif name in numbered and c > 0 and math.isfinite(c):
            links.append(numbered[name](c))
        else:
            alone = f", or {' or '.join(bare)} alone" if bare else ""
            raise ContractError(
                f"{where}: got {link!r}; write one of {', '.join(numbered)} and a positive number, as in "
                f"'clip-norm 1'{alone}"
            )
    return tuple(links)


def through(links: Sequence[OfGradient], g: Vector, x: Vector | int, blocks: Blocks) -> Vector:
    """The gradient at the end of a chain."""
    for link in links:
        g = link(g, x, blocks)
    return g


def processed(links: Sequence[OfGradient], blocks: Blocks, oracle: Oracle) -> Oracle:
    """A client whose gradients go through the chain; its loss stays as it is."""
    if not links:
        return oracle

    def gradient(k: int, x: Vector) -> Vector:
        return through(links, oracle(k, x), x, blocks)

    if isinstance(oracle, Valued):
        vars(gradient)["value"] = oracle.value
    return gradient
