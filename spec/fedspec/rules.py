"""Decorator of a rule: it reads the equations off the docstring and checks the arguments.

A rule's docstring prints each equation on a line that ends in the equation's id::

    m = beta1 m + (1 - beta1) Delta           fedamsgrad.m

The ids are unique in the catalogue; laws, verdicts and reports carry them. Where a reading has another equation in its
place, that stands beside it, with the options under which it runs::

    x = x + eta m / sqrt(v_hat + eps)         fedamsgrad.step
    x = x + eta m / (sqrt(v_hat) + eps)       fedamsgrad.step [epsilon=outside]

A rule has an option for each choice that its readings make. :mod:`fedspec.folding` prints the text of one reading,
without the options.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from fedspec.arrays import check_array, compiling, has_values, namespace
from fedspec.choices import Open, either
from fedspec.division import refuse_division_by_zero, stabiliser_of_zero
from fedspec.domains import (
    DOMAINS,
    NORMS,
    PLANNED,
    REAL,
    WHOLE,
    is_number,
    outside,
    require,
    require_count,
    require_weights,
)
from fedspec.errors import CoverError, ParameterError, PlanError, ShapeError
from fedspec.readings import choice

P = ParamSpec("P")
R = TypeVar("R")

_EQUATION = re.compile(
    r"^\s{4,}(?P<text>\S.*?)\s{2,}(?P<id>[a-z0-9]+(?:-[a-z0-9]+)*\.[A-Za-z0-9_]+)(?:\s+\[(?P<when>[^\]]+)\])?\s*$"
)


@dataclass(frozen=True)
class Equation:
    """Equation in a rule's docstring, with the options under which it runs."""

    id: str
    text: str
    rule: str
    when: frozenset[tuple[str, str]] = frozenset()


RULES: dict[str, Callable[..., Any]] = {}
"""All rules by dotted name."""


@functools.cache
def printed(function: Callable[..., Any]) -> tuple[Equation, ...]:
    """All equations in a rule's docstring, including the equations of every reading."""
    name = f"{function.__module__}.{function.__qualname__}"
    found = filter(None, map(_EQUATION.match, (function.__doc__ or "").splitlines()))
    return tuple(Equation(m["id"], m["text"], name, _conditions(m["when"] or "")) for m in found)


def _conditions(said: str) -> frozenset[tuple[str, str]]:
    pairs = (word.strip().partition("=") for word in said.split(",") if word.strip())
    return frozenset((option, value) for option, _, value in pairs)


def defaults(function: Callable[..., Any]) -> dict[str, str]:
    """Default value of each option of a rule."""
    given = inspect.signature(function).parameters.values()
    return {p.name: str(p.default) for p in given if isinstance(p.default, StrEnum)}


def equations(function: Callable[..., Any], options: Mapping[str, str] | None = None) -> tuple[Equation, ...]:
    """Equations that run under the given options, with defaults for missing ones; of equal ids, the most specific."""
    chosen = {**defaults(function), **(options or {})}.items()
    found: dict[str, Equation] = {}
    for e in printed(function):
        if e.when <= chosen and (e.id not in found or len(e.when) >= len(found[e.id].when)):
            found[e.id] = e
    # What a reading adds stands below what is printed: a step that it comes before is taken after it.
    usual = {e.id for e in printed(function) if not e.when}
    added = max((k for k, name in enumerate(found) if name not in usual), default=-1)
    places = {name: max(k, added + 0.5) if name.endswith(".step") else k for k, name in enumerate(found)}
    return tuple(sorted(found.values(), key=lambda e: places[e.id]))


_AXES = {
    "Vector": ("...", "d"),
    "Sets": ("...", "q"),
    "Shared": ("*", "d"),
    "Stack": ("n", "d"),
    "Column": ("n", "1"),
    "Weights": ("n",),
    "Mixing": ("n", "n"),
    "Scalar": ("*", "1"),
}
"""The axes of what an annotation names; "..." stands for the clients of a stack, in all arguments or none, "*" for the
same where a vector may also be common to them; a number is common to all coordinates."""


