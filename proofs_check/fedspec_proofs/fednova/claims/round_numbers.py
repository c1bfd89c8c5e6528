"""The numbers of docs/worst-cases.md: a round from distance 1, and one of methods whose clients keep a vector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from fedspec_proofs.claim import FEDNOVA, Claim, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.worst_case.falling import positive
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.fednova.claims.strongly_convex import (
    SERVER,
    UNLIKE,
    more_unlike,
    without,
)
from fedspec_proofs.worst_cases.one_round import HELD, STRONG, Round, problem_of
from fedspec_proofs.worst_cases.tabled import Row, Table

TABLE: Table[Round] = Table(
    "one_round", "worst_cases", Round, ("algorithm", "steps", "eta_l", "zeta2", "share", "form"), problem_of
)


def by_round(found: Iterable[Mapping[str, Any]]) -> dict[tuple[str, tuple[int, ...], str, Fraction], Mapping[str, Any]]:
    """Rows by algorithm, steps, rate and zeta^2."""
    return {(row["algorithm"], tuple(row["steps"]), row["eta_l"], Fraction(row["zeta2"])): row for row in found}


def flawed(r: Round, bound: Fraction, proof: Mapping[str, Fraction]) -> str:
    """The reason why multipliers do not prove the number of a round; empty if they do."""
    if r.keeps and not positive(r.P):
        return "its form is not positive definite"
    return flaw(problem_of(r, bound), proof)


def _dropped(found: Sequence[Row], row: Row) -> dict[str, Dropped]:
    """What happens without an assumption at a row; unlike clients take other steps than each other."""
    r = TABLE.asked(row)
    out = without(problem_of(r, Fraction(row["bound"])), r)
    if not r.keeps:
        last = next(row for row in found if row["steps"] == [1, 3])
        r = TABLE.asked(last)
        out["zeta"] = more_unlike(problem_of(r, Fraction(last["bound"])), r)
    return out


def _numbers(id: str, statement: str, kept: bool) -> Claim:
    """The claim about all rounds of a kind; its assumptions are dropped at one of them."""
    found = [row for row in TABLE.rows() if (row["algorithm"] in HELD) is kept]
    sizes = sorted({(row["algorithm"], tuple(row["steps"])) for row in found})
    rates = list(dict.fromkeys(row["eta_l"] for row in found))

    @claim(
        id,
        statement=statement,
        source=Source(FEDNOVA, "ours, about rounds of FedAvg, FedProx, FedNova; SCAFFOLD and FedDyn are external"),
        engine=Engine.WORST_CASE,
        verdict=Verdict.CERTIFIED,
        assumptions=STRONG | SERVER if kept else UNLIKE,
        sizes="; ".join(f"{algorithm}, tau = {steps}" for algorithm, steps in sizes) + f"; eta_l = {', '.join(rates)}",
    )
    def numbers() -> Finding:
        return TABLE.finding(found, lambda row: _dropped(found, row), at=[row["steps"] for row in found].index([2, 2]))

    return numbers


distances = _numbers(
    "fednova.round-distances",
    "From |x - x*| <= 1 a round of FedAvg, FedProx or FedNova ends at |x_+ - x*|^2 at most the number of the table",
    kept=False,
)

factors = _numbers(
    "fednova.round-factors",
    "In a round of SCAFFOLD or FedDyn a positive definite quadratic form in x - x* and all c_i - grad F_i(x*) changes "
    "by at most the factor of the table, however unlike the clients are",
    kept=True,
)
