"""The ledger on disk: the last stored run of every claim and the instances that its searches found, a line each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any, TypeVar

from fedspec.errors import FedspecError
from fedspec.parsing import parse_json
from fedspec_proofs.claim import Dropped, Engine, Record, Second, Sharpness, Verdict
from fedspec_proofs.engines.witnesses import Found

T = TypeVar("T")

PATH = Path(__file__).with_name("ledger.json")

COMMAND = "fedspec claims run {} --store"
"""Command that runs some claims again and stores their lines; with ``--all``, every claim."""


def _record(id: str, row: Mapping[str, Any]) -> Record:
    second, sharpness = row["second"], row.get("sharpness")
    return Record(
        id,
        Verdict(row["verdict"]),
        row["evidence"],
        {name: Dropped(**d) for name, d in row["dropped"].items()},
        second and Second(Engine(second["engine"]), second["instances"], second["words"]),
        row["seconds"],
        sharpness and Sharpness(**sharpness),
    )


def _read(path: Path, of: Callable[[dict[str, Any]], T], what: str) -> T | None:
    """The content of a file; None if there is no file yet.

    Raises:
        FedspecError: the file holds something else.
    """
    if not path.exists():
        return None
    try:
        return of(parse_json(path.read_text(encoding="utf-8")))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FedspecError(f"claims: {path} is {what} ({error}); renew it: {COMMAND.format('--all')}") from error


def load(path: Path | None = None) -> dict[str, Record]:
    """Stored records by claim id; empty if there is no file yet.

    Raises:
        FedspecError: the file isn't a ledger.
    """
    found = _read(path or PATH, lambda body: {id: _record(id, row) for id, row in body.items()}, "no ledger")
    return found or {}


def save(records: Mapping[str, Record], order: Iterable[str], path: Path | None = None) -> None:
    """Write the records in the given order; records whose id isn't in the order are left out.

    Raises:
        FedspecError: the file can't be written.
    """
    path = path or PATH
    rows = []
    for id in order:
        if id in records:
            row = records[id].record()
            del row["id"]
            if row["sharpness"] is None:
                del row["sharpness"]
            row["seconds"] = round(row["seconds"], 2)
            rows.append(f"{json.dumps(id)}: {json.dumps(row, ensure_ascii=False)}")
    _write(path, rows)


def _write(path: Path, rows: Iterable[str]) -> None:
    try:
        path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    except OSError as error:
        raise FedspecError(f"claims: cannot write {path} ({error}); run from a source tree") from error


def _beside() -> Path:
    return PATH.with_name("witnesses.json")


def load_found() -> dict[str, dict[str, Found]]:
    """Stored search results of each claim; empty if there is no file yet.

    Raises:
        FedspecError: the file holds something else.
    """
    found = _read(
        _beside(),
        lambda body: {id: {name: Found(*one) for name, one in searches.items()} for id, searches in body.items()},
        "not readable",
    )
    return found or {}


def save_found(found: Mapping[str, Mapping[str, Found]], order: Iterable[str]) -> None:
    """Write the search results in the given order; a claim without searches gets no line.

    Raises:
        FedspecError: it cannot be written.
    """
    told = {id: {name: astuple(f) for name, f in found.get(id, {}).items()} for id in order}
    _write(_beside(), (f"{json.dumps(id)}: {json.dumps(searches)}" for id, searches in told.items() if searches))