@functools.cache
def _fields(name: str, kind: type) -> tuple[tuple[str, str, str], ...]:
    """Fields of a record argument: the name in messages, the field's name and its annotation; none without a record."""
    return tuple((f"{name}.{f.name}", f.name, str(f.type)) for f in getattr(kind, "__dataclass_fields__", {}).values())


Shaped: TypeAlias = tuple[str, tuple[int, ...], tuple[str, ...], Any]
"""Array argument of a rule: its name, shape, axis names from the annotation, and dtype."""


def _axes(name: str, value: Any, annotation: str) -> list[Shaped]:
    """The arrays in an argument: the axis names that the annotation gives them, and their dtypes."""
    kind = value.__class__
    # What nearly all are is answered first.
    if annotation == "Scalar" and (kind is float or kind is int):
        return []
    axes = _AXES.get(annotation)
    if kind is np.ndarray and axes and annotation != "Scalar" and value.dtype.kind == "f":
        return [(name, value.shape, axes, value.dtype)]
    found: list[Shaped] = []
    if annotation == "Scalar":
        if namespace(value) is not None and value.ndim:
            found.append((name, tuple(value.shape), _AXES[annotation], None))
    elif annotation in _AXES:
        check_array(name, value)
        found.append((name, tuple(value.shape), _AXES[annotation], value.dtype))
    elif annotation == "AnyCover":
        if not hasattr(value, "q"):
            raise CoverError(f"{name}: got {value!r}; give a Cover (fedspec.covers)")
        found.append((name, (value.q, value.d), ("q", "d"), None))
    elif annotation in ("int", "Count") and "." in name:
        if namespace(value) is None and (not isinstance(value, Real) or outside(value, WHOLE)):
            raise PlanError(f"{name}: got {value!r}; a state's number of steps must be {WHOLE.words}")
    else:
        for called, field, note in _fields(name, kind):
            found += _axes(called, getattr(value, field), note)
    return found


# Rules are called for every step of every client, with arrays of the same few shapes.
@functools.lru_cache(maxsize=4096)
def _complaint(arrays: tuple[tuple[tuple[int, ...], tuple[str, ...], type, Any], ...]) -> str:
    """Complaint if axes of one name differ in length, stacks in their clients, or floats in their type; else empty."""
    # Beside a stack that a rule takes as such, a vector is one: it would be spread over the rows.
    sizes: dict[str, Any] = {"1": 1}
    if any(axes == _AXES["Stack"] for _, axes, *_ in arrays):
        sizes["..."] = ()
    for shape, axes, *_ in arrays:
        if axes[0] in ("...", "*"):
            clients, shape, axes, shared = shape[:-1], shape[-1:], axes[1:], axes[0] == "*"
            if (clients or not shared) and sizes.setdefault("...", clients) != clients:
                return "shapes do not fit together"
        if len(shape) != len(axes) or any(sizes.setdefault(a, n) != n for a, n in zip(axes, shape, strict=True)):
            return "shapes do not fit together"
    dtypes = {str(dtype) for *_, dtype in arrays} - {"None", "object"}
    return f"{' and '.join(sorted(dtypes))} do not mix" if len(dtypes) > 1 else ""


_NUMBERS = ("Sequence[int]", "int", "Count", "Scalar", "Weights")
"""The annotations of hyper-parameters and counts."""


def _counted_or_measured(name: str, value: Any, note: str) -> Any:
    """A hyper-parameter or a count, refused outside its domain; a count as an int."""
    match note:
        case "Sequence[int]" if name in PLANNED:
            if not isinstance(value, Iterable):
                raise PlanError(f"{name}: got {value!r}; give one number for each client")
            for number in value:
                require_count(name, number)
        case "int" if namespace(value) is not None and value.ndim:
            raise PlanError(
                f"{name}: got an array of shape {tuple(value.shape)}; give one whole number for all clients"
            )
        case "int" | "Count" if name in PLANNED:
            require_count(name, value)
        case "int" | "Scalar" if name in DOMAINS:
            require(name, value)
        case "Scalar" if name in PLANNED and is_number(value):
            require_count(name, value)
        case "Scalar" | "Weights" if note == "Weights" or name in NORMS:
            require_weights(name, value)
        case "Scalar" if name not in PLANNED and not getattr(value, "ndim", 0) and outside(value, REAL):
            raise ParameterError(f"{name}: got {value!r}; give a {REAL.words}")
    return int(value) if note == "int" and (namespace(value) is None or has_values(value)) else value


