"""The command ``fedspec mutants``: deliberately wrong implementations, and the laws that detect them."""

from __future__ import annotations

import difflib
import fnmatch
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from fedspec.catalogue import find as algorithm
from fedspec.errors import none_called
from fedspec_suite.judge.mutant_runs import CRASHED, MutantResult, ask_everywhere
from fedspec_suite.laws import all_laws
from fedspec_suite.mutants import MUTANTS, OWN, Mutant, blamed, find, texts
from fedspec_suite.report import terminal
from fedspec_suite.report.terminal import Details, Json

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
    details: Details = False,
    as_json: Json = False,
) -> None:
    """List the mutants, a line each. `fedspec mutants show ID` prints where a mutant was seen, --json everything."""
    a = algorithm(of).id if of else ""
    names = chosen(patterns or (), MUTANTS, "mutant", "fedspec mutants list")
    rows = [_row(MUTANTS[name]) for name in names if not a or a in MUTANTS[name].algorithms]
    if as_json:
        terminal.emit(rows)
        return
    terminal.print_items(((row["id"], row["words"]) for row in rows), whole=details)


def difference(m: Mutant) -> Iterator[str]:
    """Yield the removed and added lines of a mutant's edit."""
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
    """Return the names that match some pattern; all names without patterns.

    Raises:
        UnknownNameError: a pattern matches none.
    """
    names = list(names)
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise none_called(what, pattern, names, command)
    return [name for name in names if not patterns or any(fnmatch.fnmatchcase(name, p) for p in patterns)]


UNSAID = "unexplained"
OF_A_PLUGIN = (
    f"{UNSAID}; a second route (STEPS, MOVES or MAPS) that reads what it breaks would kill it, or its Mistake says "
    'survives="why none can"'
)
"""Remedy for a surviving mistake of a plugin."""

REASONS = 3
"""Largest number of reasons printed for a mutant on which no law could run."""


def killers(of: Mapping[str, MutantResult]) -> tuple[str, ...]:
    """Return the laws that kill a mutant on some claim, properties first."""
    laws = {law for result in of.values() for law in result.killed}
    return tuple(sorted(laws, key=lambda law: (all_laws()[law].reads_rule, law)))


def proved(laws: Sequence[str]) -> bool:
    """True if one of the laws never runs the rule."""
    return any(not all_laws()[law].reads_rule for law in laws)


def fate(name: str, of: Mapping[str, MutantResult]) -> str:
    """Describe a mutant's fate in a line: the laws that kill it, or the reason why it survives."""
    by = killers(of)
    if proved(by):
        return f"killed by {', '.join(by)}"
    if not by and not any(result.survived for result in of.values()):
        reasons = Counter[str]()
        for result in of.values():
            reasons.update({why: len(laws) for why, laws in result.not_asked.items()})
        first = [why for why, _ in reasons.most_common(REASONS)]
        return f"no law was asked about it; why not: {'; '.join(first) or 'no claim runs it'}"
    lives = f"only {', '.join(by)} kills it" if by else "no law kills it"
    why = MUTANTS[name].survives if name in MUTANTS else ""
    return f"{lives}; {why or (OF_A_PLUGIN if name in OWN else UNSAID)}"


def crashes(found: Mapping[str, Mapping[str, MutantResult]]) -> list[str]:
    """Describe the crashes of laws on mutants; each is a bug of the law."""
    return [
        f"{', '.join(laws)} on {name}, {claim}: {why.removeprefix(CRASHED)}"
        for name, of in found.items()
        for claim, result in of.items()
        for why, laws in result.not_asked.items()
        if why.startswith(CRASHED)
    ]


@app.command("run", epilog=EXIT_CODES)
def run_(
    patterns: Annotated[list[str] | None, typer.Argument(metavar="PATTERN...", help="Ids, with * and ?.")] = None,
    law: Annotated[list[str] | None, typer.Option(help="Only the laws of this pattern; repeatable.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that share the work.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of the drawn cases.")] = 0,
    as_json: Json = False,
) -> None:
    """Check mutants by laws and properties, and print a line for each mutant; without PATTERN, check every mutant."""
    names = chosen(patterns or (), MUTANTS, "mutant", "fedspec mutants list")
    laws = chosen(law or (), all_laws(), "law", "fedspec laws")
    begun = time.monotonic()
    with terminal.progress() as progress:
        found = ask_everywhere(names, laws, seed=seed, jobs=jobs, progress=progress)
    crashed = crashes(found)
    lives = [n for n, of in found.items() if not proved(killers(of)) and not (n in MUTANTS and MUTANTS[n].survives)]
    if as_json:
        terminal.emit(
            [
                {"id": name, "killed": killers(of), "claims": {claim: asdict(result) for claim, result in of.items()}}
                for name, of in found.items()
            ]
        )
    else:
        terminal.print_items(((name, fate(name, of)) for name, of in found.items()), whole=True)
        for crash in crashed:
            typer.echo(f"a law crashes, which is a bug of the law: {crash}")
        asked = {law for of in found.values() for r in of.values() for law in (*r.killed, *r.survived)}
        typer.echo(
            f"\n{len(found) - len(lives)} of {len(found)} killed by a law that does not read the rule; "
            f"{len(asked)} of {len(laws)} laws asked; seed {seed}, {time.monotonic() - begun:.0f} s"
        )
    raise typer.Exit(1 if lives or crashed else 0)
