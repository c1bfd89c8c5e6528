"""Options that training scripts apply to a gradient before a step: accumulation, clipping, weight decay.

A local step then follows ``clip(mean of A minibatches' gradients) + lambda y``, in this order, with any solver: an
algorithm asks for stochastic gradients and doesn't define their source. Options that would change an algorithm itself,
such as a decay that its moments don't include, aren't supported here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

from fedspec.errors import ParameterError
from fedspec_torch.arith import Stack, check_whole


@dataclass(frozen=True)
class GradientOptions:
    """Options applied to every gradient.

    Attributes:
        clip: the largest norm of a client's gradient: longer gradients are scaled down to it; None: no clipping.
        clip_value: the largest magnitude of an entry of a gradient, as ``torch.nn.utils.clip_grad_value_`` clamps it;
            None: no clamping. It excludes ``clip``, because training scripts apply the two in either order.
        weight_decay: lambda: lambda y is added to the gradient at y, as the gradient of lambda/2 |y|^2, after clipping.
        accumulate: A, the number of consecutive minibatches over which a gradient is averaged.
    """

    clip: float | None = None
    clip_value: float | None = None
    weight_decay: float = 0.0
    accumulate: int = 1

    def __post_init__(self) -> None:
        """Raise an error if a number is out of range.

        Raises:
            ParameterError: ``clip`` or ``clip_value`` isn't above 0, both are given, ``weight_decay`` is below 0, or
                a number isn't finite.
            PlanError: ``accumulate`` is less than 1.
        """
        for name, bound, what in (("clip", self.clip, "norm"), ("clip_value", self.clip_value, "magnitude")):
            if bound is not None and not (bound > 0 and isfinite(bound)):
                raise ParameterError(f"{name}: got {bound!r}; give a {what} above 0, or None")
        if None not in (self.clip, self.clip_value):
            raise ParameterError(
                f"clip and clip_value: got {self.clip:g} and {self.clip_value:g}, whose order changes the gradient, "
                "and training scripts use both orders; leave out one of the two"
            )
        if not (self.weight_decay >= 0 and isfinite(self.weight_decay)):
            raise ParameterError(f"weight_decay: got {self.weight_decay!r}; give a number of at least 0")
        check_whole("accumulate", self.accumulate, "a gradient is the mean of at least one minibatch")

    def of(self, gradient: Callable[[int], Stack], k: int, y: Stack) -> Stack:
        """Return the direction [n, d] of local step k: the mean gradient, clipped, plus weight decay.

        Args:
            gradient: function that returns the clients' gradients at y of the minibatch with a given number; the next
                call may overwrite them.
            k: number of the local step.
            y: [n, d] the local models.
        """
        first, *rest = range(self.accumulate * k, self.accumulate * (k + 1))
        g = gradient(first)
        if rest:
            g = g.clone()
            for j in rest:
                g += gradient(j)
            g /= self.accumulate
        if self.clip is not None:
            g = g * (self.clip / g.norm(dim=1, keepdim=True)).clamp(max=1)
        if self.clip_value is not None:
            g = g.clamp(-self.clip_value, self.clip_value)
        return g.add(y, alpha=self.weight_decay) if self.weight_decay else g
