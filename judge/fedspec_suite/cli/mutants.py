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
from fedspec_suite.laws import all_laws
from fedspec_suite.mutants import MUTANTS, Mutant, blamed, find, texts
from fedspec_suite.report import kills, terminal
from fedspec_suite.report.terminal import Json

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Wrong implementations, and the laws that kill them."
)

EXIT_CODES = (
    "Exit code: 0 every mutant is killed by a law that does not read the rule, 1 one is not or a law crashes, "
    "2 usage error."
)


def _row(m: Mutant) -> dict[str, Any]:
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
    }


@app.command("list")
def list_(
    patterns: Annotated[list[str] | None, typer.Argument(metavar="PATTERN...", help="Ids, with * and ?.")] = None,
    of: Annotated[str, typer.Option(metavar="ALGORITHM", help="Only the mutants of this one.")] = "",
    as_json: Json = False,
) -> None:
    """List the mutants, a line each; ``mutants show ID`` prints where one was seen, --json everything."""
    a = algorithm(of).id if of else ""
    names = chosen(patterns or (), MUTANTS, "mutant", "fedspec mutants list")
    rows = [_row(MUTANTS[name]) for name in names if not a or a in MUTANTS[name].algorithms]
    if as_json:
        terminal.emit(rows)
        return
    terminal.print_items((row["id"], row["words"]) for row in rows)


def difference(m: Mutant) -> Iterator[str]:
    """The edit, as the lines of the rule that it takes away and those it puts there."""
    before, after = (text.splitlines() for text in texts(m))
    for line in difflib.ndiff(before, after):
        if line[0] in "-+":
            yield line


@app.command()
def show(name: Annotated[str, typer.Argument(metavar="ID")], as_json: Json = False) -> None:
    """Show one mutant: its edit, and the equation that it breaks."""
    m = find(name)
    row = _row(m)
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
    lines.append(f"who notices: fedspec mutants run {m.id}")
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
    as_json: Json = False,
) -> None:
    """Ask laws and properties about mutants, all of them if none is named, and print who kills whom."""
    names = chosen(patterns or (), MUTANTS, "mutant", "fedspec mutants list")
    laws = chosen(law or (), all_laws(), "law", "fedspec laws")
    # What cannot be written is refused before the work, not after it.
    if out:
        _write(out, "")
    begun = time.monotonic()
    with terminal.progress() as progress:
        matrix = kill_matrix.run(names, laws=laws, seed=seed, jobs=jobs, progress=progress)
    if out:
        _write(out, json.dumps(matrix.record()) + "\n")
    if as_json:
        terminal.emit([row.record() for row in matrix.rows])
    else:
        console = terminal.console()
        kills.table(matrix, console)
        console.print(f"{time.monotonic() - begun:.0f} s")
    raise typer.Exit(1 if kills.survivors(matrix) or matrix.crashes else 0)
