"""Parts that adaptive rules share: the denominator and the bias correction, with one line for each reading."""

from __future__ import annotations

from fedspec.arith import Count, Scalar, Vector, namespace, sqrt
from fedspec.errors import ParameterError
from fedspec.readings import BiasCorrection, Epsilon, Maximum


def root(v: Vector, eps: Scalar, place: Epsilon) -> Vector:
    """Denominator of an adaptive step: sqrt(v) + eps or sqrt(v + eps), by ``place``."""
    return sqrt(v) + eps if place is Epsilon.OUTSIDE else sqrt(v + eps)


def corrected(moment: Vector, beta: Scalar, t: Count, correction: BiasCorrection) -> Vector:
    """Moment / (1 - beta^t) if the reading corrects moments, else the moment itself; t = 1 at the first step."""
    return moment / complement(beta, t, moment) if correction is BiasCorrection.MOMENTS else moment


def complement(beta: Scalar, t: Count, like: Vector) -> Scalar:
    """Return 1 - beta^t; for a stack whose clients count their own steps, as a column with one number per client.

    The column is computed in double precision, whatever the type of ``like``: it cancels when beta is close to 1.
    """
    xp = namespace(t)
    if xp is None:
        return 1 - beta**t
    powers: Scalar = xp.astype(1 - beta ** xp.astype(t, xp.float64), like.dtype)[..., None]
    return powers


def around(maximum_of: Maximum, correction: BiasCorrection) -> tuple[BiasCorrection, BiasCorrection]:
    """Bias corrections of AMSGrad's second moment before and after its maximum is taken.

    Raises:
        ParameterError: the reading takes the maximum of corrected moments, but corrects no moment.
    """
    if maximum_of is Maximum.AFTER and correction is not BiasCorrection.MOMENTS:
        raise ParameterError(
            f"maximum_of: got {maximum_of}, which has no effect under bias_correction={correction}; "
            f"leave it out, or choose bias_correction=moments"
        )
    none = BiasCorrection.NONE
    return (correction, none) if maximum_of is Maximum.AFTER else (none, correction)


def rate(eta: Scalar, beta1: Scalar, beta2: Scalar, t: Count, correction: BiasCorrection) -> Scalar:
    """Step size eta, times sqrt(1 - beta2^t) / (1 - beta1^t) if the reading corrects the step."""
    return eta * sqrt(1 - beta2**t) / (1 - beta1**t) if correction is BiasCorrection.STEP else eta
