"""The commands that print the catalogue: ``fedspec list``, ``fedspec show``, ``fedspec graph``, ``fedspec papers``."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from fedspec.catalogue import CATALOGUE, elsewhere, find, id_of
from fedspec.definition import Basis
from fedspec.errors import FedspecError, UnknownNameError
from fedspec.papers import PAPERS
from fedspec_suite import extensions
from fedspec_suite.report import graph as drawing
from fedspec_suite.report import offer_page, page
from fedspec_suite.report.terminal import Json, console, emit, table
from fedspec_suite.subjects.environments import bundled

WIDE = 140
"""Terminal width from which ``fedspec list`` prints the whole table; narrower terminals get no sources."""


class Form(StrEnum):
    """Output format of the graph."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


def list_(
    word: Annotated[
        str,
        typer.Argument(metavar="[WORD]", help="Only those with this word in name, title, source, readings or box."),
    ] = "",
    as_json: Json = False,
) -> None:
    """List the algorithms, or those that match a word."""
    called, sought = id_of(word), word.lower()
    rows = [
        page.line(a) for a in CATALOGUE.values() if not word or a.id == called or sought in page.search_text(a).lower()
    ]
    if not rows:
        none = f"no algorithm's names, kind, title, source, readings or box have {word!r}"
        raise UnknownNameError(f"list: {elsewhere(word) or none}")
    if as_json:
        emit(rows)
        return
    out = console()
    if out.width < WIDE:
        t = table("id", "after", "what")
        for row in rows:
            t.add_row(row["id"], row["basis"], row["title"])
        out.print(t, *_sources(), sep="\n")
        return
    t = table("id", "what", "levels", "readings (canonical first)", "source", "after")
    for row in rows:
        also = "".join(f" ({name})" for name in row["aliases"])
        cells = (row["title"], " ".join(row["levels"]), ", ".join(row["readings"]), row["source"], row["basis"])
        t.add_row(row["id"] + also, *cells)
    out.print(t, *_sources(), sep="\n")


def _sources() -> list[str]:
    return ["after, what the text follows:", *(f"  {basis}: {basis.words}" for basis in Basis if basis)]


def show(
    name: Annotated[str, typer.Argument(metavar="ID")],
    whole: Annotated[
        bool, typer.Option("--all", help="Also the code, domains, options, cases, laws, reductions, costs and traps.")
    ] = False,
    mirror: Annotated[
        bool, typer.Option("--mirror", help="Only what the mirror runs of its text, and what in another form.")
    ] = False,
    general: Annotated[
        bool, typer.Option("--general", help="Only the text with every option, and what it calls.")
    ] = False,
    reading: Annotated[
        str, typer.Option("--reading", metavar="READING", help="Only what runs under this reading.")
    ] = "",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="Only what runs if a claim declares this; repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show one algorithm: its box, its equations, its readings, and how to claim it."""
    if name in bundled():
        raise UnknownNameError(
            f"show: {name} is a package, not an algorithm; `fedspec check {name} --profile quick` judges it"
        )
    a = find(name)
    if (reading or option) and (general or mirror):
        raise FedspecError("show: --general and --mirror don't depend on the claim; leave out --reading and --option")
    if reading or option:
        declared = dict(_declared(said) for said in option or ())
        if as_json:
            emit([offer_page.record(a, reading, declared)])
        else:
            offer_page.show(a, reading, declared, console())
        return
    mirrored = extensions.found(extensions.SHOW, "mirror", "show --mirror").load() if mirror else None
    if as_json:
        emit([page.record(a) | ({"mirror": [asdict(part) for part in mirrored.parts(a)]} if mirrored else {})])
    elif mirrored:
        mirrored.show(a, mirrored.parts(a), console())
    elif general:
        page.show_general(a, console())
    else:
        page.show(a, console(), whole=whole)


def _declared(said: str) -> tuple[str, str]:
    name, given, value = said.partition("=")
    if not given:
        raise FedspecError(f"--option: got {said!r}; write NAME=VALUE, for example server=adam")
    return name.strip(), value.strip()


def graph(
    name: Annotated[
        str, typer.Argument(metavar="ALGORITHM", help="Only what leads from and to this one.", show_default=False)
    ] = "",
    of: Annotated[str, typer.Option(metavar="ALGORITHM", help="The same, as an option.")] = "",
    form: Annotated[Form, typer.Option("--format", help="How to draw.")] = Form.TEXT,
) -> None:
    """Draw which algorithm is which other one under a restriction."""
    if name and of:
        raise FedspecError(f"of: got two algorithms, {name} and {of}; give one")
    of = of or name
    edges = drawing.around(find(of).id if of else "")
    rows: list[dict[str, Any]] = [drawing.row(e) for e in edges]
    match form:
        case Form.TEXT if not edges:
            typer.echo(f"{of} is no other algorithm under a restriction, and none is it; EDGES of its file say some")
        case Form.TEXT:
            drawing.text(edges, console())
        case Form.JSON:
            emit(rows)
        case Form.MERMAID:
            typer.echo(drawing.mermaid(edges))
        case Form.DOT:
            typer.echo(drawing.dot(edges))


def papers(as_json: Json = False) -> None:
    """The five papers: authors, venue, ids, the text that is specified, what other versions change."""
    if as_json:
        emit([asdict(p) | {"links": p.links} for p in PAPERS.values()])
        return
    for p in PAPERS.values():
        console().print(Text(f"{p.name}: {p.title}", style="bold"))
        t = Table.grid(padding=(0, 2))
        parts = {"authors": ", ".join(p.authors), "venue": p.venue, "there": p.published, "ids": ", ".join(p.links)}
        for what, words in {**parts, "specified": p.specified, "others": p.later}.items():
            if words:
                t.add_row(f"  {what}", Text(words))
        console().print(t)
        console().print()
    console().print(Text("L149 and the like, wherever they stand: lines of plain text made from what is specified."))
