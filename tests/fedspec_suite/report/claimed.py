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

TIED = ("v0", "tau-squared")
"""What an offer may declare beside the options of a row."""


def record(a: Algorithm, reading: str, declared: Mapping[str, str]) -> dict[str, Any]:
    """What runs under a reading and declared options, and nothing of the others.

    Raises:
        FedspecError: the reading or an option is unknown, contradicts the reading, or plays no part.
    """
    chosen = a.reading(reading or a.readings[0].name)
    tied = TIED in declared.items() and {"v0", "tau"} <= {*a.numbers}
    options = {n: v for n, v in declared.items() if not tied or n != "v0"}
    resolved = a.resolve(chosen.name, options)
    levels = [level for level in a.levels if chosen in a.readings_at(level)]
    equations = a.running(resolved)
    return {
        "id": a.id,
        "reading": chosen.name,
        "words": chosen.words,
        "asks": [q.words for q in chosen.requires],
        "options": {**resolved, **({"v0": "tau-squared"} if tied else {})},
        "meanings": {n: said for n, v in resolved.items() if (said := cases.meanings(a.options[n]).get(v))},
        "equations": [page.equation(e) for e in equations],
        "notes": list(notes(a, equations, resolved)),
        "domains": {
            n: page.domain(n) | {"levels": [level for level in levels if n in a.numbers_under(level, resolved)]}
            for n in a.numbers_under(levels[-1], resolved)
        },
        "starts": cases.starts_of(Offer(a.id, levels[-1], chosen.name, options)),
    }


def show(a: Algorithm, reading: str, declared: Mapping[str, str], out: Console) -> None:
    """Print what runs under a reading and declared options."""
    row = record(a, reading, declared)
    out.print(Text.assemble((a.id, "bold"), f"  {row['reading']}: {row['words']}"))
    if row["asks"]:
        out.print(Text(f"it asks {', '.join(row['asks'])}"))
    if row["options"]:
        options = table.plain("option", "value", "meaning")
        for n, value in row["options"].items():
            options.add_row(n, value, Text(row["meanings"].get(n, "")))
        out.print(page.head("options"), options)
    equations = table.plain("id", "equation")
    for e in row["equations"]:
        equations.add_row(e["id"], Text(e["text"]))
    out.print(page.head("equations"), equations)
    for note in row["notes"]:
        out.print(Text(note, style="dim"))
    numbers = table.plain("hyper-parameter", "domain", "meaning", "levels")
    for n, said in row["domains"].items():
        numbers.add_row(n, said["domain"], said["meaning"], ", ".join(said["levels"]))
    out.print(page.head("hyper-parameters"), numbers)
    if row["starts"]:
        out.print(page.started(a, row["starts"]))
