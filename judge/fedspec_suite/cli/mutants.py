"""The command ``fedspec mutants``: wrong implementations on purpose, and which law notices."""

from __future__ import annotations

import difflib
import fnmatch
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from fedspec.catalogue import find as algorithm
from fedspec.errors import FedspecError, none_called
from fedspec_suite.kills import matrix as kill_matrix
from fedspec_suite.kills import stored as store
from fedspec_suite.kills.fingerprints import of_mutant
from fedspec_suite.laws import LAWS
from fedspec_suite.mutants import MUTANTS, OWN, Mutant, blamed, find, texts
from fedspec_suite.report import kills, table, terminal
from fedspec_suite.report.terminal import Json

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Wrong implementations, and the laws that kill them."
)

EXIT_CODES = (
    "Exit code: 0 every mutant is killed by a law that does not read the rule, 1 one is not or a law crashes, "
    "2 usage error."
)

GITHUB = "https://github.com/"
"""What a list leaves out of a link."""


def _row(m: Mutant, stored: store.Stored) -> dict[str, Any]:
    line = stored.lines.get(m.id)
    return {
        "id": m.id,
        "words": m.words,
        "algorithms": list(m.algorithms),
        "rule": m.rule,
        "equation": blamed(m),
        "options": dict(m.options),
        "old": m.old,
        "new": m.new,
        "seen": [asdict(thread) for thread in m.seen],
        "killed_by": list(line.independent) if line else [],
        "killed_by_reading_the_rule": list(line.reading) if line else [],
    }


@app.command("list")
def list_(
    patterns: Annotated[list[str] | None, typer.Argument(metavar="PATTERN...", help="Ids, with * and ?.")] = None,
    of: Annotated[str, typer.Option(metavar="ALGORITHM", help="Only the mutants of this one.")] = "",
    as_json: Json = False,
) -> None:
    """List the mutants."""
    stored, a = store.load(), algorithm(of).id if of else ""
    names = chosen(patterns or (), MUTANTS, "mutant", "fedspec mutants list")
    rows = [_row(MUTANTS[name], stored) for name in names if not a or a in MUTANTS[name].algorithms]
    if as_json:
        terminal.emit(rows)
        return
    t = table.plain("mutant", "what is wrong", "algorithms", "laws that kill it", "seen")
    for row in rows:
        count = len(row["killed_by"]) + len(row["killed_by_reading_the_rule"])
        seen = ", ".join(thread["link"].removeprefix(GITHUB) for thread in row["seen"])
        t.add_row(row["id"], row["words"], ", ".join(row["algorithms"]), str(count or ""), seen)
    terminal.console().print(t, markup=False)


def difference(m: Mutant) -> Iterator[str]:
    """The edit, as the lines of the rule that it takes away and those it puts there."""
    before, after = (text.splitlines() for text in texts(m))
    for line in difflib.ndiff(before, after):
        if line[0] in "-+":
            yield line


@app.command()
def show(name: Annotated[str, typer.Argument(metavar="ID")], as_json: Json = False) -> None:
    """Show one mutant: its edit, the equation it breaks, the laws that kill it."""
    m, stored = find(name), store.load()
    row = _row(m, stored)
    if as_json:
        terminal.emit([row])
        return
    lines = [
        f"{m.id}: {m.words}",
        f"algorithms: {', '.join(m.algorithms)}",
        *([f"under: {', '.join(f'{n} = {v}' for n, v in m.options.items())}"] if m.options else []),
        f"breaks: {row['equation'] or 'no printed equation'}, in {m.rule}",
        *([f"lives: its {m.leaks}, from call to call"] if m.leaks else []),
        *(f"seen: {thread.link}, read {thread.read}\n      {thread.says}" for thread in m.seen),
        "",
        *difference(m),
        "",
    ]
    if name in stored.lines:
        line = stored.lines[name]
        lines += [
            f"asked on {line.offers} offers",
            f"killed by, reading the rule: {', '.join(line.reading) or 'none'}",
            f"killed by, without reading it: {', '.join(line.independent) or 'none'}",
        ]
        if line.edit != of_mutant(m):
            lines.append(f"its function or its edit has changed since; {store.COMMAND.format(name)}")
    elif name in OWN:
        lines.append(f"of a plugin, of which no matrix is stored; fedspec mutants run {name}")
    else:
        lines.append(f"not in the stored matrix; {store.COMMAND.format(name)}")
    typer.echo("\n".join(lines))


