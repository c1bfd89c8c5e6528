"""Rounding of messages to fewer bits: the words of ``Claim.messages``, exact in every arithmetic.

    bfloat16, float16, float32   nearest number of that type, ties to even (IEEE 754; 8, 11 and 24 bits of significand)
    bfloat16-truncated           the type's next number towards zero: the upper half of a float32
    fixed k                      nearest multiple of 2^-k, ties to even
    fixed-floor k                largest multiple of 2^-k that is not above the number
    fixed-truncated k            next multiple of 2^-k towards zero, as a cast to an integer has it
    masks M                      pairwise masks of magnitude M, which cancel in the sum up to floating-point rounding

and ``clip-norm c``, ``clip-block-norm c``, ``scale-norm c``, ``clip-value c`` of :mod:`fedspec.chain`;
:mod:`fedspec.averaging` has words of the average. Each client's change passes the chain before the server averages it::

    Claim("fedavg", "server", messages=("clip-norm 1", "bfloat16"))

Rounding is a step function, so a number with an error bound brings its own ``rounded`` and decides what its error may
turn. Masks change no number; they add n M roundings of 1 to the bound of each of n messages.

External: no paper; the types are those of NumPy and torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from fedspec.chain import Blocks, Word, applied, chain
from fedspec.errors import ContractError, InexactError

__all__ = [
    "CLIPS",
    "FIXED",
    "NUMBERED",
    "PASSED",
    "TYPES",
    "Grid",
    "checked",
    "in_bits",
    "on_grid",
    "passage",
    "passed",
    "rounded",
]


@dataclass(frozen=True)
class Grid:
    """Numbers with few bits, and the direction of rounding to them.

    Attributes:
        least: exponent of the smallest spacing.
        digits: bits of the significand; 0: each spacing is the smallest one.
        largest: largest number; infinity: no limit.
        whole: True for rounding to a whole number.
    """

    least: int
    digits: int = 0
    largest: float = math.inf
    whole: Callable[[Fraction], int] = round

    def nearest(self, x: Fraction) -> Fraction:
        """The number of the grid that x is rounded to, as if there were no largest one."""
        places = self.least
        if self.digits and x:
            size = abs(x)
            exponent = size.numerator.bit_length() - size.denominator.bit_length()
            exponent -= size < Fraction(2) ** exponent
            places = max(places, exponent - self.digits + 1)
        spacing = Fraction(2) ** places
        return self.whole(x / spacing) * spacing


_BFLOAT16 = partial(Grid, -133, 8, float(np.ldexp(255.0, 120)))

TYPES: Mapping[str, Grid] = {
    "bfloat16": _BFLOAT16(),
    "float16": Grid(-24, 11, float(np.finfo(np.float16).max)),
    "float32": Grid(-149, 24, float(np.finfo(np.float32).max)),
    "bfloat16-truncated": _BFLOAT16(whole=math.trunc),
}
"""Floating-point types, and the number grid of each type."""

FIXED: Mapping[str, Callable[[Fraction], int]] = {
    "fixed": round,
    "fixed-floor": math.floor,
    "fixed-truncated": math.trunc,
}
"""Rounding to whole multiples of a power of two."""


def rounded(x: Any, grid: Grid) -> Any:
    """Round one number of any arithmetic; a float that is not finite stays, and beyond the largest is infinite.

    Raises:
        InexactError: a number that isn't a float exceeds the largest number of the grid.
    """
    if hasattr(x, "rounded"):
        return x.rounded(grid)
    exact = isinstance(x, int | Fraction | Decimal)
    if not exact and not math.isfinite(x):
        return x
    value = grid.nearest(Fraction(x) if exact else Fraction(float(x)))
    if abs(value) <= grid.largest:
        if isinstance(x, Decimal):
            return Decimal(value.numerator) / Decimal(value.denominator)
        return value if exact else type(x)(value)
    if exact:
        raise InexactError(f"rounding: {x} is beyond {grid.largest}, the largest number of the type; send smaller ones")
    return type(x)(math.copysign(math.inf, x))


def on_grid(delta: Any, grid: Grid) -> Any:
    """Round each number of a vector."""
    return np.array([rounded(x, grid) for x in delta], dtype=delta.dtype)


def in_bits(name: str, k: float, whole: Callable[[Fraction], int]) -> Grid:
    """Multiples of 2^-k.

    Raises:
        ContractError: k is not a whole number.
    """
    if k != int(k):
        raise ContractError(
            f"messages: got '{name} {k}'; give a whole number of bits after the point, as in '{name} 16'"
        )
    return Grid(-int(k), whole=whole)


def masked(delta: Any, n: int, magnitude: float) -> Any:
    """Widen the error bounds of numbers that carry one, for n masks; other numbers stay."""
    return np.array([x.blurred(n * magnitude) if hasattr(x, "blurred") else x for x in delta], dtype=delta.dtype)


CLIPS = ("clip-norm", "clip-block-norm", "scale-norm", "clip-value")
"""Functions of gradients that messages may pass, too."""

NUMBERED = (*CLIPS, *FIXED, "masks")
"""Words that take one number; the words of ``TYPES`` take none."""

PASSED = (*NUMBERED, *TYPES)
"""Words for the steps that each change passes."""


def passage(said: Sequence[str], where: str = "messages") -> tuple[Word, ...]:
    """Parse the steps that each change passes according to a claim.

    Raises:
        ContractError: a link is unknown, or its number isn't positive, or isn't a whole number of bits.
    """
    return checked(chain(said, where, NUMBERED, TYPES))


def checked(links: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return links; raise ContractError if a number of bits is no whole number."""
    for link in links:
        if link.name.startswith("fixed"):
            in_bits(link.name, link.c, round)
    return links


def passed(link: Word, delta: Any, n: int, blocks: Blocks) -> Any:
    """Apply a link to one of n changes."""
    if link.name in TYPES:
        return on_grid(delta, TYPES[link.name])
    if link.name in FIXED:
        return on_grid(delta, in_bits(link.name, link.c, FIXED[link.name]))
    if link.name == "masks":
        return masked(delta, n, link.c)
    return applied(link, delta, delta, blocks)
