"""Local solvers that overwrite their vectors at every step; tests compare each with its rule's text.

A step of SGD must move 12 bytes for a number of four bytes, including the gradient (y, g in, y out), and 8 if a product
adds directly to y, which avoids g.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor

from fedspec_torch.local.blocks import Block, Part

Rate: TypeAlias = Callable[[int], float]
"""Client learning rate at local step k = 0, 1, ..."""

Step: TypeAlias = Callable[[int, Block, Tensor, Tensor], object]
"""Local step k of the clients in a block that have steps left; it updates y from g, and keeps neither."""


@dataclass(frozen=True)
class InPlace:
    """Local solver that overwrites its vectors.

    Attributes:
        begin: function that makes the step, with its own work space, from the clients' initial models y; None: a step
            is y - rate(k) g.
        rate: the learning rate, if a step begins with y - rate(k) g and reads g nowhere else; else None.
        parts: the parts of the model, if the solver treats coordinates differently.
        kept: the names of the vectors that are returned beside y.
        spare: the name of a vector that isn't needed after the last step.
    """

    begin: Callable[[Block, Tensor], Step] | None = None
    rate: Rate | None = None
    parts: tuple[Part, ...] = ()
    kept: tuple[str, ...] = ()
    spare: str = "g"

    @property
    def is_plain(self) -> bool:
        """True for SGD: a step is y - rate(k) g and nothing else."""
        return self.rate is not None and self.begin is None and not (self.parts or self.kept)


def along(rate: Rate) -> InPlace:
    """Return plain SGD with this rate: y - rate(k) g."""
    return InPlace(rate=rate)
