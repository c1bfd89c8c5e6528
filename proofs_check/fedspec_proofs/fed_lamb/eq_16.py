"""Eq. (16), which ends the bound of the term A_1. Fed-LAMB, L612-614."""

from __future__ import annotations

import numpy as np

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.expectation import mean
from fedspec_proofs.fed_lamb.problems import Problem
from fedspec_proofs.fed_lamb.rounds import ONE, F, lamb, noisy
from fedspec_proofs.fed_lamb.shared import FOUR, all_fall, at, constant, every, some
from fedspec_proofs.fed_lamb.term_a1 import coin, drawn, inner
from fedspec_proofs.piecewise import huber
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.eq-16",
    statement="E A_1 <= -alpha phi_m sqrt(Lay (1 - beta2)/(M^2 p)) ||sum_i f_i'||^2 - alpha phi_M sum "
    "sigma_i^(l,j)/sqrt(n), as printed (the minus is that of L604), and also with plus before the last sum, as L659 "
    "has it",
    source=at("eq. (16) (L612)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
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
    return all_fall(printed, plus)


@claim(
    "fed-lamb.eq-16-averaging",
    statement="|f'^j| P(sign of g_(r,i)^j differs) <= sigma/sqrt(n) for a single client's gradient, from which (16) "
    "has its last term",
    source=at("ours, about eq. (16) (L612)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def averaging() -> Finding:
    """A client's gradient is no mean over clients: the number of the others does not matter to it."""
    outcomes, n = coin(F(1), F(2)), 100
    return refutation(
        instance="f' = 1, gradient 3 or -1 with equal chances, sigma = 9/4, n = 100 clients alike",
        conditions=noisy(lamb(), drawn(outcomes), F(1), F(3), F(9, 4) ** 2),
        left=mean(lambda o: F(o(0, vector(0))[0] < 0), outcomes),
        right=F(9, 4) / sqrt(F(n)),
    )


def _markov(draw: Draw, share: F = ONE) -> Statement:
    g, h, size, gap = draw("g"), draw("h"), draw("size"), draw("gap")
    differ = some(every(h > 0, g < 0), every(h < 0, g > 0))
    lengths = every(size >= 0, some(size == h, size == -h), gap >= 0, some(gap == g - h, gap == h - g))
    return Statement({"signs differ": differ, "lengths": lengths}, {"|h| <= |g - h|": size <= share * gap})


def _opposite(rng: np.random.Generator) -> dict[str, F]:
    h, g = F(int(rng.integers(1, 9)), 4), -F(int(rng.integers(1, 9)), 4)
    return {"h": h, "g": g, "size": h, "gap": h - g}


@claim(
    "fed-lamb.eq-16-averaging-repaired",
    statement="|f'^j| [signs differ] <= |g^j - f'^j| in every outcome, so that |f'^j| P(signs differ) <= E|g^j - f'^j| "
    "<= sigma",
    source=at("eq. (16) (L612)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"signs differ": "the indicator is 1", "lengths": "size and gap stand for |h| and |g - h|"},
    repairs="fed-lamb.eq-16-averaging",
)
def markov() -> Finding:
    """The expectation is monotone, and E|.| <= the root of the second moment by Jensen, in words."""
    return decide(_markov, sample=_opposite)


@claim(
    "fed-lamb.eq-16-layers",
    statement="sum_l s_l/sqrt(p_l) >= sqrt(Lay/p) sum_l s_l for any s_l >= 0, by which (16) takes the layers together",
    source=at("ours, about eq. (16) (L612)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def layer_sizes() -> Finding:
    """The largest layer may hold the whole gradient; equality of sizes is used and not assumed."""
    problem = Problem(((*[huber(F(1))] * 4, huber(F(1), F(1))),), (4, 1))
    g = problem.gradient(vector(*["1/2"] * 4, 1))
    s = [g[where] @ g[where] for where in problem.layers]
    return refutation(
        instance="layers of 4 and 1 coordinates, f' = (1/2, 1/2, 1/2, 1/2; 0), s_l = ||f'^l||^2 = (1, 0); both sides "
        "squared",
        conditions={"s = (1, 0)": s == [1, 0]},
        left=(s[0] / 2 + s[1] / 1) ** 2,
        right=F(2, 5) * sum(s) ** 2,
        relation=">=",
    )


LARGEST = {"s >= 0": "the squares are not negative", "q_l >= c": "c is the least of 1/sqrt(p_l)"}


def _largest(draw: Draw) -> Statement:
    s, q, c = draw("s", 2), draw("q", 2), draw("c")
    holds = (every(s[0] >= 0, s[1] >= 0), every(q[0] >= c, q[1] >= c))
    return Statement(dict(zip(LARGEST, holds, strict=True)), {"largest layer": s @ q >= c * (s[0] + s[1])})


@claim(
    "fed-lamb.eq-16-layers-repaired",
    statement="sum_l s_l/sqrt(p_l) >= sqrt(1/max p_l) sum_l s_l for s_l >= 0",
    source=at("eq. (16) (L612)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="two layers",
    assumptions=LARGEST,
    repairs="fed-lamb.eq-16-layers",
)
def largest_layer() -> Finding:
    """q_l stands for 1/sqrt(p_l)."""
    return decide(_largest)


@claim(
    "fed-lamb.l-614",
    statement="The two bars over f', that of L614 (a sum over clients) and that of L675 (1/n of it), are one",
    source=at("ours, about L614 and L675"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def two_definitions() -> Finding:
    """(16) needs the first one for its missing 1/n, (21) the second."""
    problem = Problem(((huber(F(1)),),) * 2, (1,))
    rows = [oracle(0, vector("1/2"))[0] for oracle in problem.clients]
    return refutation(
        instance="two clients alike, x^2/2 at x = 1/2",
        conditions={"H1": problem.lipschitz == (1,)},
        left=sum(rows),
        right=problem.gradient(vector("1/2"))[0],
        relation="=",
    )
