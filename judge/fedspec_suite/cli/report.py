"""The command ``fedspec report``: a page about stored results, a comparison of two runs, and badges."""

from __future__ import annotations

import textwrap
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from fedspec.errors import FedspecError, ParameterError
from fedspec_suite.judge.request import chosen
from fedspec_suite.measure.verdict import counted
from fedspec_suite.report import badges, changes, results_page, sentences
from fedspec_suite.report.results_file import ResultsFile, read
from fedspec_suite.report.terminal import console, unbroken

EPILOG = "Exit code: 0 it was written, whatever the verdicts are; 2 usage error."

PAGES = (".html", ".htm")
PICTURES = {".json": badges.Badge.json, ".svg": badges.Badge.svg}


def report_(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULTS...", help="Files that `fedspec check --report FILE.jsonl` wrote.")
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the page to this .html file.")] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Print what changed from the first file to the second.")
    ] = False,
    badge: Annotated[
        list[Path] | None,
        typer.Option(help="Write a badge: .json (an endpoint for shields.io) or .svg (a picture); repeatable."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="[VARIANT:]ALGORITHM[/LEVEL[/READING]], with * and ?; repeatable.")
    ] = None,
) -> None:
    """Write a page about stored results, compare two runs, or make a badge."""
    if compare and len(results) != 2:
        raise ParameterError(f"compare: got {counted(len(results), 'file')}; give OLD NEW")
    if out is not None and out.suffix not in PAGES:
        raise ParameterError(f"out: {out} ends in {out.suffix!r}; a page ends in {' or '.join(PAGES)}")
    badges_to = badge or []
    for path in badges_to:
        if path.suffix not in PICTURES:
            raise ParameterError(f"badge: {path} ends in {path.suffix!r}; known: {', '.join(PICTURES)}")
    stored = [_narrowed(read(path), only or ()) for path in results]
    if not compare and not any(one.results for one in stored):
        raise _nothing(stored, only or ())
    since, lines = results_page.NOTHING, []
    if compare:
        old, new = stored
        found, others = changes.changes(old, new), changes.versions(old, new)
        said = changes.tally(found, len(new.results))
        since = results_page.since(old, found, said, others)
        lines = [f"{c.name} {changes.KINDS[c.kind][0]}: {c.said}" for c in found]
        lines += [f"also other than before: {'; '.join(others)}"] if others else []
        lines = [f"since {old.name}: {said}", *chain.from_iterable(map(_item, lines))]
        stored = [new]
    stored, twice = _once(stored)
    if twice:
        lines.append(f"{twice} {'claim stands' if twice == 1 else 'claims stand'} in a later file too, which counts.")
    told = [r for one in stored for r in one.results]
    if out is not None:
        _write(out, results_page.page(stored, since))
    for path in badges_to:
        _write(path, PICTURES[path.suffix](badges.of_results(told)))
    with unbroken():
        for line in (sentences.tally(told), *lines, *(f"written: {path}" for path in (out, *badges_to) if path)):
            console().print(line, soft_wrap=True)


def _item(text: str) -> list[str]:
    """A line of its own, as far in as needed for its next ones to hang below it."""
    fill = textwrap.TextWrapper(console().width, "  ", "    ", break_long_words=False, break_on_hyphens=False)
    return fill.wrap(text)


def _narrowed(stored: ResultsFile, only: list[str] | tuple[str, ...]) -> ResultsFile:
    kept = chosen(stored.results, only)
    return ResultsFile(stored.name, tuple(stored.results[k] for k in kept), tuple(stored.runs[k] for k in kept))


def _once(stored: list[ResultsFile]) -> tuple[list[ResultsFile], int]:
    """Keep, of an offer that several files hold, the last result; count the results that are left out for it."""
    out, later = [], set[str]()
    for one in reversed(stored):
        kept = [k for k, r in enumerate(one.results) if r.id not in later]
        later |= {r.id for r in one.results}
        out.append(ResultsFile(one.name, tuple(one.results[k] for k in kept), tuple(one.runs[k] for k in kept)))
    return out[::-1], sum(len(one.results) for one in stored) - sum(len(one.results) for one in out)


def _nothing(stored: list[ResultsFile], only: list[str] | tuple[str, ...]) -> FedspecError:
    return ParameterError(f"only: nothing in {', '.join(one.name for one in stored)} is called {', '.join(only)}")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FedspecError(f"report: cannot write {path} ({error.strerror}); give another file") from error
