"""Adapter contract as JSON lines: one request a line on standard input, one answer a line on standard output.

======================================================  =====================================================
request                                                 answer
======================================================  =====================================================
``{"cmd": "hello", "protocol": 1}``                     ``{"ok": true, "info": {...}}``
``{"cmd": "start", "session": 1, "case": {...}}``       ``{"ok": true}``
``{"cmd": "step", "session": 1, "event": {...}}``       ``{"ok": true, "answer": {"x": {...}, "m": {...}}}``
``{"cmd": "save", "session": 1}``                       ``{"ok": true, "saved": "bytes in base64"}``
``{"cmd": "restore", "session": 2, "saved": "..."}``    ``{"ok": true}``
``{"cmd": "stop", "session": 1}``                       ``{"ok": true}``
anything that fails                                     ``{"ok": false, "error": "one line", "detail": "..."}``
======================================================  =====================================================

Arrays are nested lists of numbers, printed so that reading them back gives the same float; numbers that are not
finite are the strings ``"nan"``, ``"inf"``, ``"-inf"``. A counter among buffers is a whole number without a point, and
everything else that a buffer holds has one. Only claims with ``resumes`` are asked to save and restore. Each side
holds what it reads to the schemas (``fedspec/schemas``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from fedspec.contract import (
    BESIDE,
    Arrival,
    Begin,
    Case,
    Claim,
    ClientMessage,
    Event,
    Exchange,
    Gradient,
    Info,
    Messages,
    Quadratics,
    Round,
)
from fedspec.errors import ContractError
from fedspec.schema import check, check_message, said

PROTOCOL = 1
COMMANDS = ("hello", "start", "step", "save", "restore", "stop")

EVENTS: dict[str, type] = {
    "gradient": Gradient,
    "begin": Begin,
    "messages": Messages,
    "round": Round,
    "exchange": Exchange,
    "arrival": Arrival,
}


_PLAIN = {int, bool, str, type(None)}
"""Types whose values are their own JSON values."""


def encode(value: Any) -> Any:
    """Convert a contract record or an array to JSON values.

    Raises:
        ContractError: a number is complex, which JSON can't hold.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.ndarray):
        return encode(value.tolist())
    if type(value) is float:
        return value if math.isfinite(value) else str(value)
    if isinstance(value, float | np.floating):
        # A long double's item would be itself.
        return encode(float(value))
    if isinstance(value, complex | np.complexfloating):
        raise ContractError(f"answer: got {value:.3g}; return real numbers (a power of a negative one is complex)")
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value) and not isinstance(value, type):
        kind = next((name for name, cls in EVENTS.items() if type(value) is cls), None)
        # Who has no use for these fields never hears of them.
        own = UNTOLD.get(type(value), ())
        said = (
            f.name
            for f in fields(value)
            if (f.name not in own or not is_nothing(getattr(value, f.name)))
            and (f.name not in _SPARED or not kind or getattr(value, f.name))
        )
        body = {name: encode(getattr(value, name)) for name in said}
        return {"type": kind, **body} if kind else body
    if isinstance(value, Mapping):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [encode(v) for v in value]
    return value


_SPARED = {"hyper", "draws"}
"""Fields of an event that are left out if they are empty."""

UNTOLD: dict[type, tuple[str, ...]] = {
    Gradient: ("tokens",),
    Quadratics: ("f",),
    ClientMessage: ("loss", "buffers", "round", "draws"),
    Messages: ("noise",),
    Case: ("buffers", *BESIDE),
    Claim: ("buffers", "resumes", "faults", *BESIDE),
}
"""Optional fields of each record that are omitted if empty."""


def is_nothing(value: Any) -> bool:
    """True if a field is empty: None, False, or a mapping or tuple without entries."""
    return value is None or value is False or (isinstance(value, Mapping | tuple) and not value)


def decode_line(line: str | bytes, where: str) -> dict[str, Any]:
    """Read a line as a JSON object.

    Raises:
        ContractError: the line is no JSON, or not an object.
    """
    try:
        value = json.loads(line.decode() if isinstance(line, bytes) else line)
    except RecursionError as error:
        raise ContractError(f"{where}: its lists or objects are nested too deeply to be read") from error
    except ValueError as error:
        raise ContractError(f"{where}: is not JSON in UTF-8: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(value, dict):
        raise ContractError(f"{where}: got {said(value)}; want an object")
    return value


def decode_request(line: str | bytes) -> dict[str, Any]:
    """Read a request from the judge and check it against the schema; the case or event in it stays JSON.

    Raises:
        ContractError: the line isn't a valid request.
    """
    value = decode_line(line, "request")
    command = value.get("cmd")
    if command not in COMMANDS:
        raise ContractError(f"request: unknown command {said(command)}; known: {', '.join(COMMANDS)}")
    check_message(value, "request", command, "request")
    return value


REPLIES = {"hello": "info", "step": "answer", "save": "saved"}
"""Field that a reply contains, by command; replies to other commands are empty."""


def decode_reply(line: str | bytes, command: str) -> dict[str, Any]:
    """Read an adapter's reply to a command, checked against the schema; strings such as ``nan`` become floats.

    Raises:
        ContractError: the line isn't a valid reply to the command.
    """
    value = decode_line(line, "reply")
    if not isinstance(value.get("ok"), bool):
        raise ContractError("reply: has no 'ok' that is true or false")
    if isinstance(value.get("info"), dict):
        value["info"] = _renamed(value["info"])
        if isinstance(value["info"].get("claims"), dict):
            # A slip that is easily made in Python.
            raise ContractError(
                "info.claims: got an object; want a list; a tuple of one claim ends in a comma: (claim,)"
            )
    check_message(value, "reply", REPLIES.get(command, "") if value["ok"] else "error", "reply")
    if "answer" in value:
        value["answer"] = {n: v if n in ("dtype", "touched") else _numbers(v) for n, v in value["answer"].items()}
    return value


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(v) for v in value]
    if isinstance(value, dict):
        return {n: _numbers(v) for n, v in value.items()}
    return float(value) if isinstance(value, str) else value