def chosen(patterns: Sequence[str], names: Iterable[str], what: str, command: str) -> list[str]:
    """The names that some pattern matches; all where none is given.

    Raises:
        UnknownNameError: a pattern matches none.
    """
    names = list(names)
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise none_called(what, pattern, names, command)
    return [name for name in names if not patterns or any(fnmatch.fnmatchcase(name, p) for p in patterns)]


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FedspecError(f"out: cannot write {path} ({error}); give another file") from error


@app.command("run", epilog=EXIT_CODES)
def run_(
    patterns: Annotated[list[str] | None, typer.Argument(metavar="PATTERN...", help="Ids, with * and ?.")] = None,
    law: Annotated[list[str] | None, typer.Option(help="Only the laws of this pattern; repeatable.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that share the work.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of the drawn cases.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the whole matrix, offer by offer, as JSON.")] = None,
    stale: Annotated[bool, typer.Option("--stale", help="Only what has changed since the matrix was stored.")] = False,
    save: Annotated[bool, typer.Option("--store", help="Renew the lines of the matrix that fedspec carries.")] = False,
    as_json: Json = False,
) -> None:
    """Ask every law about every mutant and print who kills whom.

    ``--stale`` asks all laws about the mutants whose function or edit has changed, and the laws that have changed about
    all mutants. What laws share below them and what an edited function calls does not count: after a change there, ask
    without it.
    """
    if stale and (patterns or law or out):
        raise FedspecError(
            "stale: says by itself what is asked, in up to two parts; leave out patterns, --law and --out"
        )
    names = chosen(patterns or (), MUTANTS, "mutant", "fedspec mutants list")
    if save and not stale and (own := [name for name in names if name in OWN]):
        raise FedspecError(f"store: {', '.join(own)} of a plugin; the matrix holds fedspec's own, leave --store out")
    laws = chosen(law or (), LAWS, "law", "fedspec laws")
    parts = _stale() if stale else [(names, laws)]
    # What cannot be written is refused before the work, not after it.
    if out:
        _write(out, "")
    if save:
        store.save(store.load())
    begun, matrices = time.monotonic(), []
    for some, these in parts:
        with terminal.progress() as progress:
            matrix = kill_matrix.run(some, laws=these, seed=seed, jobs=jobs, progress=progress)
        matrices.append(matrix)
        if save:
            store.save(store.merged(store.load(), matrix, MUTANTS, LAWS))
    if out:
        _write(out, json.dumps(matrices[0].record()) + "\n")
    if as_json:
        terminal.emit([row.record() for matrix in matrices for row in matrix.rows])
    else:
        console = terminal.console()
        for matrix in matrices:
            kills.table(matrix, store.load(), console)
        console.print(f"{time.monotonic() - begun:.0f} s" if matrices else "nothing has changed since it was stored")
    # What survives the laws that have changed may be killed by those that have not.
    judged = [m for m in matrices if not stale or set(m.laws) == set(LAWS)]
    raise typer.Exit(1 if any(map(kills.survivors, judged)) or any(m.crashes for m in matrices) else 0)


def _stale() -> list[tuple[list[str], list[str]]]:
    """Which mutants are to be asked of which laws, so that all is current; the laws last, since they ask everybody."""
    stored = store.load()
    ours = [name for name in MUTANTS if name not in OWN]
    parts = [([name for name in stored.stale_mutants() if name not in OWN], list(LAWS)), (ours, stored.stale_laws())]
    return [(names, laws) for names, laws in parts if names and laws]
