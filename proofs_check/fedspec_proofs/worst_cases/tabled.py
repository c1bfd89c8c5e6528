"""Rows of the tables of docs/worst-cases.md: how the ledger keeps them, what is wrong with one, where tables stand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from fedspec_proofs.engines.worst_case.falling import Matrix, positive
from fedspec_proofs.engines.worst_case.proof import Problem, flaw

Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    """The rounds, the number of each, and multipliers that prove it."""
    found: list[Row] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write(path: Path, rows: Sequence[Row]) -> None:
    """A line for each."""
    path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")


def kept(found: Any, names: Sequence[str]) -> Row:
    """What a search has certified, and the attributes of its round that say which it is."""
    shown = {name: getattr(found.round, name) for name in names}
    proof = {name: str(c) for name, c in found.proof.items()}
    return {**shown, "worst": round(found.worst, 6), "bound": str(found.bound), "proof": proof}


def proof_of(row: Mapping[str, Any]) -> dict[str, Fraction]:
    """The multipliers of a row."""
    return {name: Fraction(c) for name, c in row["proof"].items()}


def wrong_with(
    row: Mapping[str, Any],
    r: Any,
    problem_of: Callable[[Any, Fraction], Problem],
    among: Callable[[Mapping[str, Fraction], int], dict[str, Fraction]] | None = None,
    more: Sequence[int] = (),
) -> str:
    """Why a row proves nothing; empty where its multipliers prove its number, by the rule as it stands.

    Args:
        row: as it is kept.
        r: its round, with the form.
        problem_of: what is to be proved of a round.
        among: the multipliers of two clients, divided among others.
        more: of how many clients it is to be proved so, too.
    """
    bound, proof = Fraction(row["bound"]), proof_of(row)
    if not positive(r.P):
        return "its form is not positive definite"
    if wrong := flaw(problem_of(r, bound), proof):
        return wrong
    assert among or not more
    return next((w for n in more if among and (w := flaw(problem_of(replace(r, n=n), bound), among(proof, n)))), "")


def evidence(found: Sequence[Mapping[str, Any]]) -> str:
    """How many numbers there are, and how near they are to what the programs attain."""
    most = max(float(Fraction(row["bound"])) - row["worst"] for row in found)
    return (
        f"{len(found)} numbers, each by multipliers in fractions; at most {most:.4f} above what the program attains; "
        f"docs/worst-cases.md has them"
    )


def value(P: Matrix, u: Sequence[Any]) -> Fraction:
    """A form at numbers."""
    return sum((c * a * b for row, a in zip(P, u, strict=True) for c, b in zip(row, u, strict=True)), Fraction(0))


def placed(page: str, mark: str, tables: Mapping[str, str]) -> str:
    """A page with tables between their marks."""
    place = re.compile(rf"(<!-- {mark}: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return place.sub(lambda m: f"{m[1]}{tables[m[2]]}\n{m[3]}", page)
