"""Domains of the hyper-parameters, by name: one name means one thing in the whole catalogue.

The table is the one home of a hyper-parameter. Rules read it to refuse bad input, ``fedspec show`` to explain, the
suite to draw cases. Symbols (sympy, z3) have no value to check and pass.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, NamedTuple

import numpy as np

from fedspec.arrays import entries, has_values, namespace
from fedspec.errors import ParameterError, PlanError, WeightError


@dataclass(frozen=True)
class Domain:
    """A set of real numbers: its description and its membership test."""

    words: str
    holds: Callable[[Any], bool]


REAL = Domain("finite number", lambda x: True)
POSITIVE = Domain("> 0", lambda x: x > 0)
NONNEGATIVE = Domain(">= 0", lambda x: x >= 0)
DECAY = Domain("in [0, 1)", lambda x: 0 <= x < 1)
SHARE = Domain("in [0, 1]", lambda x: 0 <= x <= 1)
MOST = 2**53
"""Largest count: above 2^53, floats can't represent every integer."""

COUNT = Domain("a whole number >= 1, and at most 2^53", lambda x: 1 <= x <= MOST and int(x) == x)
WHOLE = Domain("a whole number >= 0, and at most 2^53", lambda x: 0 <= x <= MOST and int(x) == x)

DRAWN = {
    "POSITIVE": POSITIVE,
    "NONNEGATIVE": NONNEGATIVE,
    "DECAY": DECAY,
    "SHARE": SHARE,
    "COUNT": COUNT,
    "WHOLE": WHOLE,
}
"""Domains, by name, from which fedspec can draw cases for a user's new hyper-parameter."""


