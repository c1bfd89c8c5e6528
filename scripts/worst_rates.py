"""Certify the best local rates of FedProx, SCAFFOLD and FedDyn: ``python scripts/worst_rates.py``; needs ``certify``.

Writes following_rates.json of the ledger and two tables of the page.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction

from fedspec_proofs.fednova.claims import best_rates
from fedspec_proofs.fednova.claims.best_rates import FOLLOWED as TABLE
from fedspec_proofs.worst_cases.following_rates import Stretch
from fedspec_proofs.worst_cases.one_round import Round
from fedspec_proofs.worst_cases.search.following_rates import PART, cover, refined
from fedspec_proofs.worst_cases.search.one_round import UncertifiedError, certified
from fedspec_proofs.worst_cases.tabled import Row, write_sections


def row_of(r: Round) -> Row:
    """Return a table cell: the best rate, its number, and the proof that every other rate is hardly better."""
    best = TABLE.kept(certified(refined(r))) | {"zeta2": str(r.zeta2)}
    least, stretches = parabola_bound(r, Fraction(best["bound"]))
    return {"best": best, "least": str(least), "stretches": [best_rates.row_of(one) for one in stretches]}


def parabola_bound(r: Round, bound: Fraction) -> tuple[Fraction, Sequence[Stretch]]:
    """Return the largest lower bound that parabolas prove at all rates; failing that, PART of the bound by other
    functions.
    """
    part = math.floor(PART * bound * 1000)
    for thousandths in range(math.floor(bound * 1000), part, -1):
        try:
            return Fraction(thousandths, 1000), cover(r, Fraction(thousandths, 1000), plain=True)
        except UncertifiedError:
            continue
    return Fraction(part, 1000), cover(r, Fraction(part, 1000))


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the page's tables, by name: the best rate with its number, and the lower bound at all other rates."""
    found = [*map(best_rates.best_of, rows)]
    return {name: best_rates.table(kind, found) for name, kind in (("factors", "kept"), ("fedprox", "fedprox"))}


def main(names: Sequence[str]) -> None:
    """Certify the rates, of the named methods only if any are named, and write the ledger and the tables."""
    every = [*best_rates.ASKED["kept"], *best_rates.ASKED["fedprox"]]
    asked = [r for r in every if not names or r.algorithm in names]
    with ProcessPoolExecutor(2) as pool:
        found = dict(zip(asked, pool.map(row_of, asked), strict=True))
    if names:
        found = {best_rates.best_of(row).asked: row for row in TABLE.rows()} | found
    rows = [found[r] for r in every]
    TABLE.write(rows)
    write_sections({f"rates: {name}": f"{text}\n" for name, text in tables(rows).items()})


if __name__ == "__main__":
    main(sys.argv[1:])
