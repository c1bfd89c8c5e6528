"""The command ``fedspec laws``: list the laws, the algorithms that they apply to, and the reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from fedspec.catalogue import CATALOGUE, Algorithm, find
from fedspec.errors import FedspecError
from fedspec.papers import PAPERS
from fedspec.reference import offers
from fedspec_properties.invariants import of_paper
from fedspec_properties.reductions import EDGES
from fedspec_suite.cli.mutants import chosen
from fedspec_suite.judge.runner import REQUIREMENT
from fedspec_suite.laws import LAWS, all_laws, law_named, retired
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import some
from fedspec_suite.report import sentences
from fedspec_suite.report.terminal import Details, Json, console, emit, print_items, table

SHOWN = 24
"""Most algorithms or mutants to print for a law; ``--json`` of ``mutants list`` prints all."""


def laws(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATTERN...", help="Only these ids, with * and ?; one law is printed whole."),
    ] = None,
    statements: Annotated[
        bool, typer.Option("--invariants", help="List the papers' statements that the laws cover.")
    ] = False,
    paper: Annotated[str, typer.Option(help=f"Only the laws of one paper: {', '.join(PAPERS)}.")] = "",
    why: Annotated[
        str,
        typer.Option(
            metavar="ALGORITHM", help="Print for each law whether fedspec checks it on this algorithm, and why."
        ),
    ] = "",
    details: Details = False,
    as_json: Json = False,
) -> None:
    """List the laws, or print everything about one."""
    if patterns and (statements or paper or why):
        raise FedspecError("PATTERN: got it together with --invariants, --paper or --why; leave it out, or these")
    if statements or paper:
        return _invariants(paper, as_json)
    if why:
        return _reasons(why, as_json)
    rows: list[dict[str, Any]] = [
        {
            "id": w.id,
            "levels": list(w.levels),
            "words": w.words,
            "source": w.source,
            "reads_rule": w.reads_rule,
            "property": w.id not in LAWS,
        }
        for w in all_laws().values()
    ]
    rows.append(
        {
            "id": REQUIREMENT,
            "levels": ["server", "round"],
            "words": sentences.words(REQUIREMENT),
            "source": "the reading",
            "reads_rule": False,
            "property": False,
        }
    )
    gone = {id: said for id, said in retired().items() if id in (patterns or ())}
    rows += [
        {"id": id, "levels": [], "words": said["says"], "source": f"no longer exists; instead, {said['instead']}"}
        for id, said in gone.items()
    ]
    names = chosen(patterns or (), [row["id"] for row in rows], "law", "fedspec laws")
    rows = [row for row in rows if row["id"] in names]
    if as_json:
        return emit(rows)
    if len(rows) == 1:
        return _one(rows[0])
    print_items(((row["id"], row["words"]) for row in rows), whole=details)


def _one(row: dict[str, Any]) -> None:
    """Say all of one law: its words, whom it is asked of and what it notices."""
    law = law_named(row["id"])
    if law is None and row["id"] != REQUIREMENT:
        return console().print(Text(f"{row['id']}: {row['words']}\n{row['source']}"))
    of = [a.id for a in CATALOGUE.values() if law and asked_of(law, a)]
    said = {
        "says": row["words"],
        "source": row["source"],
        "levels": ", ".join(row["levels"]),
        "route": "compares with the published rule"
        if row["reads_rule"]
        else "checks without running the published rule",
        "asked by": "check --properties, or by its id" if row["property"] else "every check",
        "varies": ", ".join(law.needs) if law else "",
        "asked of": f"{len(of)} of {len(CATALOGUE)} canonical readings{f': {some(of, SHOWN)}' if of else ''}",
        "notices": f"`fedspec mutants run --law {row['id']}` asks it about every mutant",
    }
    console().print(Text(row["id"], style="bold"))
    t = Table.grid(padding=(0, 2))
    for what, words in said.items():
        if words:
            t.add_row(what, Text(words))
    console().print(t)


def asked_of(law: Law, a: Algorithm) -> bool:
    """True if a law applies to an algorithm's canonical reading at some level."""
    for level in set(a.levels) & set(law.levels):
        # The specification shows everything, pins nothing and keeps as many sessions as it is asked to.
        offer = next(iter(offers(a, level)))
        if law.answer(setting_of(offer), offer.intermediates, concurrent=True)[0]:
            return True
    return False


def _reasons(name: str, as_json: bool) -> None:
    rows = [*reasons(name)]
    if as_json:
        return emit(rows)
    asked: dict[tuple[str, str], list[str]] = {}
    laws: dict[str, list[str]] = {}
    for row in rows:
        if row["why"]:
            asked.setdefault((row["law"], row["why"]), []).append(row["level"])
        elif row["law"] not in laws.setdefault(row["why_not"], []):
            laws[row["why_not"]].append(row["law"])
    others = {edge.id for edge in EDGES if edge.source != find(name).id}
    t = table("asked", "levels", "since it")
    for (law, why), levels in asked.items():
        t.add_row(law, " ".join(levels), why)
    console().print(t)
    t = table("not asked, since", "laws")
    for reason, those in laws.items():
        if left := [law for law in those if law not in others]:
            t.add_row(reason, ", ".join(left))
    console().print(t)
    left_out = len(others & {row["law"] for row in rows})
    console().print(
        f"{len({law for law, _ in asked})} laws are asked of {name}'s canonical reading; "
        f"{left_out} are about other algorithms"
    )


def reasons(name: str) -> Iterator[dict[str, str]]:
    """Yield, for each law at each level of an algorithm, whether it applies to the canonical reading, and why."""
    a = find(name)
    for level in a.levels:
        # The specification shows everything, pins nothing and keeps as many sessions as it is asked to.
        offer = next(iter(offers(a, level)))
        setting = setting_of(offer)
        for law in all_laws().values():
            if level in law.levels:
                asked, words = law.answer(setting, offer.intermediates, concurrent=True)
                said = {"why": words, "why_not": ""} if asked else {"why": "", "why_not": words}
                yield {"law": law.id, "level": level, **said}


def _invariants(paper: str, as_json: bool) -> None:
    chosen = of_paper(paper)
    if as_json:
        return emit([v.record() for v in chosen])
    t = table("invariant", "statement", "source", "checked by", "unchecked part, and why")
    for v in chosen:
        t.add_row(
            v.id, v.says, v.source, "\n".join((*v.laws, *(n.split("::", 1)[1] for n in v.tests), *v.proofs)), v.why
        )
    console().print(t)
