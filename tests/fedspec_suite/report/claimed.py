"""What runs under one claim, a reading with the options that an offer declares, and nothing of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from fedspec.catalogue import Algorithm
from fedspec.contract import Offer
from fedspec_suite.report import cases, page, table
from fedspec_suite.report.notes import notes


def record(a: Algorithm, reading: str, options: Mapping[str, str]) -> dict[str, Any]:
    """What runs under a reading and declared options, and nothing of the others.

    Raises:
        FedspecError: the reading or an option is unknown, contradicts the reading, or plays no part.
    """
    resolved = a.resolve(reading or a.readings[0].name, options)
    chosen = a.reading(reading or a.readings[0].name)
    level = next(level for level in reversed(a.levels) if chosen in a.readings_at(level))
    equations = a.running(resolved)
    return {
        "id": a.id,
        "reading": chosen.name,
        "words": chosen.words,
        "options": resolved,
        "equations": [page.equation(e) for e in equations],
        "notes": list(notes(a, equations, resolved)),
        "domains": {n: page.domain(n) for n in a.numbers_under(level, resolved)},
        "starts": cases.starts_of(Offer(a.id, level, chosen.name, options)),
    }


def show(a: Algorithm, reading: str, options: Mapping[str, str], out: Console) -> None:
    """Print what runs under a reading and declared options."""
    row = record(a, reading, options)
    values = ", ".join(f"{n} = {v}" for n, v in row["options"].items())
    out.print(Text.assemble((a.id, "bold"), f"  {row['reading']}: {row['words']}"))
    out.print(Text(f"with {values}" if values else "it has no options", style="dim"))
    equations = table.plain("id", "equation")
    for e in row["equations"]:
        equations.add_row(e["id"], Text(e["text"]))
    out.print(page.head("equations"), equations)
    for note in row["notes"]:
        out.print(Text(note, style="dim"))
    numbers = table.plain("hyper-parameter", "domain", "meaning")
    for n, said in row["domains"].items():
        numbers.add_row(n, said["domain"], said["meaning"])
    out.print(page.head("hyper-parameters"), numbers)
    if row["starts"]:
        out.print(page.started(row["starts"]))
