"""Certificates of worst cases, spoiled in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any


def multipliers(row: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The row with one multiplier of its proof negated, doubled, and left out."""
    c = Fraction(row["proof"][name])
    others = {n: v for n, v in row["proof"].items() if n != name}
    return [{**row, "proof": proof} for proof in (others | {name: str(-c)}, others | {name: str(2 * c)}, others)]


def refused_with_another_form(row: Mapping[str, Any], wrong_with: Callable[[dict[str, Any]], str], i: int = 0) -> None:
    """Neither another entry beside the diagonal will do, nor a form that is not symmetric."""
    P = [list(line) for line in row["form"]]
    P[i][i + 1] = P[i + 1][i] = str(Fraction(P[i][i + 1]) + 1)
    assert wrong_with({**row, "form": P}) != ""
    P[i][i + 1] = str(Fraction(P[i][i + 1]) + 1)
    assert wrong_with({**row, "form": P}) == "its form is not positive definite", "it is not symmetric"
