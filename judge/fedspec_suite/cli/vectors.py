"""The command ``fedspec vectors``: make, check, lint and export cases on disk."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fedspec.catalogue import ADDED, id_of
from fedspec.errors import FedspecError, UnknownNameError
from fedspec.schema import FOLDER as SCHEMAS
from fedspec_suite.cli.check import EXIT_CODES
from fedspec_suite.cli.mutants import chosen
from fedspec_suite.judge import locate
from fedspec_suite.measure.process import LIMIT
from fedspec_suite.measure.verdict import Status, exit_code
from fedspec_suite.report import verdicts
from fedspec_suite.report.terminal import Json, Only, console, emit, progress, spinner, table, unbroken
from fedspec_suite.vectors import generation, kill_counts
from fedspec_suite.vectors import lint as looking
from fedspec_suite.vectors.checker import judge
from fedspec_suite.vectors.store import FOLDER, INDEX, AlgorithmVectors, constant, indexed, load
from fedspec_suite.vectors.vector import line

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Cases on disk with what the rule gives; docs/vectors.md."
)

Folder = Annotated[Path, typer.Option("--folder", help="Where the vectors are.", show_default="those of fedspec")]
Names = Annotated[list[str] | None, typer.Argument(metavar="ALGORITHM...", help="Ids, with * and ?; all by default.")]


def _chosen(patterns: Sequence[str] | None) -> list[str]:
    return chosen([*map(id_of, patterns or ())], generation.algorithms(), "algorithm", "fedspec list")


@app.command(epilog="Exit code: 0 made, or with --check nothing would change; 1 something would; 2 usage error.")
def make(
    names: Names = None,
    folder: Folder = FOLDER,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; say what would change.")] = False,
    choose: Annotated[bool, typer.Option("--choose", help="Choose anew which cases they are (long).")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that share the work.")] = 2,
) -> None:
    """Make the vectors again, from the specification: the same bytes whenever and wherever (minutes)."""
    begun, wanted = time.monotonic(), _chosen(names)
    if folder == FOLDER and (own := [name for name in wanted if name in ADDED]):
        if names:
            raise FedspecError(f"folder: {', '.join(own)} comes from a plugin; give a --folder for its vectors")
        wanted = [name for name in wanted if name not in ADDED]
    with progress() as told:
        if anew := wanted if choose else generation.unchosen(wanted):
            if check:
                raise FedspecError(f"check: {', '.join(anew[:5])} has no vectors yet; run without --check first")
            generation.choose_anew(anew, jobs, told, keep=not choose)
        found: Iterable[tuple[str, str]] = generation.files(wanted, jobs, told)
        if any(name in ADDED for name in wanted):
            # One without a vector is refused before any is written.
            found = [*found]
        if check:
            changed = [name for name, body in found if not _same(folder / name, body)]
        else:
            changed = generation.write(found, folder)
    said = f"{len(wanted)} algorithm{'s' * (len(wanted) != 1)} in {time.monotonic() - begun:.0f} s; "
    said += f"{'would change' if check else 'changed'}: {', '.join(changed) or 'none'}"
    console().print(said)
    raise typer.Exit(1 if check and changed else 0)


def _same(path: Path, body: str) -> bool:
    return path.exists() and path.read_bytes() == body.encode()


@app.command("check", epilog=EXIT_CODES)
def check_(
    implementations: Annotated[list[str], typer.Argument(metavar="ADAPTER...", help="; ".join(locate.KINDS))],
    only: Only = None,
    folder: Folder = FOLDER,
    limit: Annotated[float, typer.Option(min=1e-9, help="Seconds that one answer may take.")] = LIMIT,
    details: Annotated[bool, typer.Option("--details", help="Print every vector.")] = False,
    as_json: Json = False,
) -> None:
    """Judge implementations by the vectors alone. It takes seconds and examines far less than `fedspec check`."""
    begun = time.monotonic()
    with spinner() as told:
        results = list(judge(implementations, only=only or (), folder=folder, limit=limit, progress=told))
    with unbroken():
        if as_json:
            emit([r.record() for r in results])
        else:
            asked = [o for r in results for o in r.obligations if o.status is not Status.SKIP]
            ran = f"{len({o.law for o in asked})} vectors of {folder.name}, {time.monotonic() - begun:.0f} s"
            verdicts.show(results, console(), ran, details=details)
    raise typer.Exit(exit_code(results))


@app.command(epilog="Exit code: 0 nothing is wrong, 1 something is, 2 a file cannot be read.")
def lint(folder: Folder = FOLDER) -> None:
    """Look through the vectors: schema, digests, ids, dyadic inputs, sizes."""
    faults = looking.lint(folder)
    out = console()
    for fault in faults:
        out.print(fault, soft_wrap=True)
    files = indexed(folder)
    total, count = (sum(f[what] for f in files.values()) for what in ("bytes", "vectors"))
    out.print(f"{count} vectors in {len(files)} files, {total} bytes; {len(faults)} faults")
    raise typer.Exit(1 if faults else 0)


@app.command()
def export(
    target: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where they go; made if it is not there.")],
    names: Annotated[list[str] | None, typer.Option("--only", help="Only these algorithms, with * and ?.")] = None,
    format_: Annotated[
        str, typer.Option("--format", help="json: the files as they are; jsonl: a vector a line.")
    ] = "json",
    rates: Annotated[
        bool, typer.Option("--rates", help="Also those whose events say rates anew, for a harness that reads them.")
    ] = False,
    folder: Folder = FOLDER,
) -> None:
    """Copy vectors to a folder, with their schema, for a harness in any language."""
    if format_ not in {"json", "jsonl"}:
        raise UnknownNameError(f"format: unknown {format_!r}; known: json, jsonl")
    wanted = _chosen(names)
    stored = [s if rates else constant(s) for s in load(folder, wanted)]
    try:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(SCHEMAS / "vectors.schema.json", target)
        if format_ == "json":
            generation.copy(stored, target)
        else:
            (target / "vectors.jsonl").write_text("".join(map(_lines, stored)), encoding="utf-8", newline="\n")
    except OSError as error:
        raise FedspecError(f"export: cannot write {target} ({error.strerror}); give another folder") from error
    count = sum(len(s.vectors) for s in stored)
    what = (
        f"vectors.jsonl, {count} lines" if format_ == "jsonl" else f"{len(stored)} files and {INDEX}, {count} vectors"
    )
    console().print(f"{target}: {what}, and vectors.schema.json", soft_wrap=True)


def _lines(stored: AlgorithmVectors) -> str:
    """Format each vector as a line, with the words of the defects that it shows."""
    rows = []
    for vector in stored.vectors:
        names = [name for found in vector["kills"].values() for name in found]
        words = {name: stored.defects[name]["words"] for name in sorted(names)}
        rows.append(line({**vector, "defects": words}) + "\n")
    return "".join(rows)


@app.command("mutants", epilog="Exit code: 0 each is told from the rule or its survival is explained, 1 one is not.")
def mutants_(folder: Folder = FOLDER, as_json: Json = False) -> None:
    """Say which of the catalogue's mutants the vectors alone tell from the rule, by what they store."""
    counted = kill_counts.count_kills(load(folder))
    rows: list[dict[str, Any]] = [
        {"mutant": name, "vectors": n, "survives_because": kill_counts.SURVIVORS.get(name, "") if not n else ""}
        for name, n in counted.items()
    ]
    if as_json:
        emit(rows)
    else:
        t = table("mutant that no vector shows", "why")
        for row in rows:
            if not row["vectors"]:
                t.add_row(row["mutant"], row["survives_because"] or "not explained")
        out, killed = console(), sum(row["vectors"] > 0 for row in rows)
        if killed < len(rows):
            out.print(t)
        out.print(f"{killed} of {len(rows)} mutants ({killed / len(rows):.1%}) are told from the rule by some vector")
    raise typer.Exit(1 if any(not (row["vectors"] or row["survives_because"]) for row in rows) else 0)
