"""Certify worst cases over all mixing matrices of a spectral class: ``python scripts/worst_spectral.py``; needs
``certify``.

Writes spectral.json of the ledger and the table of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from fedspec_proofs.afga.claims.class_factors import TABLE
from fedspec_proofs.worst_cases.exchanges import KEPT
from fedspec_proofs.worst_cases.search.forms import renew
from fedspec_proofs.worst_cases.spectral import Mixed
from fedspec_proofs.worst_cases.tabled import Row, markdown, three

CLASSES = (("0", "1/2"), ("0", "3/4"), ("-1/4", "1/4"), ("-1/2", "1/2"))
"""Intervals of the mixing matrices' eigenvalues."""

STEPS = (1, 2)
RATES = ("1/4", "1")
LEFT_OUT = {("d2", 1): "as `led`", ("diging", 2): "-"}
"""Cells without a number: with one step D2 equals LED; with two steps DIGing mixes four stacks."""


def table_rounds() -> Iterator[Mixed]:
    """Yield every exchange of the table."""
    for (low, high), tau, eta_l in product(CLASSES, STEPS, RATES):
        yield from (Mixed(a, low, high, tau, eta_l) for a in KEPT if (a, tau) not in LEFT_OUT)


def table(rows: list[Row]) -> str:
    """Format the page's table."""
    bounds = {(r["algorithm"], r["low"], r["high"], r["tau"], r["eta_l"]): three(r["bound"]) for r in rows}
    lines = []
    for (low, high), tau, eta_l in product(CLASSES, STEPS, RATES):
        said = [LEFT_OUT.get((a, tau)) or bounds[a, low, high, tau, eta_l] for a in KEPT]
        lines.append([f"{low} to {high}", tau, eta_l, *said])
    return markdown(["eigenvalues", "steps", "eta_l", *(f"`{a}`" for a in KEPT)], lines)


if __name__ == "__main__":
    renew(TABLE, table_rounds(), "spectral", lambda rows: {"factor": table(rows)})
