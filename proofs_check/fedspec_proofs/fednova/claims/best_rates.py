"""The numbers of docs/worst-cases.md about FedAvg's and FedNova's best rates: proved from above, shown from below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from fedspec_proofs.claim import FEDNOVA, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.worst_case.certificates import attained_of, numbers_of
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.fednova.claims import round_numbers
from fedspec_proofs.fednova.claims.round_numbers import RENEW, round_of
from fedspec_proofs.fednova.claims.strongly_convex import UNLIKE, flatter_or_steeper, more_unlike
from fedspec_proofs.worst_cases import between_rates, tabled
from fedspec_proofs.worst_cases.between_rates import Piece, method_of
from fedspec_proofs.worst_cases.one_round import problem_of

PATH = Path(between_rates.__file__).with_suffix(".json")
"""Written by ``python scripts/worst_cases.py``."""

LOCAL = ((1, 1), (2, 2), (4, 4), (8, 8), (1, 3))
APART = (Fraction(0), Fraction(1, 16), Fraction(1, 4), Fraction(1))
"""Local steps, and zeta^2."""

ASKED = [(steps, z) for steps in LOCAL for z in APART]
"""The cells of the table."""


@dataclass(frozen=True)
class Cell:
    """What is shown of some local steps of clients so unlike.

    Attributes:
        pieces: intervals of rates, with functions.
        least: what a round may end at, or beyond, at every rate.
    """

    pieces: Sequence[Piece]
    least: Fraction


def rows() -> list[dict[str, Any]]:
    """The intervals of all cells, in order."""
    return tabled.read(PATH)


def row_of(piece: Piece, least: Fraction) -> dict[str, Any]:
    """An interval, as the ledger keeps it."""
    return {
        "steps": piece.steps,
        "zeta2": str(piece.zeta2),
        "least": str(least),
        "low": str(piece.low),
        "high": str(piece.high) if piece.high else None,
        **numbers_of(piece.functions),
    }


def piece_of(row: Mapping[str, Any]) -> Piece:
    """The interval of a row."""
    high = Fraction(row["high"]) if row["high"] else None
    return Piece(tuple(row["steps"]), Fraction(row["zeta2"]), Fraction(row["low"]), high, attained_of(row))


def cells(found: Iterable[Mapping[str, Any]]) -> dict[tuple[tuple[int, ...], Fraction], Cell]:
    """The intervals by steps and zeta^2; of several numbers in one cell the largest is to be shown."""
    out: dict[tuple[tuple[int, ...], Fraction], Cell] = {}
    for row in found:
        piece, least = piece_of(row), Fraction(row["least"])
        key = piece.steps, piece.zeta2
        before = out.get(key, Cell((), least))
        out[key] = Cell((*before.pieces, piece), max(before.least, least))
    return out


def best(found: Sequence[dict[str, Any]], steps: tuple[int, ...], zeta2: Fraction) -> dict[str, Any]:
    """Of the certified rounds with such steps, the one with the least number."""
    mine = [
        row
        for row in found
        if (row["algorithm"], tuple(row["steps"]), Fraction(row["zeta2"])) == (method_of(steps), steps, zeta2)
    ]
    return min(mine, key=lambda row: Fraction(row["bound"]))


def _without(row: dict[str, Any]) -> dict[str, Dropped]:
    """What becomes of the number at the best rate where clients are less convex, steeper, or more unlike."""
    r = round_of(row)
    made = problem_of(r, Fraction(row["bound"]))
    return {**flatter_or_steeper(made, r, len(r.steps), s0=Fraction(0)), "zeta": more_unlike(made, r)}


@claim(
    "fednova.best-rates",
    statement="With K local steps each a round of FedAvg, with 1 and 3 one of FedNova, from |x - x*| <= 1 ends at "
    "|x_+ - x*|^2 at most the number of the table at its rate; at every other eta_l > 0 it may end at the number "
    "beside it, or beyond",
    source=Source(FEDNOVA, "ours, about rounds of FedAvg and FedNova"),
    engine=Engine.WORST_CASE,
    verdict=Verdict.CERTIFIED,
    assumptions=UNLIKE,
    sizes=f"two clients, of FedAvg more by the argument in fedspec_proofs.worst_cases.more_clients; K = "
    f"{', '.join(str(steps[0]) for steps in LOCAL if len(set(steps)) == 1)}; "
    f"zeta^2 = {', '.join(map(str, APART))}; every eta_l > 0",
)
def best_rates() -> Finding:
    found, certain = cells(rows()), round_numbers.rows()
    apart, pieces = [], 0
    for (steps, zeta2), cell in found.items():
        row = best(certain, steps, zeta2)
        bound = Fraction(row["bound"])
        wrong = flaw(problem_of(round_of(row), bound), tabled.proof_of(row))
        if wrong := wrong or between_rates.wrong_with(cell.pieces, cell.least):
            return Finding(Verdict.UNKNOWN, f"steps {steps}, zeta^2 = {zeta2}: {wrong}; {RENEW}")
        apart.append(1 - cell.least / bound)
        pieces += len(cell.pieces)
    if [*found] != ASKED:
        return Finding(Verdict.UNKNOWN, f"some cells have no intervals; {RENEW}")
    evidence = (
        f"{len(found)} numbers by multipliers, and as many that no rate is surely below by functions at {pieces} "
        f"intervals of rates, all in fractions; at most {100 * float(max(apart)):.1f} in a hundred apart"
    )
    row = best(certain, (2, 2), Fraction(1))
    return Finding(Verdict.CERTIFIED, f"{evidence}; docs/worst-cases.md has them", _without(row))
