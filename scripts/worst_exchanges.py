"""Certify worst cases of decentralised algorithms: ``python scripts/worst_exchanges.py``; needs the extra ``certify``.

Writes exchanges.json of the ledger and the table of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from fedspec_proofs.afga.claims.exchange_numbers import TABLE
from fedspec_proofs.worst_cases.exchanges import KEPT, Exchanged, circulant
from fedspec_proofs.worst_cases.search.forms import renew
from fedspec_proofs.worst_cases.tabled import Row, markdown, three

MATRICES = {
    "two, 3/4": circulant("3/4", "1/4"),
    "two, 19/20": circulant("19/20", "1/20"),
    "path of three": (("2/3", "1/3", "0"), ("1/3", "1/3", "1/3"), ("0", "1/3", "2/3")),
    "ring of four": circulant("3/4", "1/8", "0", "1/8"),
}
"""Mixing matrices by their names on the page."""

STEPS = (1, 2)
RATES = ("1/4", "1/2", "1")


def table_rounds() -> Iterator[Exchanged]:
    """Yield every exchange of the table; with one step D2 equals LED, so it is left out."""
    for W, tau, eta_l in product(MATRICES.values(), STEPS, RATES):
        yield from (Exchanged(a, W, tau, eta_l) for a in KEPT if (a, tau) != ("d2", 1))


def table(rows: list[Row]) -> str:
    """Format the page's table."""
    bounds = {(r.algorithm, r.W, r.tau, r.eta_l): row["bound"] for row in rows for r in [TABLE.asked(row)]}
    lines = []
    for (name, W), tau, eta_l in product(MATRICES.items(), STEPS, RATES):
        said = [bounds.get((a, W, tau, eta_l)) for a in KEPT]
        lines.append([name, tau, eta_l, *(three(number) if number else "as `led`" for number in said)])
    return markdown(["peers", "steps", "eta_l", *(f"`{a}`" for a in KEPT)], lines)


if __name__ == "__main__":
    renew(TABLE, table_rounds(), "exchanges", lambda rows: {"factor": table(rows)})
