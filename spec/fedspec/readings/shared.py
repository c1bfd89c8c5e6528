"""Readings that rules of several papers share, and the lookup of a reading by its value."""

from __future__ import annotations

import ast
import inspect
from enum import StrEnum
from functools import cache
from typing import TypeVar

from fedspec.errors import UnknownNameError

E = TypeVar("E", bound=StrEnum)


class BiasCorrection(StrEnum):
    """Bias correction of moments that start at zero, by 1 - beta^t."""

    NONE = "none"
    """The step uses the moments without correction."""
    MOMENTS = "moments"
    """The step uses m / (1 - beta1^t) and, if v is an average, v / (1 - beta2^t) (Kingma and Ba, Algorithm 1)."""
    STEP = "step"
    """The rate is multiplied by sqrt(1 - beta2^t) / (1 - beta1^t); epsilon is not rescaled (Kingma and Ba, sec. 2)."""


class Epsilon(StrEnum):
    """Place of epsilon (on the server: tau) in the denominator."""

    OUTSIDE = "outside"
    """sqrt(v) + eps, or sqrt(v) + tau on a server with tau."""
    INSIDE = "inside"
    """sqrt(v + eps), or sqrt(v + tau) on a server with tau."""


class SecondMoment(StrEnum):
    """Vector whose square the second moment averages."""

    PSEUDO_GRADIENT = "pseudo-gradient"
    """Delta, the aggregate of this round's changes."""
    MOMENTUM = "momentum"
    """Momentum m, the new first moment."""


class Maximum(StrEnum):
    """Second moment whose running maximum AMSGrad takes, before or after bias correction."""

    BEFORE = "before-correction"
    """v_hat = max(v_hat, v), and v_hat is corrected in the step."""
    AFTER = "after-correction"
    """v_hat = max(v_hat, v / (1 - beta2^t))."""


class Weighting(StrEnum):
    """Weights p_i of the participants."""

    EXAMPLES = "examples"
    """p_i = n_i / sum of n_j over the participants."""
    UNIFORM = "uniform"
    """p_i = 1 / number of participants."""
    STEPS = "steps"
    """p_i = tau_i / sum of tau_j over the participants: weights by local steps, for servers that never see n_i."""


class Shares(StrEnum):
    """Shares p_i of all clients, which are known before the first round and do not change."""

    EXAMPLES = "examples"
    """p_i = n_i / sum of n_j."""
    UNIFORM = "uniform"
    """p_i = 1 / number of clients."""


class MomentumForm(StrEnum):
    """Form of the server's momentum: the step of the model from its buffer."""

    HEAVY_BALL = "heavy-ball"
    """x = x + eta v."""
    NESTEROV = "nesterov"
    """x = x + eta (Delta + beta v), v the new buffer; for FedAvgM only if the buffer is a sum."""


class CoverName(StrEnum):
    """A cover of the coordinates for SM3, built from the shapes of the blocks."""

    AXES = "axes"
    """A set for each index along each axis of each block: all coordinates with that index."""
    SINGLETONS = "singletons"
    """Sets of one coordinate each: AdaGrad."""
    ONE = "one"
    """Sets of one block each: a scalar accumulator."""


class Adaptivity(StrEnum):
    """Optimiser of a server, or of its clients, in the experiments of FedAda2."""

    ADAGRAD = "adagrad"
    ADAM = "adam"


def choice(kind: type[E], name: str, value: object) -> E:
    """Convert a value to the member of an enumeration of readings.

    Raises:
        UnknownNameError: the enumeration has no such value.
    """
    try:
        return kind(str(value))
    except ValueError:
        known = ", ".join(kind)
        raise UnknownNameError(f"{name}: unknown value {str(value)!r}; known: {known}") from None


@cache
def meanings(kind: type[StrEnum]) -> dict[str, str]:
    """Docstrings of an option's values, by value; values without a docstring are left out."""
    (tree,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for value, said in zip(tree.body, tree.body[1:], strict=False):
        match value, said:
            case ast.Assign(value=ast.Constant(value=str(name))), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = " ".join(words.split()).removesuffix(".")
    return found
