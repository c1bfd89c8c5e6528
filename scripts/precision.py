"""How far the training engine is off in each precision, in units of the judge's bound: ``python scripts/precision.py``.

Writes the table of docs/precision.md. A ratio is the error of a coordinate over what rounding may do to it by the
judge's running bound, with the machine epsilon of the type: 2^-52, 2^-23, and 2^-7 for bfloat16.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from fedspec.catalogue import CATALOGUE, Algorithm
from fedspec.contract import Offer
from fedspec_suite.diagnosis.comparing import farthest
from fedspec_torch.judged.engine import engine_offers
from fedspec_torch.judged.subject import SUBJECT

PAGE = Path(__file__).resolve().parents[1] / "docs" / "precision.md"
PLACE = re.compile(r"(<!-- table -->\n).*?(<!-- end -->)", re.DOTALL)
COLUMNS = (
    ("float64", "engine stacked", 1.0),
    ("float32", "engine stacked", 1.0),
    ("float32", "engine in bf16", 2.0**-16),
)


def rows() -> list[tuple[str, list[float]]]:
    """Every algorithm that trains, and what was found in each precision."""
    trained = [a for a in CATALOGUE.values() if next(engine_offers(a), None)]
    return [(a.id, [unit * farthest(SUBJECT, of(a, v), dtype) for dtype, v, unit in COLUMNS]) for a in trained]


def of(a: Algorithm, variant: str) -> Offer:
    """The engine's first offer of an algorithm, as that variant runs it."""
    return replace(next(engine_offers(a)), variant=variant)


def main() -> None:
    """Write the table."""
    lines = ["| algorithm | float64 | float32 | bf16 |", "| --- | --- | --- | --- |"]
    lines += [f"| `{name}` | {' | '.join(f'{r:.2g}' for r in found)} |" for name, found in rows()]
    table = "\n".join(lines)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(PLACE.sub(lambda m: f"{m[1]}{table}\n{m[2]}", page), encoding="utf-8")


if __name__ == "__main__":
    main()
