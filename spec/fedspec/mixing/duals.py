"""FedDyn's dual variables: clients and server remember how far the clients have been from the model."""

from __future__ import annotations

from fedspec.arith import Scalar, Stack, Vector
from fedspec.domains import POSITIVE, outside
from fedspec.errors import ParameterError
from fedspec.rules import rule


def check_pull(mu: Scalar) -> None:
    """Refuse a mu that nothing can be divided by.

    Raises:
        ParameterError: mu is not positive.
    """
    if outside(mu, POSITIVE):
        raise ParameterError(f"mu: got {mu}; FedDyn divides by it, so that it must be > 0 here")


@rule
def client_dual(lam_i: Vector, delta: Vector, *, mu: Scalar) -> Vector:
    """The gradient of its own objective that a client keeps.

        lam_i = lam_i - mu Delta_i                 feddyn.lam_i

    Delta_i = y_i - x. It is the gradient at y_i when y_i minimises the local objective, and what the box prints for it
    in any case. External: Acar et al. (2021), Algorithm 1.
    """
    return lam_i - mu * delta


@rule
def server_dual(h: Vector, deltas: Stack, *, mu: Scalar, clients: int) -> Vector:
    """The server's dual variable: the mean of the clients', over all of them.

        h = h - mu 1/N sum over S of Delta_i       feddyn.h

    External: Acar et al. (2021), Algorithm 1.
    """
    dual: Vector = h - mu * deltas.sum(axis=0) / clients
    return dual


@rule
def dynamic_average(Y: Stack, h: Vector, *, mu: Scalar) -> Vector:
    """The server's step: the mean of the local models of the participants, moved by the dual variable.

        x = 1/|S| sum over S of y_i - h / mu       feddyn.step

    Raises:
        ParameterError: mu is 0.

    External: Acar et al. (2021), Algorithm 1.
    """
    check_pull(mu)
    x: Vector = Y.sum(axis=0) / len(Y) - h / mu
    return x
