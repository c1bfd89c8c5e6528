"""Theorem 3's proof: the inner product split, eqs. (23) and (24). Fed-LAMB, L733-755."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Extent, Finding, Severity, Verdict, claim, false
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fed_lamb.audits import Audit
from fedspec_proofs.fed_lamb.problems import Problem
from fedspec_proofs.fed_lamb.rounds import HALF, TWO, F, lamb, noiseless, squared
from fedspec_proofs.fed_lamb.shared import FOUR, at
from fedspec_proofs.piecewise import huber
from fedspec_proofs.refutation import refutation


def square(c: F = TWO) -> Audit:
    """c x^2/2 from 1, one client, one round."""
    return Audit(lamb(), Problem(((huber(c, reach=F(2)),),), (1,)), vector(1), 1)


def _inner(constant: Any, relation: str) -> Finding:
    a = square()
    now, there = a.rounds[0], a.problem.gradient(a.shifted[0])
    bar, v = now.g_bar[0], sqrt(now.v_hat)
    return refutation(
        instance="x^2 from 1, one client, T = 1, beta1 = 0, v0 = 1: f' = 2, g_bar = 1",
        conditions={**noiseless(a.h, a.problem, F(4)), "f' = 2, g_bar = 1": (there[0], bar[0]) == (2, 1)},
        left=sum(there * bar / v),
        right=sum(there**2 / v) / 2 + sum(bar**2 / v) / 2 - constant * sum((there - bar) ** 2 / v),
        relation=relation,
    )


@claim(
    "fed-lamb.eq-23",
    statement="<a, b> = ||a||^2/2 + ||b||^2/2 - ||a - b||^2 for a = f'/v_hat^(1/4), b = g_bar/v_hat^(1/4)",
    source=at("eq. (23) (L739)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.CONSTANT,
    assumptions=FOUR,
)
def eq_23() -> Finding:
    """1/2 is missing before the last term."""
    return _inner(F(1), "=")


def _polar(half: F = HALF) -> Body:
    def body(draw: Draw) -> Iterable[Any]:
        a, b = draw("a", 1), draw("b", 1)
        return [a @ b - squared(a) / 2 - squared(b) / 2 + squared(a - b) * half.numerator / half.denominator]

    return body


@claim(
    "fed-lamb.eq-23-repaired",
    statement="<a, b> = ||a||^2/2 + ||b||^2/2 - ||a - b||^2/2, coordinate by coordinate",
    source=at("eq. (23) (L739)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
    repairs="fed-lamb.eq-23",
)
def polarised() -> Finding:
    """The coordinates add up."""
    return identities({"one coordinate": _polar()})


@false("fed-lamb.false-eq-23", of=polarised, statement="The same with 1, as (23) prints it")
def _false_polar() -> Finding:
    return identities({"one coordinate": _polar(F(1))})


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
    right = sum(factor * ((x - y) ** 2 + (y - g[i]) ** 2) for i in range(2)) / 2
    return Statement({}, {"Jensen, then 2, 2": left <= right})


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
