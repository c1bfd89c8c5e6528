"""The end of Theorem 3's proof, on the instance of the displays before. Fed-LAMB, L784-812."""

from __future__ import annotations

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.fed_lamb import bounds
from fedspec_proofs.fed_lamb.bounds import Constants
from fedspec_proofs.fed_lamb.problems import Problem
from fedspec_proofs.fed_lamb.rounds import F, begin, lamb, noiseless, seen, squared
from fedspec_proofs.fed_lamb.shared import FOUR, at
from fedspec_proofs.fed_lamb.theorem_3_split import square
from fedspec_proofs.piecewise import huber
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.l-792",
    statement="E||g_bar/v_hat^(1/4)||^2 = (1/n^2) sum_l sum_i ||g_bar_i^l/v_hat^(1/4)||^2",
    source=at("L792, second line"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
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
