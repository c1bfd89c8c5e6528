"""Readings that rules of several papers share, and how a reading is found by its value."""

from __future__ import annotations

import ast
import inspect
from enum import StrEnum
from functools import cache
from typing import TypeVar

from fedspec.errors import UnknownNameError

E = TypeVar("E", bound=StrEnum)


class BiasCorrection(StrEnum):
    """Division of the moments, which start at zero, by 1 - beta^t."""

    NONE = "none"
    """The moments enter the step as they are."""
    MOMENTS = "moments"
    """m / (1 - beta1^t) and, where v is an average, v / (1 - beta2^t) enter the step (Kingma and Ba, Algorithm 1)."""
    STEP = "step"
    """The rate is multiplied by sqrt(1 - beta2^t) / (1 - beta1^t); epsilon is not rescaled (Kingma and Ba, sec. 2)."""


class Epsilon(StrEnum):
    """Place of epsilon (on the server: tau) in the denominator."""

    OUTSIDE = "outside"
    """sqrt(v) + eps, or + tau where that is what the server has."""
    INSIDE = "inside"
    """sqrt(v + eps), or sqrt(v + tau) where that is what the server has."""


class SecondMoment(StrEnum):
    """Vector whose square the second moment averages."""

    PSEUDO_GRADIENT = "pseudo-gradient"
    """Delta, the aggregate of this round's changes."""
    MOMENTUM = "momentum"
    """Momentum m, the new first moment."""


class Maximum(StrEnum):
    """Second moment whose running maximum AMSGrad takes, when there is a bias correction."""

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
    """Step of the model from the server's momentum buffer."""

    HEAVY_BALL = "heavy-ball"
    """x = x + eta v."""
    NESTEROV = "nesterov"
    """x = x + eta (Delta + beta v), v the new buffer; of FedAvgM where the buffer is a sum alone."""


class CoverName(StrEnum):
    """A cover of the coordinates for SM3, built from the shapes of the blocks."""

    AXES = "axes"
    """Sets by the indices of each axis of each block: all coordinates with an index are one set."""
    SINGLETONS = "singletons"
    """Sets of one coordinate each: AdaGrad."""
    ONE = "one"
    """Sets of one block each: a scalar accumulator."""


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


@cache
def meanings(kind: type[StrEnum]) -> dict[str, str]:
    """The values of an option that are explained where they are defined, in the words used there."""
    (tree,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for value, said in zip(tree.body, tree.body[1:], strict=False):
        match value, said:
            case ast.Assign(value=ast.Constant(value=str(name))), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = " ".join(words.split()).removesuffix(".")
    return found