def _check_rows(arguments: Mapping[str, Any], notes: Mapping[str, str]) -> None:
    """Reject a stack without rows, and a stack with more rows than there are clients."""
    for name, value in arguments.items():
        if notes[name] == "Stack":
            clients = arguments.get("clients", len(value))
            if not 0 < len(value) <= clients:
                raise PlanError(
                    f"{name}: got {len(value)} rows for {clients} clients; give at least one row, and no client twice"
                )


def refuse_missing(rule: str, missing: Sequence[str]) -> None:
    """Raise ParameterError for arguments that a call of a rule lacks.

    Raises:
        ParameterError: an argument is missing.
    """
    for name in missing:
        meaning = f"; it is the {DOMAINS[name].meaning}, {DOMAINS[name].domain.words}" if name in DOMAINS else ""
        raise ParameterError(f"{rule}: {name} is not given{meaning}")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function so that its hyper-parameters and counts are checked, and that its arrays agree in shape."""
    signature = inspect.signature(function)
    notes = {n: str(p.annotation) for n, p in signature.parameters.items()}
    positions = [n for n, p in signature.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    needed = {n for n, p in signature.parameters.items() if p.default is p.empty}
    known = inspect.unwrap(function).__globals__
    named = {n: known.get(str(p.annotation), p.annotation) for n, p in signature.parameters.items()}
    chosen = {n: kind for n, kind in named.items() if isinstance(kind, type) and issubclass(kind, StrEnum)}
    measured = {n: DOMAINS[n].domain for n, note in notes.items() if note == "Scalar" and n in DOMAINS}

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given: dict[str, Any] = {**dict(zip(positions, args, strict=False)), **kwargs}
        if len(given) < len(args) + len(kwargs) or not needed <= given.keys() <= notes.keys():
            if given.keys() <= notes.keys() and len(given) == len(args) + len(kwargs):
                refuse_missing(function.__name__, [n for n in notes if n in needed - given.keys()])
            # Python says what is wrong with the call.
            signature.bind(*args, **kwargs)
        if compiling():
            # torch.compile takes apart what is called with its tensors, and cannot take apart what looks at them.
            options = {n: choice(kind, n, given[n]) for n, kind in chosen.items() if n in given}
            return function(**{**given, **options})  # type: ignore[call-arg]
        arrays: list[Shaped] = []
        for name, value in given.items():
            if name in chosen:
                given[name] = choice(chosen[name], name, value)
            elif value.__class__ is float and name in measured:
                # As rates and decays come, in every step of every client; the rest looks at whatever else they may be.
                if outside(value, measured[name]):
                    given[name] = _counted_or_measured(name, value, notes[name])
            else:
                note = notes[name]
                if note in _NUMBERS:
                    given[name] = _counted_or_measured(name, value, note)
                arrays += _axes(name, value, note)
        _check_rows(given, notes)
        if complaint := _complaint(tuple((shape, axes, type(dtype), dtype) for _, shape, axes, dtype in arrays)):
            listing = ", ".join(
                f"{name} {shape}{'' if dtype is None else f' {dtype}'} for [{' '.join(axes)}]"
                for name, shape, axes, dtype in arrays
            )
            raise ShapeError(f"{function.__name__}: {complaint}: {listing}")
        try:
            result = function(**given)  # type: ignore[call-arg]
        except Open as question:
            return either(question.condition, lambda: function(**given))  # type: ignore[call-arg]
        if name := stabiliser_of_zero(given):
            refuse_division_by_zero(name, function.__name__, given, result)
        return result

    return call


def rule(function: Callable[P, R]) -> Callable[P, R]:
    """Register a function as a rule and wrap it so that its numbers and array shapes are checked."""
    RULES[f"{function.__module__}.{function.__qualname__}"] = call = checked(function)
    return call
