"""Lemma F.8 on v_hat, the maximum that is taken coordinate by coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

from fedspec.algorithms import afga
from fedspec.arith import Vector
from fedspec.mixing import topology
from fedspec.plan import Exchange
from fedspec.problems.quadratic import constant
from fedspec.server.amsgrad import AmsGrad, amsgrad, init
from fedspec_proofs.afga.claims.changes import F8, F8_WORDS
from fedspec_proofs.afga.kit.network import EXACT, hyper
from fedspec_proofs.afga.kit.paths import ETA_L
from fedspec_proofs.afga.kit.server_inductions import rootless
from fedspec_proofs.claim import AFGA, Engine, Finding, Severity, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import every
from fedspec_proofs.refutation import refutation

NOISE = (exact.vector(1, 0), exact.vector(0, 1))
TOSSED = (*NOISE, *(-g for g in NOISE))
"""The noise of one client: each of the four alike likely."""


def _rounds(beta2: Any, noise: Sequence[Vector]) -> list[AmsGrad]:
    """One client on f = 0 with these stochastic gradients, a round each."""
    zero, W = exact.vector(0, 0), topology.complete(1, EXACT)
    h = hyper(ETA_L, beta2=beta2)
    states = [init(zero)]
    for g in noise:
        delta = afga.change(h, states[-1].x, [constant(g)], Exchange((0,), ((0,),), W))
        numbers = {"eta": F(1), "beta1": F(0), "beta2": beta2, "eps": F(0)}
        states.append(rootless(amsgrad)(states[-1], delta, **numbers))
    return states[1:]


@claim(
    "afga.lemma-f-8-v-hat",
    statement="|v_hat_r| <= (m/n)^2 eta_l^2 I^2 G^2, whatever is drawn",
    source=Source(AFGA, F8 + ", eq. (94) (L4818)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.FALSE_RESULT,
    assumptions=F8_WORDS,
)
def lemma_f_8_v_hat() -> Finding:
    """The maximum is taken coordinate by coordinate, so that it may be longer than every v_j; squares of both sides."""
    (right, up), bound = NOISE, ETA_L**4
    states = _rounds(F(1, 2), (right, right, up, up))
    return refutation(
        instance="one client on f = 0 in two dimensions, noise (1, 0) in rounds 1 and 2, (0, 1) in rounds 3 and 4 "
        "(each of the four signs alike likely), I = 1, eta_l = 1/4, beta2 = 1/2; squares of both sides",
        conditions={
            "4.1: f = 0, so that any L > 0 will do, such as 1/2, and eta_l <= 1/(8IL)": ETA_L * 8 * F(1, 2) <= 1,
            "4.2: the noise has mean 0 and variance 1": not any(sum(g[j] for g in TOSSED) for j in (0, 1))
            and all(g @ g == 1 for g in TOSSED),
            "4.3: |g| <= 1 = G": all(g @ g <= 1 for g in TOSSED),
            "4.4, 4.5: one client, m = n, so that Delta and every v_r are within their bounds": all(
                state.v @ state.v <= bound for state in states
            ),
        },
        left=states[-1].v_hat @ states[-1].v_hat,
        right=bound,
        again=F(1, 16) ** 2,
    )


@claim(
    "afga.lemma-f-8-v-hat-repaired",
    statement="|v_hat_r| <= sqrt(d) B^2 where every coordinate of v_hat_r is at most B^2, as lemma-f-8-repaired has it",
    source=Source(AFGA, "ours, for " + F8 + ", eq. (94) (L4818)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="d = 3",
    assumptions={"v_hat >= 0": "a maximum of means of squares", "v_hat <= B^2": "in every coordinate"},
    repairs="afga.lemma-f-8-v-hat",
)
def lemma_f_8_v_hat_repaired() -> Finding:
    """Squares of both sides; b stands for B^2. With all coordinates at b it is an equality."""

    def body(draw: Draw) -> Statement:
        v, b = draw("v_hat", 3), draw("b")
        given = {"v_hat >= 0": every(*(x >= 0 for x in v)), "v_hat <= B^2": every(*(x <= b for x in v))}
        return Statement(given, {"|v_hat|^2 <= d B^4": sum(x * x for x in v) <= 3 * b * b})

    return decide(body)
