"""Readings: what the papers, or the implementations of a name, leave open, as values with one name each."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from fedspec.errors import UnknownNameError

E = TypeVar("E", bound=StrEnum)


class BiasCorrection(StrEnum):
    """Whether the moments, which start at zero, are divided by 1 - beta^t."""

    NONE = "none"
    MOMENTS = "moments"
    """m / (1 - beta1^t) and v / (1 - beta2^t) enter the step (Kingma and Ba, Algorithm 1)."""
    STEP = "step"
    """The rate is multiplied by sqrt(1 - beta2^t) / (1 - beta1^t); epsilon is not rescaled (Kingma and Ba, sec. 2)."""


class Epsilon(StrEnum):
    """Where epsilon (on the server: tau) stands in the denominator."""

    OUTSIDE = "outside"
    """sqrt(v) + eps"""
    INSIDE = "inside"
    """sqrt(v + eps)"""


class SecondMoment(StrEnum):
    """What the second moment averages the square of."""

    PSEUDO_GRADIENT = "pseudo-gradient"
    MOMENTUM = "momentum"


class Maximum(StrEnum):
    """Which second moment AMSGrad takes the running maximum of, when there is a bias correction."""

    BEFORE = "before-correction"
    """v_hat = max(v_hat, v), and v_hat is corrected in the step."""
    AFTER = "after-correction"
    """v_hat = max(v_hat, v / (1 - beta2^t))."""


class Weighting(StrEnum):
    """The weights p_i of the participants."""

    EXAMPLES = "examples"
    """p_i = n_i / sum of n_j over the participants."""
    UNIFORM = "uniform"
    """p_i = 1 / number of participants."""


class MomentumForm(StrEnum):
    """What the server's momentum buffer does to the model."""

    HEAVY_BALL = "heavy-ball"
    NESTEROV = "nesterov"


class BufferStart(StrEnum):
    """What a dampened momentum buffer holds after the first step."""

    ZERO = "zero"
    """(1 - rho) g: it starts at zero."""
    FIRST_GRADIENT = "first-gradient"
    """g."""


class Solver(StrEnum):
    """A local solver that is linear in its gradients, so that FedNova has an accumulation vector for it."""

    SGD = "sgd"
    PROXIMAL = "proximal"
    DECAYED = "decayed"
    MOMENTUM = "momentum"
    NESTEROV = "nesterov"
    DAMPENED = "dampened"
    MOMENTUM_PROXIMAL_OUTSIDE = "momentum-proximal-outside"
    MOMENTUM_PROXIMAL_INSIDE = "momentum-proximal-inside"


class TauEff(StrEnum):
    """FedNova's effective number of local steps."""

    WEIGHTED_NORM = "weighted-norm"
    """sum_i p_i ||a_i||_1, the default of FedNova, eq. (12)."""
    WEIGHTED_STEPS = "weighted-steps"
    """sum_i p_i tau_i, used with the proximal solver in the experiments of FedNova, sec. 5."""
    FIXED = "fixed"
    """A constant of the server, as App. G assumes when clients are sampled."""


class NovaWeights(StrEnum):
    """The weights w_i of FedNova's general rule, eq. (4)."""

    NOVA = "nova"
    """w_i = p_i: FedNova."""
    IMPLIED = "implied"
    """w_i proportional to p_i ||a_i||_1: what averaging the changes amounts to, eqs. (5)-(7)."""


class AmsOption(StrEnum):
    """The two options of FedAMS (Wang, Lin and Chen, 2022), external to the five papers."""

    ONE = "1"
    """v_hat = max(v_hat, v, eps), step over sqrt(v_hat)."""
    TWO = "2"
    """v_hat = max(v_hat, v), step over sqrt(v_hat + eps): FedAMSGrad."""


class CoverName(StrEnum):
    """A cover of the coordinates for SM3, built from the shapes of the blocks."""

    AXES = "axes"
    """One set for each slice along each axis of each block."""
    SINGLETONS = "singletons"
    """One set for each coordinate: AdaGrad."""
    ONE = "one"
    """One set for each block: a scalar accumulator."""


class Sm3Zero(StrEnum):
    """What SM3 does where its accumulator is zero."""

    EPSILON = "epsilon"
    """eps is added to the root (FedAda2)."""
    ZERO_OVER_ZERO = "zero-over-zero"
    """0/0 = 0 (Anil et al., 2019)."""


def choice(kind: type[E], name: str, value: object) -> E:
    """The member of an enumeration of readings with that value.

    Raises:
        UnknownNameError: there is none.
    """
    try:
        return kind(str(value))
    except ValueError:
        known = ", ".join(kind)
        raise UnknownNameError(f"{name}: unknown reading {str(value)!r}; known: {known}") from None
