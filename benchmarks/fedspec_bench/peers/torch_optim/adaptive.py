"""FedAda2 in plain torch: SM3 at the clients, parameter by parameter; AdaGrad with momentum at the server."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import torch
from torch import Tensor


class Sm3:
    """SM3-II optimiser with one accumulator for each axis of a parameter."""

    def __init__(self, parameters: Iterable[torch.nn.Parameter], lr: float, eps: float) -> None:
        self.parameters, self.lr, self.eps = list(parameters), lr, eps
        self.kept = [
            [p.new_zeros([s if j == a else 1 for j, s in enumerate(p.shape)]) for a in range(p.dim())]
            for p in self.parameters
        ]

    def zero_grad(self) -> None:
        """Clear the gradients."""
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Take a step: v is the minimum of the axes' accumulators plus g^2; then update the accumulators."""
        for p, accumulators in zip(self.parameters, self.kept, strict=True):
            g = p.grad
            assert g is not None
            v = reduce(torch.minimum, accumulators).addcmul(g, g)
            p.addcdiv_(g, v.sqrt().add_(self.eps), value=-self.lr)
            for a, one in enumerate(accumulators):
                others = [b for b in range(p.dim()) if b != a]
                one.copy_(v.amax(others, keepdim=True) if others else v)


class AdaGrad:
    """Server AdaGrad with momentum on the mean change."""

    def __init__(self, eta: float, beta1: float, tau: float, v0: float) -> None:
        self.eta, self.beta1, self.tau, self.v0 = eta, beta1, tau, v0
        self.moments: tuple[Tensor, Tensor] | None = None

    def __call__(self, x: Tensor, change: Tensor) -> Tensor:
        """Return the next model."""
        m, v = self.moments or (torch.zeros_like(x), torch.full_like(x, self.v0))
        m, v = m.lerp(change, 1 - self.beta1), v.addcmul(change, change)
        self.moments = m, v
        return x + self.eta * m / (v.sqrt() + self.tau)
