"""The tables of docs/worst-cases.md about servers that keep something: rows, what is wrong with them, and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from fedspec_proofs.claim import Claim, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.worst_cases import outer, tabled
from fedspec_proofs.worst_cases.outer import LATE, Outer, problem_of

PATH = Path(outer.__file__).with_suffix(".json")
"""Written by ``python scripts/worst_outer.py``."""

RENEW = "python scripts/worst_outer.py"


def among(proof: Mapping[str, Fraction], n: int) -> dict[str, Fraction]:
    """Two clients' multipliers, divided among n: the mean of both for each, times 2/n."""
    ks = {name.partition(" ")[2] for name in proof}
    both = {k: sum((proof.get(f"F{i} {k}", Fraction(0)) for i in range(2)), Fraction(0)) for k in ks}
    return {f"F{i} {k}": c / n for k, c in both.items() for i in range(n)}


def rows() -> list[dict[str, Any]]:
    """The rounds of the tables, the number of each, and multipliers that prove it."""
    return tabled.read(PATH)


def outer_of(row: Mapping[str, Any]) -> Outer:
    """The round of a row."""
    numbers, P = tuple(map(tuple, row["numbers"])), tuple(map(tuple, row["form"]))
    return Outer(row["algorithm"], row["tau"], row["eta_l"], numbers, row["delay"], form=P)


def wrong_with(row: Mapping[str, Any], *more: int) -> str:
    """Why a row proves nothing, of two clients or of more; empty where it does, by the rule as it stands."""
    return tabled.wrong_with(row, outer_of(row), problem_of, among, more)


def grown(r: Outer, curvature: Fraction) -> Fraction:
    """What the form becomes of 1 in a round of clients F_i = c x^2 / 2, from x = 1 (and before), all else zero."""
    first = [Fraction(1)] + [Fraction(r.algorithm in LATE)] * (len(r.names) - 1)
    clients = [lambda k, y: curvature * y] * r.n
    ended = [y[0] for y in r.after([exact.vector(c) for c in first], clients)]
    return tabled.value(r.P, ended) / tabled.value(r.P, first)


def factors(id: str, statement: str, source: Source, which: Sequence[str]) -> Claim:
    """The claim about the tables' rounds of some algorithms; its assumptions are dropped at one of them."""
    found = [row for row in rows() if row["algorithm"] in which]

    @claim(
        id,
        statement=statement,
        source=source,
        engine=Engine.WORST_CASE,
        verdict=Verdict.CERTIFIED,
        assumptions={
            "strong": "every F_i is mu-strongly convex, mu = L/10",
            "smooth": "every F_i has gradients that are Lipschitz with constant L = 1, in any dimension",
        },
        sizes="two clients, and three by the same multipliers; more by the argument in "
        "fedspec_proofs.worst_cases.more_clients; "
        f"tau = {', '.join(dict.fromkeys(str(row['tau']) for row in found))}; "
        f"eta_l = {', '.join(dict.fromkeys(row['eta_l'] for row in found))}",
    )
    def numbers() -> Finding:
        for row in found:
            if wrong := wrong_with(row, 3):
                return Finding(Verdict.UNKNOWN, f"{outer_of(row)}: {wrong}; {RENEW}")
        one, bound = outer_of(found[0]), Fraction(found[0]["bound"])
        without = {}
        for name, c in (("strong", Fraction(-1)), ("smooth", Fraction(100))):
            ratio = grown(one, c)
            words = f"F_i = {c} x^2/2, {one}, from x = 1: the form grows by {float(ratio):.4g}, and not {float(bound)}"
            without[name] = Dropped(ratio > bound, words)
        return Finding(Verdict.CERTIFIED, tabled.evidence(found), without)

    return numbers
