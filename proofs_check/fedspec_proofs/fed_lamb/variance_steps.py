"""The squared step of the auxiliary sequence, up to eq. (17). Fed-LAMB, L621-629."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from fedspec_proofs.claim import Dropped, Engine, Finding, Severity, Verdict, claim
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.expectation import mean
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fed_lamb.audits import INSTANCE, bump, conditions
from fedspec_proofs.fed_lamb.rounds import ONE, F, begin, lamb, noisy, one_round, seen, squared
from fedspec_proofs.fed_lamb.shared import FOUR, at, constant
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.l-621",
    statement="||vartheta_(r+1) - vartheta_r||^2 <= 2 alpha^2/n^2 ||the term with m||^2 + alpha^2/n^2 ||the term with "
    "g||^2",
    source=at("Term A_r^2 (L621)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.CONSTANT,
    assumptions=FOUR,
)
def l_621() -> Finding:
    """||a + b||^2 <= 2 ||a||^2 + ||b||^2 is no inequality: a = 3/7, b = 4/7."""
    a = bump(F(1, 10))
    return refutation(
        instance=INSTANCE,
        conditions=conditions(a),
        left=squared(a.moved(1)),
        right=a.h.eta_l**2 * (2 * squared(a.memory(1)) + squared(a.fresh(1))),
    )


COIN = ((F(3, 4), F(1)), (F(1, 4), F(-3)))
"""A gradient of mean 0 and variance 3 whose sign has mean 1/2."""


@claim(
    "fed-lamb.eq-17",
    statement="E||vartheta_(r+1) - vartheta_r||^2 <= alpha^2/n^2 (E||sum_i Gamma_i f_i'||^2 + sum_i sigma_i^2 "
    "E||Gamma_i||^2), where beta1 = 0",
    source=at("eq. (17) (L625)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def eq_17() -> Finding:
    """Gamma has ||p|| in it, and p the same gradient: their product has a mean where the gradient has none."""
    n, h = 7, lamb()
    state = begin(h, vector(0), n)

    def square(gradients: tuple[F, ...]) -> Any:
        return squared(one_round(h, state, [constant(g) for g in gradients]).x)

    # The mean is over all 2^7 outcomes; clients alike are drawn independently.
    outcomes = [
        (prod((COIN[k][0] for k in which), start=ONE), tuple(COIN[k][1] for k in which))
        for which in product((0, 1), repeat=n)
    ]
    Gamma_2 = mean(lambda g: seen(h, begin(h, vector(0), 1), [constant(g)]).Gamma[0][0] ** 2, COIN)
    # H3 wants it above the variance, which is 3.
    sigma_2 = F(31, 10)
    return refutation(
        instance="f' = 0, gradient 1 with probability 3/4, else -3, n = 7 clients alike, one coordinate, beta1 = 0, v0 "
        "= 1, phi = 1, alpha = 1/10; all 128 outcomes",
        conditions={
            **noisy(h, COIN, F(0), F(3), sigma_2),
            "the outcomes have probability 1": sum(q for q, _ in outcomes) == 1,
        },
        left=mean(square, outcomes),
        right=h.eta_l**2 / n**2 * (0 + n * sigma_2 * Gamma_2),
    )


UNIT = {"normalised": "every client's step has length alpha phi_M at most"}


def _mean(n: int) -> Body:
    """The mean of squares less the square of the mean, less the mean square of what is beside it; one coordinate."""

    def body(draw: Draw) -> list[Any]:
        steps = draw("step", n)
        middle = sum(steps) / F(n)
        return [sum(s * s for s in steps) / F(n) - middle**2 - sum((s - middle) ** 2 for s in steps) / F(n)]

    return body


@claim(
    "fed-lamb.eq-17-repaired",
    statement="||vartheta_(r+1)^l - vartheta_r^l||^2 <= alpha^2 phi_M^2 in every outcome where beta1 = 0",
    source=at("eq. (17) (L625)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="n <= 5 clients; layers of any size",
    assumptions=UNIT,
    repairs="fed-lamb.eq-17",
)
def unit_steps() -> Finding:
    """No variance is needed: a mean of steps is no longer than the longest, which is fed-lamb.lemma-1-length.

    The square of a mean is at most the mean of the squares; coordinates add up.
    """
    found = identities({f"n = {n}": _mean(n) for n in range(2, 6)})
    longer = Dropped(True, "by hand: two steps of length 2, alpha phi_M = 1: their mean has length 2")
    return replace(found, dropped={"normalised": longer})
