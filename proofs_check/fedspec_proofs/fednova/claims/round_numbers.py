"""The numbers of docs/worst-cases.md: a round from distance 1, and one of methods whose clients keep a vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from fedspec_proofs.claim import FEDNOVA, Claim, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.worst_case.falling import positive
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.fednova.claims.strongly_convex import (
    SERVER,
    STRONG,
    UNLIKE,
    elsewhere,
    flatter_or_steeper,
    more_unlike,
)
from fedspec_proofs.worst_cases import one_round, tabled
from fedspec_proofs.worst_cases.one_round import HELD, Round, problem_of

PATH = Path(one_round.__file__).with_suffix(".json")
"""Written by ``python scripts/worst_cases.py``."""

RENEW = "python scripts/worst_cases.py"


def rows() -> list[dict[str, Any]]:
    """The rounds, the number of each, and multipliers that prove it."""
    return tabled.read(PATH)


def round_of(row: dict[str, Any]) -> Round:
    """The round of a row."""
    form = tuple(map(tuple, row["form"]))
    return Round(row["algorithm"], tuple(row["steps"]), row["eta_l"], Fraction(row["zeta2"]), row["share"], form)


def by_round(found: Iterable[Mapping[str, Any]]) -> dict[tuple[str, tuple[int, ...], str, Fraction], Mapping[str, Any]]:
    """Rows by algorithm, steps, rate and zeta^2."""
    return {(row["algorithm"], tuple(row["steps"]), row["eta_l"], Fraction(row["zeta2"])): row for row in found}


def _of(kept: bool) -> Iterator[dict[str, Any]]:
    return (row for row in rows() if (row["algorithm"] in HELD) is kept)


def _checked(kept: bool) -> Finding:
    """Every number, by the rule as it stands."""
    above = []
    for row in _of(kept):
        r, bound = round_of(row), Fraction(row["bound"])
        wrong = flaw(problem_of(r, bound), tabled.proof_of(row))
        if kept and not positive(r.P):
            wrong = "its form is not positive definite"
        if wrong:
            return Finding(Verdict.UNKNOWN, f"{r}: {wrong}; {RENEW}")
        above.append((float(bound) - row["worst"], str(r)))
    most, where = max(above)
    evidence = f"{len(above)} numbers, each by multipliers in fractions; at most {most:.4f} above what the program "
    return Finding(Verdict.CERTIFIED, f"{evidence}attains ({where}); docs/worst-cases.md has them")


def _numbers(id: str, statement: str, kept: bool) -> Claim:
    """The claim about all rounds of a kind; its assumptions are dropped at one of them."""
    found = [*_of(kept)]
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
        out = _checked(kept)
        row = next(row for row in found if row["steps"] == [2, 2])
        zeros = {"s0": Fraction(0), **({"c0": Fraction(0), "c1": Fraction(0)} if kept else {})}
        one = round_of(row)
        without = flatter_or_steeper(problem_of(one, Fraction(row["bound"])), one, len(one.steps), **zeros)
        if kept:
            without["server"] = elsewhere(one)
        else:
            last = next(row for row in found if row["steps"] == [1, 3])
            r = round_of(last)
            without["zeta"] = more_unlike(problem_of(r, Fraction(last["bound"])), r)
        return Finding(out.verdict, out.evidence, without)

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
