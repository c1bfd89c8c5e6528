"""Models of claims with ``parts``: blocks of the claimed names, and at least one other block."""

from __future__ import annotations

from collections.abc import Mapping

from fedspec.parts import ties
from fedspec_suite.measure.setting import Setting

SHAPES: tuple[tuple[int, ...], ...] = ((2,), (3,), (1, 2), (1,))
MATRICES: tuple[tuple[int, ...], ...] = ((1, 2), (2, 2), (3, 1))
"""Shapes of claimed blocks, in turn; they are small, since the objectives of a round have d x d numbers."""


def with_claimed(setting: Setting, shape: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Add the claimed blocks to the shapes of a model, after its first block; tied blocks have one shape."""
    tied = ties(setting.parts)
    names = dict.fromkeys((*tied.values(), *setting.parts))
    kinds = MATRICES if setting.matrices else SHAPES
    claimed = {name: kinds[k % len(kinds)] for k, name in enumerate(names)}
    claimed |= {one: claimed[other] for one, other in tied.items()}
    (first, head), *rest = ((f"other.{name}" if name in claimed else name, s) for name, s in shape.items())
    return {first: head, **claimed, **dict(rest)}