class Parameter(NamedTuple):
    """A hyper-parameter: its domain, its meaning, and True if only clients read it."""

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
    "gamma": Parameter(
        NONNEGATIVE,
        "factor by which the client rate decays at each step; 0: only the first one counts",
        of_clients=True,
    ),
    "mu": Parameter(NONNEGATIVE, "weight of the proximal term", of_clients=True),
    "alpha": Parameter(Domain("in [0, 1]", lambda x: 0 <= x <= 1), "product eta_l mu"),
    "eps": Parameter(NONNEGATIVE, "stabiliser of a denominator; may be 0 if the rest of the denominator never is 0"),
    "tau": Parameter(
        NONNEGATIVE, "stabiliser of the server preconditioner; may be 0 if the algorithm has no second moment"
    ),
    "eps_s": Parameter(
        NONNEGATIVE,
        "dead zone: a step whose direction u, over the whole model and without the rate, is shorter is not taken",
        of_clients=True,
    ),
    "z": Parameter(
        COUNT, "delay of the preconditioner, in steps: it is updated in steps 1, z + 1, 2 z + 1, ...", of_clients=True
    ),
    "epoch": Parameter(
        COUNT,
        "steps of an epoch, where the delay counts epochs: step t updates the preconditioner "
        "if ((t - 1) // epoch) % z is 0, and corrections count the updates made",
        of_clients=True,
    ),
    "warm_up": Parameter(
        COUNT,
        "steps over which a client's rate rises in every round: it is eta_l min(1, k / warm_up) in step k "
        "(warm_up_from = zero: k - 1 in the place of k)",
        of_clients=True,
    ),
    "v0": Parameter(NONNEGATIVE, "initial second moment, the same at every coordinate"),
    "m0": Parameter(
        NONNEGATIVE, "initial first moment of a local solver, the same at every coordinate", of_clients=True
    ),
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
    "clip_norm": Parameter(POSITIVE, "length c that a change, or every gradient, is clipped to"),
    "sigma": Parameter(NONNEGATIVE, "noise multiplier: standard deviation of the noise over clip_norm"),
    "lam": Parameter(NONNEGATIVE, "weight decay inside a normalised direction", of_clients=True),
    "wd": Parameter(NONNEGATIVE, "weight decay beside the step, which no moment sees", of_clients=True),
    "phi_m": Parameter(POSITIVE, "least scaling of a layer's step, below phi_M", of_clients=True),
    "phi_M": Parameter(POSITIVE, "greatest scaling of a layer's step", of_clients=True),
    "buffer": Parameter(COUNT, "number of updates that the server waits for"),
    "N": Parameter(COUNT, "number of late updates from one step of a delayed momentum to the next"),
    "c": Parameter(
        Domain("in [0, 1]", lambda x: 0 <= x <= 1),
        "activation of a delayed momentum: what a step between two of its own takes of it; 1 / N: all take the same",
    ),
    "P": Parameter(COUNT, "number of fragments of the model, which are exchanged in turn"),
    "overlap": Parameter(WHOLE, "local steps that a client takes while a fragment travels"),
    "own": Parameter(
        Domain("in [0, 1]", lambda x: 0 <= x <= 1),
        "share of its own that a client keeps in a fragment that arrives",
    ),
    "mix": Parameter(Domain("in (0, 1]", lambda x: 0 < x <= 1), "share of an arriving model in the server's"),
    "twice_a": Parameter(COUNT, "twice the exponent of the polynomial staleness"),
    "hinge_a": Parameter(NONNEGATIVE, "slope of the hinge staleness"),
    "hinge_b": Parameter(WHOLE, "delay after which the hinge staleness weighs less"),
    "tau_c": Parameter(WHOLE, "delay beyond which a server's step is shorter"),
    "trim": Parameter(
        Domain("in [0, 1/2)", lambda x: 0 <= 2 * x < 1),
        "share of the messages that is left out at either end of each coordinate",
    ),
    "levels": Parameter(COUNT, "number s of levels above zero that a size is rounded to", of_clients=True),
    "kept": Parameter(
        COUNT, "number k of entries that a client sends of a vector; of a shorter one all", of_clients=True
    ),
    "chance": Parameter(
        Domain("in (0, 1]", lambda x: 0 < x <= 1),
        "probability p with which clients communicate after a local step",
        of_clients=True,
    ),
    "radius": Parameter(
        NONNEGATIVE, "how far along its gradient a client looks for the one that it steps by", of_clients=True
    ),
    "consensus": Parameter(
        SHARE, "share of what neighbours' known models differ by that a client's model moves", of_clients=True
    ),
    "f": Parameter(WHOLE, "number of messages that may be anything"),
    "keep": Parameter(COUNT, "number of messages that are kept"),
    "smooth": Parameter(POSITIVE, "distance that shorter ones count as"),
    "passes": Parameter(COUNT, "number of passes over the messages of a round"),
    "q": Parameter(NONNEGATIVE, "power of the losses: how much more count those who lose more; 0: all count alike"),
    "guard": Parameter(NONNEGATIVE, "what is added to a loss before its power is taken"),
    "ns_steps": Parameter(
        COUNT, "number of Newton-Schulz iterations that a matrix goes through in a step", of_clients=True
    ),
    "tau_eff": Parameter(POSITIVE, "effective number of local steps of a round"),
}


class Dimension(Enum):
    """Exponent p of a hyper-parameter: if the model's changes are scaled by s, it is multiplied by s^p."""

    RATIO = 0
    LENGTH = 1
    SQUARE = 2


DIMENSIONS: dict[str, Dimension] = {
    **dict.fromkeys(("eps", "tau", "m0", "m0_l", "clip_norm", "smooth", "radius"), Dimension.LENGTH),
    **dict.fromkeys(("v0", "v0_l", "v_hat0"), Dimension.SQUARE),
}
"""Dimensions of the hyper-parameters that aren't ratios, by the usual meaning of their name; a row may override them
(``dimensions``).
"""


def declare(name: str, parameter: Parameter) -> None:
    """Register the meaning of a user's own hyper-parameter, before a rule uses its name.

    Raises:
        ParameterError: the name already has another meaning, or cases can't be drawn from the domain.
    """
    if name not in DOMAINS and parameter.domain not in DRAWN.values():
        raise ParameterError(
            f"{name}: fedspec can't draw a number {parameter.domain.words}; "
            f"its domain must be one of {', '.join(DRAWN)} of fedspec.domains"
        )
    if DOMAINS.setdefault(name, parameter) != parameter:
        was = DOMAINS[name]
        raise ParameterError(
            f"{name}: already means {was.meaning}, {was.domain.words}; a name has one meaning, so rename yours"
        )
    if parameter.domain in (COUNT, WHOLE):
        COUNTS.add(name)


