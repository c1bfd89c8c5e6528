"""Client of Fed-LAMB: its own moments, a denominator that all clients share, and steps of set length in each layer."""

from __future__ import annotations

from fedspec.arith import Count, Scalar, Shared, Vector, maximum, minimum, norm, ratio, sqrt
from fedspec.domains import is_number
from fedspec.errors import ParameterError
from fedspec.preconditioner import complement
from fedspec.readings import LocalCorrection, Normalisation, Phi, Sent
from fedspec.records import record
from fedspec.rules import rule


@record
class Moments:
    """State of client i: its two moments and the number of steps that a bias correction counts."""

    m_i: Vector
    v_i: Vector
    t: Count


def _corrected(moment: Vector, beta: Scalar, t: Count, now: bool) -> Vector:
    return moment / complement(beta, t, moment) if now else moment


@rule
def precondition(
    state: Moments,
    g: Vector,
    v_hat: Shared,
    *,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    bias_correction: LocalCorrection = LocalCorrection.MOMENTS,
) -> tuple[Moments, Vector]:
    """Update the moments in local step t and return the step direction p; the server's v_hat is fixed in a round.

        m_i = beta1 m_i + (1 - beta1) g            fed-lamb.m_i
        v_i = beta2 v_i + (1 - beta2) g^2          fed-lamb.v_i
        m_hat = m_i / (1 - beta1^t)                fed-lamb.m_hat
        p = m_hat / (sqrt(v_hat) + eps)            fed-lamb.p

    Without the correction nothing is divided, in place m_i and v_i are themselves. With two indices, as printed, m_i
    and v_i are averaged with those of the round before, of step t - 1 and of step t:

        m_hat = m_i  fed-lamb.m_hat [bias_correction=none]
        m_hat = m_i  fed-lamb.m_hat [bias_correction=in-place]
        m_i = (beta1 m_i + (1 - beta1) g) / (1 - beta1^t)  fed-lamb.m_i [bias_correction=in-place]
        v_i = (beta2 v_i + (1 - beta2) g^2) / (1 - beta2^t)  fed-lamb.v_i [bias_correction=in-place]
        m^t = beta1 m^(t-1) + (1 - beta1) g  fed-lamb.m_i [memory=two-index]
        v^t = beta2 v^t + (1 - beta2) g^2  fed-lamb.v_i [memory=two-index]
        m^t = (beta1 m^(t-1) + (1 - beta1) g) / (1 - beta1^t)  fed-lamb.m_i [bias_correction=in-place, memory=two-index]
        v^t = (beta2 v^t + (1 - beta2) g^2) / (1 - beta2^t)  fed-lamb.v_i [bias_correction=in-place, memory=two-index]

    Source: Fed-LAMB, Alg. 1, lines 8-10 (L140-143).
    """
    t = state.t + 1
    in_place = bias_correction is LocalCorrection.IN_PLACE
    m_i = _corrected(beta1 * state.m_i + (1 - beta1) * g, beta1, t, in_place)
    v_i = _corrected(beta2 * state.v_i + (1 - beta2) * g**2, beta2, t, in_place)
    m_hat = _corrected(m_i, beta1, t, bias_correction is LocalCorrection.MOMENTS)
    p = m_hat / (sqrt(v_hat) + eps)
    return Moments(m_i=m_i, v_i=v_i, t=t), p


def check_ends(phi_m: Scalar, phi_M: Scalar) -> None:
    """Raise ParameterError unless phi_m < phi_M, the bounds to which phi clips a norm.

    Raises:
        ParameterError: phi_m is not below phi_M.
    """
    if is_number(phi_m) and is_number(phi_M) and not phi_m < phi_M:
        raise ParameterError(
            f"phi_m: got {phi_m}, but phi_M is {phi_M}; phi = clip needs phi_m < phi_M; "
            f"for a constant phi choose phi = constant"
        )


def scaling(x: Vector, phi: Phi, phi_m: Scalar, phi_M: Scalar) -> Scalar:
    """Scaling phi(||x||) of a layer's step: the norm, 1, or the norm clipped to [phi_m, phi_M].

    Raises:
        ParameterError: phi clips, and phi_m isn't below phi_M.
    """
    match phi:
        case Phi.IDENTITY:
            return norm(x)
        case Phi.CONSTANT:
            return 1
        case Phi.CLIP:
            check_ends(phi_m, phi_M)
            return minimum(maximum(norm(x), phi_m), phi_M)


@rule
def layer_step(
    x: Vector,
    p: Vector,
    *,
    eta_l: Scalar,
    lam: Scalar = 0,
    phi_m: Scalar = 1,
    phi_M: Scalar = 1,
    phi: Phi = Phi.IDENTITY,
    normalisation: Normalisation = Normalisation.LAYER,
) -> Vector:
    """Local step of one layer with model x and direction p; weight decay turns the step but keeps its length.

        q = p + lam x                              fed-lamb.q
        x = x - eta_l phi(||x||) q / ||q||         fed-lamb.x_i

        x = x - eta_l q / ||q||                    fed-lamb.x_i [phi=constant]
        x = x - eta_l q                            fed-lamb.x_i [normalisation=none]

    The paper leaves q = 0 open; the layer then stays.

    Source: Fed-LAMB, Alg. 1, line 12 (L147).
    """
    q = p + lam * x
    if normalisation is Normalisation.NONE:
        return x - eta_l * q
    return x - eta_l * (ratio(q, norm(q)) * scaling(x, phi, phi_m, phi_M))


@rule
def ratio_step(x: Vector, p: Vector, *, eta_l: Scalar) -> Vector:
    """Local step of Fed-AMS, along the direction p without a layer-wise length.

        x = x - eta_l p                            fed-ams.x_i

    Source: Fed-LAMB, sec. 4 (L329): Alg. 1 without line 12.
    """
    return x - eta_l * p


@rule
def sent_moment(v_i: Vector, *, steps: Count, beta2: Scalar, sent: Sent = Sent.RAW) -> Vector:
    """Second moment that client i sends to the server after its last local step T.

        s_i = v_i                                  fed-lamb.s_i
        s_i = v_i / (1 - beta2^T)                  fed-lamb.s_i [sent=corrected]

    Source: Fed-LAMB, Alg. 1, lines 9 and 13 (L141, L149).
    """
    return _corrected(v_i, beta2, steps, sent is Sent.CORRECTED)
