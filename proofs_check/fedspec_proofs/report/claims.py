"""Printing of the ledger's claims: tables, single claims and runs."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from fedspec.papers import PAPERS
from fedspec_suite.report import terminal

WIDE = 140
"""Console width in columns from which the table has a column with the statements."""

COLOURS = {
    "proved": "green",
    "proved at sizes": "green",
    "certified": "green",
    "tight": "green",
    "checked": "green",
    "not contradicted": "yellow",
    "refuted": "red",
    "repaired": "cyan",
    "undecidable-here": "yellow",
}

NOT_RUN: dict[str, Any] = {"evidence": "", "dropped": {}, "second": None, "sharpness": None, "seconds": None}
"""Values of a claim without a stored run."""

JUDGED = (
    "Line numbers (L12) are those of the papers' text conversions. A statement is judged as it is printed there; "
    "what the evidence covers, and what not, is in `fedspec claims show ID`."
)


SHARES = (
    "whole, part: how much of the printed statement is shown. remark: a reading, an instance or a consequence of ours. "
    "A refutation is a false result, a step by which a proof breaks, another constant, or a slip of print."
)

LEAD = (
    "{} statements. `fedspec claims --all` lists all {} claims: those about steps, assumptions and readings too. "
    f"{SHARES} `fedspec claims show PAPER.CLAIM` says what exactly, with the evidence. left/right: how near a search "
    "came to a bound."
)


def _said(claim: Any, ledger: Any) -> Text:
    return Text(claim.told, style=COLOURS[ledger.kind(claim)])


def row(claim: Any, record: Any, ledger: Any) -> dict[str, Any]:
    """Claim as JSON values, with the result of its last stored run."""
    ran = record.record() if record else NOT_RUN
    return {
        "id": claim.id,
        "paper": claim.paper,
        "numbers": list(ledger.labels(claim)),
        "statement": claim.statement,
        "title": claim.source.paper,
        "source": claim.source.place,
        "printed": claim.printed,
        "verdict": ledger.kind(claim),
        "shown": str(claim.verdict),
        "extent": claim.extent and str(claim.extent),
        "severity": claim.severity and str(claim.severity),
        "sizes": claim.sizes,
        "engine": str(claim.engine),
        "assumptions": dict(claim.assumptions),
        "repairs": claim.repairs,
        "false_of": claim.false_of,
        "chain": list(claim.chain),
        "blind": bool(record and record.blind),
        **{name: ran[name] for name in NOT_RUN},
    }


def lead(paper: str, stored: Mapping[str, Any], ledger: Any, console: Console) -> None:
    """Print a line for each theorem, lemma, proposition and corollary: the claims about it and refuted proof steps."""
    found, claims = ledger.headlines(paper), ledger.claims()
    for one in PAPERS.values():
        mine = [h for h in found if h.statement.paper == one.key]
        if not mine:
            continue
        console.print(Text(f"{one.name}: {one.title}", style="bold"))
        t = terminal.table("statement", "what is claimed about it, and what came out", "left/right", "steps refuted")
        t.columns[0].no_wrap = True
        for h in mine:
            ratios = [stored[id].sharpness.ratio for id in h.statement.claims if id in stored and stored[id].sharpness]
            t.add_row(
                h.statement.label,
                _came_out(h.statement, ledger),
                f"{max(ratios):.2g}" if ratios else "",
                _steps([claims[id] for id in h.steps]),
            )
        console.print(t)
        console.print()
    console.print(LEAD.format(len(found), len(claims)), style="dim")


def _came_out(statement: Any, ledger: Any) -> Text:
    """Claims about a statement, by their verdicts and by the part of the statement that they show."""
    told: dict[tuple[str, str], list[Any]] = {}
    for claim in map(ledger.find, statement.claims):
        told.setdefault((claim.said, ledger.share(claim, statement)), []).append(claim)
    said = Text()
    for (verdict, share), mine in told.items():
        said.append("; " if said else "")
        said.append(", ".join(filter(None, (verdict, share))), style=COLOURS[ledger.kind(mine[0])])
        said.append(f": {', '.join(c.id.partition('.')[2] for c in mine)}")
    return said


def _steps(refuted: Sequence[Any]) -> str:
    """Refuted steps of a proof, by what that means."""
    by = {one.severity: [c.id.partition(".")[2] for c in refuted if c.severity == one.severity] for one in refuted}
    return "; ".join(f"{severity}: {', '.join(ids)}" for severity, ids in by.items())


def table(claims: Mapping[str, Any], stored: Mapping[str, Any], ledger: Any, console: Console) -> None:
    """Print a line for each claim, and the number of claims with each verdict."""
    wide = console.width >= WIDE
    for paper in PAPERS.values():
        mine = {id: c for id, c in claims.items() if c.paper == paper.key}
        if not mine:
            continue
        console.print(Text(f"{paper.name}: {paper.title}", style="bold"))
        t = terminal.table(
            "number", "claim", "verdict", "of it", "engine", "seconds", *(("statement",) if wide else ())
        )
        t.columns[2].no_wrap = t.columns[3].no_wrap = True
        t.columns[5].justify = "right"
        for id, claim in mine.items():
            seconds = f"{stored[id].seconds:.1f}" if id in stored else "not run"
            sizes = f" (shown for {claim.sizes})" if claim.sizes else ""
            said = (claim.statement + sizes,) if wide else ()
            verdict = Text(claim.said, style=COLOURS[ledger.kind(claim)])
            numbers = ", ".join(ledger.labels(claim))
            t.add_row(numbers, id, verdict, claim.share, str(claim.engine), seconds, *said)
        console.print(t)
        console.print()
    counts = Counter(map(ledger.kind, claims.values()))
    console.print(", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    severe = Counter(c.severity for c in claims.values() if c.severity)
    if counts["refuted"]:
        words = ", ".join(f"{n} {severity}" for severity, n in severe.most_common())
        beside = f"{counts['refuted'] - severe.total()} are remarks: readings or consequences of ours"
        console.print(f"of the refuted, {severe.total()} are printed ({words}); {beside}")
    blind = [id for id in claims if id in stored and stored[id].blind]
    if blind:
        console.print(f"no assumption matters to the check, which may be blind: {', '.join(blind)}")
    console.print(f"{SHARES} {JUDGED}", style="dim")


def chained(claim: Any, chain: Any, ledger: Any, console: Console) -> None:
    """Print a claim's chain, a line per link, and its weakest link; for a refuted claim, the chain of the printed
    proof.
    """
    refuted, broken = claim.verdict == "refuted", []
    console.print("\nthe chain of its printed proof" if refuted else "\nthe chain that it follows from")
    for link in chain.links(claim):
        if link.claim.verdict == "refuted":
            broken.append(link.claim.id)
        said = link.claim.statement if not link.again else "as above"
        line = Text.assemble((link.claim.id, "bold"), "  ", _said(link.claim, ledger), f"  {said}")
        console.print(Padding(line, (0, 0, 0, 2 * link.depth), expand=False))
    weak = chain.weakest(claim)
    if broken:
        console.print(Padding(Text(f"It breaks at {', '.join(broken)}."), (0, 0, 0, 2), expand=False))
    elif weak:
        words = ", ".join(f"{one.id} ({one.said})" for one in weak)
        console.print(Padding(Text(f"Weakest link: {words}."), (0, 0, 0, 2), expand=False))
    else:
        console.print(Padding(Text("Every link is proved."), (0, 0, 0, 2), expand=False))


def page(claim: Any, record: Any, ledger: Any, chain: Any, console: Console) -> None:
    """Print everything about one claim."""

    def block(text: str) -> None:
        for line in text.splitlines():
            console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))

    numbers = ", ".join(ledger.labels(claim))
    console.print(Text.assemble((claim.id, "bold"), f"  {numbers}  ", _said(claim, ledger), f" ({claim.engine})"))
    console.print()
    block(claim.statement)
    block(f"Source: {claim.source}")
    if claim.sizes:
        block(f"Shown at these sizes only: {claim.sizes}")
    others = {**ledger.claims(), **ledger.variants()}
    if claim.repairs:
        block(f"Repairs {claim.repairs}: {others[claim.repairs].statement}")
    if claim.false_of:
        block(f"False on purpose; the true one is {claim.false_of}: {others[claim.false_of].statement}")
    for id, other in others.items():
        if other.repairs == claim.id:
            block(f"Repaired in {id}: {other.statement}")
        if other.false_of == claim.id:
            block(f"A false variant that must be refuted: {id}")
    if claim.assumptions:
        refuted = claim.verdict == "refuted"
        console.print(
            "\nassumptions" + (", all met by the counterexample" if refuted else ", and what happens without each")
        )
        for name, words in claim.assumptions.items():
            block(f"{name}: {words}" if words and words != name else name)
            if record and name in record.dropped:
                dropped = record.dropped[name]
                block(f"    {'matters' if dropped.matters else 'does not matter to this check'}: {dropped.words}")
        if record and record.blind:
            block("No assumption matters to this check: it may be blind.")
    if claim.chain:
        chained(claim, chain, ledger, console)
    if shown := how(claim, others):
        console.print("\nthe argument")
        for paragraph in shown:
            block(paragraph)
    if record is None:
        console.print(f"\nno stored run; fedspec claims run {claim.id} --store")
        return
    console.print(f"\nevidence ({record.seconds:.2f} s)")
    block(record.evidence)
    if record.sharpness:
        console.print("\nhow much of the bound is needed")
        block(str(record.sharpness))
    if record.second:
        console.print(f"\nlooked at again: {record.second.engine}, {record.second.instances} instances")
        block(record.second.words)
    console.print(f"\nagain: fedspec claims run {claim.id}", style="dim")
    console.print(JUDGED, style="dim")


def how(claim: Any, others: Mapping[str, Any]) -> tuple[str, ...]:
    """Paragraphs of the evidence's docstring: steps and sizes; the id of another claim replaces its function's name."""
    ids = {c.body.__name__: id for id, c in others.items() if c.body.__module__ == claim.body.__module__}
    said = re.sub(r":\w+:`([^`]+)`", lambda m: ids.get(m[1], m[1]), inspect.getdoc(claim.body) or "")
    return tuple(" ".join(paragraph.split()) for paragraph in said.split("\n\n") if paragraph.strip())


def outcome(one: Any, claim: Any) -> dict[str, Any]:
    """Run of a claim as JSON values."""
    ran = one.record.record() if one.record else {"verdict": None, **NOT_RUN}
    return {
        "id": one.id,
        "expected": str(one.expected),
        "extent": claim.extent and str(claim.extent),
        "severity": claim.severity and str(claim.severity),
        "verdict": ran["verdict"],
        "as_it_stands": one.as_it_stands,
        "false_of": claim.false_of,
        "why": one.why,
        "error": one.error,
        "seconds": one.seconds,
        **{name: ran[name] for name in NOT_RUN if name != "seconds"},
    }


def outcomes(ran: Sequence[Any], claims: Mapping[str, Any], console: Console) -> None:
    """Print a line for each claim that ran."""
    t = terminal.table("claim", "stands as", "came out", "engine", "seconds", "")
    t.columns[4].justify = "right"
    for one in ran:
        claim = claims[one.id]
        style = "green" if one.as_it_stands else "red"
        came = str(one.record.verdict) if one.record else "nothing"
        note = one.why or (f"false variant of {claim.false_of}" if claim.false_of else "")
        t.add_row(
            one.id, str(one.expected), Text(came, style=style), str(claim.engine), f"{one.seconds:.1f}", Text(note)
        )
    console.print(t)
    for one in ran:
        if one.error and not one.error.startswith("timed out"):
            console.print(f"\n{one.id}\n{one.error}", markup=False, style="red")
