"""The three adaptive servers of Client-Centric's Algorithm 2.

The paper's beta and gamma are beta1 and beta2 here. There is no bias correction, and epsilon stands outside the root.
"""

from __future__ import annotations

from fedspec.arith import Scalar, Vector, maximum, sqrt
from fedspec.records import record
from fedspec.rules import rule


@record
class Moments:
    """The server's model and its two moments."""

    x: Vector
    m: Vector
    v: Vector


@record
class Maxima:
    """The server's model, its two moments and the largest second moment so far."""

    x: Vector
    m: Vector
    v: Vector
    v_hat: Vector


@rule
def cc_adagrad(state: Moments, delta: Vector, *, eta: Scalar, beta1: Scalar, tau: Scalar) -> Moments:
    """Server step of CC-FedAdagrad, which has momentum too.

        m = beta1 m + (1 - beta1) Delta            cc-fedadagrad.m
        v = v + Delta^2                            cc-fedadagrad.v
        x = x + eta m / (sqrt(v) + tau)            cc-fedadagrad.step [epsilon=outside]

    Source: Client-Centric, Alg. 2 (in words, L145-189), L554 for m, and the proof (L264, L641-646, L707) for v.
    """
    m = beta1 * state.m + (1 - beta1) * delta
    v = state.v + delta**2
    x = state.x + eta * m / (sqrt(v) + tau)
    return Moments(x=x, m=m, v=v)


@rule
def cc_adam(state: Moments, delta: Vector, *, eta: Scalar, beta1: Scalar, beta2: Scalar, tau: Scalar) -> Moments:
    """Server step of CC-FedAdam.

        m = beta1 m + (1 - beta1) Delta            cc-fedadam.m
        v = beta2 v + (1 - beta2) Delta^2          cc-fedadam.v
        x = x + eta m / (sqrt(v) + tau)            cc-fedadam.step [epsilon=outside]

    Source: Client-Centric, Alg. 2 (in words, L145-189), L111 and L554.
    """
    m = beta1 * state.m + (1 - beta1) * delta
    v = beta2 * state.v + (1 - beta2) * delta**2
    x = state.x + eta * m / (sqrt(v) + tau)
    return Moments(x=x, m=m, v=v)


@rule
def cc_ams(state: Maxima, delta: Vector, *, eta: Scalar, beta1: Scalar, beta2: Scalar, eps: Scalar) -> Maxima:
    """Server step of CC-FedAMS; the average v continues from the last v, not from the maximum v_hat.

        m = beta1 m + (1 - beta1) Delta            cc-fedams.m
        v = beta2 v + (1 - beta2) Delta^2          cc-fedams.v
        v_hat = max(v_hat, v)                      cc-fedams.v_hat
        x = x + eta m / (sqrt(v_hat) + eps)        cc-fedams.step [epsilon=outside]

    Source: Client-Centric, Alg. 2 (in words, L145-189), L187-189 for the maximum, L554 for the rest.
    """
    m = beta1 * state.m + (1 - beta1) * delta
    v = beta2 * state.v + (1 - beta2) * delta**2
    v_hat = maximum(state.v_hat, v)
    x = state.x + eta * m / (sqrt(v_hat) + eps)
    return Maxima(x=x, m=m, v=v, v_hat=v_hat)


@rule
def cc_inside(x: Vector, m: Vector, v_hat: Vector, *, eta: Scalar, eps: Scalar) -> Vector:
    """Server step of any of the three servers with epsilon inside the root; v_hat is v if there is no maximum.

        x = x + eta m / sqrt(v_hat + eps)          cc-inside.step [epsilon=inside]

    No text of the paper has it; implementations do, and the conversion prints sqrt(v_hat + eps) for the root of the
    preconditioner. Source: Client-Centric, L689-704, read to the letter.
    """
    x = x + eta * m / sqrt(v_hat + eps)
    return x
