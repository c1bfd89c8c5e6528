"""The end of Theorem 3's proof, on the instance of the displays before. Fed-LAMB, L784-812."""

from __future__ import annotations

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.expectation import mean
from fedspec_proofs.fed_lamb import bounds
from fedspec_proofs.fed_lamb.bounds import Constants
from fedspec_proofs.fed_lamb.lemma_2 import FORKED, at_locals, forked
from fedspec_proofs.fed_lamb.problems import Problem
from fedspec_proofs.fed_lamb.rounds import F, begin, lamb, noiseless, seen, squared
from fedspec_proofs.fed_lamb.shared import FOUR, at
from fedspec_proofs.fed_lamb.theorem_3_normalised import COIN, FLAT, K, apart, bar, met
from fedspec_proofs.fed_lamb.theorem_3_split import square
from fedspec_proofs.piecewise import huber
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.l-784",
    statement="Going on from L772: (2/n) sum_i E||(f'(x_t) - g_bar_(t,i))/v_hat^(1/4)||^2 <= 4 (M^2/sqrt(v0) + "
    "phi_M^2 sqrt(M^2 + p sigma^2) + phi_M Lay sigma^2/sqrt(n)), where T = 1",
    source=at("L784"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def l_784() -> Finding:
    """T = 1, where the first term, which has alpha^2 twice, vanishes."""
    return refutation(instance=FLAT, conditions=met(), left=2 * apart(), right=4 * bounds.bracket(K, F(1)))


@claim(
    "fed-lamb.l-788",
    statement="Going on from L772: -alpha E<f'(vartheta_t), g_bar/sqrt(v_hat)> <= -(alpha/2) E||f'/v_hat^(1/4)||^2 - "
    "(alpha/2) E||g_bar/v_hat^(1/4)||^2 + 4 (the bracket of (22)), without alpha before the bracket, where beta1 = "
    "0; at alpha = 1, where it makes no difference",
    source=at("(23) with L784 (L788)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def l_788() -> Finding:
    """alpha = 1."""
    length = mean(lambda g: bar(g) ** 2, COIN)
    return refutation(
        instance=f"{FLAT}, alpha = 1",
        conditions=met(),
        left=-mean(lambda g: 0 * bar(g), COIN),
        right=-F(1, 2) * 0 - F(1, 2) * length + 4 * bounds.bracket(K, F(1)),
    )


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
    "fed-lamb.l-792-bound",
    statement="Going on from L598: E||g_bar/v_hat^(1/4)||^2 >= phi_m^2 (1 - beta2) E||mean of f_i'/v_hat^(1/4)||^2",
    source=at("L792, third line"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def l_792_bound() -> Finding:
    """It rests on L598, and misses 1/p_l: the left side is sqrt(v_hat) in one coordinate."""
    a = square(F(1), v0=F(1, 10**4))
    now = a.rounds[0]
    g = a.problem.gradient(now.x)
    return refutation(
        instance="x^2/2 from 1, one client, T = 1, beta1 = 0, beta2 = 99/100, v0 = 10^-4",
        conditions=noiseless(a.h, a.problem, F(2)),
        left=sum(now.g_bar[0] ** 2 / sqrt(now.v_hat)),
        right=(1 - a.h.beta2) * sum(g**2 / sqrt(now.v_hat)),
        relation=">=",
    )


@claim(
    "fed-lamb.l-800",
    statement="Going on from (25): ||mean of f_i'(x_(t,i))/v_hat^(1/4)||^2 >= ||f'(x_t)/v_hat^(1/4)||^2/2 - (alpha^2 "
    "L_l/sqrt(v0)) M^2 (T - 1)^2 phi_M^2 (1 - beta2) p",
    source=at("L796-800"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def l_800() -> Finding:
    """The instance of Lemma 2 with T = 2, after one local step."""
    a = forked()
    return refutation(
        instance=f"{FORKED}; T = 2, after the first local step, x_t the mean of the local models",
        conditions=a.conditions,
        left=squared(at_locals(a.problem, a.models)),
        right=squared(a.problem.gradient(a.mean)) / 2 - (2 - 1) ** 2 * bounds.lemma_2(a.constants),
        relation=">=",
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
