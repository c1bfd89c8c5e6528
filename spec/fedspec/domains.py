"""What each hyper-parameter may be, by name: one name means one thing in the whole catalogue.

The table is the one home of a hyper-parameter. Rules read it to refuse bad input, ``fedspec show`` to explain, the
suite to draw cases. Symbols (sympy, z3) have no value to check and pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sized
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from fedspec.arith import namespace
from fedspec.errors import ParameterError, PlanError


@dataclass(frozen=True)
class Domain:
    """A set of real numbers: how to say it and how to test it."""

    words: str
    holds: Callable[[Any], bool]


POSITIVE = Domain("> 0", lambda x: x > 0)
NONNEGATIVE = Domain(">= 0", lambda x: x >= 0)
DECAY = Domain("in [0, 1)", lambda x: 0 <= x < 1)
COUNT = Domain("a whole number >= 1", lambda x: x >= 1 and int(x) == x)
WHOLE = Domain("a whole number >= 0", lambda x: x >= 0 and int(x) == x)


class Parameter(NamedTuple):
    """A hyper-parameter: its domain, what it means, and whether clients alone read it, so that a server has no such."""

    domain: Domain
    meaning: str
    of_clients: bool = False


DOMAINS: dict[str, Parameter] = {
    "eta": Parameter(POSITIVE, "server learning rate"),
    "eta_l": Parameter(POSITIVE, "client learning rate", of_clients=True),
    "beta": Parameter(DECAY, "server momentum"),
    "beta1": Parameter(DECAY, "decay of the first moment"),
    "beta2": Parameter(DECAY, "decay of the second moment"),
    "beta3": Parameter(DECAY, "decay of the running maximum of the second moment"),
    "rho": Parameter(DECAY, "client momentum", of_clients=True),
    "gamma": Parameter(POSITIVE, "factor by which the client rate decays at each step", of_clients=True),
    "mu": Parameter(NONNEGATIVE, "weight of the proximal term", of_clients=True),
    "alpha": Parameter(Domain("in [0, 1]", lambda x: 0 <= x <= 1), "product eta_l mu"),
    "eps": Parameter(NONNEGATIVE, "stabiliser of the preconditioner"),
    "tau": Parameter(NONNEGATIVE, "stabiliser of the server preconditioner"),
    "eps_s": Parameter(NONNEGATIVE, "dead zone: a whole step shorter than this is not taken", of_clients=True),
    "z": Parameter(COUNT, "delay of the preconditioner, in steps: it is updated at every z-th", of_clients=True),
    "epoch": Parameter(
        COUNT, "steps of an epoch, if the delay counts epochs: one in z updates the preconditioner", of_clients=True
    ),
    "warm_up": Parameter(
        COUNT, "steps over which a client's rate rises to eta_l in every round; 1: it is eta_l at once", of_clients=True
    ),
    "v0": Parameter(NONNEGATIVE, "initial second moment, the same at every coordinate"),
    "v_hat0": Parameter(NONNEGATIVE, "initial value of the second moment's running maximum"),
    "beta1_l": Parameter(
        DECAY, "clients' decay of the first moment, where the server has one of its own", of_clients=True
    ),
    "beta2_l": Parameter(
        DECAY, "clients' decay of the second moment, where the server has one of its own", of_clients=True
    ),
    "v0_l": Parameter(
        NONNEGATIVE, "clients' initial second moment, where the server has one of its own", of_clients=True
    ),
    "m0_l": Parameter(NONNEGATIVE, "clients' initial first moment, the same at every coordinate", of_clients=True),
    "clip_norm": Parameter(POSITIVE, "length that a client's change is clipped to"),
    "sigma": Parameter(NONNEGATIVE, "noise multiplier: standard deviation of the noise over clip_norm"),
    "lam": Parameter(NONNEGATIVE, "weight decay inside a normalised direction", of_clients=True),
    "phi_m": Parameter(POSITIVE, "least scaling of a layer's step", of_clients=True),
    "phi_M": Parameter(POSITIVE, "greatest scaling of a layer's step", of_clients=True),
    "buffer": Parameter(COUNT, "number of updates that the server waits for"),
    "mix": Parameter(Domain("in (0, 1]", lambda x: 0 < x <= 1), "share of an arriving model in the server's"),
    "twice_a": Parameter(COUNT, "twice the exponent of the polynomial staleness"),
    "hinge_a": Parameter(NONNEGATIVE, "slope of the hinge staleness"),
    "hinge_b": Parameter(WHOLE, "delay from which on the hinge staleness weighs less"),
    "tau_eff": Parameter(POSITIVE, "effective number of local steps of a round"),
}


COUNTS = frozenset(name for name, p in DOMAINS.items() if p.domain in (COUNT, WHOLE))
"""The hyper-parameters that count something: they stay whole numbers in every arithmetic."""


def is_number(x: object) -> bool:
    """Whether ``x`` has a value that can be compared: false for symbols."""
    return isinstance(x, Real | Decimal | Fraction | np.number) or hasattr(x, "value")


def require(name: str, value: Any) -> None:
    """Refuse a hyper-parameter outside its domain; a column of numbers, one for each client of a stack, each of them.

    Raises:
        ParameterError: it is not a number, NaN, infinite, or outside the domain of its name.
    """
    domain, meaning, _ = DOMAINS[name]
    if not isinstance(value, np.ndarray) and namespace(value) is not None:
        for number in np.ravel(value.tolist()):
            require(name, float(number))
        return
    if isinstance(value, bool | complex | Sized) or not hasattr(value, "__mul__"):
        raise ParameterError(f"{name}: got {value!r}; {name} is the {meaning}, a single number {domain.words}")
    if not is_number(value):
        return
    number = getattr(value, "value", value)
    if not math.isfinite(number) or not domain.holds(number):
        raise ParameterError(f"{name}: got {value}; {name} is the {meaning} and must be {domain.words}")


def check_steps(tau: Any) -> None:
    """Refuse a number of local steps that is not a whole number >= 1.

    Raises:
        PlanError: tau is not a whole number, or below 1.
    """
    number: Any = tau if isinstance(tau, Real) and tau is not True else math.nan
    if not (math.isfinite(number) and number >= 1 and int(number) == number):
        raise PlanError(f"steps: got {tau!r} local steps; a participating client takes a whole number >= 1")
