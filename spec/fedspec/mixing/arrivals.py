"""Rules of an asynchronous server for arrivals: changes per step, less weight for old changes, mixed models."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector, sqrt
from fedspec.readings import Age, Normalise, Staleness
from fedspec.rules import rule


@rule
def local_change(x: Vector, x_mu: Vector, *, steps: int, normalise: Normalise = Normalise.PER_STEP) -> Vector:
    """Message of a client after K steps from x_mu, the version that it downloaded: its change per step.

        delta_i = (x - x_mu) / K                   cc.delta_i

        delta_i = x - x_mu                         cc.delta_i [normalise=none]

    It points downhill and the server adds it; the paper's main text has x_mu - x (its proof does not) and subtracts.
    Source: Client-Centric, Alg. 3, lines 8 and 9 (L173-175), where K_(l,i) of line 8 is a misprint of K_(t,i).
    """
    change = x - x_mu
    return change / steps if normalise is Normalise.PER_STEP else change


@rule
def discount(
    mix: Scalar,
    *,
    delay: int,
    staleness: Staleness = Staleness.CONSTANT,
    age: Age = Age.DELAY,
    twice_a: int = 1,
    hinge_a: Scalar = 1,
    hinge_b: int = 0,
) -> Scalar:
    """Weight of an arriving update, reduced by its delay.

        mix_t = mix s(u)                           fedasync.mix_t

    with u = delay, and s(u) = 1, or (1 + u)^(-a), or 1 where u <= b and 1 / (a (u - b) + 1) elsewhere. The exponent is
    a multiple of 1/2, so that s is a quotient of whole numbers and their roots in every arithmetic.
    External: Xie, Koyejo and Gupta (2019), there alpha_t = alpha s(t - tau).
    """
    u = delay if age is Age.DELAY else delay + 1
    match staleness:
        case Staleness.CONSTANT:
            return mix
        case Staleness.POLYNOMIAL:
            # 1 + u as a number of the arithmetic in use, which has a root there.
            late = mix * 0 + 1 + u
            return mix / (late ** (twice_a // 2) * (sqrt(late) if twice_a % 2 else 1))
        case Staleness.HINGE:
            return mix if u <= hinge_b else mix / (hinge_a * (u - hinge_b) + 1)


READ_BY = {"twice_a": ("staleness=polynomial",), **dict.fromkeys(("hinge_a", "hinge_b"), ("staleness=hinge",))}
"""Options under which the hyper-parameters of ``discount`` have an effect, in the form of ``Hyper.plays``."""


@rule
def mixed(x: Vector, x_i: Vector, *, mix: Scalar) -> Vector:
    """Move the server's model towards an arriving model with weight mix_t, which is the argument ``mix``.

        x = (1 - mix_t) x + mix_t x_i              fedasync.step

    External: Xie, Koyejo and Gupta (2019), Algorithm 1.
    """
    return (1 - mix) * x + mix * x_i
