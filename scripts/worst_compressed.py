"""Worst cases of EF21, certified: ``python scripts/worst_compressed.py``; needs the extra ``certify``.

Writes compressed.json of the ledger and a table of the page.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import fedspec_proofs.compressed as ledger
from fedspec_proofs.compressed import Compressed
from fedspec_proofs.forms_search import certified

PAGE = Path(__file__).resolve().parents[1] / "docs" / "worst-cases.md"
PATH = Path(ledger.__file__).with_suffix(".json")
PLACE = re.compile(r"(<!-- compressed: factor -->\n).*?(<!-- end -->)", re.DOTALL)

RATES = ("1/32", "1/16", "1/8", "1/4", "1/2")
ALPHAS = ("3/4", "1/2", "1/4", "1/10")


def asked() -> list[Compressed]:
    """Every round of the table."""
    return [Compressed(alpha, eta) for eta, alpha in product(RATES, ALPHAS)]


def row_of(r: Compressed) -> dict[str, Any]:
    """A round, as the ledger keeps it."""
    found = certified(r)
    proof = {name: str(c) for name, c in found.proof.items()}
    shown = {name: getattr(found.round, name) for name in ("alpha", "eta", "form")}
    return {**shown, "worst": round(found.worst, 6), "bound": str(found.bound), "proof": proof}


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
    PATH.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    page, made = PAGE.read_text(encoding="utf-8"), table(rows)
    PAGE.write_text(PLACE.sub(lambda m: f"{m[1]}{made}\n{m[2]}", page), encoding="utf-8")


if __name__ == "__main__":
    main()
