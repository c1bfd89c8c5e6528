"""The tables of forms that fall: every certificate, certificates that are spoiled, and the page that prints them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from test_proofs.scripts import PAGE, script
from test_proofs.spoiling import multipliers, refused_with_another_form

from fedspec_proofs.afga.claims import class_factors, exchange_numbers
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.fednova.claims import compressed_factors
from fedspec_proofs.worst_cases import outer_claims
from fedspec_proofs.worst_cases.exchanges import circulant
from fedspec_proofs.worst_cases.tabled import Row, Table, proof_of

pytestmark = [pytest.mark.long, pytest.mark.table(1)]


@dataclass(frozen=True)
class Case:
    """A table, and how its rows are spoiled.

    Attributes:
        table: the table.
        some: the field and value of the rows that are spoiled; all if none is named.
        more: numbers of clients by the multipliers of two.
        letters: the first letters of multipliers, of each of which the largest is spoiled.
        entry: the entry of the form beside the diagonal that is spoiled.
        others: other values of fields, none of which may pass.
    """

    table: Table[Any]
    some: tuple[str, str] | None
    more: tuple[int, ...]
    letters: str
    entry: int
    others: Callable[[Row], list[dict[str, Any]]]


def of_matrices(row: Row) -> list[dict[str, Any]]:
    negative = [[f"-{c}".replace("--", "") for c in line] for line in row["form"]]
    alone = circulant("1", *"0" * (len(row["W"]) - 1))
    return [{"W": alone}, {"eta_l": "2"}, {"tau": 3 - row["tau"]}, {"form": negative}]


def of_momentum(row: Row) -> list[dict[str, Any]]:
    beta = [{"numbers": [[n, "19/20" if n == "beta" else v] for n, v in row["numbers"]]}]
    return [{"eta_l": "2"}, {"tau": row["tau"] % 4 + 1}, *(beta if row["algorithm"] == "fedavgm" else [])]


EF21 = compressed_factors
CASES = (
    Case(exchange_numbers.TABLE, ("eta_l", "1/2"), (), "F", 0, of_matrices),
    Case(class_factors.TABLE, None, (3, 4), "FW", 1, lambda row: [{"high": "1"}, {"eta_l": "2"}]),
    Case(EF21.TABLE, None, EF21.MORE, "FC", 0, lambda row: [{"alpha": "1/100"}, {"eta": "2"}]),
    Case(outer_claims.TABLE, ("eta_l", "1/4"), (3, 5), "F", 0, of_momentum),
)

ROWS = [(case, row) for case in CASES for row in case.table.rows()]
SOME = [(case, row) for case, row in ROWS if not case.some or row[case.some[0]] == case.some[1]]


def named(one: Any) -> str:
    return one.table.name if isinstance(one, Case) else "-".join(str(v).replace("/", "_") for v in [*one.values()][:5])


@pytest.mark.parametrize(("case", "row"), ROWS, ids=named)
def test_every_number_is_certified_and_close_to_what_its_form_attains(case: Case, row: Row) -> None:
    r, bound = case.table.asked(row), Fraction(row["bound"])
    assert case.table.wrong_with(row, *case.more) == ""
    # As the page prints it; the program attains 81/100 up to a rounding.
    assert -1e-6 <= float(bound) - row["worst"] <= 4e-3
    assert np.linalg.eigvalsh(np.array(r.P, float)).min() > 1e-5 and r.P[0][0] == 1
    assert flaw(r.problem(bound * Fraction(9, 10)), proof_of(row)) != ""


@pytest.mark.parametrize(("case", "row"), SOME, ids=named)
def test_what_is_spoiled_is_refused(case: Case, row: Row) -> None:
    """A multiplier, the form, the rule's numbers, the class: none of them can be another."""
    wrong_with = case.table.wrong_with
    for letter in case.letters:
        name = max((n for n in row["proof"] if n[0] == letter), key=lambda name: Fraction(row["proof"][name]))
        assert "" not in map(wrong_with, multipliers(row, name))
    if len(row["form"]) > 1:
        refused_with_another_form(row, wrong_with, case.entry)
    assert "" not in [wrong_with({**row, **other}) for other in case.others(row)]
    assert flaw(replace(case.table.asked(row), mu="0").problem(Fraction(row["bound"])), proof_of(row)) != ""


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_page_prints_what_is_certified(case: Case) -> None:
    made, rows = script(case.table.script), case.table.rows()
    tables = made.tables(rows) if hasattr(made, "tables") else {"factor": made.table(rows)}
    assert all(table in PAGE for table in tables.values())
    assert [replace(case.table.asked(row), form=()) for row in rows] == [*made.table_rounds()]
