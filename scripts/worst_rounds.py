"""Several rounds at once and one after another, certified: ``python scripts/worst_rounds.py``; needs ``certify``.

Writes several_rounds.json of the ledger and a table of the page. Eight rounds at once take minutes each.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from fedspec_proofs.fednova.claims import several_rounds as ledger
from fedspec_proofs.worst_cases import tabled
from fedspec_proofs.worst_cases.search.one_round import Certified
from fedspec_proofs.worst_cases.search.several_rounds import certified, chain
from fedspec_proofs.worst_cases.several_rounds import Several

PAGE = Path(__file__).resolve().parents[1] / "docs" / "worst-cases.md"

COLUMNS = (("fedavg", (2, 2)), ("fedavg", (1, 3)), ("fednova", (1, 3)))
RATES = ("1/4", "1/2")
APART = (Fraction(1, 4), Fraction(1))
ROUNDS = (1, 2, 4, 8)


def asked() -> Iterator[Several]:
    """All rounds of the table."""
    for (algorithm, steps), eta_l, zeta2, R in product(COLUMNS, RATES, APART, ROUNDS):
        yield Several(algorithm, steps, eta_l, zeta2, R)


def row_of(found: Certified[Several], *, link: bool) -> dict[str, Any]:
    """Rounds, as the ledger keeps them."""
    row = tabled.kept(found, ("algorithm", "steps", "eta_l", "zeta2", "rounds", "start"))
    return {**row, "zeta2": str(found.round.zeta2), "start": str(found.round.start), "link": link}


def once(r: Several) -> dict[str, Any]:
    """R rounds at once."""
    return row_of(certified(r), link=False)


def links(r: Several) -> list[dict[str, Any]]:
    """As many, one after another."""
    return [row_of(found, link=True) for found in chain(r)]


def table(rows: list[dict[str, Any]]) -> str:
    """The table of the page: at once, and by a chain."""
    numbers, ends = ledger.at_once(rows), ledger.chains(rows)
    names = [f"`{algorithm}` {', '.join(map(str, steps))}" for algorithm, steps in COLUMNS]
    heads = ["zeta^2", "eta_l", "R", *(head for name in names for head in (name, "chain"))]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for zeta2, eta_l, R in product(APART, RATES, ROUNDS):
        cells = []
        for algorithm, steps in COLUMNS:
            key = (algorithm, steps, eta_l, zeta2)
            cells += [f"{float(numbers[key, R]):.3f}", f"{float(ends[key][R - 1]):.3f}"]
        lines.append(f"| {zeta2} | {eta_l} | {R} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Find, write."""
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(once, asked()))
        chained = pool.map(links, (r for r in asked() if r.rounds == max(ROUNDS)))
        rows += [row for some in chained for row in some]
    tabled.write(ledger.PATH, rows)
    written(rows)


def written(rows: list[dict[str, Any]]) -> None:
    """The page from what is certified."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(tabled.placed(page, "rounds", {"distance": table(rows)}), encoding="utf-8")


if __name__ == "__main__":
    main()
