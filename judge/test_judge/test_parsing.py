"""Files of others that are nested too deep, and schemas that are not what was released, are refused in a line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_judge.support import inside

from fedspec import schema
from fedspec.errors import FedspecError
from fedspec.parsing import DEEPEST, MOST_DOTS, parse_json, parse_toml
from fedspec_proofs import stored as ledger
from fedspec_suite.judge import expected_failures
from fedspec_suite.judge.capsules import file_format as capsules
from fedspec_suite.report import results_file as results
from fedspec_suite.vectors import store as vectors
from fedspec_torch.recipes import parser as recipes
from fedspec_torch.recipes import store as recipe_runs
from fedspec_torch.run import trial_log

DEPTHS = (DEEPEST + 1, 900, 100_000)
"""The middle one is as deep as Python's readers go, and deeper than what walks through it may."""
JSON = {"lists": ("[", "]"), "objects": ('{"a":', "}")}
TOML = {"arrays": ("a = ", "[", "", "]"), "tables": ("a = ", "{a=", "1", "}"), "dots": ("", "a.", "a = 1", "")}


def nested(kind: str, deep: int) -> str:
    opened, closed = JSON[kind]
    return f"{opened * deep}1{closed * deep}"


def test_words_with_dots_are_no_key() -> None:
    said = "see https://example.org/a.b.c/v1.2.3... and so on. " * 100
    assert parse_toml(f'reason = "{said}"') == {"reason": said}
    assert parse_toml(".".join("a" * MOST_DOTS) + " = 1")
    with pytest.raises(ValueError, match="dots"):
        parse_toml('"a b"  .  ' * 200 + "a = 1")
    # Looked at once, not from each of its letters.
    assert parse_toml(f"a = '{'x' * 10**6}'")


READERS: dict[str, Callable[[Path], Any]] = {
    "capsule": capsules.read,
    "results": results.read,
    "vectors": lambda path: vectors.read(path, "vector_index"),
    "ledger": ledger.load,
    "recipe": recipe_runs._read,
    "trials": lambda path: trial_log.read(path, {}),
}


@pytest.mark.parametrize("deep", DEPTHS)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", JSON)
def test_every_reader_of_json_refuses_it(kind: str, reader: str, deep: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(nested(kind, deep))
    with pytest.raises(FedspecError, match="nested too deeply") as refused:
        READERS[reader](tmp_path / "file")
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400
    assert parse_json(nested(kind, DEEPEST))


@pytest.mark.parametrize("deep", DEPTHS)
@pytest.mark.parametrize("kind", TOML)
def test_every_reader_of_toml_refuses_it(kind: str, deep: int, tmp_path: Path) -> None:
    """A key of 20,000 dots took fifteen seconds, and one of 100,000 all memory."""
    before, opened, inner, closed = TOML[kind]
    text = before + opened * deep + inner + closed * deep
    (tmp_path / "file").write_text(text)
    for read in (lambda: expected_failures.read(tmp_path / "file"), lambda: recipes.parsed("mine", text)):
        with pytest.raises(FedspecError, match=r"nested too deeply|dots") as refused:
            read()
        assert "\n" not in str(refused.value) and len(str(refused.value)) < 400


def test_the_command_says_so_in_a_line(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text(nested("lists", 100_000))
    inside("report", str(file)).refused("nested too deeply")
    inside("replay", str(file), "spec").refused("nested too deeply")
    (tmp_path / "index.json").write_text(json.dumps({"version": 1}).replace("1", nested("lists", 100_000)))
    inside("vectors", "check", "spec", "--folder", str(tmp_path)).refused("nested too deeply")
    file.write_text("[[expect]]\noffer = " + nested("lists", 100_000))
    inside("check", "spec", "--expect", str(file)).refused("nested too deeply")


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
