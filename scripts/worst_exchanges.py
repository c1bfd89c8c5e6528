"""Worst cases of exchanges among peers, certified: ``python scripts/worst_exchanges.py``; needs the extra ``certify``.

Writes exchanges.json of the ledger and the table of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import fedspec_proofs.worst_cases.exchanges as ledger
from fedspec_proofs.worst_cases import tabled
from fedspec_proofs.worst_cases.exchanges import KEPT, Exchanged, circulant
from fedspec_proofs.worst_cases.search.forms import certified

PAGE = Path(__file__).resolve().parents[1] / "docs" / "worst-cases.md"
PATH = Path(ledger.__file__).with_suffix(".json")

MATRICES = {
    "two, 3/4": circulant("3/4", "1/4"),
    "two, 19/20": circulant("19/20", "1/20"),
    "path of three": (("2/3", "1/3", "0"), ("1/3", "1/3", "1/3"), ("0", "1/3", "2/3")),
    "ring of four": circulant("3/4", "1/8", "0", "1/8"),
}
"""The matrices, by their names on the page, which says what they are."""

STEPS = (1, 2)
RATES = ("1/4", "1/2", "1")


def asked() -> Iterator[Exchanged]:
    """Every exchange of the table; with one step D2 is LED."""
    for W, tau, eta_l in product(MATRICES.values(), STEPS, RATES):
        yield from (Exchanged(a, W, tau, eta_l) for a in KEPT if (a, tau) != ("d2", 1))


def row_of(r: Exchanged) -> dict[str, Any]:
    """An exchange, as the ledger keeps it."""
    return tabled.kept(certified(r), ("algorithm", "W", "tau", "eta_l", "form"))


def table(rows: list[dict[str, Any]]) -> str:
    """The table of the page."""
    bounds = {(r["algorithm"], tuple(map(tuple, r["W"])), r["tau"], r["eta_l"]): r["bound"] for r in rows}
    heads = ["peers", "steps", "eta_l", *(f"`{a}`" for a in KEPT)]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for (name, W), tau, eta_l in product(MATRICES.items(), STEPS, RATES):
        said = [bounds.get((a, W, tau, eta_l)) for a in KEPT]
        cells = [f"{float(Fraction(number)):.3f}" if number else "as `led`" for number in said]
        lines.append(f"| {name} | {tau} | {eta_l} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Find, write."""
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(row_of, asked()))
    tabled.write(PATH, rows)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(tabled.placed(page, "exchanges", {"factor": table(tabled.read(PATH))}), encoding="utf-8")


if __name__ == "__main__":
    main()
