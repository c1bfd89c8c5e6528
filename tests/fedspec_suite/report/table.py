"""The tables that people read."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fedspec_suite.measure.verdict import Conformity, Result, Status

COLOURS = {
    Conformity.CONFORMS: "green",
    Conformity.DOES_NOT: "red",
    Conformity.ERROR: "magenta",
    Conformity.INCONCLUSIVE: "yellow",
}


def plain(*columns: str) -> Table:
    """A table with a head and no frame."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "mutant")
    return table


WIDE = 160
"""Columns from which on the deviations stand in the table itself."""


def verdicts(results: Sequence[Result], console: Console) -> None:
    """One line for each offer, and below the table a command for each line."""
    wide = console.width >= WIDE
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in ("subject", "algorithm", "level", "reading claimed", "verdict"):
        table.add_column(column, no_wrap=wide or column == "verdict", overflow="fold")
    table.add_column("obligations", justify="right", no_wrap=True)
    if wide:
        table.add_column("first deviation", overflow="fold", ratio=3)
        table.add_column("nearest known", overflow="fold", ratio=2)
    for r in results:
        name, _, variant = r.subject.partition(" ")
        row = (
            f"{name} {r.version} {variant}".rstrip(),
            r.algorithm,
            r.level,
            r.declared,
            Text(r.verdict, style=COLOURS[r.verdict]),
            f"{r.passed}/{r.required}",
        )
        table.add_row(*row, *((r.first_deviation, r.nearest) if wide else ()))
    console.print(table)
    if not wide:
        for r in results:
            if r.first_deviation:
                nearest = f"\n  nearest known: {r.nearest}" if r.nearest else ""
                console.print(f"\n{r.id}\n  first deviation: {r.first_deviation}{nearest}")
    for r in results:
        if r.notes:
            console.print(f"note on {r.id}: {r.notes}", style="dim", soft_wrap=True, highlight=False)
    commands = [r.command for r in results if r.command]
    if commands:
        beyond = "" if shutil.which("fedspec") else f" (fedspec is {Path(sys.argv[0])})"
        console.print(f"\neach line again, alone{beyond}:", style="dim", soft_wrap=True)
        for line in commands:
            console.print(f"  {line}", style="dim", soft_wrap=True, highlight=False)


def details(result: Result, console: Console) -> None:
    """Every obligation of one offer."""
    table = plain("law", "type", "status", "cases", "largest ratio", "what")
    for o in result.obligations:
        style = {Status.PASS: "green", Status.FAIL: "red", Status.SKIP: "dim"}.get(o.status, "yellow")
        table.add_row(
            o.law,
            o.dtype,
            Text(o.status, style=style),
            str(o.cases) if o.cases else "",
            f"{o.ratio:.2g}" if o.status is Status.PASS else "",
            str(o.deviation) if o.deviation else o.reason,
        )
    console.print(table)


def summary(results: Sequence[Result], console: Console) -> None:
    """The denominators: what was exercised of what was required, what was not offered."""
    required = sum(r.required for r in results)
    exercised = sum(r.exercised for r in results)
    passed = sum(r.passed for r in results)
    withheld = sum(o.status is Status.SKIP for r in results for o in r.obligations)
    cases = sum(o.cases for r in results for o in r.obligations)
    console.print(
        f"{exercised} of {required} obligations exercised on {cases} cases, {passed} passed; "
        f"{withheld} not offered; {len(results)} offers",
        highlight=False,
    )
