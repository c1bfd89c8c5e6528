"""What each hyper-parameter may be, by name: one name means one thing in the whole catalogue.

The table is read by rules (to refuse bad input), by ``fedspec show`` and by the suite (to draw cases).
Symbols (sympy, z3) have no value to check and pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sized
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from fedspec.errors import ParameterError


@dataclass(frozen=True)
class Domain:
    """A set of real numbers: how to say it and how to test it."""

    words: str
    holds: Callable[[Any], bool]


POSITIVE = Domain("> 0", lambda x: x > 0)
NONNEGATIVE = Domain(">= 0", lambda x: x >= 0)
DECAY = Domain("in [0, 1)", lambda x: 0 <= x < 1)

DOMAINS: dict[str, tuple[Domain, str]] = {
    "eta": (POSITIVE, "server learning rate"),
    "eta_l": (POSITIVE, "client learning rate"),
    "beta": (DECAY, "server momentum"),
    "beta1": (DECAY, "decay of the first moment"),
    "beta2": (DECAY, "decay of the second moment"),
    "rho": (DECAY, "client momentum"),
    "gamma": (POSITIVE, "factor by which the client rate decays at each step"),
    "mu": (NONNEGATIVE, "weight of the proximal term"),
    "alpha": (Domain("in [0, 1]", lambda x: 0 <= x <= 1), "product eta_l mu"),
    "eps": (NONNEGATIVE, "stabiliser of the preconditioner"),
    "tau": (
        NONNEGATIVE,
        "stabiliser of the server preconditioner",
    ),
    "v0": (NONNEGATIVE, "initial second moment, the same at every coordinate"),
    "tau_eff": (POSITIVE, "effective number of local steps of a round"),
}


def is_number(x: object) -> bool:
    """Whether ``x`` has a value that can be compared: false for symbols."""
    return isinstance(x, Real | Decimal | Fraction | np.number) or hasattr(x, "value")


def require(name: str, value: Any) -> None:
    """Refuse a hyper-parameter outside its domain.

    Raises:
        ParameterError: it is not a number, NaN, infinite, or outside the domain of its name.
    """
    domain, meaning = DOMAINS[name]
    if isinstance(value, bool | complex | Sized) or not hasattr(value, "__mul__"):
        raise ParameterError(f"{name}: got {value!r}; {name} is the {meaning}, a single number {domain.words}")
    if not is_number(value):
        return
    number = getattr(value, "value", value)
    if not math.isfinite(number) or not domain.holds(number):
        raise ParameterError(f"{name}: got {value}; {name} is the {meaning} and must be {domain.words}")
