"""The numbers of docs/worst-cases.md about the best rates of FedProx, SCAFFOLD and FedDyn, proved from both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from fedspec_proofs.claim import FEDNOVA, Claim, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.worst_case.certificates import attained_of, numbers_of
from fedspec_proofs.engines.worst_case.falling import positive
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.fednova.claims.best_rates import APART
from fedspec_proofs.fednova.claims.round_numbers import round_of
from fedspec_proofs.fednova.claims.strongly_convex import (
    SERVER,
    STRONG,
    UNLIKE,
    elsewhere,
    flatter_or_steeper,
    more_unlike,
)
from fedspec_proofs.worst_cases import following_rates, tabled
from fedspec_proofs.worst_cases.following_rates import Stretch
from fedspec_proofs.worst_cases.one_round import HELD, Round, problem_of

PATH = Path(following_rates.__file__).with_suffix(".json")
"""Written by ``python scripts/worst_rates.py``."""

RENEW = "python scripts/worst_rates.py"

KEPT = ((1, 1), (2, 2), (4, 4), (8, 8), (1, 3))
PULLED = ((2, 2), (4, 4))
"""Local steps, of methods whose clients keep a vector and of FedProx; with one step FedProx is FedAvg."""

ASKED = [Round(algorithm, steps, "") for steps in KEPT for algorithm in HELD]
ASKED += [Round("fedprox", steps, "", zeta2) for steps in PULLED for zeta2 in APART]
"""The cells of the tables."""


@dataclass(frozen=True)
class Best:
    """What is shown of some steps of a method.

    Attributes:
        round: at the best rate, with its form where one falls.
        bound: the number there.
        least: what no rate is surely below.
        stretches: of all rates.
    """

    round: Round
    bound: Fraction
    least: Fraction
    stretches: Sequence[Stretch]


def rows() -> list[dict[str, Any]]:
    """The best rates, the number of each and what proves it, and intervals of all rates."""
    return tabled.read(PATH)


def row_of(stretch: Stretch) -> dict[str, Any]:
    """An interval, as the ledger keeps it."""
    return {
        "low": str(stretch.low),
        "high": str(stretch.high) if stretch.high else None,
        "curvatures": [str(c) for c in stretch.curvatures],
        **numbers_of(stretch.functions),
    }


def best_of(row: Mapping[str, Any]) -> Best:
    """What a row of the ledger says."""
    one = round_of(row["best"])
    r = replace(one, eta_l="", form=())
    stretches = [
        Stretch(
            r,
            Fraction(some["low"]),
            Fraction(some["high"]) if some["high"] else None,
            tuple(map(Fraction, some["curvatures"])),
            attained_of(some),
        )
        for some in row["stretches"]
    ]
    return Best(one, Fraction(row["best"]["bound"]), Fraction(row["least"]), stretches)


def wrong_with(row: Mapping[str, Any]) -> str:
    """Why a row proves nothing; empty where it proves its number, and that no other rate is better than the least."""
    found = best_of(row)
    r = found.round
    if r.keeps and not positive(r.P):
        return "its form is not positive definite"
    wrong = flaw(problem_of(r, found.bound), tabled.proof_of(row["best"]))
    return wrong or following_rates.wrong_with(found.stretches, found.least)


def _best_rates(id: str, statement: str, source: Source, kept: bool) -> Claim:
    """The claim about methods of a kind; its assumptions are dropped at one of them."""
    asked = [r for r in ASKED if r.keeps is kept]
    found = [row for row in rows() if (row["best"]["algorithm"] in HELD) is kept]
    more = "two clients, more where their steps are equal by the argument in fedspec_proofs.worst_cases.more_clients"
    steps = "; ".join(dict.fromkeys(f"{r.algorithm}, tau = {r.steps}" for r in asked))
    last = "every eta_l > 0" if kept else f"zeta^2 = {', '.join(map(str, APART))}; every eta_l of (0, 1/mu], mu = L"

    @claim(
        id,
        statement=statement,
        source=source,
        engine=Engine.WORST_CASE,
        verdict=Verdict.CERTIFIED,
        assumptions=STRONG | SERVER if kept else UNLIKE,
        sizes=f"{more}; {steps}; {last}",
    )
    def best_rates() -> Finding:
        apart, intervals = [], 0
        for row in found:
            one = best_of(row)
            if wrong := wrong_with(row):
                return Finding(Verdict.UNKNOWN, f"{one.round}: {wrong}; {RENEW}")
            apart.append(1 - one.least / one.bound)
            intervals += len(one.stretches)
        if [replace(best_of(row).round, eta_l="", form=()) for row in found] != asked:
            return Finding(Verdict.UNKNOWN, f"some cells are missing; {RENEW}")
        evidence = (
            f"{len(found)} numbers by multipliers, and as many that no rate is surely below by clients at {intervals} "
            f"intervals of rates, all in fractions; at most {100 * float(max(apart)):.1f} in a hundred apart; "
            "docs/worst-cases.md has them"
        )
        return Finding(Verdict.CERTIFIED, evidence, _without(best_of(found[-1])))

    return best_rates


def _without(one: Best) -> dict[str, Dropped]:
    """What becomes of a number where clients or the server are others than is assumed."""
    r, n = one.round, len(one.round.steps)
    made = problem_of(r, one.bound)
    zeros = {"s0": Fraction(0), **({f"c{i}": Fraction(0) for i in range(n)} if r.keeps else {})}
    out = flatter_or_steeper(made, r, n, **zeros)
    return {**out, **({"server": elsewhere(r)} if r.keeps else {"zeta": more_unlike(made, r)})}


factors = _best_rates(
    "fednova.best-rates-of-factors",
    "At the rate of the table a positive definite form in x - x* and all c_i - grad F_i(x*) changes in a round of "
    "SCAFFOLD or FedDyn by at most its number; at every eta_l > 0 there are clients and a state of which every such "
    "form becomes the number beside it times what it was, or more",
    Source(FEDNOVA, "ours, about SCAFFOLD and FedDyn, external"),
    kept=True,
)

distances = _best_rates(
    "fednova.best-rates-of-fedprox",
    "A round of FedProx from |x - x*| <= 1 ends at |x_+ - x*|^2 at most the number of the table at its rate; at every "
    "other eta_l that the rule takes with its mu it may end at the number beside it, or beyond",
    Source(FEDNOVA, "ours, about rounds of FedProx"),
    kept=False,
)
