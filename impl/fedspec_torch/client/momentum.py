"""Local momentum; the buffer u of each client starts each round at zero."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fedspec.readings import BufferStart
from fedspec_torch.arith import Mask, Scalar, Stack, keep, on_stacks


@dataclass(frozen=True)
class Momentum:
    """The local models and their momentum buffers."""

    x: Stack
    u: Stack


def begin(x: Stack) -> Momentum:
    """The state at the start of a round: the server's model, empty buffers."""
    return Momentum(x=x, u=torch.zeros_like(x))


@on_stacks
def momentum(state: Momentum, g: Stack, *, eta_l: Scalar, rho: Scalar, active: Mask | None = None) -> Momentum:
    """One local step of heavy-ball momentum; the step uses the new buffer.

        u = rho u + g                              momentum.u
        x = x - eta_l u                            momentum.step

    Source: FedNova, eqs. (35)-(36).
    """
    u = rho * state.u + g
    x = state.x - eta_l * u
    return keep(active, Momentum(x=x, u=u), state)


@on_stacks
def nesterov(state: Momentum, g: Stack, *, eta_l: Scalar, rho: Scalar, active: Mask | None = None) -> Momentum:
    """One local step of Nesterov's momentum in the form that looks ahead along the new buffer.

        u = rho u + g                              nesterov.u
        x = x - eta_l (g + rho u)                  nesterov.step

    External: Sutskever et al. (2013) in the variables of deep-learning libraries.
    """
    u = rho * state.u + g
    x = state.x - eta_l * (g + rho * u)
    return keep(active, Momentum(x=x, u=u), state)


@on_stacks
def dampened(
    state: Momentum,
    g: Stack,
    *,
    k: int,
    eta_l: Scalar,
    rho: Scalar,
    start: BufferStart = BufferStart.ZERO,
    active: Mask | None = None,
) -> Momentum:
    """Local step k = 0, 1, ... of momentum whose buffer is an average of gradients.

        u = rho u + (1 - rho) g                    dampened.u
        x = x - eta_l u                            dampened.step

    The other reading starts the buffer at the first gradient, u = g.

    External: textbook exponential averaging; torch.optim documents the other.
    """
    # A copy of g: the gradients may live in a buffer that is used again.
    u = g.clone() if start is BufferStart.FIRST_GRADIENT and k == 0 else rho * state.u + (1 - rho) * g
    x = state.x - eta_l * u
    return keep(active, Momentum(x=x, u=u), state)


@on_stacks
def momentum_proximal_outside(
    state: Momentum, g: Stack, anchor: Stack, *, eta_l: Scalar, rho: Scalar, mu: Scalar, active: Mask | None = None
) -> Momentum:
    """One local step of momentum with the proximal pull added to the step, not to the buffer.

        u = rho u + g                              momentum-proximal-outside.u
        x = x - eta_l (u + mu (x - anchor))        momentum-proximal-outside.step

    External: FedNova treats momentum and the proximal term apart (Apps. B.1 and B.2).
    """
    u = rho * state.u + g
    x = state.x - eta_l * (u + mu * (state.x - anchor))
    return keep(active, Momentum(x=x, u=u), state)


@on_stacks
def momentum_proximal_inside(
    state: Momentum, g: Stack, anchor: Stack, *, eta_l: Scalar, rho: Scalar, mu: Scalar, active: Mask | None = None
) -> Momentum:
    """One local step of momentum with the proximal pull treated as part of the gradient.

        u = rho u + g + mu (x - anchor)            momentum-proximal-inside.u
        x = x - eta_l u                            momentum-proximal-inside.step

    External: FedNova treats momentum and the proximal term apart (Apps. B.1 and B.2).
    """
    u = rho * state.u + g + mu * (state.x - anchor)
    x = state.x - eta_l * u
    return keep(active, Momentum(x=x, u=u), state)
