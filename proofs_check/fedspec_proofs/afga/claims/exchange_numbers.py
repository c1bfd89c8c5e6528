"""The table of docs/worst-cases.md about peers: by which factor a form falls when they mix by a given matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from fedspec_proofs.claim import AFGA, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.worst_case.replay import Parabola, dropped
from fedspec_proofs.worst_cases import exchanges, tabled
from fedspec_proofs.worst_cases.exchanges import Exchanged, problem_of

PATH = Path(exchanges.__file__).with_suffix(".json")
"""Written by ``python scripts/worst_exchanges.py``."""

RENEW = "python scripts/worst_exchanges.py"

Key = tuple[str, tuple[tuple[str, ...], ...], int, str]


def rows() -> list[dict[str, Any]]:
    """The exchanges, the number of each, and multipliers that prove it."""
    return tabled.read(PATH)


def exchanged_of(row: Mapping[str, Any]) -> Exchanged:
    """The exchange of a row."""
    W, P = (tuple(map(tuple, row[name])) for name in ("W", "form"))
    return Exchanged(row["algorithm"], W, row["tau"], row["eta_l"], P)


def by_exchange(found: Iterable[Mapping[str, Any]]) -> dict[Key, Mapping[str, Any]]:
    """Rows by algorithm, matrix, steps and rate."""
    return {(r["algorithm"], tuple(map(tuple, r["W"])), r["tau"], r["eta_l"]): r for r in found}


def wrong_with(row: Mapping[str, Any]) -> str:
    """Why a row proves nothing; empty where its multipliers prove its number, by the rule as it stands."""
    return tabled.wrong_with(row, exchanged_of(row), problem_of)


def _without(row: Mapping[str, Any]) -> dict[str, Dropped]:
    """What becomes of a number where clients are less convex or steeper, or what they keep has another sum."""
    r, out = exchanged_of(row), {}
    made, zeros = problem_of(r, Fraction(row["bound"])), {f"{a}{i}": Fraction(0) for a in "cs" for i in range(r.n - 1)}
    for name, c in (("strong", -1), ("smooth", 100)):
        start = zeros | {f"x{i}": Fraction(1) for i in range(r.n)}
        out[name] = dropped(made, [Parabola(Fraction(c))] * r.n, but="F", words=f"F_i = {c} x^2/2, {r}, X = 1", **start)
    kept = [Fraction(0)] * (r.n - 1) + [Fraction(1)]
    ended = r.after([exact.vector(0)] * r.n, [exact.vector(c) for c in kept], [lambda k, y: y] * r.n)
    moved = [x[0] for x in ended[: r.n]]
    before, after = (", ".join(map(str, some)) for some in (kept, moved))
    words = f"F_i = x^2/2, {r}, X = x* = 0, c = {before}: the form was 0, X is {after}"
    return {**out, "sum": Dropped(any(moved), words)}


_FOUND = rows()


@claim(
    "afga.exchange-factors",
    statement="When peers exchange models by the matrix of the table, a positive definite quadratic form in all X_i - "
    "x* and all c_i + grad F_i(x*) changes by at most the number of the table, however unlike they are; c_i is what "
    "K-GT, DIGing, D2 and LED keep in the place of -grad F_i(x*)",
    source=Source(AFGA, "ours, about gossip (L182-185) that comes to x* itself; K-GT, DIGing, D2, LED are external"),
    engine=Engine.WORST_CASE,
    verdict=Verdict.CERTIFIED,
    assumptions={
        "strong": "every F_i is mu-strongly convex, mu = L/10",
        "smooth": "every F_i has gradients that are Lipschitz with constant L = 1, in any dimension",
        "sum": "the c_i sum to zero, as they do from where the methods begin",
    },
    sizes=f"{', '.join(dict.fromkeys(row['algorithm'] for row in _FOUND))}; "
    f"{len({tuple(map(tuple, row['W'])) for row in _FOUND})} matrices of up to {max(len(row['W']) for row in _FOUND)} "
    f"clients; tau = {', '.join(dict.fromkeys(str(row['tau']) for row in _FOUND))}; "
    f"eta_l = {', '.join(dict.fromkeys(row['eta_l'] for row in _FOUND))}",
)
def exchange_factors() -> Finding:
    for row in _FOUND:
        if wrong := wrong_with(row):
            return Finding(Verdict.UNKNOWN, f"{exchanged_of(row)}: {wrong}; {RENEW}")
    return Finding(Verdict.CERTIFIED, tabled.evidence(_FOUND), _without(_FOUND[0]))
