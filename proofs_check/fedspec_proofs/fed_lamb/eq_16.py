"""Eq. (16), which ends the bound of the term A_1. Fed-LAMB, L612-614."""

from __future__ import annotations

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.combine import all_refuted
from fedspec_proofs.engines.expectation import mean
from fedspec_proofs.fed_lamb.rounds import ONE, F, lamb, noisy
from fedspec_proofs.fed_lamb.shared import FOUR, at, constant
from fedspec_proofs.fed_lamb.term_a1 import coin, drawn, inner
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
    return all_refuted(printed, plus)