COUNTS = {name for name, p in DOMAINS.items() if p.domain in (COUNT, WHOLE)}
"""Hyper-parameters that are counts; they stay whole numbers in every arithmetic."""


PLANNED: dict[str, tuple[Domain, str]] = {
    "steps": (COUNT, "number of local steps of a participating client"),
    "tau": (COUNT, "number of local steps of a participating client"),
    "k": (WHOLE, "number of local steps before this one"),
    "clients": (COUNT, "number of clients"),
    "b": (WHOLE, "number of values that are left out at either end"),
    "delay": (WHOLE, "number of versions of the model since the update was begun"),
    "tau_max": (WHOLE, "largest number of versions of the model since one of some updates was begun"),
}
"""Counts in plans and rules that aren't hyper-parameters; ``tau`` counts steps here, although a server's stabiliser
is called tau too.
"""


def is_number(x: Any) -> bool:
    """True if ``x`` has a value that can be compared; False for symbols."""
    return _is_number(x.__class__) or hasattr(x, "value")


@functools.cache
def _is_number(kind: type) -> bool:
    return issubclass(kind, Real | Decimal | Fraction | np.number | np.bool_)


def is_real(x: Any) -> bool:
    """True if ``x`` may be one real number (a symbol may); False for a bool, complex number, list or string."""
    return _is_real(x.__class__) and hasattr(x, "__mul__")


@functools.cache
def _is_real(kind: type) -> bool:
    return not issubclass(kind, bool | np.bool_ | complex | np.complexfloating | Sized)


def is_finite(number: Any) -> bool:
    """True if a number is neither NaN nor infinite; every fraction is finite, however large."""
    return (not isinstance(number, float) and isinstance(number, Rational)) or math.isfinite(number)


def outside(value: Any, domain: Domain) -> bool:
    """True if a value isn't a real number, lies outside the domain, or is NaN or infinite; symbols are inside."""
    # A round asks of every client, so what is most often given is answered first.
    if value.__class__ is int:
        return not domain.holds(value)
    if value.__class__ is float:
        return not (math.isfinite(value) and domain.holds(value))
    if namespace(value) is not None and not value.ndim:
        if not has_values(value):
            return False
        # The standard of arrays has no item, but numbers of them.
        value = value.item() if hasattr(value, "item") else float(value)
    if not is_real(value):
        return True
    number = getattr(value, "value", value)
    return is_number(value) and not (is_finite(number) and domain.holds(number))


def all_finite(values: object) -> bool:
    """True if the values are a float array of finite numbers; if False, the caller checks each value."""
    return isinstance(values, np.ndarray) and values.dtype.kind == "f" and bool(np.isfinite(values).all())


def all_nonnegative(values: Sequence[Any] | np.ndarray[Any, Any]) -> bool:
    """True if the values are plain finite numbers >= 0; if False, the caller checks each value."""
    if isinstance(values, np.ndarray):
        return all_finite(values) and bool((values >= 0).all())
    kinds = {*map(type, values)}
    return (kinds == {int} or (kinds == {float} and math.isfinite(sum(values)))) and min(values) >= 0


def require(name: str, value: Any) -> None:
    """Raise ParameterError unless a hyper-parameter, or each number of a per-client column, is in its domain.

    Raises:
        ParameterError: the value isn't a number, or is NaN, infinite or outside the domain of its name.
    """
    domain, meaning, _ = DOMAINS[name]
    if not isinstance(value, np.ndarray | np.generic) and namespace(value) is not None:
        for number in entries(value):
            require(name, float(number))
        return
    if not is_real(value):
        raise ParameterError(f"{name}: got {value!r}; {name} is the {meaning}, a single number {domain.words}")
    if outside(value, domain):
        if name in RATES and (wider := _RATES.get()) and not outside(value, wider):
            return
        # Infinity is > 0, and is refused all the same.
        endless = isinstance(value, float | np.floating) and not math.isfinite(value) and domain is not REAL
        want = f"finite and {domain.words}" if endless else domain.words
        raise ParameterError(f"{name}: got {value}; {name} is the {meaning} and must be {want}")


