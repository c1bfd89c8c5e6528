"""Certify worst cases of servers with momentum or late updates: ``python scripts/worst_outer.py``; needs ``certify``.

Writes outer.json of the ledger and two tables of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from fedspec_proofs.worst_cases.outer import Outer
from fedspec_proofs.worst_cases.outer_claims import TABLE
from fedspec_proofs.worst_cases.search.forms import renew
from fedspec_proofs.worst_cases.tabled import Row, markdown, three

STEPS = (1, 2, 4)
RATES = {"momentum": ("1/64", "1/16", "1/4", "1"), "late": ("1/8", "1/4", "1/2", "1")}
BETAS = (("0", "heavy-ball"), ("1/2", "heavy-ball"), ("1/2", "nesterov"), ("9/10", "heavy-ball"), ("9/10", "nesterov"))
DELAYS = (0, 1, 2, 4)


def cells(table: str) -> Iterator[tuple[int, str, list[Outer]]]:
    """Yield the rounds of each line of a table."""
    for tau, eta_l in product(STEPS, RATES[table]):
        if table == "late":
            yield tau, eta_l, [Outer("cc-fedavg", tau, eta_l, (), D) for D in DELAYS]
        else:
            numbers = [(("eta", "1"), ("beta", beta), ("momentum", form)) for beta, form in BETAS]
            yield tau, eta_l, [Outer("fedavgm", tau, eta_l, some) for some in numbers]


def table_rounds() -> list[Outer]:
    """Return every round of the tables."""
    return [r for table in RATES for _, _, line in cells(table) for r in line]


def tables(rows: list[Row]) -> dict[str, str]:
    """Return the page's tables, by name."""
    bounds = iter(rows)
    heads = {
        "momentum": [f"beta = {beta}" + f", {form}" * (beta != "0") for beta, form in BETAS],
        "late": [f"D = {D}" for D in DELAYS],
    }
    return {
        table: markdown(
            ["steps", "eta_l", *head],
            ([tau, eta_l, *(three(next(bounds)["bound"]) for _ in line)] for tau, eta_l, line in cells(table)),
        )
        for table, head in heads.items()
    }


if __name__ == "__main__":
    renew(TABLE, table_rounds(), "outer", tables)
