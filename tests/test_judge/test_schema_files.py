"""A schema of the wire that is not what was released is refused by its file, with what to do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fedspec import schema
from fedspec.errors import FedspecError

CACHES = (schema._schema, schema._definition, schema._kinds)


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Schemas that may be spoiled; what was remembered of either is forgotten."""
    shutil.copytree(schema.FOLDER, tmp_path / "schemas")
    monkeypatch.setattr(schema, "FOLDER", tmp_path / "schemas")
    for cache in CACHES:
        cache.cache_clear()
    yield tmp_path / "schemas"
    for cache in CACHES:
        cache.cache_clear()


def sealed(folder: Path) -> None:
    """Renew the digests, as whoever forges a schema would."""
    bodies = {path.name: json.loads(path.read_text()) for path in folder.glob("*.schema.json")}
    (folder / schema.DIGESTS).write_text(json.dumps({name: schema.digest(body) for name, body in bodies.items()}))


SPOILED: dict[str, Callable[[str], str]] = {
    "cut off": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "a list": lambda text: "[1]",
    "no definitions": lambda text: '{"$defs": 1}',
    "nested": lambda text: "[" * 100_000,
    "a type of its own": lambda text: text.replace('"type": "object"', '"type": "thing"'),
    "laxer": lambda text: text.replace('"minimum": 0', '"minimum": -1'),
    "a reference to a file": lambda text: text.replace('"#/$defs/array"', '"file:///etc/passwd"'),
    "a reference to itself": lambda text: text.replace('"#/$defs/array"', '"#/$defs/blocks"'),
}


@pytest.mark.parametrize("what", SPOILED)
def test_a_spoiled_schema_is_refused_with_file_and_remedy(what: str, copied: Path) -> None:
    path = copied / "request.schema.json"
    text = path.read_text(encoding="utf-8")
    assert SPOILED[what](text) != text
    path.write_text(SPOILED[what](text), encoding="utf-8")
    with pytest.raises(FedspecError, match=r"schema: .*schemas.* is not what .* install fedspec again") as raised:
        schema.check({}, "case", "case")
    assert str(copied) in str(raised.value)


def test_a_definition_that_is_missing_is_refused(copied: Path) -> None:
    for path in copied.glob("*.schema.json"):
        path.write_text('{"$defs": {}}', encoding="utf-8")
    sealed(copied)
    with pytest.raises(FedspecError, match=r"schema: .*no definition of case.*install fedspec again"):
        schema.check({}, "case", "case")


def test_a_schema_that_is_gone_or_has_no_kinds_is_refused(copied: Path) -> None:
    (copied / "reply.schema.json").write_text('{"$defs": {}}')
    sealed(copied)
    with pytest.raises(FedspecError, match=r"reply\.schema\.json: .*no kinds of reply.*install fedspec again"):
        schema.check_message({}, "reply", "x", "reply")
    (copied / "reply.schema.json").unlink()
    schema._schema.cache_clear()
    with pytest.raises(FedspecError, match=r"reply\.schema\.json: .*No such file.*install fedspec again"):
        schema.check_message({}, "reply", "x", "reply")


def test_schemas_without_their_digests_are_refused(copied: Path) -> None:
    (copied / schema.DIGESTS).unlink()
    with pytest.raises(FedspecError, match=r"digests\.json: .*No such file.*install fedspec again"):
        schema.check({}, "case", "case")
