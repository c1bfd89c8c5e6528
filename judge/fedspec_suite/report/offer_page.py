"""Output of ``fedspec show`` for one claim: a reading with the declared options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from fedspec.catalogue import Algorithm
from fedspec.contract import Offer
from fedspec.hyper import plays_part
from fedspec.readings import meanings
from fedspec_suite.measure.setting import TAU_SQUARED, untied
from fedspec_suite.report import cases, page
from fedspec_suite.report.notes import notes
from fedspec_suite.report.source import code_of
from fedspec_suite.report.terminal import table


def record(a: Algorithm, reading: str, declared: Mapping[str, str]) -> dict[str, Any]:
    """Return the JSON record of a reading with declared options, without the other readings.

    Raises:
        FedspecError: the reading or an option is unknown, contradicts the reading, or plays no part.
    """
    chosen = a.reading(reading or a.readings[0].name)
    tied, options = untied(a, declared)
    resolved, usual = a.resolve(chosen.name, options), a.resolve(chosen.name, {})
    levels = [level for level in a.levels if chosen in a.readings_at(level)]
    equations = a.running(resolved)
    numbers = a.numbers_under(levels[-1], resolved)
    playing = {n: v for n, v in resolved.items() if plays_part(a.plays, n, resolved)}
    meant = {n: said for n, v in playing.items() if (said := meanings(a.options[n]).get(v))}
    domains = {
        n: page.domain(n) | {"levels": [level for level in levels if n in a.numbers_under(level, resolved)]}
        for n in numbers
    }
    starts = cases.starts_of(Offer(a.id, levels[-1], chosen.name, options))
    if tied:
        domains["v0"]["domain"] = "tau^2"
        starts = {n: "tau^2" if words == "v0" else words for n, words in starts.items()}
    return {
        "id": a.id,
        "reading": chosen.name,
        "words": chosen.told,
        "but": {n: v for n, v in resolved.items() if v != usual[n]},
        "asks": [q.words for q in chosen.requires],
        "options": {**playing, **({"v0": TAU_SQUARED} if tied else {})},
        "meanings": {**meant, **({"v0": "v0 is tau^2"} if tied else {})},
        "equations": [page.equation(e) for e in equations],
        "code": code_of(a, chosen.name, options),
        "notes": list(notes(a, equations, resolved, levels)),
        "domains": domains,
        "starts": starts,
        "settable": [
            *(words for words in cases.settable(a, numbers, levels) if not tied or TAU_SQUARED not in words),
            *(
                _open(n, [str(v) for v in a.options[n] if str(v) != value])
                for n, value in playing.items()
                if n not in chosen.fixes
            ),
        ],
        "shows": page.intermediates(a, levels),
    }


def _open(name: str, others: list[str]) -> str:
    """Note that a reading leaves an option open, and how an offer sets it."""
    said = f'options={{"{name}": "{others[0]}"}} in a claim'
    return f"{said}: the reading leaves {name} open; others: {', '.join(others)}"


def show(a: Algorithm, reading: str, declared: Mapping[str, str], out: Console) -> None:
    """Print the equations, options and hyper-parameters of a reading with declared options."""
    row = record(a, reading, declared)
    other = f"; here {', '.join(f'{n} = {v}' for n, v in row['but'].items())}" if row["but"] else ""
    out.print(Text.assemble((a.id, "bold"), f"  {row['reading']}: {row['words']}{other}"))
    if row["asks"]:
        out.print(Text(f"it asks {', '.join(row['asks'])}"))
    if row["options"]:
        options = table("option", "value", "meaning")
        for n, value in row["options"].items():
            options.add_row(n, value, Text(row["meanings"].get(n, "")))
        out.print(page.head("options"), options)
    equations = table("id", "equation")
    for e in row["equations"]:
        equations.add_row(e["id"], Text(e["text"]))
    out.print(page.head("equations"), equations)
    for note in row["notes"]:
        out.print(Text(note, style="dim"))
    out.print(page.head("the text that runs"))
    # Not wrapped: it is there to be copied.
    out.print(Text(row["code"]), soft_wrap=True)
    numbers = table("name", "domain", "meaning", "levels")
    for n, said in row["domains"].items():
        numbers.add_row(n, said["domain"], said["meaning"], ", ".join(said["levels"]))
    out.print(page.head("hyper-parameters"), numbers)
    for words in row["settable"]:
        out.print(Text(words, style="dim"))
    if row["starts"]:
        out.print(page.started(a, row["starts"]))
    out.print(Text(f"quantities that an adapter may return beside x: {row['shows']}"))
    out.print(Text(f"the box, what a case may hold, laws and traps: fedspec show {a.id} --all", style="dim"))
