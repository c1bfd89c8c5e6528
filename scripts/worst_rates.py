"""Certify the best local rates of FedProx, SCAFFOLD and FedDyn: ``python scripts/worst_rates.py``; needs ``certify``.

Writes following_rates.json of the ledger and two tables of the page.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import partial

from fedspec_proofs.fednova.claims import best_rates
from fedspec_proofs.fednova.claims.best_rates import FOLLOWED as TABLE
from fedspec_proofs.worst_cases.following_rates import Stretch
from fedspec_proofs.worst_cases.one_round import HELD, Round
from fedspec_proofs.worst_cases.search.following_rates import cover, refined
from fedspec_proofs.worst_cases.search.one_round import UncertifiedError, certified, largest, least_factor
from fedspec_proofs.worst_cases.tabled import Row, markdown, three, write_sections

TRIED = ("1/32", "1/16", "1/8", "1/4", "1/2", "1", "3/2", "2")
PULLED = ("1/32", "1/16", "1/8", "1/4", "1/2", "3/4", "1")
"""FedProx's rates to try first, none above 1/mu; the best rate is searched between the neighbours of the best."""

PART = Fraction(99, 100)
"""Share of the number at the best rate that must be proved at every other rate; more if parabolas suffice."""


def row_of(r: Round) -> Row:
    """Return a table cell: the best rate, its number, and the proof that every other rate is hardly better."""
    rates = TRIED if r.keeps else PULLED
    tried = [replace(r, eta_l=eta_l) for eta_l in rates]
    found = [(least_factor if r.keeps else largest)(one) for one in tried]
    k = min(range(1, len(tried) - 1), key=lambda k: found[k])
    best = TABLE.kept(certified(refined(r, tried[k - 1].rate, tried[k + 1].rate))) | {"zeta2": str(r.zeta2)}
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
    there = {
        best_rates.best_of(row).asked: [f"{row['best']['eta_l']}: {three(row['best']['bound'])}", three(row["least"])]
        for row in rows
    }
    columns = {
        "factors": (best_rates.KEPT, {f"`{a}`": partial(Round, a, eta_l="") for a in HELD}),
        "fedprox": (
            best_rates.PULLED,
            {f"zeta^2 = {z}": partial(Round, "fedprox", eta_l="", zeta2=z) for z in best_rates.APART},
        ),
    }
    return {
        name: markdown(
            ["steps", *(word for head in heads for word in (head, "at least"))],
            (
                [", ".join(map(str, taus)), *(word for r in heads.values() for word in there[r(steps=taus)])]
                for taus in steps
            ),
        )
        for name, (steps, heads) in columns.items()
    }


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
