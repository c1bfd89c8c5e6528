"""The table of docs/worst-cases.md about several rounds: at once, and one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from fedspec_proofs.claim import FEDNOVA, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.fednova.claims.strongly_convex import UNLIKE, flatter_or_steeper, more_unlike
from fedspec_proofs.worst_cases import several_rounds, tabled
from fedspec_proofs.worst_cases.several_rounds import Several, problem_of

PATH = Path(several_rounds.__file__).with_suffix(".json")
"""Written by ``python scripts/worst_rounds.py``."""

RENEW = "python scripts/worst_rounds.py"

Key = tuple[str, tuple[int, ...], str, Fraction]
"""An algorithm, steps, a rate and zeta^2."""


def rows() -> list[dict[str, Any]]:
    """The rounds, the number of each, and multipliers that prove it; then the links of the chains, in order."""
    return tabled.read(PATH)


def several_of(row: Mapping[str, Any]) -> Several:
    """The rounds of a row."""
    zeta2, start = Fraction(row["zeta2"]), Fraction(row["start"])
    return Several(row["algorithm"], tuple(row["steps"]), row["eta_l"], zeta2, row["rounds"], start)


def key_of(r: Several) -> Key:
    """Whose rounds they are."""
    return r.algorithm, r.steps, r.eta_l, r.zeta2


def wrong_with(row: Mapping[str, Any]) -> str:
    """Why a row proves nothing; empty where its multipliers prove its number, by the rule as it stands."""
    r = several_of(row)
    return flaw(problem_of(r, Fraction(row["bound"])), tabled.proof_of(row))


def at_once(found: Sequence[Mapping[str, Any]]) -> dict[tuple[Key, int], Fraction]:
    """The numbers of R rounds as one program."""
    return {
        (key_of(r), r.rounds): Fraction(row["bound"])
        for row in found
        if not row["link"] and (r := several_of(row)).start == 1
    }


def chains(found: Sequence[Mapping[str, Any]]) -> dict[Key, list[Fraction]]:
    """What each link of a chain ends at.

    Raises:
        ValueError: a link does not begin where the one before it ends.
    """
    out: dict[Key, list[Fraction]] = {}
    for row in found:
        if not row["link"]:
            continue
        r = several_of(row)
        ends = out.setdefault(key_of(r), [])
        if r.rounds != 1 or r.start != (ends[-1] if ends else 1):
            raise ValueError(f"several rounds: {r} is no next link of its chain")
        ends.append(Fraction(row["bound"]))
    return out


_FOUND = rows()


def _without(row: Mapping[str, Any]) -> dict[str, Dropped]:
    """What becomes of a number where clients are less convex, steeper, or more unlike."""
    r = several_of(row)
    made = problem_of(r, Fraction(row["bound"]))
    return {**flatter_or_steeper(made, r, len(r.steps), s0=Fraction(0)), "zeta": more_unlike(made, r)}


@claim(
    "fednova.several-rounds",
    statement="After R rounds of FedAvg or FedNova from |x - x*| <= 1 |x_R - x*|^2 is at most the number of the table; "
    "and at most the number beside it, by single rounds one after another",
    source=Source(FEDNOVA, "ours, about rounds of FedAvg and FedNova"),
    engine=Engine.WORST_CASE,
    verdict=Verdict.CERTIFIED,
    assumptions=UNLIKE,
    sizes=f"two clients; tau = (2, 2), (1, 3); eta_l = {', '.join(dict.fromkeys(row['eta_l'] for row in _FOUND))}; "
    f"zeta^2 = {', '.join(dict.fromkeys(row['zeta2'] for row in _FOUND))}; "
    f"R up to {max(row['rounds'] for row in _FOUND)}",
)
def several() -> Finding:
    for row in _FOUND:
        if wrong := wrong_with(row):
            return Finding(Verdict.UNKNOWN, f"{several_of(row)}: {wrong}; {RENEW}")
    once, linked = at_once(_FOUND), chains(_FOUND)
    nearer = max(linked[key][R - 1] - bound for (key, R), bound in once.items())
    evidence = (
        f"{len(once)} numbers of rounds at once, {sum(map(len, linked.values()))} links of chains, each by multipliers "
        f"in fractions; at once is up to {float(nearer):.3f} less; docs/worst-cases.md has them"
    )
    row = next(row for row in _FOUND if row["steps"] == [1, 3] and row["rounds"] == 2)
    return Finding(Verdict.CERTIFIED, evidence, _without(row))
