"""How long the ratio p is, and the weights that follow from it in the term A_1. Fed-LAMB, L598-600."""

from __future__ import annotations

from typing import Any

from fedspec.arith import norm, sqrt, where_less
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.fed_lamb.rounds import F, begin, lamb, seen
from fedspec_proofs.fed_lamb.shared import H2, at, constant
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.l-598",
    statement="||p_(r,i)^l|| <= sqrt(p_l / (1 - beta2)), with v_hat_r of Alg. 1 in p, which is older than the gradient",
    source=at("Term A_1 (L598)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions={"H2": H2},
)
def ratio_bound() -> Finding:
    """v_hat lags a round and is a maximum of means: in round 1 it is v0, however large the gradient is."""
    h = lamb(v0=F(1, 10**6))
    p = seen(h, begin(h, vector(5), 1), [constant(1)]).p[0]
    return refutation(
        instance="one coordinate, one client, gradient 1, beta1 = 0, beta2 = 99/100, v0 = 10^-6, round 1",
        conditions={"H2 with M = 1": abs(constant(1)(0, vector(5))[0]) <= 1},
        left=norm(p),
        right=sqrt(1 / (1 - h.beta2)),
    )


WEIGHTS = {"w >= c": "no weight is below c", "c >= 0": "c is not negative"}


def _weighted(draw: Draw) -> Statement:
    w, x, c = draw("w"), draw("x"), draw("c")
    holds = (w >= c, c >= 0)
    return Statement(dict(zip(WEIGHTS, holds, strict=True)), {"L600": -w * x <= -c * x - _negative(w * x, x)})


def _negative(value: Any, x: Any) -> Any:
    """The value where x < 0, else 0."""
    return where_less(x, 0, value, value * 0)


@claim(
    "fed-lamb.l-600",
    statement="-sum w x <= -c sum x - sum w x [x < 0] where w >= c >= 0, term by term",
    source=at("Term A_1 (L600)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions=WEIGHTS,
)
def weighted() -> Finding:
    """Both sides are sums over the same terms. That c = sqrt((1 - beta2)/(M^2 p_l)) is such a bound rests on L598."""
    return decide(_weighted)
