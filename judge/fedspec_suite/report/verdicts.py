"""Text of ``fedspec check``: the summary with reasons, one line for each offer, and details on request."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from math import ceil
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fedspec_suite.laws.applicability import SKIPPED
from fedspec_suite.measure.escaping import escape_controls
from fedspec_suite.measure.input_ranges import in_words
from fedspec_suite.measure.verdict import Conformity, Obligation, Result, Status, counted
from fedspec_suite.report import sentences
from fedspec_suite.report.terminal import GAP, Plain, fit, table

COLOURS = {
    Conformity.CONFORMS: "green",
    Conformity.IN_PART: "yellow",
    Conformity.ASKED_IN_PART: "yellow",
    Conformity.EXPECTED: "yellow",
    Conformity.DOES_NOT: "red",
    Conformity.ERROR: "magenta",
    Conformity.INCONCLUSIVE: "yellow",
}

WIDEST = 100
"""Largest width of the output, in characters."""

TABULAR = 80
"""Width from which the table of checks has numbers."""

MOST = 3
"""Most lines of an offer in the summary at full width; more if the terminal is narrower."""

WRITTEN = re.compile(r"yours: .*?, wanted: .*? at ([\w.-]+)")
"""Pattern of the words for a written equation in a reason."""

INDENT = 2
"""Spaces before a line of the table."""


def show(results: Sequence[Result], console: Console, ran: str, *, details: bool = False) -> None:
    """Print a summary, the table and the command to continue with; with ``details``, everything else that is known.

    Args:
        results: the offers.
        console: console to print to; its width is bounded.
        ran: profile, seed and duration of the run, for the last line.
        details: True: print every obligation, note, command and denominator.
    """
    console.width = min(console.width, WIDEST)
    _summary(results, console)
    console.print()
    _table(results, console)
    for r, which in zip(results, sentences.ordinals(results), strict=True) if details else ():
        _details(r, which, console)
    console.print()
    _again(results, console)
    if details:
        _denominators(results, console)
    _reach(results, console)
    if not details and (said := sentences.skipped(results)):
        _block(Text(said), console, 0)
    if not details and any(o.detail for r in results for o in r.obligations):
        _block(Text("--details prints the traceback of the error."), console, 0)
    console.print(Text(ran))


def lines(results: Sequence[Result], console: Console) -> None:
    """Print a line for each claim: its verdict and what it covers."""
    for r, name in zip(results, sentences.names(results), strict=True):
        console.print(_words(sentences.in_a_line(r, name), console), soft_wrap=True)


def text(results: Sequence[Result], ran: str) -> str:
    """Format results as a string, without colours."""
    out = StringIO()
    show(results, Plain(file=out, width=WIDEST, no_color=True), ran)
    return out.getvalue()


def _reach(results: Sequence[Result], console: Console) -> None:
    """Print the sizes of the cases, and what claims kept out of them."""
    if said := sentences.beyond(results):
        _block(Text(said), console, 0)
    kept: dict[str, list[str]] = {}
    for r in results:
        for limit in r.limits:
            kept.setdefault(limit, []).append(f"{r.algorithm}/{r.level}")
    if kept:
        # As the claims say, not as the cases came out.
        said = "; ".join(f"{limit} ({', '.join(dict.fromkeys(of))})" for limit, of in kept.items())
        _block(_words(f"the claims limit the cases: {said}", console), console, 0)


def _summary(results: Sequence[Result], console: Console) -> None:
    """Print how many conform, and a sentence for each of the others."""
    of = {verdict: [r for r in results if r.verdict is verdict] for verdict in Conformity}
    console.print(Text(sentences.tally(results), style="bold"))
    called = dict(zip(map(id, results), sentences.names(results), strict=True))
    told = [verdict for verdict in sentences.TOLD if of[verdict]]
    for verdict in told:
        console.print()
        if len(told) > 1:
            # A single kind is in the tally.
            console.print(Text(f"{verdict}:", style=COLOURS[verdict]))
        for r in of[verdict]:
            for line in _told(r, called[id(r)], console):
                console.print(line, no_wrap=True)
            for command in sentences.replays(r):
                said = Text.assemble(" " * 2 * INDENT, ("again: ", "dim"), _words(runnable(command), console, "dim"))
                console.print(said, soft_wrap=True)


def _told(r: Result, name: str, console: Console) -> list[Text]:
    """An offer in the summary: the reason and the remedy; if no known variant fits, all facts, one a line."""
    width = console.width - 2 * INDENT
    if sentences.unknown(r):
        first, *facts = sentences.facts(r)
        lines = _filled(Text.assemble(_words(name, console, "bold"), ": ", _words(first, console)), console, width)
        for fact in facts:
            # What wraps goes on further in, so that each fact begins a line.
            head, *rest = _filled(_words(fact, console), console, width - INDENT)
            lines += [head, *(Text.assemble(" " * INDENT, line) for line in rest)]
    else:
        most = ceil(MOST * WIDEST / console.width)
        lines = _filled(_headline(r, name, console, width, most), console, width, most)
    if r.verdict is Conformity.DOES_NOT:
        lines += equations(r.nearest_data, console, width, sentences.cited(r))
    if r.verdict is Conformity.DOES_NOT and sentences.single_only(r):
        lines += _filled(Text(sentences.offer_single(r), "dim"), console, width)
    elif offered := sentences.offer_fixed(r) or sentences.offer_denied(r):
        lines += _filled(Text(offered, "dim"), console, width)
    return [Text.assemble(" " * (INDENT if k == 0 else 2 * INDENT), line) for k, line in enumerate(lines)]


def _headline(r: Result, name: str, console: Console, width: int, most: int) -> Text:
    """The name of an offer and its reason; if these take more lines, words before the first wrong number are left out.

    The number and what was wanted are never cut.
    """

    def told(said: str) -> Text:
        return Text.assemble(_words(name, console, "bold"), ": ", _words(said, console))

    said = sentences.head(r)
    if sentences.differences(r):
        # Both equations stand below.
        said = WRITTEN.sub(r"another equation at \1", said)
    number = sentences.FIRST_NUMBER.search(said)
    words = said[: number.start()].split(" ") if number else []
    line = told(said)
    while number and words and len(line.wrap(console, width)) > most:
        words.pop()
        line = told(f"{' '.join(words).rstrip(' ,;:')}…{said[number.start() :]}")
    return line


def equations(nearest_data: Sequence[Mapping[str, Any]], console: Console, width: int, source: str = "") -> list[Text]:
    """Format the differing equations of the variants found, own above wanted, and the claim to make instead."""
    lines: list[Text] = []
    for k, one in enumerate(sentences.differences_in(nearest_data)):
        lines += [Text("or")] if k else []
        lines += [line for difference in one for line in _difference(*difference, console, width)]
    for said in filter(None, (source, sentences.claim_in(nearest_data))):
        lines += _filled(Text(said), console, width)
    return lines


def equations_text(nearest_data: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of ``equations`` without colours."""
    return "\n".join(line.plain for line in equations(nearest_data, Plain(width=WIDEST, no_color=True), WIDEST))


