"""Local momentum; the buffer u starts each round at zero."""

from __future__ import annotations

from dataclasses import dataclass

from fedspec.arith import Scalar, Vector, zeros
from fedspec.readings import BufferStart
from fedspec.rules import rule


@dataclass(frozen=True)
class Momentum:
    """A local model and its momentum buffer."""

    x: Vector
    u: Vector


def begin(x: Vector) -> Momentum:
    """The state at the start of a round: the server's model, an empty buffer."""
    return Momentum(x=x, u=zeros(x))


@rule
def momentum(state: Momentum, g: Vector, *, eta_l: Scalar, rho: Scalar) -> Momentum:
    """One local step of heavy-ball momentum; the step uses the new buffer.

        u = rho u + g                              momentum.u
        x = x - eta_l u                            momentum.step

    Accumulation vector a_k = (1 - rho^(tau-k)) / (1 - rho). Source: FedNova, eqs. (35)-(36).
    """
    u = rho * state.u + g
    x = state.x - eta_l * u
    return Momentum(x=x, u=u)


@rule
def nesterov(state: Momentum, g: Vector, *, eta_l: Scalar, rho: Scalar) -> Momentum:
    """One local step of Nesterov's momentum in the form that looks ahead along the new buffer.

        u = rho u + g                              nesterov.u
        x = x - eta_l (g + rho u)                  nesterov.step

    Accumulation vector a_k = (1 - rho^(tau-k+1)) / (1 - rho). External: Sutskever et al. (2013) in the variables
    of deep-learning libraries.
    """
    u = rho * state.u + g
    x = state.x - eta_l * (g + rho * u)
    return Momentum(x=x, u=u)


@rule
def dampened(
    state: Momentum, g: Vector, *, k: int, eta_l: Scalar, rho: Scalar, start: BufferStart = BufferStart.ZERO
) -> Momentum:
    """Local step k = 0, 1, ... of momentum whose buffer is an average of gradients.

        u = rho u + (1 - rho) g                    dampened.u
        x = x - eta_l u                            dampened.step

    Accumulation vector a_k = 1 - rho^(tau-k). The other reading starts the buffer at the first gradient, u = g.
    External: textbook exponential averaging; torch.optim documents the other.
    """
    weight = 1 if start is BufferStart.FIRST_GRADIENT and k == 0 else 1 - rho
    u = rho * state.u + weight * g
    x = state.x - eta_l * u
    return Momentum(x=x, u=u)


@rule
def momentum_proximal_outside(
    state: Momentum, g: Vector, anchor: Vector, *, eta_l: Scalar, rho: Scalar, mu: Scalar
) -> Momentum:
    """One local step of momentum with the proximal pull added to the step, not to the buffer.

        u = rho u + g                              momentum-proximal-outside.u
        x = x - eta_l (u + mu (x - anchor))        momentum-proximal-outside.step

    Accumulation vector a_k = ((1-alpha)^n - rho^n) / (1-alpha-rho), n = tau-k. External: FedNova treats
    momentum and the proximal term apart (Apps. B.1 and B.2); this is one way of having both.
    """
    u = rho * state.u + g
    x = state.x - eta_l * (u + mu * (state.x - anchor))
    return Momentum(x=x, u=u)


@rule
def momentum_proximal_inside(
    state: Momentum, g: Vector, anchor: Vector, *, eta_l: Scalar, rho: Scalar, mu: Scalar
) -> Momentum:
    """One local step of momentum with the proximal pull treated as part of the gradient.

        u = rho u + g + mu (x - anchor)            momentum-proximal-inside.u
        x = x - eta_l u                            momentum-proximal-inside.step

    Accumulation vector: a_k = y_(tau-k), y_(n+1) = (1+rho-alpha) y_n - rho y_(n-1), y_0 = 0, y_1 = 1; it can have
    negative entries when alpha > (1 - sqrt(rho))^2. External: the other way.
    """
    u = rho * state.u + g + mu * (state.x - anchor)
    x = state.x - eta_l * u
    return Momentum(x=x, u=u)
