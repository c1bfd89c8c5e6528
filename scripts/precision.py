"""Measure the training engine's errors in each precision, in units of the judge's bound.

``python scripts/precision.py`` writes the table of docs/precision.md. ``python scripts/precision.py ID ...`` measures
these rows and the rows that the table lacks, and keeps the others. A ratio is the error of a coordinate over the
judge's running bound for rounding, with the machine epsilon of the type: 2^-52, 2^-23, and 2^-7 for bfloat16.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from fedspec.catalogue import CATALOGUE, Algorithm
from fedspec.contract import Offer
from fedspec_proofs.worst_cases.tabled import write_sections
from fedspec_suite.diagnosis.comparing import farthest
from fedspec_torch.judged.engine import engine_offers
from fedspec_torch.judged.subject import SUBJECT

PAGE = Path(__file__).resolve().parents[1] / "docs" / "precision.md"
COLUMNS = (
    ("float64", "engine stacked", 1.0),
    ("float32", "engine stacked", 1.0),
    ("float32", "engine in bf16", 2.0**-16),
)


def rows(kept: Mapping[str, str]) -> Iterator[str]:
    """Yield the table row of every algorithm that trains: the kept row, or measured errors in each precision."""
    for a in (a for a in CATALOGUE.values() if next(engine_offers(a), None)):
        found = kept.get(a.id) or [unit * farthest(SUBJECT, of(a, v), dtype) for dtype, v, unit in COLUMNS]
        yield found if isinstance(found, str) else f"| `{a.id}` | {' | '.join(f'{r:.2g}' for r in found)} |"


def of(a: Algorithm, variant: str) -> Offer:
    """Return the engine's first claim of an algorithm, with this variant."""
    return replace(next(engine_offers(a)), variant=variant)


def main(*measured: str) -> None:
    """Measure, and write the table."""
    page = PAGE.read_text(encoding="utf-8")
    there = {m[1]: m[0] for m in re.finditer(r"^\| `([a-z0-9-]+)` \|.*$", page, re.MULTILINE)}
    kept = {id: line for id, line in there.items() if measured and id not in measured}
    table = "\n".join(["| algorithm | float64 | float32 | bf16 |", "| --- | --- | --- | --- |", *rows(kept)])
    write_sections({"table": f"{table}\n"}, PAGE)


if __name__ == "__main__":
    main(*sys.argv[1:])
