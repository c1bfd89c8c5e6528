"""Several rounds, as in docs/worst-cases.md: bounded jointly, and by chaining one-round bounds.

A server's momentum over clients with SGD: by which factor two of its states come closer in a round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from fedspec_proofs.claim import Finding, Verdict, claim
from fedspec_proofs.fednova.claims.strongly_convex import UNLIKE, without
from fedspec_proofs.worst_cases.outer_claims import factors
from fedspec_proofs.worst_cases.several_rounds import Several, problem_of
from fedspec_proofs.worst_cases.tabled import Table, each

TABLE: Table[Several] = Table(
    "several_rounds",
    "worst_rounds",
    Several,
    ("algorithm", "steps", "eta_l", "zeta2", "rounds", "start"),
    problem_of,
)
"""Rounds with their bounds and multipliers; after them the links of the chains, in order."""

Key = tuple[str, tuple[int, ...], str, Fraction]
"""Algorithm, local steps, rate and zeta^2."""


def key_of(r: Several) -> Key:
    """Key of the rounds: algorithm, local steps, rate and zeta^2."""
    return r.algorithm, r.steps, r.eta_l, r.zeta2


def at_once(found: Sequence[Mapping[str, Any]]) -> dict[tuple[Key, int], Fraction]:
    """Bounds of R rounds, each from a single program over all of them."""
    return {
        (key_of(r), r.rounds): Fraction(row["bound"])
        for row in found
        if not row["link"] and (r := TABLE.asked(row)).start == 1
    }


def chains(found: Sequence[Mapping[str, Any]]) -> dict[Key, list[Fraction]]:
    """Bounds after each link, for all chains.

    Raises:
        ValueError: a link doesn't begin where the previous link ends.
    """
    out: dict[Key, list[Fraction]] = {}
    for row in found:
        if not row["link"]:
            continue
        r = TABLE.asked(row)
        ends = out.setdefault(key_of(r), [])
        if r.rounds != 1 or r.start != (ends[-1] if ends else 1):
            raise ValueError(f"several rounds: got {r}; a link must be one round that starts at the previous bound")
        ends.append(Fraction(row["bound"]))
    return out


_FOUND = TABLE.rows()


@claim(
    "fednova.several-rounds",
    statement="After R rounds of FedAvg or FedNova from |x - x*| <= 1 |x_R - x*|^2 is at most the number of the table; "
    "and at most the number beside it, by single rounds one after another",
    source="ours, about rounds of FedAvg and FedNova",
    verdict=Verdict.CERTIFIED,
    assumptions=UNLIKE,
    sizes=f"two clients; tau = (2, 2), (1, 3); eta_l = {each(_FOUND, 'eta_l')}; "
    f"zeta^2 = {each(_FOUND, 'zeta2')}; "
    f"R up to {max(row['rounds'] for row in _FOUND)}",
)
def several() -> Finding:
    for row in _FOUND:
        if wrong := TABLE.wrong_with(row):
            return Finding(Verdict.UNKNOWN, f"{TABLE.asked(row)}: {wrong}; {TABLE.renew}")
    once, linked = at_once(_FOUND), chains(_FOUND)
    nearer = max(linked[key][R - 1] - bound for (key, R), bound in once.items())
    evidence = (
        f"{len(once)} numbers of rounds at once, {sum(map(len, linked.values()))} links of chains, each by multipliers "
        f"in fractions; at once is up to {float(nearer):.3f} less; docs/worst-cases.md has them"
    )
    row = next(row for row in _FOUND if row["steps"] == [1, 3] and row["rounds"] == 2)
    r = TABLE.asked(row)
    return Finding(Verdict.CERTIFIED, evidence, without(problem_of(r, Fraction(row["bound"])), r))


momentum = factors(
    "fednova.outer-factors",
    "In a round of FedAvgM, heavy ball or Nesterov, a positive definite quadratic form in the difference of two states "
    "(x, v) changes by at most the number of the table, whatever the clients: below 1 its rounds go to one model",
    "ours, about server momentum (L204, L244); with DiLoCo's numbers and SGD for its clients' AdamW",
    ("fedavgm",),
)