def _difference(at: str, yours: str, wanted: str, console: Console, width: int) -> list[Text]:
    """An equation of the implementation above the one that was wanted."""
    lines = [Text(at, "bold")] if at else []
    for label, said in (("  yours:  ", yours), ("  wanted: ", wanted)) if wanted else (("also ", yours),):
        if not said:
            continue
        one_each = _words(said.replace("; ", "\n"), console)
        wrapped = _filled(one_each, console, max(20, width - len(label)))
        lines += [Text.assemble(label if k == 0 else " " * len(label), line) for k, line in enumerate(wrapped)]
    return lines


def _words(text: str, console: Console, style: str = "") -> Text:
    """Words that may be a subject's, as the console shows strings, and no markup."""
    return console.render_str(text, style=style, markup=False, emoji=False, highlight=False)


def _block(text: Text, console: Console, indent: int) -> None:
    """Print a paragraph, indented."""
    for line in _filled(text, console, console.width - indent):
        console.print(Text.assemble(" " * indent, line))


def _filled(text: Text, console: Console, width: int, most: int | None = None) -> list[Text]:
    """Text in lines, so many at most; what does not fit is left out and marked."""
    lines = list(text.wrap(console, width))
    if most is not None and len(lines) > most > 0:
        rest = Text(" ").join(lines[most - 1 :])
        rest.truncate(width, overflow="ellipsis")
        lines = [*lines[: most - 1], rest]
    for line in lines:
        line.rstrip()
    return lines[:most]


def _table(results: Sequence[Result], console: Console) -> None:
    """A line for each offer below its subject; what is long is wrapped in its cell, and never the count."""
    head = ("algorithm", "level", "reading claimed", "verdict", "passed")
    claimed = [f"{r.declared} {which}".rstrip() for r, which in zip(results, sentences.ordinals(results), strict=True)]
    rows = [
        (r.algorithm, r.level, claim, r.said, f"{r.passed}/{r.required}")
        for r, claim in zip(results, claimed, strict=True)
    ]
    columns = [[*map(escape_controls, column)] for column in zip(head, *rows, strict=True)]
    short = max(map(len, columns[3])) <= len(Conformity.DOES_NOT)
    # A short verdict stays whole, but wraps before a word of another column breaks.
    fits = [fit(columns, console.width - INDENT, [False, False, False, whole, True]) for whole in (short, False)]
    widths = next((some for some in fits if not _breaks(columns, some)), fits[0])
    around = INDENT + GAP * (len(head) - 1)

    def line(*cells: str | Text) -> Padding:
        grid = Table.grid(padding=(0, GAP))
        for k, width in enumerate(widths):
            grid.add_column(width=width, overflow="fold", justify="right" if k == 4 else "left")
        grid.add_row(*(_words(c, console) if isinstance(c, str) else c for c in cells))
        return Padding(grid, (0, 0, 0, INDENT), expand=False)

    console.print(line(*(Text(c, style="bold") for c in head)))
    console.print(Text("─" * (around + sum(widths))))
    before = ""
    for r, row in zip(results, rows, strict=True):
        if sentences.subject(r) != before:
            before = sentences.subject(r)
            console.print(_words(before, console), overflow="fold")
        console.print(line(*row[:3], Text(row[3], style=COLOURS[r.verdict]), row[4]))


