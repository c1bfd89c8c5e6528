"""The tables of worst cases: every certificate, certificates that are spoiled, and the page that prints them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from test_proofs.scripts import PAGE, script

from fedspec_proofs.afga.claims import class_factors, exchange_numbers
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.fednova.claims import compressed_factors, round_numbers, several_rounds
from fedspec_proofs.worst_cases import outer_claims
from fedspec_proofs.worst_cases.exchanges import circulant
from fedspec_proofs.worst_cases.one_round import HELD
from fedspec_proofs.worst_cases.tabled import Row, Table, proof_of

pytestmark = [pytest.mark.long, pytest.mark.table(4)]


@dataclass(frozen=True)
class Case:
    """A table, and how its rows are spoiled.

    Attributes:
        table: the table.
        some: the rows that are spoiled, by the values of their fields; all if none is named.
        more: numbers of clients by the multipliers of two.
        letters: the first letters of multipliers, of each of which the largest is spoiled.
        entry: the entry of the form beside the diagonal that is spoiled.
        others: other values of fields, none of which may pass.
    """

    table: Table[Any]
    some: Mapping[str, Collection[Any]]
    more: tuple[int, ...]
    letters: str
    entry: int
    others: Callable[[Row], list[dict[str, Any]]]


def multipliers(row: Row, name: str) -> list[Row]:
    """The row with one multiplier of its proof negated, doubled, and left out."""
    c = Fraction(row["proof"][name])
    others = {n: v for n, v in row["proof"].items() if n != name}
    return [{**row, "proof": proof} for proof in (others | {name: str(-c)}, others | {name: str(2 * c)}, others)]


def refused_with_another_form(row: Row, wrong_with: Callable[[Row], str], i: int = 0) -> None:
    """Neither another entry beside the diagonal will do, nor a form that is not symmetric."""
    P = [list(line) for line in row["form"]]
    P[i][i + 1] = P[i + 1][i] = str(Fraction(P[i][i + 1]) + 1)
    assert wrong_with({**row, "form": P}) != ""
    P[i][i + 1] = str(Fraction(P[i][i + 1]) + 1)
    assert wrong_with({**row, "form": P}) == "its form is not positive definite", "it is not symmetric"


def negative(row: Row) -> dict[str, Any]:
    return {"form": [[f"-{c}".replace("--", "") for c in line] for line in row["form"]]}


def of_matrices(row: Row) -> list[dict[str, Any]]:
    alone = circulant("1", *"0" * (len(row["W"]) - 1))
    return [{"W": alone}, {"eta_l": "2"}, {"tau": 3 - row["tau"]}, negative(row)]


def of_held(row: Row) -> list[dict[str, Any]]:
    forms = [negative(row)]
    for i, j in ((1, 1), (0, 1)):
        more = [list(line) for line in row["form"]]
        more[i][j] = more[j][i] = str(Fraction(more[i][j]) + Fraction(1, 4))
        forms.append({"form": more})
    return forms


def of_rounds(row: Row) -> list[dict[str, Any]]:
    """A smaller number, a round more, other clients, another start, another rate, and a multiplier of nothing."""
    less, other = str(Fraction(row["bound"]) * Fraction(9, 10)), str(4 * Fraction(row["zeta2"]))
    start, proof = str(2 * Fraction(row["start"])), {**row["proof"], "F9 0,1": "1"}
    rounds = [{"rounds": row["rounds"] + 1}, {"zeta2": other}, {"start": start}, {"eta_l": "3/4"}]
    return [{"bound": less}, *rounds, {"proof": proof}]


def of_momentum(row: Row) -> list[dict[str, Any]]:
    beta = [{"numbers": [[n, "19/20" if n == "beta" else v] for n, v in row["numbers"]]}]
    return [{"eta_l": "2"}, {"tau": row["tau"] % 4 + 1}, *(beta if row["algorithm"] == "fedavgm" else [])]


EF21 = compressed_factors
FORMS = (
    Case(exchange_numbers.TABLE, {"eta_l": ("1/2",)}, (), "F", 0, of_matrices),
    Case(class_factors.TABLE, {}, (3, 4), "FW", 1, lambda row: [{"high": "1"}, {"eta_l": "2"}]),
    Case(EF21.TABLE, {}, EF21.MORE, "FC", 0, lambda row: [{"alpha": "1/100"}, {"eta": "2"}]),
    Case(outer_claims.TABLE, {"eta_l": ("1/4",)}, (3, 5), "F", 0, of_momentum),
)
CASES = (
    *FORMS,
    Case(round_numbers.TABLE, {"algorithm": HELD}, (), "F", 1, of_held),
    Case(several_rounds.TABLE, {"zeta2": ("1",), "eta_l": ("1/2",), "rounds": (1, 2)}, (), "F", 0, of_rounds),
)

ROWS = [(case, row) for case in CASES for row in case.table.rows()]
SOME = [(case, row) for case, row in ROWS if all(row[name] in values for name, values in case.some.items())]


def named(one: Any) -> str:
    return one.table.name if isinstance(one, Case) else "-".join(str(v).replace("/", "_") for v in [*one.values()][:5])


@pytest.mark.parametrize(("case", "row"), ROWS, ids=named)
def test_every_number_is_certified_and_close_to_what_its_form_attains(case: Case, row: Row) -> None:
    r, bound = case.table.asked(row), Fraction(row["bound"])
    assert case.table.wrong_with(row, *case.more) == ""
    # As the page prints it; the program attains 81/100 up to a rounding.
    assert -1e-6 <= float(bound) - row["worst"] <= 4e-3
    if row.get("form"):
        assert np.linalg.eigvalsh(np.array(r.P, float)).min() > 1e-5 and r.P[0][0] == 1
    assert flaw(case.table.problem_of(r, bound * Fraction(9, 10)), proof_of(row)) != ""


@pytest.mark.parametrize(("case", "row"), SOME, ids=named)
def test_what_is_spoiled_is_refused(case: Case, row: Row) -> None:
    """A multiplier, the form, the rule's numbers, the class: none of them can be another."""
    wrong_with = case.table.wrong_with
    for letter in case.letters:
        name = max((n for n in row["proof"] if n[0] == letter), key=lambda name: Fraction(row["proof"][name]))
        assert "" not in map(wrong_with, multipliers(row, name))
    if len(row.get("form", ())) > 1:
        refused_with_another_form(row, wrong_with, case.entry)
    assert "" not in [wrong_with({**row, **other}) for other in case.others(row)]
    if case.table is not several_rounds.TABLE:
        flatter = replace(case.table.asked(row), mu="0")
        assert flaw(case.table.problem_of(flatter, Fraction(row["bound"])), proof_of(row)) != ""


@pytest.mark.parametrize("case", FORMS, ids=named)
def test_the_page_prints_what_is_certified(case: Case) -> None:
    made, rows = script(case.table.script), case.table.rows()
    tables = made.tables(rows) if hasattr(made, "tables") else {"factor": made.table(rows)}
    assert all(table in PAGE for table in tables.values())
    assert [replace(case.table.asked(row), form=()) for row in rows] == [*made.table_rounds()]
