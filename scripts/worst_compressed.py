"""Certify worst cases of EF21: ``python scripts/worst_compressed.py``; needs the extra ``certify``.

Writes compressed.json of the ledger and a table of the page.
"""

from __future__ import annotations

from itertools import product

from fedspec_proofs.fednova.claims.compressed_factors import TABLE
from fedspec_proofs.worst_cases.compressed import Compressed
from fedspec_proofs.worst_cases.search.forms import renew
from fedspec_proofs.worst_cases.tabled import Row, markdown, three

RATES = ("1/32", "1/16", "1/8", "1/4", "1/2")
ALPHAS = ("3/4", "1/2", "1/4", "1/10")


def table_rounds() -> list[Compressed]:
    """Return every round of the table."""
    return [Compressed(alpha, eta) for eta, alpha in product(RATES, ALPHAS)]


def table(rows: list[Row]) -> str:
    """Format the page's table."""
    bounds = {(row["eta"], row["alpha"]): three(row["bound"]) for row in rows}
    heads = ["eta", *(f"alpha = {alpha}" for alpha in ALPHAS)]
    return markdown(heads, ([eta, *(bounds[eta, alpha] for alpha in ALPHAS)] for eta in RATES))


if __name__ == "__main__":
    renew(TABLE, table_rounds(), "compressed", lambda rows: {"factor": table(rows)})
