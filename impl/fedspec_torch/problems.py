"""Quadratic clients, all gradients of a block at once.

    F_i(x) = x' H_i x / 2 - e_i' x + f_i,    grad F_i(x) = H_i x - e_i

Source: FedNova, eqs. (13)-(28).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from fedspec.errors import PlanError, ShapeError
from fedspec_torch.arith import Stack, Vector, Weights
from fedspec_torch.plan import Oracle, rows


def gradient(H: Float[Tensor, "n d d"], e: Stack, x: Stack) -> Stack:
    """Return the gradient H_i x_i - e_i of every client i at its own model x_i."""
    # As rows times H_i': a batch of products with a single column is up to 8 times slower on a CPU.
    return torch.bmm(x.unsqueeze(1), H.mT).squeeze(1) - e


@dataclass(frozen=True, eq=False)
class QuadraticClients:
    """n clients with quadratic losses in d dimensions.

    Attributes:
        H: [n, d, d] the matrices H_i, symmetric positive definite.
        e: [n, d] the vectors e_i.
        f: [n] the constants F_i(0); None: the clients have gradients but no losses.

    Raises:
        ShapeError: H and e differ in n or d, or an H_i isn't symmetric.
    """

    H: Float[Tensor, "n d d"]
    e: Stack
    f: Weights | None = None

    def __post_init__(self) -> None:
        if self.H.ndim != 3 or self.e.ndim != 2 or self.H.shape != (*self.e.shape, self.e.shape[1]):
            raise ShapeError(
                f"quadratics: got H {tuple(self.H.shape)} and e {tuple(self.e.shape)}; H must be [n, d, d] and e [n, d]"
            )
        if not torch.equal(self.H, self.H.mT):
            raise ShapeError("quadratics: an H_i is not symmetric; use (H + H') / 2")

    def __len__(self) -> int:
        return len(self.e)

    def oracle(self, clients: Sequence[int]) -> Oracle:
        """Return the exact gradient function of these clients, the same at every local step."""
        H, e = rows(self.H, clients), rows(self.e, clients)
        return lambda k, x: gradient(H, e, x)

    def values(self, clients: Sequence[int], x: Vector) -> list[float]:
        """Return the losses F_i(x) of these clients.

        Raises:
            PlanError: f is None.
        """
        if self.f is None:
            raise PlanError("loss: these quadratics give only gradients; give f, [n] F_i(0), to get values")
        H, e, f = (rows(part, clients) for part in (self.H, self.e, self.f))
        found: list[float] = ((H @ x) @ x / 2 - e @ x + f).tolist()
        return found
