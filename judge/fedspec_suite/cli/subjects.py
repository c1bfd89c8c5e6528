"""The command ``fedspec packages``: list the packages with a bundled adapter."""

from __future__ import annotations

from typing import Any

from fedspec_suite.report.terminal import Json, console, emit, table
from fedspec_suite.subjects import environments


def subjects(as_json: Json = False) -> None:
    """List the packages that have a bundled adapter."""
    rows: list[dict[str, Any]] = [
        {"id": s.name, "description": s.description, "ready": environments.is_ready(s.name)}
        for s in environments.bundled().values()
    ]
    if as_json:
        emit(rows)
        return
    t = table("package", "what", "environment")
    for row in rows:
        t.add_row(row["id"], row["description"], "there" if row["ready"] else "made on first use")
    console().print(t)