def decode_array(value: Any, dtype: str = "float64") -> Any:
    """Read nested lists as an array of the given type.

    Raises:
        ContractError: the lists are ragged or hold something that is not a number.
    """
    check(value, "array", "array")
    try:
        # What float32 cannot hold is infinite there, as in any cast.
        with np.errstate(over="ignore"):
            return np.array(_numbers(value), dtype=dtype)
    except ValueError as error:
        raise ContractError(f"array: {str(value)[:80]} is ragged; send nested lists of equal lengths") from error


def decode_blocks(value: Mapping[str, Any], dtype: str = "float64") -> dict[str, Any]:
    """Read named blocks."""
    return {name: decode_array(array, dtype) for name, array in value.items()}


def decode_buffers(value: Mapping[str, Any] | None, dtype: str = "float64") -> dict[str, Any] | None:
    """Read buffers, or None: arrays of JSON integers become int64, other arrays get the given type."""
    if value is None:
        return None
    read = {name: decode_array(array, dtype) for name, array in value.items()}
    return {name: np.array(array, dtype="int64") if _counts(array) else read[name] for name, array in value.items()}


def _counts(array: Any) -> bool:
    """True if every number in nested lists is an integer, written without a point, that fits into 64 bits."""
    if isinstance(array, list):
        return bool(array) and all(map(_counts, array))
    return type(array) is int and -(1 << 63) <= array < 1 << 63


def decode_case(value: Mapping[str, Any]) -> Case:
    """Read a case; its arrays get the case's dtype.

    Raises:
        ContractError: a field is missing, unknown or of another kind than the schema says.
    """
    check(value, "case", "case")
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
            f=decode_array(problem["f"], dtype) if problem.get("f") is not None else None,
        ),
        variant=value["variant"],
        population=value["population"],
        buffers=decode_buffers(value.get("buffers"), dtype),
        schedules=dict(value.get("schedules", {})),
        gradients=tuple(value.get("gradients", ())),
        messages=tuple(value.get("messages", ())),
        parts=dict(value.get("parts", {})),
        steps=tuple(value.get("steps", ())),
    )


def decode_event(value: Mapping[str, Any], dtype: str = "float64") -> Event:
    """Read an event.

    Raises:
        ContractError: the event's type is unknown, or a field doesn't match the schema of that type.
    """
    check(value, "event", "event")
    match value["type"]:
        case "gradient":
            return Gradient(decode_blocks(value["g"], dtype), value.get("eta_l"), tuple(value.get("tokens", ())))
        case "begin":
            return Begin(x=decode_blocks(value["x"], dtype))
        case "round":
            more = {n: tuple(value.get(n, ())) for n in ("strategies", "scales", "noise")}
            more["draws"] = tuple(map(tuple, value.get("draws", ())))
            return Round(tuple(value["participants"]), tuple(value["steps"]), **more, hyper=_decode_hyper(value))
        case "exchange":
            return Exchange(
                senders=tuple(value["senders"]),
                computing=tuple(map(tuple, value["computing"])),
                mixing=decode_array(value["mixing"], dtype),
                clusters=tuple(map(tuple, value.get("clusters", ()))),
                hyper=_decode_hyper(value),
            )
        case "arrival":
            return Arrival(
                client=value["client"], steps=value["steps"], delay=value["delay"], hyper=_decode_hyper(value)
            )
    return Messages(
        tuple(decode_message(m, dtype) for m in value["messages"]),
        hyper=_decode_hyper(value),
        noise=tuple(value.get("noise", ())),
    )


def _decode_hyper(event: Mapping[str, Any]) -> dict[str, Any]:
    """Hyper-parameters that an event overrides, if it does."""
    said = event.get("hyper", {})
    return {name: tuple(number) if isinstance(number, list) else number for name, number in said.items()}


def decode_message(value: Mapping[str, Any], dtype: str) -> ClientMessage:
    """Read a client's message; its arrays get the case's dtype."""
    control = value.get("control")
    return ClientMessage(
        **{
            **value,
            "delta": decode_blocks(value["delta"], dtype),
            "weight": _numbers(value["weight"]),
            "control": None if control is None else decode_blocks(control, dtype),
            "buffers": decode_buffers(value.get("buffers"), dtype),
            "draws": tuple(value.get("draws", ())),
        }
    )


def decode_info(value: Mapping[str, Any]) -> Info:
    """Read an adapter's name, version and claims.

    Raises:
        ContractError: a field is missing, misspelt or of the wrong kind.
    """
    check(value := _renamed(value), "info", "info")
    names = ("nonzero", "intermediates", "dtypes")
    claims = tuple(Claim(**{**c, **{n: tuple(c[n]) for n in names if n in c}}) for c in value["claims"])
    return Info(**{**value, "claims": claims})


def _renamed(info: Mapping[str, Any]) -> dict[str, Any]:
    """An info with the claims under their name; earlier adapters send ``offers``."""
    return {"claims" if name == "offers" else name: said for name, said in info.items()}
