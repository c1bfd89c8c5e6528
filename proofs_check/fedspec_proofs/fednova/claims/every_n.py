"""The numbers of docs/worst-cases.md for every number of clients: the same multipliers, divided among them."""

from __future__ import annotations

from fractions import Fraction

from fedspec_proofs.claim import FEDNOVA, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.engines.worst_case.replay import Parabola, dropped
from fedspec_proofs.fednova.claims.round_numbers import TABLE
from fedspec_proofs.worst_cases.more_clients import among, many
from fedspec_proofs.worst_cases.one_round import Round, problem_of
from fedspec_proofs.worst_cases.tabled import proof_of


def _unlike(bound: Fraction) -> Dropped:
    """One client that takes one step and one that takes three, and the number for two steps."""
    r = Round("fedavg", (1, 3), "1/4", 1)
    parabolas = [Parabola(Fraction(1, 10), Fraction(-10)), Parabola(Fraction(1, 10), Fraction(10))]
    words = f"F_1 = (x + 10)^2/20, F_2 = (x - 10)^2/20, {r}, from x = 1"
    return dropped(problem_of(r, bound), parabolas, but="", words=words, x=Fraction(1), s0=Fraction(1))


@claim(
    "fednova.round-every-n",
    statement="Where each kind of client, of equal numbers of steps, has two clients or more, the numbers of the "
    "tables are proved for any number of clients with kinds in these proportions, by the same multipliers divided "
    "among them",
    source=Source(FEDNOVA, "ours, about rounds of FedAvg, FedProx, FedNova; SCAFFOLD and FedDyn are external"),
    engine=Engine.WORST_CASE,
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
