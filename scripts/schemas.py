"""Generate the protocol's JSON schemas from the records of ``fedspec.contract``, or compare them with ``--check``.

A field's annotation says what its JSON is; what an annotation cannot say stands in ``MORE``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from fedspec import contract
from fedspec.schema import DIGESTS, digest
from fedspec.wire import EVENTS, PROTOCOL

HERE = Path(__file__).resolve().parents[1] / "spec/fedspec/schemas"

Schema = dict[str, Any]

VECTORS = 1
"""Version of the vector files' layout."""

EXACT = r"^-?\d{1,15}(/[1-9]\d{0,14})?$|^-?\d(\.\d{1,24})?(e-?\d{1,3})?$"

NUMBER, STRING = {"type": "number"}, {"type": "string"}
BASE64 = {**STRING, "description": "Bytes in base64, which only the adapter reads."}
TYPES = {"enum": ["float32", "float64"]}


def ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def mapping(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


JSON: dict[str, Schema] = {
    "str": STRING,
    "bool": {"type": "boolean"},
    "int": {"type": "integer", "minimum": 0},
    "Scalar": NUMBER,
    "Level": {"enum": list(contract.LEVELS)},
    "Literal['any', 'one', 'matrices']": {"enum": ["any", "one", "matrices"]},
    "Literal['any', 'all']": {"enum": ["any", "all"]},
    "Literal['one', 'each', 'rounds', 'clients']": {"enum": ["one", "each", "rounds", "clients"]},
    "Array": ref("array"),
    "Mixing": ref("array"),
    "Blocks": ref("blocks"),
    "Buffers": ref("buffers"),
    "ClientMessage": ref("message"),
    "Claim": ref("claim"),
    "Mapping[str, str]": mapping(STRING),
    "Mapping[str, float]": mapping(NUMBER),
    "Mapping[str, Any]": mapping(NUMBER),
    "Given": mapping(NUMBER),
}
"""JSON schema by the annotation of a contract's field."""

STEPS = {"type": "integer", "minimum": 1}
SOME = {"minItems": 1}
EACH = {"description": "One for each participant, or none."}

MORE: dict[tuple[str, str], Schema] = {
    ("Arrival", "steps"): STEPS,
    ("Case", "dtype"): TYPES,
    ("Case", "population"): {"anyOf": [{"type": "null"}, STEPS]},
    ("ClientMessage", "weight"): {
        "description": "A whole number >= 0; in a case of faults also null, negative or nan.",
        "anyOf": [{"type": "null"}, ref("number")],
    },
    ("ClientMessage", "steps"): STEPS,
    ("ClientMessage", "a_norm"): {**NUMBER, "exclusiveMinimum": 0},
    ("ClientMessage", "loss"): {"anyOf": [{"type": "null"}, {**NUMBER, "exclusiveMinimum": 0}]},
    ("Gradient", "tokens"): {"description": "One for each row of the blocks of g, or none: g is then one gradient."},
    ("Gradient", "eta_l"): {"anyOf": [{"type": "null"}, {**NUMBER, "exclusiveMinimum": 0}]},
    ("Claim", "dtypes"): {"items": TYPES, **SOME},
    ("Round", "participants"): SOME,
    ("Round", "steps"): {"items": STEPS, **SOME},
    ("Round", "strategies"): EACH,
    ("Round", "scales"): EACH,
    ("Round", "hyper"): mapping({"anyOf": [NUMBER, {"type": "array", "items": NUMBER}]}),
    ("Round", "draws"): {"description": "For each participant one number for each coordinate of x0, or none."},
    ("Round", "noise"): {"description": "One number for each coordinate of x0, or none."},
}
"""Constraints that annotations can't express, by record and field."""

UNTOLD = {("Case", name) for name in ("buffers", *contract.BESIDE)}
"""Fields that a case omits if it has no value for them; its other fields are always written."""

NUMBERS: dict[str, Schema] = {
    "number": {"anyOf": [NUMBER, {"enum": ["nan", "inf", "-inf"]}]},
    "array": {
        "description": "Nested lists of numbers, row-major; a single number for a scalar.",
        "anyOf": [ref("number"), {"type": "array", "items": ref("array")}],
    },
    "blocks": {
        "description": "Named arrays; names and shapes are those of the case's x0.",
        "type": "object",
        "minProperties": 1,
        "additionalProperties": ref("array"),
    },
    "buffers": {
        "description": "Named arrays beside the model; a counter's numbers are written without a point.",
        "type": "object",
        "minProperties": 1,
        "additionalProperties": ref("array"),
    },
}


def annotated(annotation: str) -> Schema:
    """Return the schema of an annotation."""
    if annotation in JSON:
        return JSON[annotation]
    if annotation.endswith(" | None"):
        inner = annotation.removesuffix(" | None")
        return {"anyOf": [{"type": "null"}, JSON[inner] if inner in JSON else record(getattr(contract, inner))]}
    inner = annotation.removeprefix("tuple[").removesuffix(", ...]")
    assert inner != annotation, f"{annotation} has no JSON form"
    return {"type": "array", "items": annotated(inner)}


def closed(properties: Mapping[str, Schema], optional: Sequence[str] = ()) -> Schema:
    """Return the schema of an object with exactly these properties."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def record(kind: type[Any], *, whole: bool = False, **more: Schema) -> Schema:
    """Return the schema of a record; fields with defaults are optional, unless ``whole``."""
    properties, optional = dict(more), []
    for field in fields(kind):
        extra = MORE.get((kind.__name__, field.name), {})
        # A list of words, or of alternatives, says more than the annotation.
        schema = extra if {"enum", "anyOf"} & {*extra} else {**annotated(str(field.type)), **extra}
        properties[field.name] = schema if "description" not in extra else {**extra, **schema}
        untold = (kind.__name__, field.name) in UNTOLD
        if (untold or not whole) and (field.default is not MISSING or field.default_factory is not MISSING):
            optional.append(field.name)
    return closed(properties, optional)


def request() -> Schema:
    """Return the schema of the judge's lines."""
    session = JSON["int"]
    return {
        "title": "What the judge sends: one JSON object a line",
        "oneOf": [
            closed({"cmd": {"const": "hello"}, "protocol": {"const": PROTOCOL}}),
            closed({"cmd": {"const": "start"}, "session": session, "case": ref("case")}),
            closed({"cmd": {"const": "step"}, "session": session, "event": ref("event")}),
            closed({"cmd": {"const": "save"}, "session": session}),
            closed({"cmd": {"const": "restore"}, "session": session, "saved": BASE64}),
            closed({"cmd": {"const": "stop"}, "session": session}),
        ],
        "$defs": {
            **NUMBERS,
            "case": record(contract.Case, whole=True),
            "message": record(contract.ClientMessage),
            "event": {"oneOf": [record(kind, type={"const": name}) for name, kind in EVENTS.items()]},
        },
    }


def reply() -> Schema:
    """Return the schema of an adapter's lines."""
    ok: Schema = {"ok": {"const": True}}
    words = {"type": ["string", "null"], "description": "The type x was computed in; JSON does not carry it."}
    touched = {**STRING, "description": "Set if the implementation changed its input in place."}
    model = [ref("blocks"), ref("array")]
    return {
        "title": "What an adapter answers: one JSON object a line",
        "oneOf": [
            closed({**ok, "protocol": {"type": "integer"}, "info": ref("info")}, ["protocol"]),
            closed({**ok, "answer": ref("answer")}),
            closed({**ok, "saved": BASE64}),
            closed(ok),
            closed({"ok": {"const": False}, "error": STRING, "detail": STRING}, ["detail"]),
        ],
        "$defs": {
            **NUMBERS,
            "claim": record(contract.Claim),
            "info": record(contract.Info),
            "answer": {
                "type": "object",
                "properties": {
                    "x": {"anyOf": model},
                    "buffers": {"anyOf": [{"type": "null"}, ref("buffers")]},
                    "dtype": words,
                    "touched": touched,
                },
                "required": ["x"],
                "additionalProperties": {"anyOf": [*model, {"type": "null"}]},
            },
        },
    }


def vectors() -> Schema:
    """Return the schema of a vector file; its definition ``vector_index`` is the schema of the index."""
    named = {"type": "object", "additionalProperties": {"type": "array", "items": ref("exact")}}
    bounds = {"type": "array", "items": {**NUMBER, "minimum": 0}}
    whole = {"type": "integer", "minimum": 0}
    vector = closed(
        {
            "id": STRING,
            "case": ref("case"),
            "events": {"type": "array", "items": ref("event"), **SOME},
            "dtypes": {"type": "array", "items": TYPES, **SOME},
            "equations": mapping(STRING),
            "want": {"type": "array", "items": named, **SOME},
            "scale": {"type": "array", "items": mapping(bounds), **SOME},
            "kills": mapping(mapping({"type": ["number", "null"]})),
        }
    )
    body = closed(
        {
            "version": {"const": VECTORS},
            "algorithm": STRING,
            "defects": mapping(closed({"words": STRING, "equation": STRING})),
            "vectors": {"type": "array", "items": ref("vector")},
        }
    )
    file = closed({"sha256": STRING, "bytes": whole, "vectors": whole})
    return {
        "title": "A file of vectors; docs/vectors.md says what they mean",
        **ref("vector_file"),
        "$defs": {
            **request()["$defs"],
            "exact": {
                **STRING,
                "description": "An integer, p/q in lowest terms, or up to 25 digits.",
                "pattern": EXACT,
            },
            "vector": vector,
            "vector_file": body,
            "vector_index": closed({"version": {"const": VECTORS}, "files": mapping(file)}),
        },
    }


def main(arguments: Sequence[str]) -> int:
    stale = []
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    made = {"request": request(), "reply": reply(), "vectors": vectors()}
    files = {f"{name}.schema.json": {**head, **schema} for name, schema in made.items()}
    for name, body in {**files, DIGESTS: {name: digest(schema) for name, schema in files.items()}}.items():
        path, text = HERE / name, json.dumps(body, indent=2) + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    print(f"{'stale' if '--check' in arguments else 'written'}: {', '.join(stale) or 'none'}")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
