"""Adam whose second moment begins at the server's second moment: four readings of a point that FedAda2 leaves open."""

from __future__ import annotations

from fedspec.arith import Count, Scalar, Vector, maximum, sqrt
from fedspec.client.adam import Adam
from fedspec.readings import Received
from fedspec.rules import rule


@rule
def received_adam(
    state: Adam,
    g: Vector,
    sent: Vector,
    *,
    eta_l: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    received: Received = Received.CORRECTED,
) -> Adam:
    """Local step of Adam whose second moment began at the server's second moment; t = 1 at the first step.

        m = beta1 m + (1 - beta1) g                received-adam.m
        v = beta2 v + (1 - beta2) g^2              received-adam.v
        m_hat = m / (1 - beta1^t)                  received-adam.m_hat
        v_hat = v / (1 - beta2^t)                  received-adam.v_hat
        x = x - eta_l m_hat / (sqrt(v_hat) + eps)  received-adam.step
        m_hat = m                                  received-adam.m_hat [received=uncorrected]
        v_hat = v                                  received-adam.v_hat [received=uncorrected]
        v_hat = v                                  received-adam.v_hat [received=m-corrected]
        v_hat = max((v - beta2^t sent) / (1 - beta2^t), 0)  received-adam.v_hat [received=without-start]

    Source: FedAda2, Alg. 6 (L1335) from what L1621 sends, there v_0.
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * g
    v = beta2 * state.v + (1 - beta2) * g**2
    m_hat = m if received is Received.UNCORRECTED else m / (1 - beta1**t)
    v_hat = second_moment(v, sent, beta2=beta2, t=t, received=received)
    x = state.x - eta_l * (m_hat / (sqrt(v_hat) + eps))
    return Adam(x=x, m=m, v=v, t=t)


def second_moment(v: Vector, sent: Vector, *, beta2: Scalar, t: Count, received: Received) -> Vector:
    """Second moment under the root in the denominator of step t, in each reading."""
    match received:
        case Received.CORRECTED:
            return v / (1 - beta2**t)
        case Received.WITHOUT_START:
            # A mean of squares, which may come out below 0 by a rounding.
            mean = (v - beta2**t * sent) / (1 - beta2**t)
            return maximum(mean, mean * 0)
    return v
