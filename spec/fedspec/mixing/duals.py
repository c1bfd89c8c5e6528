"""FedDyn's dual variables, in which clients and server accumulate the clients' deviations from the model."""

from __future__ import annotations

from fedspec.arith import Scalar, Stack, Vector
from fedspec.domains import POSITIVE, outside
from fedspec.errors import ParameterError
from fedspec.rules import rule


def check_pull(mu: Scalar) -> None:
    """Raise ParameterError unless mu > 0, since FedDyn divides by mu.

    Raises:
        ParameterError: mu is not positive.
    """
    if outside(mu, POSITIVE):
        raise ParameterError(f"mu: got {mu}; FedDyn divides by it, so that it must be > 0 here")


@rule
def client_dual(lam_i: Vector, delta: Vector, *, mu: Scalar) -> Vector:
    """Update a client's dual variable, the gradient of its own objective.

        lam_i = lam_i - mu Delta_i                 feddyn.lam_i

    Delta_i = y_i - x. It is the gradient at y_i when y_i minimises the local objective, and what the box prints for it
    in any case. External: Acar et al. (2021), Algorithm 1.
    """
    return lam_i - mu * delta


@rule
def server_dual(h: Vector, deltas: Stack, *, mu: Scalar, clients: int) -> Vector:
    """Update the server's dual variable, the mean of the duals of all N clients.

        h = h - mu 1/N sum over S of Delta_i       feddyn.h

    External: Acar et al. (2021), Algorithm 1.
    """
    dual: Vector = h - mu * deltas.sum(axis=0) / clients
    return dual


@rule
def dynamic_average(Y: Stack, h: Vector, *, mu: Scalar) -> Vector:
    """Server step of FedDyn: the mean of the participants' local models, shifted by the dual variable.

        x = 1/|S| sum over S of y_i - h / mu       feddyn.step

    Raises:
        ParameterError: mu is 0.

    External: Acar et al. (2021), Algorithm 1.
    """
    check_pull(mu)
    x: Vector = Y.sum(axis=0) / len(Y) - h / mu
    return x
