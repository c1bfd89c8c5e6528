"""Worst cases of EF21, certified: ``python scripts/worst_compressed.py``; needs the extra ``certify``.

Writes compressed.json of the ledger and a table of the page.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import fedspec_proofs.worst_cases.compressed as ledger
from fedspec_proofs.worst_cases import tabled
from fedspec_proofs.worst_cases.compressed import Compressed
from fedspec_proofs.worst_cases.search.forms import certified

PAGE = Path(__file__).resolve().parents[1] / "docs" / "worst-cases.md"
PATH = Path(ledger.__file__).with_suffix(".json")

RATES = ("1/32", "1/16", "1/8", "1/4", "1/2")
ALPHAS = ("3/4", "1/2", "1/4", "1/10")


def asked() -> list[Compressed]:
    """Every round of the table."""
    return [Compressed(alpha, eta) for eta, alpha in product(RATES, ALPHAS)]


def row_of(r: Compressed) -> dict[str, Any]:
    """A round, as the ledger keeps it."""
    return tabled.kept(certified(r), ("alpha", "eta", "form"))


def table(rows: list[dict[str, Any]]) -> str:
    """The table of the page."""
    bounds = {(row["eta"], row["alpha"]): float(Fraction(row["bound"])) for row in rows}
    lines = [f"| eta | {' | '.join(f'alpha = {alpha}' for alpha in ALPHAS)} |", f"|{' --- |' * (1 + len(ALPHAS))}"]
    lines += [f"| {eta} | {' | '.join(f'{bounds[eta, alpha]:.3f}' for alpha in ALPHAS)} |" for eta in RATES]
    return "\n".join(lines)


def main() -> None:
    """Find, write."""
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(row_of, asked()))
    tabled.write(PATH, rows)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(tabled.placed(page, "compressed", {"factor": table(rows)}), encoding="utf-8")


if __name__ == "__main__":
    main()
