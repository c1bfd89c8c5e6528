"""Tables of docs/worst-cases.md for a round: distances from 1, and factors of methods with client state.

The numbers of docs/worst-cases.md for every number of clients: the same multipliers, divided among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from fedspec_proofs.claim import Claim, Dropped, Finding, Verdict, claim
from fedspec_proofs.engines.worst_case.falling import positive
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.engines.worst_case.replay import Parabola, dropped
from fedspec_proofs.fednova.claims.strongly_convex import SERVER, UNLIKE, more_unlike, without
from fedspec_proofs.worst_cases.more_clients import among, many
from fedspec_proofs.worst_cases.one_round import HELD, STRONG, Round, problem_of
from fedspec_proofs.worst_cases.tabled import Row, Table, proof_of

TABLE: Table[Round] = Table(
    "one_round", "worst_cases", Round, ("algorithm", "steps", "eta_l", "zeta2", "share", "form"), problem_of
)


def by_round(found: Iterable[Mapping[str, Any]]) -> dict[tuple[str, tuple[int, ...], str, Fraction], Mapping[str, Any]]:
    """Rows by algorithm, steps, rate and zeta^2."""
    return {(row["algorithm"], tuple(row["steps"]), row["eta_l"], Fraction(row["zeta2"])): row for row in found}


def flawed(r: Round, bound: Fraction, proof: Mapping[str, Fraction]) -> str:
    """Reason why multipliers don't prove the bound of a round; empty if the multipliers prove it."""
    if r.keeps and not positive(r.P):
        return "its form is not positive definite"
    return flaw(problem_of(r, bound), proof)


def _dropped(found: Sequence[Row], row: Row) -> dict[str, Dropped]:
    """The instances without one assumption, at a row; unlike clients take other steps than each other."""
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
        source="ours, about rounds of FedAvg, FedProx, FedNova; SCAFFOLD and FedDyn are external",
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


def _unlike(bound: Fraction) -> Dropped:
    """A client that takes one step and one that takes three, and the number for two steps."""
    r = Round("fedavg", (1, 3), "1/4", 1)
    parabolas = [Parabola(Fraction(1, 10), Fraction(-10)), Parabola(Fraction(1, 10), Fraction(10))]
    words = f"F_1 = (x + 10)^2/20, F_2 = (x - 10)^2/20, {r}, from x = 1"
    return dropped(problem_of(r, bound), parabolas, but="", words=words, x=Fraction(1), s0=Fraction(1))


@claim(
    "fednova.round-every-n",
    statement="Where each kind of client, of equal numbers of steps, has two clients or more, the numbers of the "
    "tables are proved for any number of clients with kinds in these proportions, by the same multipliers divided "
    "among them",
    source="ours, about rounds of FedAvg, FedProx, FedNova; SCAFFOLD and FedDyn are external",
    verdict=Verdict.CERTIFIED,
    assumptions={"kinds": "clients take the steps of the table, in the same proportions"},
    sizes="checked for 3 clients where all take equally many steps, for 5 where these are one or two, and for 8 where "
    "half of them take one and half three; for every n by the argument in fedspec_proofs.worst_cases.more_clients",
)
def every_n() -> Finding:
    checked = 0
    rows = TABLE.rows()
    for row in rows:
        r, bound = TABLE.asked(row), Fraction(row["bound"])
        if not many(r):
            continue
        for n in (8,) if len(set(r.steps)) > 1 else (3, 5) if max(r.steps) < 3 else (3,):
            more, divided = among(r, proof_of(row), n)
            checked += 1
            if wrong := flaw(problem_of(more, bound), divided):
                return Finding(Verdict.UNKNOWN, f"{more}: {wrong}; {TABLE.renew}")
    two = next(row for row in rows if row["algorithm"] == "fedavg" and row["steps"] == [2, 2] and row["zeta2"] == 1)
    evidence = f"{checked} numbers, each by the multipliers of fewer clients, in fractions"
    return Finding(Verdict.CERTIFIED, evidence, {"kinds": _unlike(Fraction(two["bound"]))})
