"""The kill matrix as people read it: a row for each mutant, a numbered column for each law."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console

from fedspec_suite.kills.matrix import Matrix, Row
from fedspec_suite.laws import all_laws
from fedspec_suite.mutants import MUTANTS, OWN

KILLED, SURVIVED, NOT_ASKED = "#", ".", " "


def marks(row: Row, laws: Sequence[str]) -> str:
    """Row of marks, a character for each law."""
    killed, survived = set(row.killed), set(row.survived)
    return "".join(KILLED if law in killed else SURVIVED if law in survived else NOT_ASKED for law in laws)


def independent(row: Row) -> tuple[str, ...]:
    """The laws that kill a mutant and do not read the rule."""
    return tuple(law for law in row.killed if not all_laws()[law].reads_rule)


UNSAID = (
    'a second route (STEPS, MOVES or MAPS) that reads what it breaks would, or its Mistake says survives="why none can"'
)
"""Remedy for a surviving mistake of a plugin."""

REASONS = 3
"""Largest number of reasons that are printed for a mutant about which no law was asked."""


def _said(row: Row) -> str:
    """The author's reason why no law need kill the mutant; empty if there is none."""
    return MUTANTS[row.mutant].survives if row.mutant in MUTANTS else ""


def survivors(matrix: Matrix) -> list[Row]:
    """The mutants that no law kills without reading the rule, and nothing says why."""
    return [row for row in matrix.rows if not independent(row) and not _said(row)]


def _asked(matrix: Matrix) -> dict[str, int]:
    """Number of mutants that each law was asked about; the busiest law first, laws that were never asked left out."""
    counts = {law: sum(law in (*row.killed, *row.survived) for row in matrix.rows) for law in matrix.laws}
    return {law: n for law, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if n}


def _head(numbers: Sequence[int]) -> list[str]:
    """The numbers of the columns, written downwards."""
    digits = len(str(max(numbers)))
    return ["".join(str(n).rjust(digits)[place] for n in numbers) for place in range(digits)]


def _blocks(matrix: Matrix, laws: Sequence[str], width: int) -> Iterator[str]:
    """The matrix in blocks of as many columns as fit, each with the mutants that it says something about."""
    label = max(len(row.mutant) for row in matrix.rows)
    totals = f"{'laws':>5}{'other':>6}  "
    columns = max(10, width - label - 2 - len(totals))
    for start in range(0, len(laws), columns):
        block = laws[start : start + columns]
        *above, last = _head(range(start + 1, start + len(block) + 1))
        yield from ("", *(f"{'':<{label}}  {'':<{len(totals)}}{digits}" for digits in above))
        yield f"{'mutant':<{label}}  {totals}{last}"
        for row in matrix.rows:
            said = marks(row, block)
            if said.strip(NOT_ASKED):
                yield f"{row.mutant:<{label}}  {len(row.killed):>5}{len(independent(row)):>6}  {said}".rstrip()


def _legend(matrix: Matrix, asked: Mapping[str, int]) -> Iterator[str]:
    label = max(map(len, asked), default=0)
    yield f"\n{KILLED} killed on some offer, {SURVIVED} survived, blank not asked;"
    yield "laws: how many kill the mutant; other: how many of them do not read the rule"
    yield f"\n{'':>4}  {'law':<{label}}  killed  asked"
    for number, (law, count) in enumerate(asked.items(), 1):
        kills = sum(law in row.killed for row in matrix.rows)
        reads = "  reads the rule" if all_laws()[law].reads_rule else ""
        yield f"{number:>4}  {law:<{label}}  {kills:>6}  {count:>5}{reads}"


def _idle(matrix: Matrix, asked: Mapping[str, int]) -> list[str]:
    """The laws that killed nothing here."""
    return [f"  {law}" for law in asked if not any(law in row.killed for row in matrix.rows)]


def _unasked(row: Row) -> str:
    """Reasons why no law was asked about a mutant, the reasons of most laws first."""
    reasons = Counter[str]()
    for asked in row.offers.values():
        reasons.update({why: len(laws) for why, laws in asked.not_asked.items()})
    first, more = [why for why, _ in reasons.most_common(REASONS)], len(reasons) - REASONS
    return "; ".join([*first, *([f"and {more} more reasons"] if more > 0 else [])]) or "it is asked on no offer"


def _living(matrix: Matrix) -> Iterator[str]:
    for row in matrix.rows:
        if independent(row):
            continue
        if not (row.killed or row.survived):
            yield f"  {row.mutant}: no law was asked about it; why not: {_unasked(row)}"
            continue
        by = f"only {', '.join(row.killed)} kills it" if row.killed else "no law kills it"
        unsaid = f"unexplained; {UNSAID}" if row.mutant in OWN else "unexplained"
        yield f"  {row.mutant}: {by}; {_said(row) or unsaid}"


def table(matrix: Matrix, out: Console) -> None:
    """Print the matrix, its legend, and what it leaves open."""
    asked = _asked(matrix)

    def show(text: str) -> None:
        out.print(text, markup=False, soft_wrap=True, highlight=False)

    for line in (*_blocks(matrix, list(asked), out.width), *_legend(matrix, asked)):
        show(line)
    for heading, found in (
        *([("laws that killed none of these mutants", _idle(matrix, asked))] if asked else []),
        ("mutants that no law kills without reading the rule", list(_living(matrix))),
        ("laws that crash, which is a bug of the law", [f"  {crash}" for crash in matrix.crashes]),
    ):
        show(f"\n{heading}: {len(found) or 'none'}")
        for line in found:
            show(line)
    pairs = sum(len(row.offers) for row in matrix.rows)
    cells = sum(len(row.killed) for row in matrix.rows)
    show(
        f"\n{len(matrix.rows)} mutants, {len(matrix.rows) - len(survivors(matrix))} killed by a law that does not "
        f"read the rule; {len(asked)} of {len(matrix.laws)} laws asked, {cells} kills on {pairs} offers of mutants; "
        f"seed {matrix.seed}, {matrix.cases} cases a law and offer"
    )
