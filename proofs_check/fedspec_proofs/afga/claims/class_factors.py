"""The table of docs/worst-cases.md about peers that mix by any symmetric matrix with eigenvalues in an interval."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from fedspec_proofs.claim import AFGA, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.worst_cases import spectral, tabled
from fedspec_proofs.worst_cases.exchanges import Words, circulant, mixing_of
from fedspec_proofs.worst_cases.spectral import Mixed, among, problem_of

PATH = Path(spectral.__file__).with_suffix(".json")
"""Written by ``python scripts/worst_spectral.py``."""

RENEW = "python scripts/worst_spectral.py"


def rows() -> list[dict[str, Any]]:
    """The exchanges, the number of each, and multipliers that prove it."""
    return tabled.read(PATH)


def mixed_of(row: Mapping[str, Any]) -> Mixed:
    """The exchange of a row."""
    P = tuple(map(tuple, row["form"]))
    return Mixed(row["algorithm"], row["low"], row["high"], row["tau"], row["eta_l"], P)


def wrong_with(row: Mapping[str, Any], *more: int) -> str:
    """Why a row proves nothing, of two clients or of more; empty where it does, by the rule as it stands."""
    return tabled.wrong_with(row, mixed_of(row), problem_of, among, more)


def grown(r: Mixed, curvature: Fraction, W: Words) -> Fraction:
    """What the form becomes of 1 from models 1 and -1, k_i = 0, F_i = c x^2 / 2."""
    X, zero = [exact.vector(1), exact.vector(-1)], [exact.vector(0)] * 2
    ended = r.after(X, zero, [lambda k, y: curvature * y] * 2, mixing_of(W))
    x, k = (ended[0][0] - ended[1][0]) / 2, ended[2][0]
    P = r.P
    mean = (ended[0][0] + ended[1][0]) / 2
    after = P[0][0] * mean**2 + P[1][1] * x**2 + 2 * P[1][2] * x * k + P[2][2] * k**2
    ratio: Fraction = after / P[1][1]
    return ratio


_FOUND = rows()


@claim(
    "afga.class-factors",
    statement="When peers exchange models by symmetric matrices with eigenvalues in the interval of the table, others "
    "at every exchange, a positive definite quadratic form in the mean of X_i - x*, all X_i less it and all c_i + grad "
    "F_i(x*) changes by at most the number of the table, however unlike they are; c_i as in afga.exchange-factors",
    source=Source(AFGA, "ours, about gossip (L182-185) that comes to x* itself; K-GT, DIGing, D2, LED are external"),
    engine=Engine.WORST_CASE,
    verdict=Verdict.CERTIFIED,
    assumptions={
        "strong": "every F_i is mu-strongly convex, mu = L/10",
        "smooth": "every F_i has gradients that are Lipschitz with constant L = 1, in any dimension",
        "spectrum": "W is symmetric, W 1 = 1, and its other eigenvalues are in the interval",
    },
    sizes="two clients, and three by the same multipliers; more by the argument in "
    "fedspec_proofs.worst_cases.more_clients; "
    f"{', '.join(dict.fromkeys(row['algorithm'] for row in _FOUND))}; "
    f"{len({(row['low'], row['high']) for row in _FOUND})} intervals; tau = 1, 2; eta_l = 1/4, 1",
)
def class_factors() -> Finding:
    for row in _FOUND:
        if wrong := wrong_with(row, 3):
            return Finding(Verdict.UNKNOWN, f"{mixed_of(row)}: {wrong}; {RENEW}")
    one = next(row for row in _FOUND if (row["algorithm"], row["tau"], row["eta_l"]) == ("led", 1, "1/4"))
    r, bound, without = mixed_of(one), Fraction(one["bound"]), {}
    half, none = circulant("3/4", "1/4"), circulant("1", "0")
    for name, c, W in (("strong", -100, half), ("smooth", 100, half), ("spectrum", Fraction(1, 10), none)):
        ratio = grown(r, Fraction(c), W)
        words = f"F_i = {c} x^2/2, W = ({', '.join(W[0])}; {', '.join(W[1])}), {r}, X = 1, -1"
        without[name] = Dropped(ratio > bound, f"{words}: the form grows by {float(ratio):.4g}, and not {float(bound)}")
    return Finding(Verdict.CERTIFIED, tabled.evidence(_FOUND), without)
