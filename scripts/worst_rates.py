"""Best local rates of FedProx, SCAFFOLD and FedDyn, certified: ``python scripts/worst_rates.py``; needs ``certify``.

Writes following_rates.json of the ledger and two tables of the page.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from fedspec_proofs.fednova.claims import best_rates, followed_rates
from fedspec_proofs.worst_cases import tabled
from fedspec_proofs.worst_cases.following_rates import Stretch
from fedspec_proofs.worst_cases.one_round import HELD, Round
from fedspec_proofs.worst_cases.search.following_rates import cover, refined
from fedspec_proofs.worst_cases.search.one_round import UncertifiedError, certified, largest, least_factor

PAGE = Path(__file__).resolve().parents[1] / "docs" / "worst-cases.md"

TRIED = ("1/32", "1/16", "1/8", "1/4", "1/2", "1", "3/2", "2")
PULLED = ("1/32", "1/16", "1/8", "1/4", "1/2", "3/4", "1")
"""The best rate is looked for between the neighbours of the best of these; FedProx takes none beyond 1/mu."""

PART = Fraction(99, 100)
"""Of the number at the best rate, what is shown at every other one; more of it where parabolas alone show it."""


def row_of(r: Round) -> dict[str, Any]:
    """A cell: the best rate, its number, and what shows at every other rate that it is hardly less."""
    rates = TRIED if r.keeps else PULLED
    tried = [replace(r, eta_l=eta_l) for eta_l in rates]
    found = [(least_factor if r.keeps else largest)(one) for one in tried]
    k = min(range(1, len(tried) - 1), key=lambda k: found[k])
    best = tabled.kept(
        certified(refined(r, tried[k - 1].rate, tried[k + 1].rate)),
        ("algorithm", "steps", "eta_l", "zeta2", "share", "form"),
    )
    best["zeta2"] = str(r.zeta2)
    least, stretches = shown(r, Fraction(best["bound"]))
    return {"best": best, "least": str(least), "stretches": [followed_rates.row_of(one) for one in stretches]}


def shown(r: Round, bound: Fraction) -> tuple[Fraction, Sequence[Stretch]]:
    """The largest number that parabolas show at all rates, or a part of the bound with the help of other functions."""
    part = math.floor(PART * bound * 1000)
    for thousandths in range(math.floor(bound * 1000), part, -1):
        try:
            return Fraction(thousandths, 1000), cover(r, Fraction(thousandths, 1000), plain=True)
        except UncertifiedError:
            continue
    return Fraction(part, 1000), cover(r, Fraction(part, 1000))


def cell(row: dict[str, Any]) -> list[str]:
    """The best rate with its number, and the number of all others."""
    best = row["best"]
    return [f"{best['eta_l']}: {float(Fraction(best['bound'])):.3f}", f"{float(Fraction(row['least'])):.3f}"]


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The tables of the page, by name."""
    there = {(row["best"]["algorithm"], tuple(row["best"]["steps"]), row["best"]["zeta2"]): cell(row) for row in rows}
    columns = {
        "factors": [(f"`{algorithm}`", algorithm, "0") for algorithm in HELD],
        "fedprox": [(f"zeta^2 = {z}", "fedprox", str(z)) for z in best_rates.APART],
    }
    steps = {"factors": followed_rates.KEPT, "fedprox": followed_rates.PULLED}
    made = {}
    for name, heads in columns.items():
        said = " | ".join(f"{head} | at least" for head, _, _ in heads)
        lines = [f"| steps | {said} |", f"| --- |{' --- |' * (2 * len(heads))}"]
        for taus in steps[name]:
            words = [word for _, algorithm, z in heads for word in there[algorithm, taus, z]]
            lines.append(f"| {', '.join(map(str, taus))} | {' | '.join(words)} |")
        made[name] = "\n".join(lines)
    return made


def main(names: Sequence[str]) -> None:
    """Find, write; of some methods alone where they are named."""
    asked = [r for r in followed_rates.ASKED if not names or r.algorithm in names]
    with ProcessPoolExecutor(2) as pool:
        found = dict(zip(map(_key, asked), pool.map(row_of, asked), strict=True))
    if names:
        found = {_key(followed_rates.best_of(row).round): row for row in followed_rates.rows()} | found
    rows = [found[_key(r)] for r in followed_rates.ASKED]
    tabled.write(followed_rates.PATH, rows)
    PAGE.write_text(tabled.placed(PAGE.read_text(encoding="utf-8"), "rates", tables(rows)), encoding="utf-8")


def _key(r: Round) -> tuple[str, tuple[int, ...], Fraction]:
    return r.algorithm, r.steps, Fraction(r.zeta2)


if __name__ == "__main__":
    main(sys.argv[1:])
