"""Checks of wire messages against the JSON schemas; each error names the field, its value and the wanted value.

Only the keywords that ``scripts/schemas.py`` writes are known here; a subject needs no schema library. Two things are
refused beyond the schemas, because no array could hold them: whole numbers beyond every floating-point type, and lists
nested more than ``DEEPEST`` times.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from fedspec.errors import ContractError, FedspecError

Check: TypeAlias = Callable[[Any, str], None]
"""Function that raises an error for an invalid value; its second argument is the value's path, for the message."""

FOLDER = Path(__file__).resolve().parent / "schemas"

DIGESTS = "digests.json"
"""File with the digest of each schema: an edited schema, which would accept other values, is detected by it."""

DEEPEST = 32
"""Largest depth of nested lists of numbers: the depth that every version of NumPy can hold."""

WORDS = {"nan", "inf", "-inf"}
"""Strings for the numbers that JSON lacks."""

_TOO_LARGE = (1 << 1024) - (1 << 970)
"""Smallest integer that rounds to more than the largest float64."""

_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "null": ("null", lambda v: v is None),
    "boolean": ("true or false", lambda v: isinstance(v, bool)),
    "string": ("a string", lambda v: isinstance(v, str)),
    "number": ("a number", lambda v: isinstance(v, int | float) and not isinstance(v, bool)),
    "integer": (
        "a whole number",
        lambda v: (isinstance(v, int) and not isinstance(v, bool)) or (isinstance(v, float) and v.is_integer()),
    ),
    "array": ("a list", lambda v: isinstance(v, list)),
    "object": ("an object", lambda v: isinstance(v, dict)),
}


def said(value: Any) -> str:
    """Short description of a JSON value, for an error."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a whole number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def refuse(where: str, value: Any, want: str) -> ContractError:
    """Make the error that all checks raise: path, value and wanted value."""
    return ContractError(f"{where}: got {said(value)}; want {want}")


def number(value: Any, where: str) -> None:
    """Raise an error unless a value is a number, or the string of one that JSON lacks."""
    if isinstance(value, float) or (isinstance(value, str) and value in WORDS):
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise refuse(where, value, "a number, or one of the words nan, inf, -inf")
    _bounded(value, where)


def array(value: Any, where: str, depth: int = 0) -> None:
    """Raise an error unless a value is a number or nested lists of numbers."""
    if not isinstance(value, list):
        number(value, where)
        return
    if depth == DEEPEST:
        raise ContractError(f"{where}: lists are nested more than {DEEPEST} times; send an array row by row")
    for i, part in enumerate(value):
        if type(part) is not float:
            array(part, f"{where}[{i}]", depth + 1)


_WRITTEN: dict[str, Check] = {"number": number, "array": array}
"""The definitions that are looked at most, by hand."""


def check(value: Any, name: str, where: str) -> None:
    """Raise an error unless a value matches a schema definition: ``info``, ``answer``, ``case``, ``vector``, ...

    Raises:
        ContractError: the value differs; the message names the field, its value and the wanted value.
    """
    _definition(name)(value, where)


def check_message(value: Mapping[str, Any], direction: str, kind: str, where: str) -> None:
    """Raise an error unless a message matches the schema of its kind.

    Args:
        value: the message.
        direction: ``request`` or ``reply``.
        kind: the command of a request, the type of an event, or the field that identifies a reply.
        where: name of the message in an error.

    Raises:
        ContractError: a field is missing, unknown or of another kind than the schema says.
    """
    _kinds(direction)[kind](value, where)


@cache
def _schema(direction: str) -> dict[str, Any]:
    path = FOLDER / f"{direction}.schema.json"
    body, digests = _read(path), _read(FOLDER / DIGESTS)
    if digest(body) != digests.get(path.name):
        raise _damaged(path, f"it was changed: its digest is not that of {DIGESTS}")
    if not isinstance(body.get("$defs"), dict):
        raise _damaged(path, "no definitions")
    return body


def _read(path: Path) -> dict[str, Any]:
    try:
        body: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, " ".join(str(error).split())[:120]) from error
    if not isinstance(body, dict):
        raise _damaged(path, "no object")
    return body


def digest(schema: Mapping[str, Any]) -> str:
    """SHA-256 of a schema, independent of line ends and spaces in its file."""
    return hashlib.sha256(json.dumps(schema, separators=(",", ":")).encode()).hexdigest()


def _damaged(path: Path, what: str) -> FedspecError:
    return FedspecError(f"schema: {path}: is not what fedspec was released with ({what}); install fedspec again")


@cache
def _definition(name: str) -> Check:
    if name in _WRITTEN:
        return _WRITTEN[name]
    known = {n: s for file in ("request", "reply", "vectors") for n, s in _schema(file)["$defs"].items()}
    if not isinstance(known.get(name), dict):
        raise _damaged(FOLDER, f"no definition of {name}")
    return _compiled(known[name])


@cache
def _kinds(direction: str) -> dict[str, Check]:
    """Checks of a schema's alternatives, by the constant or the field that identifies each alternative."""
    file = "request" if direction == "event" else direction
    schema = _schema(file)["$defs"].get("event", {}) if direction == "event" else _schema(file)
    if not isinstance(schema.get("oneOf"), list):
        raise _damaged(FOLDER / f"{file}.schema.json", f"no kinds of {direction}")
    out: dict[str, Check] = {}
    for branch in schema["oneOf"]:
        constants = [p["const"] for n, p in branch["properties"].items() if n != "ok" and "const" in p]
        fields = [n for n in branch["required"] if n != "ok"]
        out[next(iter((*constants, *fields)), "")] = _compiled(branch)
    return out


