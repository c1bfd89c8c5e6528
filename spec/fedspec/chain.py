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
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from fedspec import scalars
from fedspec.arith import Scalar, Vector, maximum, minimum, norm, ratio
from fedspec.arrays import is_object
from fedspec.errors import ContractError
from fedspec.plan import Oracle, Valued

__all__ = [
    "LINKS",
    "MICRO",
    "Blocks",
    "Micro",
    "OfGradient",
    "Word",
    "accumulates",
    "applied",
    "chain",
    "formula",
    "processed",
    "through",
]

Blocks: TypeAlias = Sequence[slice]

OfGradient: TypeAlias = Callable[..., Any]
"""Word of a claim as a function of a gradient, the model at which it was taken, that model's blocks and the word's
number; or of a client's change, the number of changes in the round, the blocks and the number."""


@dataclass(frozen=True)
class Word:
    """A word of a claim and its number; nan if it has none."""

    name: str
    c: float = math.nan


TORCH_EPS = 1e-6
"""Constant that ``torch.nn.utils.clip_grad_norm_`` adds to the norm."""


def decay(g: Any, x: Any, blocks: Blocks, c: Any) -> Any:
    """Add c times the model (L2 penalty): g + c x."""
    return g + c * x


def clip_value(g: Any, x: Any, blocks: Blocks, c: Any) -> Any:
    """Clip each coordinate to [-c, c]: min(max(g, -c), c)."""
    return minimum(maximum(g, -c), c)


def clip_norm(g: Any, x: Any, blocks: Blocks, c: Any) -> Any:
    """Scale a gradient with ||g|| > c down to the norm c: g min(1, c / ||g||)."""
    return g * minimum(1, ratio(c, norm(g)))


def clip_norm_eps(g: Any, x: Any, blocks: Blocks, c: Any) -> Any:
    """Clip as torch does: g min(1, c / (||g|| + 1e-6))."""
    return g * minimum(1, c / (norm(g) + as_number(TORCH_EPS, g)))


def clip_block_norm(g: Any, x: Any, blocks: Blocks, c: Any) -> Any:
    """Scale each block with ||g_b|| > c down to the norm c: g_b min(1, c / ||g_b||)."""
    return np.concatenate([clip_norm(g[b], x, (b,), c) for b in blocks])


def clip_block_norm_eps(g: Any, x: Any, blocks: Blocks, c: Any) -> Any:
    """Clip each block as torch does: g_b min(1, c / (||g_b|| + 1e-6))."""
    return np.concatenate([clip_norm_eps(g[b], x, (b,), c) for b in blocks])


def scale_norm(g: Any, x: Any, blocks: Blocks, c: Any) -> Any:
    """Scale every gradient to the norm c: c g / ||g||."""
    return c * ratio(g, norm(g))


def scale_norm_eps(g: Any, x: Any, blocks: Blocks, c: Any) -> Any:
    """Scale every gradient to the norm c, nearly: c g / (||g|| + 1e-6)."""
    return g * (c / (norm(g) + as_number(TORCH_EPS, g)))


def as_number(c: float, x: Vector) -> Any:
    """Convert a constant to the number type of a vector's entries."""
    return scalars.like(c, x.flat[0]) if is_object(x) and len(x) else c


@dataclass(frozen=True)
class Micro:
    """Gradients of micro-batches, each of the mean loss, and their numbers of tokens."""

    rows: tuple[Vector, ...]
    tokens: tuple[Scalar, ...]


def accumulate_tokens(rows: Sequence[Any], tokens: Sequence[Any]) -> Any:
    """Average micro-batches by their tokens: sum_j n_j g_j / sum_j n_j."""
    return added([n * g for n, g in zip(tokens, rows, strict=True)]) / added(tokens)


def accumulate_batches(rows: Sequence[Any], tokens: Sequence[Any]) -> Any:
    """Average micro-batches as they are: sum_j g_j / k."""
    return added(rows) / as_number(len(rows), rows[0])


def added(terms: Sequence[Any]) -> Any:
    """Sum of one or more terms, in their order."""
    return sum(terms[1:], start=terms[0])


def accumulates(link: str) -> bool:
    """True if a link of a claim accumulates gradients."""
    return link.startswith("accumulate-")


