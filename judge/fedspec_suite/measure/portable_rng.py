"""Random number generator that gives the same choices on every machine; only the seed, a string, determines them.

Hypothesis may draw otherwise in its next version, and looks at the modules that are loaded; vectors must not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from fedspec.arith import Array

T = TypeVar("T")

BITS = 8
"""Significand bits of bfloat16, the narrowest type in which the inputs of a vector are exact."""


def is_short(x: float) -> bool:
    """True if a number is exact in every floating-point type down to bfloat16."""
    if not math.isfinite(x):
        return False
    top, bottom = float(x).as_integer_ratio()
    odd = abs(top) // (abs(top) & -abs(top)) if top else 0
    return odd.bit_length() <= BITS and abs(top) < 2**64 and bottom <= 2**64


class PortableRng:
    """Random generator; it uses only ``random.Random.random``, whose values Python promises to keep."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def between(self, low: int, high: int) -> int:
        """Draw an integer from ``low`` to ``high``, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def toss(self, chance: float = 0.5) -> bool:
        """Return True with probability ``chance``."""
        return self._random.random() < chance

    def pick(self, pool: Sequence[T]) -> T:
        """Choose an item of a pool."""
        return pool[self.between(0, len(pool) - 1)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Shuffle a copy of the items."""
        left = list(items)
        return [left.pop(self.between(0, len(left) - 1)) for _ in items]

    def some(self, items: Sequence[T], least: int = 1) -> list[T]:
        """Draw at least ``least`` of the items, in their order."""
        count = self.between(least, len(items))
        places = sorted(self.shuffled(range(len(items)))[:count])
        return [items[k] for k in places]

    def array(self, shape: Sequence[int], largest: int = 24) -> Array:
        """Draw an array of eighths from -``largest``/8 to ``largest``/8."""
        count = int(np.prod(shape, dtype=int))
        flat = [self.between(-largest, largest) / 8 for _ in range(count)]
        return np.array(flat, dtype=np.float64).reshape(tuple(shape))
