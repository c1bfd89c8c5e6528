"""EF21's table in docs/worst-cases.md: contraction factors of a quadratic form for all compressors of a kind."""

from __future__ import annotations

from fractions import Fraction

from fedspec_proofs.claim import Dropped, Finding, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.worst_cases import tabled
from fedspec_proofs.worst_cases.compressed import Compressed, among
from fedspec_proofs.worst_cases.one_round import STRONG
from fedspec_proofs.worst_cases.tabled import Row, Table, each, grows

TABLE = Table("compressed", "worst_compressed", Compressed, ("alpha", "eta", "form"), Compressed.problem, among)


def grown(r: Compressed, curvature: Fraction, sent: Fraction) -> Fraction:
    """Factor by which the form grows from w = 1, g_i = grad F_i(w), if F_i = c x^2 / 2 and C(v) = sent v."""
    known = [exact.vector(curvature)] * r.n
    x = exact.vector(1 - Fraction(r.eta) * curvature)
    _, ended = r.after(x, known, [lambda k, y: curvature * y] * r.n, lambda i, p: sent * p)
    u = [x[0], *(g[0] - curvature * x[0] for g in ended)]
    return tabled.value(r.P, u) / r.P[0][0]


def _without(row: Row) -> dict[str, Dropped]:
    one, out = TABLE.asked(row), {}
    for name, c, sent in (("strong", -1, 1), ("smooth", 100, 1), ("compressor", 1, -100)):
        words = f"F_i = {c} x^2/2, C(v) = {sent} v, {one}, from w = 1"
        out[name] = grows(grown(one, Fraction(c), Fraction(sent)), row, words)
    return out


_FOUND = TABLE.rows()

MORE = (3, 5)
"""Numbers of clients for which the two-client multipliers, divided among the clients, are checked too."""


@claim(
    "fednova.compressed-factors",
    statement="In every round of EF21 after the first, of two clients or more, a positive definite quadratic form in "
    "w - x*, the mean of all g_i - grad F_i(w) and the mean square of what they are off it changes by at most the "
    "number of the table, however unlike they are; w is where the round's gradients were taken",
    source="ours; EF21 is external",
    verdict=Verdict.CERTIFIED,
    assumptions=STRONG
    | {
        "compressor": "|C(v) - v|^2 <= (1 - alpha) |v|^2 for every v",
    },
    sizes=f"checked for two clients, and for {' and '.join(map(str, MORE))} by their multipliers; for every n >= 2 by "
    "the argument in fedspec_proofs.worst_cases.more_clients; "
    f"alpha = {each(_FOUND, 'alpha')}; "
    f"eta = {each(_FOUND, 'eta')}",
)
def compressed_factors() -> Finding:
    return TABLE.finding(_FOUND, _without, *MORE)
