"""Table of docs/worst-cases.md on peers: the factor of a quadratic form for averaging with a given matrix."""

from __future__ import annotations

from fractions import Fraction

from fedspec_proofs.claim import Dropped, Finding, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.worst_case.replay import Parabola, dropped
from fedspec_proofs.worst_cases.exchanges import Exchanged
from fedspec_proofs.worst_cases.one_round import STRONG
from fedspec_proofs.worst_cases.tabled import Row, Table, each

TABLE = Table("exchanges", "worst_exchanges", Exchanged, ("algorithm", "W", "tau", "eta_l", "form"), Exchanged.problem)


def _without(row: Row) -> dict[str, Dropped]:
    """Instances that break a number: clients are less convex or steeper, or their kept vectors have another sum."""
    r, out = TABLE.asked(row), {}
    made, zeros = r.problem(Fraction(row["bound"])), {f"{a}{i}": Fraction(0) for a in "cs" for i in range(r.n - 1)}
    for name, c in (("strong", -1), ("smooth", 100)):
        start = zeros | {f"x{i}": Fraction(1) for i in range(r.n)}
        out[name] = dropped(made, [Parabola(Fraction(c))] * r.n, but="F", words=f"F_i = {c} x^2/2, {r}, X = 1", **start)
    kept = [Fraction(0)] * (r.n - 1) + [Fraction(1)]
    ended = r.after([exact.vector(0)] * r.n, [exact.vector(c) for c in kept], [lambda k, y: y] * r.n)
    moved = [x[0] for x in ended[: r.n]]
    before, after = (", ".join(map(str, some)) for some in (kept, moved))
    words = f"F_i = x^2/2, {r}, X = x* = 0, c = {before}: the form was 0, X is {after}"
    return {**out, "sum": Dropped(any(moved), words)}


_FOUND = TABLE.rows()


@claim(
    "afga.exchange-factors",
    statement="When peers exchange models by the matrix of the table, a positive definite quadratic form in all X_i - "
    "x* and all c_i + grad F_i(x*) changes by at most the number of the table, however unlike they are; c_i is what "
    "K-GT, DIGing, D2 and LED keep in the place of -grad F_i(x*)",
    source="ours, about gossip (L182-185) that comes to x* itself; K-GT, DIGing, D2, LED are external",
    verdict=Verdict.CERTIFIED,
    assumptions=STRONG
    | {
        "sum": "the c_i sum to zero, as they do from where the methods begin",
    },
    sizes=f"{each(_FOUND, 'algorithm')}; "
    f"{len({tuple(map(tuple, row['W'])) for row in _FOUND})} matrices of up to {max(len(row['W']) for row in _FOUND)} "
    f"clients; tau = {each(_FOUND, 'tau')}; "
    f"eta_l = {each(_FOUND, 'eta_l')}",
)
def exchange_factors() -> Finding:
    return TABLE.finding(_FOUND, _without)
