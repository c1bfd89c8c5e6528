"""The term A_1: the ratio in it, signs that agree and signs that do not. Fed-LAMB, L598-612."""

from __future__ import annotations

from typing import Any

from fedspec.arith import norm, sqrt, where_less
from fedspec.plan import Oracle
from fedspec_proofs.claim import Engine, Extent, Finding, Severity, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.combine import all_refuted
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.expectation import mean
from fedspec_proofs.fed_lamb.rounds import ONE, F, begin, lamb, noisy, seen
from fedspec_proofs.fed_lamb.shared import FOUR, H2, at, constant
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.l-598",
    statement="||p_(r,i)^l|| <= sqrt(p_l / (1 - beta2)), with v_hat_r of Alg. 1 in p, which is older than the gradient",
    source=at("Term A_1 (L598)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
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
    extent=Extent.WHOLE,
    assumptions=WEIGHTS,
)
def weighted() -> Finding:
    """Both sides are sums over the same terms. That c = sqrt((1 - beta2)/(M^2 p_l)) is such a bound rests on L598."""
    return decide(_weighted)


def coin(h: F, size: F) -> Any:
    """A gradient h + size or h - size with equal chances."""
    return [(F(1, 2), constant(h + size)), (F(1, 2), constant(h - size))]


def drawn(outcomes: Any) -> list[tuple[F, F]]:
    """The gradients of a coin, with their chances."""
    return [(q, oracle(0, vector(0))[0]) for q, oracle in outcomes]


def inner(oracle: Oracle, gradient: F) -> F:
    """A_1 / alpha of one client and one coordinate, T = 1, beta1 = 0: -<f', Gamma g>."""
    h = lamb()
    now = seen(h, begin(h, vector(0), 1), [oracle])
    return F(-gradient * (now.Gamma * now.g)[0][0])


@claim(
    "fed-lamb.l-604",
    statement="E A_1 <= -(alpha/n) sum phi_m sqrt((1 - beta2)/(M^2 p_l)) |f'^j|^2 - (alpha/n) sum phi_M E[|f'^j "
    "p^j/||p^l||| [signs differ]]; the last minus should be plus, as L659 has it",
    source=at("Term A_1 (L604)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.SLIP,
    assumptions=FOUR,
)
def expectation() -> Finding:
    """The last term bounds something from above by its absolute value: its sign must be plus."""
    gradient, M = F(1), F(3)
    wrong = F(1, 2) * abs(gradient)
    c = sqrt((1 - F(99, 100)) / M**2)
    return refutation(
        instance="f' = 1, gradient 3 or -1 with equal chances, one client, one coordinate, beta1 = 0, beta2 = 99/100, "
        "v0 = 1, phi = 1; both sides over alpha",
        conditions=noisy(lamb(), drawn(coin(F(1), F(2))), gradient, M, F(5)),
        left=mean(lambda o: inner(o, gradient), coin(F(1), F(2))),
        right=-c * gradient**2 - wrong,
    )


@claim(
    "fed-lamb.eq-16",
    statement="E A_1 <= -alpha phi_m sqrt(Lay (1 - beta2)/(M^2 p)) ||sum_i f_i'||^2 - alpha phi_M sum "
    "sigma_i^(l,j)/sqrt(n), as printed (the minus is that of L604), and also with plus before the last sum, as L659 "
    "has it",
    source=at("eq. (16) (L612)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def eq_16() -> Finding:
    """The instance of L604, from which it has the sign; and clients alike, whose sum L614 takes in place of a mean."""
    gradient, M, sigma = F(1), F(3), F(9, 4)
    printed = refutation(
        instance="f' = 1, gradient 3 or -1 with equal chances, n = p = Lay = 1, beta1 = 0, beta2 = 99/100, phi = 1; "
        "over alpha",
        conditions=noisy(lamb(), drawn(coin(F(1), F(2))), gradient, M, sigma**2),
        left=mean(lambda o: inner(o, gradient), coin(F(1), F(2))),
        right=-sqrt((1 - F(99, 100)) / M**2) * gradient**2 - sigma,
    )
    n, small, sure = 16, F(1, 1000), ((ONE, ONE),)
    plus = refutation(
        instance="with plus: f' = 1, n = 16 clients alike with exact gradients, p = Lay = M = 1, sigma = 1/1000, "
        "beta1 = 0, beta2 = 99/100, phi = 1; over alpha",
        conditions=noisy(lamb(), sure, gradient, ONE, small**2),
        left=inner(constant(gradient), gradient),
        right=-sqrt(1 - F(99, 100)) * (n * gradient) ** 2 + n * small / sqrt(F(n)),
    )
    return all_refuted(printed, plus)
