"""Deliberately false theorems, and theorems with wrong multipliers, which Coq must reject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from fedspec_proofs.fednova.claims.round_numbers import by_round
from fedspec_proofs.kernel import weighed
from fedspec_proofs.kernel.rows import Cell, argument, cells, statement
from fedspec_proofs.kernel.text import checked_theorem
from fedspec_proofs.worst_cases.one_round import HELD

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Attempt:
    """A theorem's statement and its attempted proof.

    Attributes:
        says: the theorem's statement in Coq.
        by: proof term: the soundness theorem of a check, applied to everything except the proof that the check returns
            true.
    """

    says: str
    by: str


def _row(cell: Cell, row: Mapping[str, Any]) -> Attempt:
    return Attempt(statement(cell, row["form"] if cell.algorithm in HELD else []), argument(cell, row))


def _upper(cell: weighed.Weights, row: Mapping[str, Any]) -> Attempt:
    return Attempt(weighed.statement(cell), weighed.argument(cell, row))


def _lower(cell: weighed.Weights, row: Mapping[str, Any]) -> Attempt:
    return Attempt(weighed.statement_below(cell), weighed.argument_below(cell, row))


def whole(page: str, rows: Rows, of_servers: Rows) -> list[Attempt]:
    """Correct theorems as controls: four rows of the tables."""
    stored, found = by_round(rows), {(c.by, c.steps, c.eta_l, c.zeta2): c for c in cells(page)}
    keys = [("fedavg", (1, 3), "1/4", Fraction(1)), ("scaffold", (1, 3), "1/4", Fraction(0))]
    cell, row = _weights(page, of_servers, "free")
    return [*(_row(found[key], stored[key]) for key in keys), _upper(cell, row), _lower(cell, row)]


def _weights(page: str, of_servers: Rows, which: str, zeta2: int = 1) -> tuple[weighed.Weights, dict[str, Any]]:
    key = (which, "1/4", Fraction(zeta2))
    cell = next(c for c in weighed.weights(page) if (c.which, c.eta_l, c.zeta2) == key)
    return cell, dict(weighed.by_cell(of_servers)[key])


def spoiled(page: str, rows: Rows, of_servers: Rows) -> dict[str, Attempt]:
    """Rows with one deliberate change each, by a description of the change."""
    of_rounds = {words: _row(*one) for words, one in _rounds(page, rows).items()}
    return of_rounds | _coefficients(page, of_servers)


def _coefficients(page: str, of_servers: Rows) -> dict[str, Attempt]:
    """Attempts on a server's coefficients: bounds for some coefficients, and lower bounds for all coefficients."""
    best, row = _weights(page, of_servers, "free")
    nova, nova_row = _weights(page, of_servers, "nova")
    alike, alike_row = _weights(page, of_servers, "free", 0)
    own, own_row = _weights(page, of_servers, "fednova")
    first = next(name for name in row["proof"] if name.startswith("F2"))
    gradients = row["vectors"]
    assert best.least is not None and nova.least is not None
    less = Fraction(1, 50)
    uppers = {
        "a smaller bound": (replace(best, bound=best.bound - less), row),
        "another w": (replace(best, w=(best.w[0] + 1, *best.w[1:])), row),
        "FedNova's w at the best number": (replace(own, bound=nova.bound), own_row),
        "other steps": (replace(best, steps=(1, 1, 4, 4)), row),
        "another rate": (replace(best, eta_l="3/8"), row),
        "clients less alike": (replace(best, zeta2=Fraction(2)), row),
        "clients not alike": (replace(alike, zeta2=Fraction(1, 100)), alike_row),
        "zeta left out": (best, _proof(row, {"zeta": None})),
        "a multiplier left out": (best, _proof(row, {first: None})),
        "a multiplier negative": (best, _proof(row, {first: "-1/10"})),
    }
    lowers = {
        "further than the functions show": (replace(best, least=best.least + Fraction(1, 500)), row),
        "any w by FedNova's functions": (replace(best, least=nova.least), nova_row),
        "more steps": (replace(best, steps=(1, 1, 2, 2)), row),
        "a shorter rate": (replace(best, eta_l="1/8"), row),
        "clients more alike": (replace(best, zeta2=Fraction(1, 4)), row),
        "a start further away": (best, {**row, "vectors": {**gradients, "x": _doubled(gradients["x"])}}),
        "another gradient": (best, {**row, "vectors": {**gradients, "F2.g1": _doubled(gradients["F2.g1"])}}),
        "another gradient at x*": (best, {**row, "vectors": {**gradients, "s0": _doubled(gradients["s0"])}}),
        "another value": (best, {**row, "values": {**row["values"], "F0.f0": "7"}}),
    }
    made = {words: _upper(*one) for words, one in uppers.items()} | {
        words: _lower(*one) for words, one in lowers.items()
    }
    return {f"coefficients: {words}": one for words, one in made.items()}


def _doubled(vector: Sequence[str]) -> list[str]:
    return [str(2 * Fraction(c)) for c in vector]


def _rounds(page: str, rows: Rows) -> dict[str, tuple[Cell, Mapping[str, Any]]]:
    """False rows of rounds."""
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


def coq_text(page: str, rows: Rows, of_servers: Rows) -> str:
    """Text of the Coq file: correct rows, which Coq must accept, and changed rows, which Coq must reject.

    Coq accepts this text only if each of the others is refused, and at its end: where the check is to say yes.
    """
    out = [checked_theorem(f"control_{k}", one.says, one.by) for k, one in enumerate(whole(page, rows, of_servers))]
    for k, (words, one) in enumerate(spoiled(page, rows, of_servers).items()):
        text = checked_theorem(f"planted_{k}", one.says, one.by, "Fail Qed. Abort.")
        out.append(f"(* {words.replace('*', '_star')} *)\n{text}")
    return weighed.HEAD + "\n".join(out)