def _compiled(schema: Mapping[str, Any]) -> Check:
    """Check of everything that a schema requires."""
    if "$ref" in schema:
        # Looked up when it is used: a definition may be part of itself.
        name = schema["$ref"].rpartition("/")[2]
        return _WRITTEN.get(name) or partial(_referred, name)
    if schema.get("oneOf"):
        return _event
    checks = [make(schema) for keyword, make in _MAKERS.items() if keyword in schema]

    def every(value: Any, where: str) -> None:
        for one in checks:
            one(value, where)

    return checks[0] if len(checks) == 1 else every


def _referred(name: str, value: Any, where: str) -> None:
    _definition(name)(value, where)


def _event(value: Any, where: str) -> None:
    kinds = _kinds("event")
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise ContractError(f"{where}: unknown type {said(kind)}; known: {', '.join(kinds)}")
    kinds[kind](value, where)


def _typed(schema: Mapping[str, Any]) -> Check:
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    kinds = [_KINDS[name] for name in names]
    want = " or ".join(words for words, _ in kinds)

    def one(value: Any, where: str) -> None:
        if not any(test(value) for _, test in kinds):
            raise refuse(where, value, want)
        if isinstance(value, int):
            _bounded(value, where)

    return one


def _bounded(value: int, where: str) -> None:
    if not -_TOO_LARGE < value < _TOO_LARGE:
        raise refuse(where, value, "a number that a floating-point type can hold")


def _enumerated(schema: Mapping[str, Any]) -> Check:
    known = schema["enum"] if "enum" in schema else [schema["const"]]

    def one(value: Any, where: str) -> None:
        # True equals 1, and is another JSON value.
        if not any(value == k and isinstance(value, bool) is isinstance(k, bool) for k in known):
            raise refuse(where, value, ("one of " if len(known) > 1 else "") + ", ".join(map(str, known)))

    return one


def _any(schema: Mapping[str, Any]) -> Check:
    checks = [_compiled(s) for s in schema["anyOf"]]

    def one(value: Any, where: str) -> None:
        errors = []
        for check in checks:
            try:
                check(value, where)
            except ContractError as error:
                errors.append(error)
            else:
                return
        # The branch that got furthest into the value is the one that was meant.
        far = max(len(str(e).partition(": ")[0]) for e in errors)
        first, *others = (str(e) for e in errors if len(str(e).partition(": ")[0]) == far)
        raise ContractError(" or ".join([first, *(w for w in (o.partition("; want ")[2] for o in others) if w)]))

    return one


def _object(schema: Mapping[str, Any]) -> Check:
    properties = {name: _compiled(s) for name, s in schema.get("properties", {}).items()}
    required, least = schema.get("required", ()), schema.get("minProperties", 0)
    other = schema.get("additionalProperties", True)
    rest = _compiled(other) if isinstance(other, dict) else None

    def one(value: dict[str, Any], where: str) -> None:
        if missing := [name for name in required if name not in value]:
            raise ContractError(f"{where}: has no {', '.join(map(repr, missing))}; needs {', '.join(required)}")
        if len(value) < least:
            raise ContractError(f"{where}: is empty; give at least {least}")
        for name, part in value.items():
            test = properties.get(name, rest)
            if test is not None:
                test(part, f"{where}.{name}" if name.isidentifier() else f"{where}[{said(name)}]")
            elif other is False:
                raise ContractError(f"{where}: has an unknown field {said(name)}; known: {', '.join(properties)}")

    return one


def _list(schema: Mapping[str, Any]) -> Check:
    item, least = _compiled(schema.get("items", {})), schema.get("minItems", 0)

    def one(value: list[Any], where: str) -> None:
        if len(value) < least:
            raise ContractError(f"{where}: is empty; give at least {least}")
        for i, part in enumerate(value):
            item(part, f"{where}[{i}]")

    return one


def _limited(schema: Mapping[str, Any]) -> Check:
    low, strict = schema.get("minimum", schema.get("exclusiveMinimum")), "exclusiveMinimum" in schema

    def one(value: float, where: str) -> None:
        if not (value > low if strict else value >= low):
            raise refuse(where, value, f"a number {'>' if strict else '>='} {low}")

    return one


_MAKERS: dict[str, Callable[[Mapping[str, Any]], Check]] = {
    "type": _typed,
    "enum": _enumerated,
    "const": _enumerated,
    "anyOf": _any,
    "required": _object,
    "additionalProperties": lambda schema: _object(schema) if "required" not in schema else _nothing,
    "items": _list,
    "minimum": _limited,
    "exclusiveMinimum": _limited,
}
"""Makers of checks by keyword of the schema, in the order in which they run."""


def _nothing(value: Any, where: str) -> None:
    """Already asked."""
