"""Readings that rules of several papers share, and how a reading is found by its value."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from fedspec.errors import UnknownNameError

E = TypeVar("E", bound=StrEnum)


class BiasCorrection(StrEnum):
    """Whether the moments, which start at zero, are divided by 1 - beta^t."""

    NONE = "none"
    """The moments enter the step as they are."""
    MOMENTS = "moments"
    """m / (1 - beta1^t) and, where v is an average, v / (1 - beta2^t) enter the step (Kingma and Ba, Algorithm 1)."""
    STEP = "step"
    """The rate is multiplied by sqrt(1 - beta2^t) / (1 - beta1^t); epsilon is not rescaled (Kingma and Ba, sec. 2)."""


class Epsilon(StrEnum):
    """Where epsilon (on the server: tau) stands in the denominator."""

    OUTSIDE = "outside"
    """sqrt(v) + eps, or + tau where that is what the server has."""
    INSIDE = "inside"
    """sqrt(v + eps), or sqrt(v + tau) where that is what the server has."""


class SecondMoment(StrEnum):
    """What the second moment averages the square of."""

    PSEUDO_GRADIENT = "pseudo-gradient"
    """Of Delta, what this round's clients sent."""
    MOMENTUM = "momentum"
    """Of m, the new first moment."""


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
    STEPS = "steps"
    """p_i = tau_i / sum of tau_j over the participants: by local steps, as servers do that never see n_i."""


class Shares(StrEnum):
    """The shares p_i of all clients, which are known before the first round and do not change."""

    EXAMPLES = "examples"
    """p_i = n_i / sum of n_j."""
    UNIFORM = "uniform"
    """p_i = 1 / number of clients."""


class MomentumForm(StrEnum):
    """What the server's momentum buffer does to the model."""

    HEAVY_BALL = "heavy-ball"
    """x = x + eta v."""
    NESTEROV = "nesterov"
    """x = x + eta (Delta + beta v), v the new buffer; of FedAvgM where the buffer is a sum alone."""


class CoverName(StrEnum):
    """A cover of the coordinates for SM3, built from the shapes of the blocks."""

    AXES = "axes"
    """One set for each index of each axis of each block: all coordinates with that index."""
    SINGLETONS = "singletons"
    """One set for each coordinate: AdaGrad."""
    ONE = "one"
    """One set for each block: a scalar accumulator."""


class Adaptivity(StrEnum):
    """The optimiser of a server, or of its clients, in the experiments of FedAda2."""

    ADAGRAD = "adagrad"
    ADAM = "adam"


def choice(kind: type[E], name: str, value: object) -> E:
    """The member of an enumeration of readings with that value.

    Raises:
        UnknownNameError: the enumeration has no such value.
    """
    try:
        return kind(str(value))
    except ValueError:
        known = ", ".join(kind)
        raise UnknownNameError(f"{name}: unknown value {str(value)!r}; known: {known}") from None
