"""Rows that are false, or that their multipliers do not prove: what has to be refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fedspec_proofs.contraction import HELD
from fedspec_proofs.fednova.round_numbers import by_round
from fedspec_proofs.kernel.rows import HEAD, Cell, argument, cells, statement


def spoiled(page: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Cell, Mapping[str, Any]]]:
    """Ten rows of which one thing is not as it was, by what was done to them."""
    stored = by_round(rows)
    found = {(c.algorithm, c.steps, c.eta_l, c.zeta2): c for c in cells(page)}

    def of(*key: Any) -> tuple[Cell, dict[str, Any]]:
        return found[key], dict(stored[key])

    def less(c: Fraction) -> Fraction:
        return c - Fraction(1, 50)

    avg, avg_row = of("fedavg", (1, 3), "1/4", 1)
    nova, nova_row = of("fednova", (1, 3), "1/2", 0)
    prox, prox_row = of("fedprox", (2, 2), "1/4", 1)
    scaffold, scaffold_row = of("scaffold", (1, 3), "1/4", 0)
    dyn, dyn_row = of("feddyn", (2, 2), "1/4", 0)
    first = next(name for name in avg_row["proof"] if name.startswith("F0"))
    flat = [["0" if i == j == 1 else c for j, c in enumerate(row)] for i, row in enumerate(scaffold_row["form"])]
    return {
        "a smaller bound": (replace(avg, bound=less(avg.bound)), avg_row),
        "a smaller factor": (replace(scaffold, bound=less(scaffold.bound)), scaffold_row),
        "a larger rate": (replace(avg, eta_l="1/2"), avg_row),
        "another step": (replace(prox, steps=(2, 3)), prox_row),
        "clients less alike": (replace(avg, zeta2=Fraction(2)), avg_row),
        "another rule": (replace(nova, algorithm="fedavg"), nova_row),
        "a multiplier left out": (avg, _proof(avg_row, {first: None})),
        "a multiplier negative": (prox, _proof(prox_row, {"zeta": "-1/10"})),
        "a multiplier doubled": (dyn, _proof(dyn_row, {next(iter(dyn_row["proof"])): "2"})),
        "a form that is not definite": (scaffold, {**scaffold_row, "form": flat}),
    }


def _proof(row: Mapping[str, Any], changes: Mapping[str, str | None]) -> dict[str, Any]:
    proof = {**row["proof"], **changes}
    return {**row, "proof": {name: c for name, c in proof.items() if c is not None}}


def attempt(name: str, cell: Cell, row: Mapping[str, Any], end: str) -> str:
    """A row as a theorem, and how its proof ends."""
    form = row["form"] if cell.algorithm in HELD else []
    proved = f"Proof. refine ({argument(cell, row)} _). vm_cast_no_check (eq_refl true). {end}"
    return f"Theorem {name} :\n  {statement(cell, form)}.\n{proved}\n"


def written(page: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Coq's text: two rows as they are, which it takes, and the ten.

    Coq accepts this text only if each of the ten is refused, and at its end: where the check is to say yes.
    """
    stored, whole = by_round(rows), {(c.by, c.steps, c.eta_l, c.zeta2): c for c in cells(page)}
    out = [
        attempt(f"control_{k}", whole[key], stored[key], "Qed.")
        for k, key in enumerate([("fedavg", (1, 3), "1/4", Fraction(1)), ("scaffold", (1, 3), "1/4", Fraction(0))])
    ]
    for k, (words, (cell, row)) in enumerate(spoiled(page, rows).items()):
        out.append(f"(* {words} *)\n{attempt(f'planted_{k}', cell, row, 'Fail Qed. Abort.')}")
    return HEAD + "\n".join(out)
