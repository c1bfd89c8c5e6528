"""Servers that keep something, certified: ``python scripts/worst_outer.py``; needs the extra ``certify``.

Writes outer.json of the ledger and two tables of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import fedspec_proofs.worst_cases.outer as ledger
from fedspec_proofs.worst_cases import tabled
from fedspec_proofs.worst_cases.outer import Outer
from fedspec_proofs.worst_cases.search.forms import certified

PAGE = Path(__file__).resolve().parents[1] / "docs" / "worst-cases.md"
PATH = Path(ledger.__file__).with_suffix(".json")

STEPS = (1, 2, 4)
RATES = {"momentum": ("1/64", "1/16", "1/4", "1"), "late": ("1/8", "1/4", "1/2", "1")}
BETAS = (("0", "heavy-ball"), ("1/2", "heavy-ball"), ("1/2", "nesterov"), ("9/10", "heavy-ball"), ("9/10", "nesterov"))
DELAYS = (0, 1, 2, 4)


def cells(table: str) -> Iterator[tuple[int, str, list[Outer]]]:
    """The rounds of each line of a table."""
    for tau, eta_l in product(STEPS, RATES[table]):
        if table == "late":
            yield tau, eta_l, [Outer("cc-fedavg", tau, eta_l, (), D) for D in DELAYS]
        else:
            numbers = [(("eta", "1"), ("beta", beta), ("momentum", form)) for beta, form in BETAS]
            yield tau, eta_l, [Outer("fedavgm", tau, eta_l, some) for some in numbers]


def asked() -> list[Outer]:
    """Every round of the tables."""
    return [r for table in RATES for _, _, line in cells(table) for r in line]


def row_of(r: Outer) -> dict[str, Any]:
    """A round, as the ledger keeps it."""
    return tabled.kept(certified(r), ("algorithm", "tau", "eta_l", "numbers", "delay", "form"))


def tables(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The tables of the page, by name."""
    bounds = iter(rows)
    heads = {
        "momentum": [f"beta = {beta}" + f", {form}" * (beta != "0") for beta, form in BETAS],
        "late": [f"D = {D}" for D in DELAYS],
    }
    made = {}
    for table, head in heads.items():
        lines = [f"| steps | eta_l | {' | '.join(head)} |", f"|{' --- |' * (2 + len(head))}"]
        for tau, eta_l, line in cells(table):
            numbers = [f"{float(Fraction(next(bounds)['bound'])):.3f}" for _ in line]
            lines.append(f"| {tau} | {eta_l} | {' | '.join(numbers)} |")
        made[table] = "\n".join(lines)
    return made


def main() -> None:
    """Find, write."""
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(row_of, asked()))
    tabled.write(PATH, rows)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(tabled.placed(page, "outer", tables(rows)), encoding="utf-8")


if __name__ == "__main__":
    main()