MICRO: dict[str, Callable[[Sequence[Any], Sequence[Any]], Any]] = {
    "accumulate-tokens": accumulate_tokens,
    "accumulate-batches": accumulate_batches,
}
"""Words that accumulate, as functions of the gradients of micro-batches and their numbers of tokens."""

LINKS: dict[str, OfGradient] = {
    "decay": decay,
    "clip-norm": clip_norm,
    "clip-norm-eps": clip_norm_eps,
    "clip-block-norm": clip_block_norm,
    "clip-block-norm-eps": clip_block_norm_eps,
    "scale-norm": scale_norm,
    "scale-norm-eps": scale_norm_eps,
    "clip-value": clip_value,
}
"""The other words of ``Claim.gradients``."""


_ACCUMULATED = f"; or {' or '.join(MICRO)} and a number of micro-batches, as in 'accumulate-tokens 4'"


def formula(word: Word, of: str) -> str:
    """Return the formula of a word of ``LINKS``, as its function's docstring has it.

    Args:
        word: the word.
        of: symbol of what it changes, such as g or Delta_i.
    """
    said = (LINKS[word.name].__doc__ or "").partition(": ")[2].removesuffix(".")
    symbols = {"c": f"{word.c:g}", "g": of, "g_b": f"{of},b"}
    return re.sub(r"\b(c|g|g_b)\b", lambda found: symbols[found[1]], said)


def chain(
    said: Sequence[str],
    where: str = "gradients",
    numbered: Collection[str] = LINKS,
    bare: Collection[str] = (),
) -> tuple[Word, ...]:
    """Parse a claim's transforms of gradients or messages, such as ``clip-norm 1``.

    Args:
        said: the transforms in order.
        where: name of the field, for the error message.
        numbered: names of transforms that take a number.
        bare: names of transforms without a number.

    Raises:
        ContractError: a transform is unknown, or its number isn't positive.
    """
    # Messages neither decay nor accumulate.
    links, of_gradients = list[Word](), "decay" in numbered
    for link in said:
        name, _, number = link.partition(" ")
        try:
            c = float(number)
        except ValueError:
            c = math.nan
        if link in bare:
            links.append(Word(link))
        elif (name in MICRO and of_gradients and c >= 1 and c == int(c)) or (
            name in numbered and c > 0 and math.isfinite(c)
        ):
            links.append(Word(name, c))
        else:
            alone = f", or {' or '.join(bare)} alone" if bare else ""
            raise ContractError(
                f"{where}: got {link!r}; write one of {', '.join(numbered)} and a positive number, as in "
                f"'clip-norm 1'{alone}{_ACCUMULATED if of_gradients else ''}"
            )
    return tuple(links)


def applied(link: Word, g: Any, x: Any, blocks: Blocks) -> Any:
    """Apply a word of ``LINKS`` to a gradient or a change."""
    return LINKS[link.name](g, x, blocks, as_number(link.c, g))


def through(links: Sequence[Word], g: Vector | Micro, x: Vector | int, blocks: Blocks) -> Vector:
    """Apply transforms to a gradient in order; before an accumulation, to the gradient of each micro-batch.

    Raises:
        ContractError: there are micro-batches but no transform accumulates them, or their number isn't k.
    """
    for link in links:
        if link.name in MICRO:
            n = len(g.rows) if isinstance(g, Micro) else 0
            if n != link.c:
                k = int(link.c)
                raise ContractError(f"event.tokens: got {n} micro-batches; send {k}, which the claim accumulates")
            assert isinstance(g, Micro)
            g = MICRO[link.name](g.rows, g.tokens)
        elif isinstance(g, Micro):
            g = Micro(tuple(applied(link, row, x, blocks) for row in g.rows), g.tokens)
        else:
            g = applied(link, g, x, blocks)
    if isinstance(g, Micro):
        raise ContractError("event.tokens: got micro-batches, and the claim accumulates none; leave tokens out")
    return g


def processed(links: Sequence[Word], blocks: Blocks, oracle: Oracle) -> Oracle:
    """Wrap a client's oracle so that its gradients pass through the transforms; its loss stays unchanged."""
    if not links:
        return oracle

    def gradient(k: int, x: Vector) -> Vector:
        return through(links, oracle(k, x), x, blocks)

    if isinstance(oracle, Valued):
        vars(gradient)["value"] = oracle.value
    return gradient