RATES = ("eta", "eta_l")
"""Rates that a schedule may make 0."""

_RATES: ContextVar[Domain | None] = ContextVar("rates", default=None)


@contextmanager
def resting(domain: Domain = NONNEGATIVE) -> Iterator[None]:
    """Let rates be 0, or in a wider domain, in the enclosed events: the model stays, and the moments move."""
    token = _RATES.set(_RATES.get() or domain)
    try:
        yield
    finally:
        _RATES.reset(token)


def pull(eta_l: Any, mu: Any) -> Any:
    """Return alpha = eta_l mu, the fraction of the distance to its anchor that a proximal step moves.

    Raises:
        ParameterError: alpha is above 1; this is possible with both numbers inside their own domains.
    """
    alpha = eta_l * mu
    domain, meaning, _ = DOMAINS["alpha"]
    if outside(alpha, domain):
        raise ParameterError(
            f"mu: got {mu}, with eta_l = {eta_l}; alpha, the {meaning}, is {alpha} and must be {domain.words}: "
            f"above 1 a step moves past its anchor, and ||a_i||_1 isn't a norm; lower mu or eta_l"
        )
    return alpha


def require_count(name: str, value: Any) -> None:
    """Raise PlanError unless a plan's count, or each count of a per-client array, is a whole number in its domain.

    Raises:
        PlanError: a count isn't a whole number, or is too small.
    """
    domain, meaning = PLANNED[name]
    if value.__class__ is int and domain.holds(value):
        return
    if namespace(value) is not None and not isinstance(value, np.generic):
        for entry in entries(value):
            # In an array with a rate beside it a count is a float; a long double comes out of it as it was.
            number = float(entry) if isinstance(entry, np.floating) else entry
            require_count(name, int(number) if isinstance(number, float) and number.is_integer() else number)
        return
    inside = not isinstance(value, bool) and isinstance(value, Real) and is_finite(value) and domain.holds(value)
    if not inside or not isinstance(value, Integral):
        write = f"; write {int(value)}" if inside else ""
        raise PlanError(f"{name}: got {value!r}; the {meaning} is {domain.words}{write}")


def require_weights(name: str, value: Any) -> None:
    """Raise WeightError if a weight is negative, a norm ||a_i||_1 isn't positive, or either isn't a finite number.

    Raises:
        WeightError: a weight or norm is out of range.
    """
    domain = POSITIVE if name in NORMS else NONNEGATIVE
    numbers = [value] if namespace(value) is None else entries(value)
    if domain is NONNEGATIVE and all_nonnegative(numbers):
        return
    for i, entry in enumerate(numbers):
        # The ledger asks exact norms outside of what a client can have.
        exact = name in NORMS and isinstance(entry, Fraction)
        if not exact and outside(entry, domain):
            what = "||a_i||_1 is (it is tau_i for plain SGD)" if name in NORMS else "weights are"
            raise WeightError(f"{name}: entry {i} is {entry}; {what} {domain.words}")


def require_sizes(what: str, sizes: Sequence[Any], clients: Sequence[int] = ()) -> None:
    """Raise WeightError unless all sample sizes are finite numbers >= 0; they need not be whole.

    Raises:
        WeightError: a sample size is negative, infinite, NaN or not a number; the message has the client's number, or
            the place in the list.
    """
    if all_nonnegative(sizes):
        return
    for i, n in zip(clients or range(len(sizes)), sizes, strict=True):
        if outside(n, NONNEGATIVE):
            raise WeightError(f"{what} {i} has {n!r}; sample sizes are finite numbers >= 0")


NORMS = frozenset({"a_norm", "a_norms"})


def check_steps(tau: Any) -> None:
    """Raise PlanError unless a number of local steps is a whole number >= 1.

    Raises:
        PlanError: tau is not a whole number, or below 1.
    """
    require_count("steps", tau)
