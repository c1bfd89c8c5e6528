"""Codec of laws' cases as JSON, exact to the bit, for a closed list of value types.

What JSON has stands for itself; everything else is an object with one tag: ``{"array": [...], "shape": [2], "dtype":
"float32"}``, ``{"tuple": [...]}``, ``{"dict": {...}}``, ``{"record": "Case", "fields": {...}}``, ``{"word": ["Solver",
"sgd"]}``, ``{"slice": [0, 2, null]}``, ``{"fraction": "1/3"}``, ``{"float": "inf"}``. Reading makes these and nothing
else: no name in a file is ever looked up anywhere but in the tables below.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec import readings
from fedspec.contract import (
    Arrival,
    Begin,
    Case,
    ClientMessage,
    Exchange,
    Gradient,
    Messages,
    Quadratics,
    Round,
)
from fedspec.errors import ContractError, FedspecError
from fedspec.schema import check, refuse, said
from fedspec.wire import EVENTS, UNTOLD, encode, is_nothing
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.signed_permutation import Renaming

_RECORDS: tuple[type[Any], ...] = (
    *(Scenario, Case, Quadratics, ClientMessage, Gradient, Begin, Messages, Round, Exchange, Arrival),
    Renaming,
)
RECORDS: dict[str, type[Any]] = {cls.__name__: cls for cls in _RECORDS}
"""Record classes that a case may contain, by name."""

READINGS: dict[str, type[Enum]] = {
    name: cls for name, cls in inspect.getmembers(readings, inspect.isclass) if issubclass(cls, Enum)
}
"""Enumerations whose members may be option values of a case, by name."""

DTYPES = {"float64", "float32", "int64"}

DEEPEST = 32
"""Deepest nesting of values."""

LARGEST = 2**53
"""Largest magnitude of an integer."""

LONGEST_RUN = 10_000
"""Largest number of local steps of a client and largest delay of an update; no check draws larger ones."""

_COUNTED = {"steps", "delay"}


def encoded(value: Any) -> Any:
    """Return a case as JSON values.

    Raises:
        ContractError: it holds a value of a kind that is not listed.
    """
    if value is None or type(value) in {bool, int, str}:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if type(value) is list:
        return [encoded(v) for v in value]
    if type(value) is tuple:
        return {"tuple": [encoded(v) for v in value]}
    if isinstance(value, Mapping) and all(type(k) is str for k in value):
        return {"dict": {k: encoded(v) for k, v in value.items()}}
    if isinstance(value, np.ndarray) and str(value.dtype) in DTYPES:
        flat = [encoded(v) for v in value.reshape(-1).tolist()]
        return {"array": flat, "shape": list(value.shape), "dtype": str(value.dtype)}
    if RECORDS.get(type(value).__name__) is type(value):
        held = ((f.name, getattr(value, f.name)) for f in fields(value))
        told = {n: encoded(v) for n, v in held if not (_may_be_left_out(type(value), n) and is_nothing(v))}
        return {"record": type(value).__name__, "fields": told}
    if isinstance(value, Enum) and READINGS.get(type(value).__name__) is type(value):
        return {"word": [type(value).__name__, value.value]}
    if type(value) is slice:
        return {"slice": [encoded(value.start), encoded(value.stop), encoded(value.step)]}
    if type(value) is Fraction:
        return {"fraction": str(value)}
    raise ContractError(f"capsule: a case holds a {type(value).__name__}, which capsules can't store; extend codec.py")


def _may_be_left_out(cls: type, name: str) -> bool:
    """True if the first capsules lack a field: it was added later and is empty unless used."""
    return (name == "hyper" and cls is not Case) or name in UNTOLD.get(cls, ())


def decoded(value: Any, where: str, depth: int = 0) -> Any:
    """Decode a case from JSON values, and reject everything that is not in the list of types.

    Raises:
        ContractError: a value is of no kind that is listed, or not what its kind or its record asks.
    """
    if depth > DEEPEST:
        raise ContractError(f"{where}: values are nested more than {DEEPEST} times")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return _whole(value, where)
    if isinstance(value, float):
        return _finite(value, where)
    if isinstance(value, list):
        return [decoded(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(value)]
    for tag, read in _TAGS.items():
        if tag in value:
            return read(value, where, depth + 1)
    raise ContractError(f"{where}: got an object without a tag; known tags: {', '.join(_TAGS)}")


def _whole(value: int, where: str) -> int:
    if not -LARGEST <= value <= LARGEST:
        raise refuse(where, value, f"a whole number up to {LARGEST}")
    return value


def _finite(value: float, where: str) -> float:
    if not math.isfinite(value):
        raise refuse(where, value, "a finite number")
    return value


def _parts(value: dict[str, Any], where: str, *names: str) -> list[Any]:
    """The parts of a tagged object, which has these and no others."""
    if sorted(value) != sorted(names):
        raise ContractError(f"{where}: has {', '.join(map(said, value))}; want {', '.join(names)}")
    return [value[name] for name in names]


def _only(value: dict[str, Any], where: str, name: str) -> Any:
    """The part of a tagged object that has no other."""
    return _parts(value, where, name)[0]


def _listed(value: Any, where: str, least: int = 0, most: int | None = None) -> list[Any]:
    if not isinstance(value, list) or len(value) < least or (most is not None and len(value) > most):
        raise refuse(where, value, "a list" if most is None else f"a list of {most}")
    return value


def _array(value: dict[str, Any], where: str, depth: int) -> Any:
    flat, shape, dtype = _parts(value, where, "array", "shape", "dtype")
    _listed(flat, where)
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise refuse(f"{where}.dtype", dtype, f"one of {', '.join(sorted(DTYPES))}")
    lengths = _listed(shape, f"{where}.shape")
    counts = all(type(n) is int and n >= 0 for n in lengths)
    # NumPy makes no array of such lengths, also where another one is 0.
    if not counts or math.prod(filter(None, lengths)) > LARGEST or math.prod(lengths) != len(flat):
        raise ContractError(f"{where}: got {len(flat)} numbers, which don't fill the stated shape")
    for i, x in enumerate(flat):
        if type(x) is int:
            _whole(x, f"{where}[{i}]")
        elif type(x) is not float or dtype == "int64" or not math.isfinite(x):
            raise refuse(f"{where}[{i}]", x, "a whole number" if dtype == "int64" else "a finite number")
    with np.errstate(over="ignore"):
        out = np.array(flat, dtype=dtype).reshape(shape)
    if not np.isfinite(out).all():
        raise ContractError(f"{where}: holds a number that {dtype} cannot")
    return out


def _tuple(value: dict[str, Any], where: str, depth: int) -> Any:
    parts = _only(value, where, "tuple")
    return tuple(decoded(v, f"{where}[{i}]", depth) for i, v in enumerate(_listed(parts, where)))


def _mapping(value: Any, where: str, depth: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise refuse(where, value, "an object")
    return {
        k: decoded(v, f"{where}.{k}" if k.isidentifier() else f"{where}[{said(k)}]", depth) for k, v in value.items()
    }


def _dict(value: dict[str, Any], where: str, depth: int) -> Any:
    return _mapping(_only(value, where, "dict"), where, depth)


def _record(value: dict[str, Any], where: str, depth: int) -> Any:
    name, parts = _parts(value, where, "record", "fields")
    if not isinstance(name, str) or name not in RECORDS:
        raise ContractError(f"{where}: unknown record {said(name)}; known: {', '.join(RECORDS)}")
    cls = RECORDS[name]
    given, wanted = _mapping(parts, where, depth), [f.name for f in fields(cls)]
    wanted = [n for n in wanted if n in given or not _may_be_left_out(cls, n)]
    if sorted(given) != sorted(wanted):
        raise ContractError(f"{where}: a {name} has the fields {', '.join(wanted)}; got {', '.join(map(said, given))}")
    if cls is Scenario and not isinstance(given["case"], Case):
        raise ContractError(f"{where}: a Scenario has a Case and a tuple of events")
    try:
        record = cls(**given)
    except (FedspecError, TypeError, ValueError) as error:
        raise ContractError(f"{where}: got an invalid {name}: {error}") from error
    _checked(record, where)
    return record


def _checked(record: Any, where: str) -> None:
    """Refuse a record whose fields are not what the contract says of them."""
    if isinstance(record, Case):
        check(encode(record), "case", where)
    elif type(record) in EVENTS.values():
        check(encode(record), "event", where)
        for name in _COUNTED & {f.name for f in fields(record)}:
            counts = getattr(record, name)
            if any(n > LONGEST_RUN for n in (counts if isinstance(counts, tuple) else [counts])):
                raise ContractError(f"{where}.{name}: got a number above {LONGEST_RUN}, which no check uses")
    elif isinstance(record, Scenario):
        events: Any = record.events
        if not isinstance(events, tuple) or any(type(e) not in EVENTS.values() for e in record.events):
            raise ContractError(f"{where}: a Scenario has a Case and a tuple of events")


def _word(value: dict[str, Any], where: str, depth: int) -> Any:
    name, word = _listed(_only(value, where, "word"), where, 2, 2)
    known = READINGS.get(name) if isinstance(name, str) else None
    found = [v for v in known or () if isinstance(word, str) and v.value == word]
    if not found:
        raise ContractError(f"{where}: unknown reading {said(name)} {said(word)}")
    return found[0]


def _slice(value: dict[str, Any], where: str, depth: int) -> Any:
    ends = [decoded(v, where, depth) for v in _listed(_only(value, where, "slice"), where, 3, 3)]
    if any(v is not None and type(v) is not int for v in ends):
        raise ContractError(f"{where}: the ends of a slice must be whole numbers or null")
    return slice(*ends)


def _fraction(value: dict[str, Any], where: str, depth: int) -> Any:
    text = _only(value, where, "fraction")
    if not isinstance(text, str) or len(text) > 400 or not re.fullmatch(r"-?\d+(/0*[1-9]\d*)?", text, re.ASCII):
        raise refuse(where, text, "a fraction such as '-1/3'")
    return Fraction(text)


def _float(value: dict[str, Any], where: str, depth: int) -> Any:
    text = _only(value, where, "float")
    if not isinstance(text, str) or text not in {"nan", "inf", "-inf"}:
        raise refuse(where, text, "nan, inf or -inf")
    return float(text)


_TAGS: dict[str, Callable[[dict[str, Any], str, int], Any]] = {
    "array": _array,
    "tuple": _tuple,
    "dict": _dict,
    "record": _record,
    "word": _word,
    "slice": _slice,
    "fraction": _fraction,
    "float": _float,
}
