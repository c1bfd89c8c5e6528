"""Reference of the JSON that processes exchange: a table for each object, generated from the schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup, escape

from fedspec_site.text import slug
from fedspec_site.writing import ROOT, Source

FOLDER = ROOT / "spec/fedspec/schemas"
FILES = ("request", "reply", "vectors")
PLAIN = {"description", "title"}


def write(source: Source) -> None:
    """Write the page, and copy the schema files."""
    found = []
    for name in FILES:
        file = FOLDER / f"{name}.schema.json"
        body = json.loads(file.read_text(encoding="utf-8"))
        source.copy(f"_extra/reference/{file.name}", file)
        found.append({"file": file.name, "title": body["title"], "objects": [*_objects(name, body)]})
    source.page("reference/schemas", "schemas", schemas=found)


def _objects(file: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Objects of a schema: its lines, then each record by its name."""
    for k, line in enumerate(body.get("oneOf", ()), 1):
        yield {"id": f"{file}-line-{k}", "name": _line(line), "words": "", "fields": [*_fields(file, line)], "is": ""}
    for name, record in body["$defs"].items():
        has = [*_fields(file, record)]
        words = record.get("description", "")
        rest = "" if has else _kind(file, {n: v for n, v in record.items() if n not in PLAIN})
        yield {"id": f"{file}-{name}", "name": name, "words": words, "fields": has, "is": rest}


def _line(line: Mapping[str, Any]) -> str:
    """Name of a line: its command, or its fields beside ``ok``."""
    has = line["properties"]
    if "cmd" in has:
        return str(has["cmd"]["const"])
    return " ".join(n for n in has if n not in ("ok", "detail", "protocol")) or "ok"


def _fields(file: str, record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    needed = record.get("required", ())
    for name, of in record.get("properties", {}).items():
        yield {"name": name, "kind": _kind(file, of), "needed": name in needed, "words": of.get("description", "")}


def _kind(file: str, of: Mapping[str, Any]) -> Markup:
    """Type of a value, with links to records."""
    if "$ref" in of:
        name = of["$ref"].rpartition("/")[2]
        return Markup('<a href="#{}">{}</a>').format(slug(f"{file}-{name}"), name)
    if "const" in of:
        return Markup("<code>{}</code>").format(json.dumps(of["const"]))
    if "enum" in of:
        return Markup(", ").join(Markup("<code>{}</code>").format(json.dumps(value)) for value in of["enum"])
    for word in ("anyOf", "oneOf"):
        if word in of:
            return Markup(" or ").join(_kind(file, one) for one in of[word])
    kind = of.get("type", "anything")
    if kind == "array" and "items" in of:
        return Markup("list of {}").format(_kind(file, of["items"]))
    if kind == "object" and isinstance(of.get("additionalProperties"), Mapping):
        return Markup("object: name to {}").format(_kind(file, of["additionalProperties"]))
    if kind == "object" and "properties" in of:
        fields = (Markup("<code>{}</code>: {}").format(n, _kind(file, one)) for n, one in of["properties"].items())
        return Markup("object of {}").format(Markup(", ").join(fields))
    said = kind if isinstance(kind, str) else " or ".join(kind)
    bounds = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "above", "minLength": "length at least"}
    more = "".join(f", {words} {of[n]}" for n, words in bounds.items() if n in of)
    return escape(f"{said}{more}") + (Markup(", as <code>{}</code>").format(of["pattern"]) if "pattern" in of else "")
