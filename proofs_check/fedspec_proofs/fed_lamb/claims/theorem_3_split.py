"""Theorem 3's proof: the inner product split, eqs. (23) and (24). Fed-LAMB, L733-755."""

from __future__ import annotations

from fedspec_proofs.claim import Engine, Finding, Verdict, claim, false
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.fed_lamb.kit.rounds import F, squared
from fedspec_proofs.fed_lamb.kit.shared import at


def _looser(draw: Draw) -> Statement:
    a, b = draw("a", 1), draw("b", 1)
    return Statement({}, {"(23) as >=": a @ b >= squared(a) / 2 + squared(b) / 2 - squared(a - b)})


@claim(
    "fed-lamb.eq-23-bound",
    statement="(23) holds as >=, which is how it is used, coordinate by coordinate",
    source=at("ours, about eq. (23) (L739)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
)
def looser() -> Finding:
    """It loses half of ||a - b||^2."""
    return decide(_looser)


def _doubled(draw: Draw, factor: int = 2) -> Statement:
    """Two clients, one coordinate, through a point y between."""
    x, y, g = draw("x"), draw("y"), draw("g", 2)
    left = (x - (g[0] + g[1]) / 2) ** 2
    middle = sum((x - g[i]) ** 2 for i in range(2)) / 2
    right = sum(factor * ((x - y) ** 2 + (y - g[i]) ** 2) for i in range(2)) / 2
    return Statement({}, {"Jensen": left <= middle, "then 2, 2": middle <= right})


@claim(
    "fed-lamb.l-744",
    statement="||x - mean g_i||^2 <= (1/n) sum ||x - g_i||^2 <= (2/n) sum (||x - y||^2 + ||y - g_i||^2); (24) is the "
    "same with f' at the local models between",
    source=at("L744 and eq. (24) (L755)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="two clients, d = 1",
)
def doubled() -> Finding:
    """(24) writes f and f_i in turn; nothing is assumed of either."""
    return decide(_doubled)


@false("fed-lamb.false-l-744", of=doubled, statement="The same with 3/4 in place of 2")
def _false_doubled() -> Finding:
    return decide(lambda draw: _doubled(draw, F(3, 4)), ablate=False)  # type: ignore[arg-type]
