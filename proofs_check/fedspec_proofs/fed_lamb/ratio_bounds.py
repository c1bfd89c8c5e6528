"""How long the ratio p is, and the weights that follow from it in the term A_1. Fed-LAMB, L598-600."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedspec.arith import array, norm, sqrt, where_less
from fedspec.client.lamb import Moments, precondition
from fedspec.readings import LocalCorrection, Phi
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.fed_lamb.rounds import F, begin, lamb, one_round, seen
from fedspec_proofs.fed_lamb.shared import H2, at, constant, within
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


FLOOR = {
    "H2": "|m| <= M in the coordinate (as |g| is)",
    "v_hat >= v0": "v_hat = w^2 and v0 = w_0^2 with w >= w_0",
    "w > 0": "the root of v_hat is positive",
    "w_0 > 0": "the root of v0 is positive",
}


def _ratio(draw: Draw) -> Statement:
    m, M, w, w_0 = draw("m", 1), draw("M"), draw("w"), draw("w_0")
    kw: dict[str, Any] = {"beta1": 0, "beta2": 0, "eps": 0, "bias_correction": LocalCorrection.NONE}
    p = precondition(Moments(m, m * m, 0), m, array([w * w], m), **kw)[1][0]
    holds = (within(m[0], M), w >= w_0, w > 0, w_0 > 0)
    return Statement(dict(zip(FLOOR, holds, strict=True)), {"bound": within(p, M / w_0)})


@claim(
    "fed-lamb.l-598-repaired",
    statement="|p_(r,i)^j| <= M_j / sqrt(v0) in every coordinate, hence ||p_(r,i)^l|| <= M / sqrt(v0), in every round",
    source=at("Term A_1 (L598)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions=FLOOR,
    repairs="fed-lamb.l-598",
)
def ratio_repaired() -> Finding:
    """|m| <= M is fed-lamb.algorithm-1-in-place-repaired, v_hat >= v0 fed-lamb.assumption-5; eps > 0 only helps."""
    return decide(_ratio, sample=_roots)


def _roots(rng: np.random.Generator) -> dict[str, F]:
    M, w_0 = F(int(rng.integers(1, 9))), F(int(rng.integers(1, 9)), 4)
    return {"M": M, "w_0": w_0, "w": w_0 + F(int(rng.integers(0, 9)), 4), "m_0": F(int(rng.integers(-8, 9)), 8) * M}


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


@claim(
    "fed-lamb.l-600-weights",
    statement="phi/(sqrt(v_hat^j) ||p^l||) >= sqrt((1 - beta2)/(M^2 p_l)), the c that L600 takes from L598, for phi "
    "= 1",
    source=at("ours, about the term A_1 (L598-600)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions={"H2": H2, "H4": "phi = 1"},
)
def weights() -> Finding:
    """A layer with one coordinate of large v_hat, and the gradient in another one."""
    # 3/4 + 149.995^2/4 = 75.0025^2.
    h, first = lamb(beta2=F(3, 4)), F(149995, 1000)
    state = one_round(h, begin(h, vector(0, 0), 1, (2,)), [constant(first, 0)])
    Gamma = seen(h, state, [constant(0, 150)]).Gamma[0][0]
    M = F(150)
    return refutation(
        instance="one layer of two coordinates, gradients (149.995, 0) and (0, 150), beta1 = 0, beta2 = 3/4, v0 = 1, "
        "round 2, j = 1; both sides squared",
        conditions={
            "H2 with M = 150": first <= M,
            "v_hat is (75.0025^2, 1)": list(state.v_hat) == [F(750025, 10000) ** 2, 1],
            "phi = 1": h.phi is Phi.CONSTANT,
        },
        left=Gamma**2,
        right=(1 - h.beta2) / (M**2 * 2),
        relation=">=",
    )