def _breaks(columns: Sequence[Sequence[str]], widths: Sequence[int]) -> bool:
    """True if a word is wider than its column."""
    words = zip(widths, (" ".join(cells).split() for cells in columns), strict=True)
    return any(cell_len(word) > width for width, some in words for word in some)


def _details(r: Result, which: str, console: Console) -> None:
    """Every obligation of one offer, and whatever else is known of it.

    Args:
        r: the offer.
        which: number that tells the offer from others with the very same claim.
        console: console to print to.
    """
    console.print()
    console.print(_words(f"{r.id} {which}".rstrip(), console, "bold"))
    for what, said in (
        ("first deviation", r.first_deviation),
        ("nearest known", r.nearest),
        ("looked at", "; ".join(r.searched)),
        ("note", r.notes),
    ):
        if said:
            _block(Text.assemble((f"{what}: ", "dim"), _words(said, console)), console, INDENT)
    if r.verdict is Conformity.DOES_NOT:
        for what, laws in (("fails", sentences.broken(r)), ("holds", sentences.holds(r))):
            for k, law in enumerate([f"{what}:", *laws] if laws else []):
                _block(Text(law, "" if k else "dim"), console, 2 * INDENT if k else INDENT)
    if r.limits:
        _block(Text.assemble(("takes: ", "dim"), _words("; ".join(r.limits), console)), console, INDENT)
    if r.extent:
        _block(Text.assemble(("cases: ", "dim"), in_words(r.extent)), console, INDENT)
    if r.command:
        for command in (r.command, *sentences.replays(r)):
            again = Text.assemble(" " * INDENT, ("again: ", "dim"), _words(runnable(command), console))
            console.print(again, soft_wrap=True)
    wide = console.width >= TABULAR
    t = table("check", "type", "status", *["cases", "ratio"] * wide, "what")
    for o in r.obligations:
        style = {Status.PASS: "green", Status.FAIL: "red", Status.SKIP: "dim"}.get(o.status, "yellow")
        ratio = f"{o.ratio:.2g}" if o.status is Status.PASS else ""
        numbers = (str(o.cases) if o.cases else "", ratio) if wide else ()
        found = sentences.finding(o, r).removeprefix(SKIPPED)
        t.add_row(o.law, o.dtype, Text(o.status, style=style), *numbers, _words(found, console))
    console.print(t)
    firsts: dict[str, Obligation] = {}
    for o in r.obligations:
        firsts.setdefault(o.detail.rstrip(), o)
    for detail, first in firsts.items():
        if not first.detail:
            continue
        console.print(Text(f"\n{' ' * INDENT}what the adapter says of {first.id}:", "dim"))
        for line in detail.splitlines():
            console.print(Text.assemble(" " * 2 * INDENT, _words(line, console)), soft_wrap=True)


def _again(results: Sequence[Result], console: Console) -> None:
    """Print the command that judges one claim: the first that does not conform, else the first."""
    broken = (Conformity.DOES_NOT, Conformity.ERROR)
    ranked = sorted(results, key=lambda r: (r.verdict not in broken, r.verdict not in sentences.TOLD))
    command = next((r.command for r in ranked if r.command), "")
    if command:
        label = "again" if len(results) == 1 else "one claim alone"
        console.print(_words(f"{label}: {runnable(command)}", console, "dim"), soft_wrap=True)


def runnable(command: str) -> str:
    """Return the command with the program's full path if the shell wouldn't find the program."""
    first, _, rest = command.partition(" ")
    own = Path(sys.argv[0]).name == first and not shutil.which(first)
    return f"{shlex.quote(sys.argv[0])} {rest}" if own else command


def _denominators(results: Sequence[Result], console: Console) -> None:
    """Print how many of the required checks ran, passed and were skipped."""
    required, exercised, passed = (sum(getattr(r, n) for r in results) for n in ("required", "exercised", "passed"))
    cases = sum(o.cases for r in results for o in r.obligations)
    skipped = sum(o.status is Status.SKIP for r in results for o in r.obligations)
    console.print(
        Text(
            f"{exercised} of {counted(required, 'check')} decided on {counted(cases, 'case')}, {passed} passed; "
            f"{skipped} skipped; {counted(len(results), 'claim')}"
        )
    )
