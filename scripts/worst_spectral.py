"""Peers that mix by any matrix of a class: ``python scripts/worst_spectral.py``; needs the extra ``certify``.

Writes spectral.json of the ledger and the table of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import fedspec_proofs.worst_cases.spectral as ledger
from fedspec_proofs.worst_cases import tabled
from fedspec_proofs.worst_cases.exchanges import KEPT
from fedspec_proofs.worst_cases.search.forms import certified
from fedspec_proofs.worst_cases.spectral import Mixed

PAGE = Path(__file__).resolve().parents[1] / "docs" / "worst-cases.md"
PATH = Path(ledger.__file__).with_suffix(".json")

CLASSES = (("0", "1/2"), ("0", "3/4"), ("-1/4", "1/4"), ("-1/2", "1/2"))
"""Intervals of eigenvalues."""

STEPS = (1, 2)
RATES = ("1/4", "1")
LEFT_OUT = {("d2", 1): "as `led`", ("diging", 2): "-"}
"""With one step D2 is LED; with two DIGing mixes four stacks."""


def asked() -> Iterator[Mixed]:
    """Every exchange of the table."""
    for (low, high), tau, eta_l in product(CLASSES, STEPS, RATES):
        yield from (Mixed(a, low, high, tau, eta_l) for a in KEPT if (a, tau) not in LEFT_OUT)


def row_of(r: Mixed) -> dict[str, Any]:
    """An exchange, as the ledger keeps it."""
    return tabled.kept(certified(r), ("algorithm", "low", "high", "tau", "eta_l", "form"))


def table(rows: list[dict[str, Any]]) -> str:
    """The table of the page."""
    bounds = {(r["algorithm"], r["low"], r["high"], r["tau"], r["eta_l"]): float(Fraction(r["bound"])) for r in rows}
    heads = ["eigenvalues", "steps", "eta_l", *(f"`{a}`" for a in KEPT)]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for (low, high), tau, eta_l in product(CLASSES, STEPS, RATES):
        said = [LEFT_OUT.get((a, tau)) or f"{bounds[a, low, high, tau, eta_l]:.3f}" for a in KEPT]
        lines.append(f"| {low} to {high} | {tau} | {eta_l} | {' | '.join(said)} |")
    return "\n".join(lines)


def main() -> None:
    """Find, write."""
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(row_of, asked()))
    tabled.write(PATH, rows)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(tabled.placed(page, "spectral", {"factor": table(tabled.read(PATH))}), encoding="utf-8")


if __name__ == "__main__":
    main()
