"""Certify several rounds, at once and one after another: ``python scripts/worst_rounds.py``; needs ``certify``.

Writes several_rounds.json of the ledger and a table of the page. Eight rounds at once take minutes each.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import product

from fedspec_proofs.fednova.claims import several_rounds as ledger
from fedspec_proofs.fednova.claims.several_rounds import TABLE
from fedspec_proofs.worst_cases.search.any_rounds import chain, several_certified
from fedspec_proofs.worst_cases.several_rounds import Several
from fedspec_proofs.worst_cases.tabled import Row, markdown, three, write_sections

COLUMNS = (("fedavg", (2, 2)), ("fedavg", (1, 3)), ("fednova", (1, 3)))
RATES = ("1/4", "1/2")
APART = (Fraction(1, 4), Fraction(1))
ROUNDS = (1, 2, 4, 8)


def table_rounds() -> Iterator[Several]:
    """Yield all rounds of the table."""
    for (algorithm, steps), eta_l, zeta2, R in product(COLUMNS, RATES, APART, ROUNDS):
        yield Several(algorithm, steps, eta_l, zeta2, R)


def once(r: Several) -> Row:
    """Certify R rounds at once, and return the row for the ledger."""
    return TABLE.kept(several_certified(r)) | {"link": False}


def links(r: Several) -> list[Row]:
    """Certify R rounds one after another, and return their rows for the ledger."""
    return [TABLE.kept(found) | {"link": True} for found in chain(r)]


def table(rows: list[Row]) -> str:
    """Format the page's table: at once, and by a chain."""
    numbers, ends = ledger.at_once(rows), ledger.chains(rows)
    names = [f"`{algorithm}` {', '.join(map(str, steps))}" for algorithm, steps in COLUMNS]
    lines = []
    for zeta2, eta_l, R in product(APART, RATES, ROUNDS):
        cells = []
        for algorithm, steps in COLUMNS:
            key = (algorithm, steps, eta_l, zeta2)
            cells += [three(numbers[key, R]), three(ends[key][R - 1])]
        lines.append([zeta2, eta_l, R, *cells])
    return markdown(["zeta^2", "eta_l", "R", *(head for name in names for head in (name, "chain"))], lines)


def main() -> None:
    """Certify all rounds, and write the ledger and the table."""
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(once, table_rounds()))
        chained = pool.map(links, (r for r in table_rounds() if r.rounds == max(ROUNDS)))
        rows += [row for some in chained for row in some]
    TABLE.write(rows)
    write_sections({"rounds: distance": f"{table(rows)}\n"})


if __name__ == "__main__":
    main()
