"""Claims about the tables of docs/worst-cases.md on servers with momentum or late changes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fedspec_proofs.claim import Claim, Dropped, Finding, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.worst_cases import tabled
from fedspec_proofs.worst_cases.more_clients import shared
from fedspec_proofs.worst_cases.one_round import STRONG
from fedspec_proofs.worst_cases.outer import LATE, Outer
from fedspec_proofs.worst_cases.tabled import Row, Table, each, grows

TABLE = Table(
    "outer",
    "worst_outer",
    Outer,
    ("algorithm", "tau", "eta_l", "numbers", "delay", "form"),
    Outer.problem,
    shared,
)


def grown(r: Outer, curvature: Fraction) -> Fraction:
    """Growth of the form in a round with clients F_i = c x^2 / 2, from x = 1 (late models too), the rest zero."""
    first = [Fraction(1)] + [Fraction(r.algorithm in LATE)] * (len(r.names) - 1)
    clients = [lambda k, y: curvature * y] * r.n
    ended = [y[0] for y in r.after([exact.vector(c) for c in first], clients)]
    return tabled.value(r.P, ended) / tabled.value(r.P, first)


def _without(row: Row) -> dict[str, Dropped]:
    one = TABLE.asked(row)
    return {
        name: grows(grown(one, Fraction(c)), row, f"F_i = {c} x^2/2, {one}, from x = 1")
        for name, c in (("strong", -1), ("smooth", 100))
    }


def factors(id: str, statement: str, source: str, which: Sequence[str]) -> Claim:
    """Make the claim about the tabled rounds of some algorithms; its assumptions are dropped at one of the rounds."""
    found = [row for row in TABLE.rows() if row["algorithm"] in which]

    @claim(
        id,
        statement=statement,
        source=source,
        verdict=Verdict.CERTIFIED,
        assumptions=STRONG,
        sizes="two clients, and three by the same multipliers; more by the argument in "
        "fedspec_proofs.worst_cases.more_clients; "
        f"tau = {each(found, 'tau')}; "
        f"eta_l = {each(found, 'eta_l')}",
    )
    def numbers() -> Finding:
        return TABLE.finding(found, _without, 3)

    return numbers
