"""Theorem 3's proof from the normalised gradients on. Fed-LAMB, L770-812.

The instance of most displays: f' = 0, gradient 3/100 or -3/100 with equal chances, one client, one coordinate, v0 = 1.
Then g_bar = sqrt(v_hat) sign(g) is 1 or -1, and M = 3/100, sigma = 4/100 leave only M and sigma on the right sides.
"""

from __future__ import annotations

from typing import Any

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Severity, Verdict, claim
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.expectation import mean
from fedspec_proofs.fed_lamb import bounds
from fedspec_proofs.fed_lamb.bounds import Constants
from fedspec_proofs.fed_lamb.problems import Problem
from fedspec_proofs.fed_lamb.rounds import F, as_in_proofs, begin, lamb, noiseless, seen, squared
from fedspec_proofs.fed_lamb.shared import FOUR, at, constant
from fedspec_proofs.fed_lamb.theorem_3_split import square
from fedspec_proofs.piecewise import huber
from fedspec_proofs.refutation import refutation

M, SIGMA, BETA2 = F(3, 100), F(4, 100), F(99, 100)
COIN = ((F(1, 2), M), (F(1, 2), -M))
FLAT = (
    "f' = 0, gradient 3/100 or -3/100 with equal chances, n = p = Lay = T = 1, beta1 = 0, beta2 = 99/100, v0 = 1, "
    "sigma = 4/100"
)
K = Constants(M=M, sigma=SIGMA, beta2=BETA2)


def bar(g: Any) -> Any:
    """g_bar of a client of one coordinate with gradient g."""
    h = lamb()
    return seen(h, begin(h, vector(0), 1), [constant(g)]).g_bar[0][0]


def met() -> dict[str, bool]:
    """H1 to H4 of the coin."""
    return {
        "H1: f' = 0 at 0 and at 9": all(sum(q * constant(g)(0, vector(x))[0] for q, g in COIN) == 0 for x in (0, 9)),
        "H2: unbiased": mean(lambda g: g, COIN) == 0,
        "H2: M = 3/100": all(abs(g) <= M for _, g in COIN),
        "H3: the variance is below sigma^2": mean(lambda g: g**2, COIN) < SIGMA**2,
        "H4: phi = 1": K.phi_m == K.phi_M == 1,
        **as_in_proofs(lamb()),
    }


@claim(
    "fed-lamb.l-772",
    statement="E||g_bar_i/v_hat^(1/4)||^2 <= phi_M^2 sqrt(M^2 + p sigma^2)",
    source=at("L772, second line"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def l_772() -> Finding:
    """In one coordinate it is phi^2 sqrt(v_hat), which is sqrt(v0) in round 1."""
    return refutation(
        instance=FLAT, conditions=met(), left=mean(lambda g: bar(g) ** 2, COIN), right=sqrt(M**2 + SIGMA**2)
    )


@claim(
    "fed-lamb.l-792",
    statement="E||g_bar/v_hat^(1/4)||^2 = (1/n^2) sum_l sum_i ||g_bar_i^l/v_hat^(1/4)||^2",
    source=at("L792, second line"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def l_792() -> Finding:
    """The cross terms are left out: clients that agree make the left side n times as large."""
    problem, h = Problem(((huber(F(1)),),) * 2, (1,)), lamb()
    rows = seen(h, begin(h, vector("1/2"), 2), problem.clients).g_bar
    return refutation(
        instance="x^2/2 at 1/2, two clients alike, T = 1, beta1 = 0, v0 = 1",
        conditions=noiseless(h, problem, F(1)),
        left=squared(rows.sum(axis=0)) / 4,
        right=sum(squared(row) for row in rows) / 4,
        relation="=",
    )


@claim(
    "fed-lamb.l-804",
    statement="A_1 <= -(phi_m^2 (1 - beta2)/2) ||f'(x_t)/v_hat^(1/4)||^2 + 4 alpha (the bracket of (22)), without "
    "alpha before the first term, where T = 1 and beta1 = 0",
    source=at("L804"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def l_804() -> Finding:
    """A_1 vanishes with alpha, the first term does not."""
    a, alpha = square(F(1)), F(1, 10**5)
    now = a.rounds[0]
    g, v = a.problem.gradient(now.x), sqrt(now.v_hat)
    k = Constants(M=F(2), sigma=F(3, 2), beta2=a.h.beta2, alpha=alpha)
    return refutation(
        instance="x^2/2 (lines beyond |x| = 2) from 1, one client, T = 1, beta1 = 0, beta2 = 99/100, v0 = 1, alpha = "
        "10^-5, M = 2, sigma = 3/2",
        conditions=noiseless(a.h, a.problem, k.M, k.sigma),
        left=-alpha * sum(g * now.g_bar[0] / v),
        right=-(1 - a.h.beta2) / 2 * sum(g**2 / v) + 4 * alpha * bounds.bracket(k, F(1)),
    )
