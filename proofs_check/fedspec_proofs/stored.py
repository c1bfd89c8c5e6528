"""The ledger on disk: what the last stored run of every claim gave, one line each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fedspec.errors import FedspecError
from fedspec_proofs.claim import Dropped, Engine, Record, Second, Sharpness, Verdict

PATH = Path(__file__).with_name("ledger.json")

COMMAND = "fedspec claims run {} --store"
"""What renews the lines of some claims; with ``--all``, of all."""


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


def load(path: Path | None = None) -> dict[str, Record]:
    """The stored records by claim; none where there is no file yet.

    Raises:
        FedspecError: the file is no ledger.
    """
    path = path or PATH
    if not path.exists():
        return {}
    try:
        body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return {id: _record(id, row) for id, row in body.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FedspecError(f"claims: {path} is no ledger ({error}); renew it: {COMMAND.format('--all')}") from error


def save(records: Mapping[str, Record], order: Iterable[str], path: Path | None = None) -> None:
    """Write the file, in the given order; what is not in it is left out.

    Raises:
        FedspecError: it cannot be written.
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
    try:
        path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    except OSError as error:
        raise FedspecError(f"claims: cannot write {path} ({error}); run from a source tree") from error
