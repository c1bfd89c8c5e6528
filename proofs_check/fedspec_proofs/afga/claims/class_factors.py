"""Table of docs/worst-cases.md on peers that average by any symmetric matrix with eigenvalues in an interval."""

from __future__ import annotations

from fractions import Fraction

from fedspec_proofs.claim import Dropped, Finding, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.worst_cases.exchanges import circulant, mixing_of
from fedspec_proofs.worst_cases.falls import Words
from fedspec_proofs.worst_cases.more_clients import shared
from fedspec_proofs.worst_cases.one_round import STRONG
from fedspec_proofs.worst_cases.spectral import Mixed
from fedspec_proofs.worst_cases.tabled import Row, Table, each, grows

TABLE = Table(
    "spectral",
    "worst_spectral",
    Mixed,
    ("algorithm", "low", "high", "tau", "eta_l", "form"),
    Mixed.problem,
    shared,
)


def grown(r: Mixed, curvature: Fraction, W: Words) -> Fraction:
    """Ratio of the form after and before an exchange, from models 1 and -1, k_i = 0, F_i = c x^2 / 2."""
    X, zero = [exact.vector(1), exact.vector(-1)], [exact.vector(0)] * 2
    ended = r.mixed(X, zero, [lambda k, y: curvature * y] * 2, mixing_of(W))
    x, k = (ended[0][0] - ended[1][0]) / 2, ended[2][0]
    P = r.P
    mean = (ended[0][0] + ended[1][0]) / 2
    after = P[0][0] * mean**2 + P[1][1] * x**2 + 2 * P[1][2] * x * k + P[2][2] * k**2
    ratio: Fraction = after / P[1][1]
    return ratio


def _without(row: Row) -> dict[str, Dropped]:
    r, half, none = TABLE.asked(row), circulant("3/4", "1/4"), circulant("1", "0")
    out = {}
    for name, c, W in (("strong", -100, half), ("smooth", 100, half), ("spectrum", Fraction(1, 10), none)):
        words = f"F_i = {c} x^2/2, W = ({', '.join(W[0])}; {', '.join(W[1])}), {r}, X = 1, -1"
        out[name] = grows(grown(r, Fraction(c), W), row, words)
    return out


_FOUND = TABLE.rows()


@claim(
    "afga.class-factors",
    statement="When peers exchange models by symmetric matrices with eigenvalues in the interval of the table, others "
    "at every exchange, a positive definite quadratic form in the mean of X_i - x*, all X_i less it and all c_i + grad "
    "F_i(x*) changes by at most the number of the table, however unlike they are; c_i as in afga.exchange-factors",
    source="ours, about gossip (L182-185) that comes to x* itself; K-GT, DIGing, D2, LED are external",
    verdict=Verdict.CERTIFIED,
    assumptions=STRONG
    | {
        "spectrum": "W is symmetric, W 1 = 1, and its other eigenvalues are in the interval",
    },
    sizes="two clients, and three by the same multipliers; more by the argument in "
    "fedspec_proofs.worst_cases.more_clients; "
    f"{each(_FOUND, 'algorithm')}; "
    f"{len({(row['low'], row['high']) for row in _FOUND})} intervals; tau = 1, 2; eta_l = 1/4, 1",
)
def class_factors() -> Finding:
    at = next(k for k, r in enumerate(_FOUND) if (r["algorithm"], r["tau"], r["eta_l"]) == ("led", 1, "1/4"))
    return TABLE.finding(_FOUND, _without, 3, at=at)
