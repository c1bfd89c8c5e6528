"""The subject contract as JSON lines: one object a line on standard input, one answer a line on standard output.

======================================================  =====================================================
request                                                 answer
======================================================  =====================================================
``{"cmd": "hello", "protocol": 1}``                     ``{"ok": true, "info": {...}}``
``{"cmd": "start", "session": 1, "case": {...}}``       ``{"ok": true}``
``{"cmd": "step", "session": 1, "event": {...}}``       ``{"ok": true, "answer": {"x": {...}, "m": {...}}}``
``{"cmd": "stop", "session": 1}``                       ``{"ok": true}``
anything that fails                                     ``{"ok": false, "error": "one line", "detail": "..."}``
======================================================  =====================================================

Arrays are nested lists of numbers, printed so that reading them back gives the same float; numbers that are not
finite are the strings ``"nan"``, ``"inf"``, ``"-inf"``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from fedspec.contract import (
    LEVELS,
    Arrival,
    Begin,
    Case,
    ClientMessage,
    Event,
    Exchange,
    Gradient,
    Messages,
    Offer,
    Quadratics,
    Round,
    SubjectInfo,
)
from fedspec.errors import ContractError

PROTOCOL = 1

EVENTS: dict[str, type] = {
    "gradient": Gradient,
    "begin": Begin,
    "messages": Messages,
    "round": Round,
    "exchange": Exchange,
    "arrival": Arrival,
}


def encode(value: Any) -> Any:
    """Turn a record of the contract, or an array, into JSON values."""
    if isinstance(value, np.ndarray):
        return encode(value.tolist())
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        body = {f.name: encode(getattr(value, f.name)) for f in fields(value)}
        kind = next((name for name, cls in EVENTS.items() if type(value) is cls), None)
        return {"type": kind, **body} if kind else body
    if isinstance(value, Mapping):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [encode(v) for v in value]
    return value


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(v) for v in value]
    return float(value) if isinstance(value, str) else value


def decode_array(value: Any, dtype: str = "float64") -> Any:
    """Read nested lists as an array of the given type.

    Raises:
        ContractError: the lists are ragged or hold something that is not a number.
    """
    try:
        return np.array(_numbers(value), dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ContractError(
            f"array: {str(value)[:80]} is not an array of numbers; send nested lists of numbers"
        ) from error


def decode_blocks(value: Mapping[str, Any], dtype: str = "float64") -> dict[str, Any]:
    """Read named blocks."""
    return {name: decode_array(array, dtype) for name, array in value.items()}


def decode_case(value: Mapping[str, Any]) -> Case:
    """Read a case; its arrays come in the case's own dtype."""
    dtype = value["dtype"]
    problem = value.get("problem")
    return Case(
        algorithm=value["algorithm"],
        level=value["level"],
        reading=value["reading"],
        options=dict(value["options"]),
        dtype=dtype,
        x0=decode_blocks(value["x0"], dtype),
        hyper=dict(value["hyper"]),
        problem=problem
        and Quadratics(
            H=decode_array(problem["H"], dtype),
            e=decode_array(problem["e"], dtype),
            examples=decode_array(problem["examples"]),
        ),
    )


def decode_event(value: Mapping[str, Any], dtype: str = "float64") -> Event:
    """Read an event.

    Raises:
        ContractError: its type is unknown.
    """
    match value.get("type"):
        case "gradient":
            return Gradient(g=decode_blocks(value["g"], dtype))
        case "begin":
            return Begin(x=decode_blocks(value["x"], dtype))
        case "round":
            more = {n: tuple(value.get(n, ())) for n in ("strategies", "scales", "noise")}
            return Round(tuple(value["participants"]), tuple(value["steps"]), **more)
        case "exchange":
            return Exchange(
                senders=tuple(value["senders"]),
                computing=tuple(map(tuple, value["computing"])),
                mixing=decode_array(value["mixing"], dtype),
                clusters=tuple(map(tuple, value.get("clusters", ()))),
            )
        case "arrival":
            return Arrival(client=value["client"], steps=value["steps"], delay=value["delay"])
        case "messages":
            return Messages(
                tuple(
                    ClientMessage(
                        client=m["client"],
                        delta=decode_blocks(m["delta"], dtype),
                        weight=m["weight"],
                        steps=m["steps"],
                        a_norm=m["a_norm"],
                    )
                    for m in value["messages"]
                )
            )
    raise ContractError(f"event: unknown type {value.get('type')!r}; known: {', '.join(EVENTS)}")


def decode_info(value: Mapping[str, Any]) -> SubjectInfo:
    """Read what a subject says of itself.

    Raises:
        ContractError: a field is missing, misspelt or of the wrong kind.
    """
    try:
        for offer in value["offers"]:
            for name in ("intermediates", "nonzero", "dtypes"):
                if isinstance(offer.get(name, ()), str):
                    raise ContractError(f"info: {name} of {offer['algorithm']} is a word; give a list of words")
        offers = tuple(
            Offer(
                **{
                    **offer,
                    "nonzero": tuple(offer.get("nonzero", ())),
                    "intermediates": tuple(offer.get("intermediates", ())),
                    "dtypes": tuple(offer.get("dtypes", ("float64", "float32"))),
                }
            )
            for offer in value["offers"]
        )
        info = SubjectInfo(**{**value, "offers": offers})
    except (KeyError, TypeError) as error:
        raise ContractError(
            f"info: {error}; a subject's info has name, version and offers, "
            f"an offer has at least algorithm, level and reading"
        ) from error
    for offer in offers:
        if offer.level not in LEVELS:
            raise ContractError(f"info: level {offer.level!r} of {offer.algorithm}; it is one of {', '.join(LEVELS)}")
    return info
