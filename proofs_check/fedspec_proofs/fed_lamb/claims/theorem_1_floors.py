"""What normalised steps cannot do: the floors under any bound of Theorem 1's kind, which (4) does not have.

Eq. (4) makes noise cost sigma^2/n over R, and assumes nothing about how clients differ. Steps of one length follow the
median of what they see, not its mean, so that neither can vanish with R.
"""

from __future__ import annotations

from fractions import Fraction

from fedspec.plan import Oracle
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.fed_lamb.claims.theorem_1 import THEOREM
from fedspec_proofs.fed_lamb.kit import bounds
from fedspec_proofs.fed_lamb.kit.bounds import Constants
from fedspec_proofs.fed_lamb.kit.problems import vector
from fedspec_proofs.fed_lamb.kit.rounds import F, as_in_proofs, begin, lamb, one_round
from fedspec_proofs.fed_lamb.kit.shared import at
from fedspec_proofs.kit.piecewise import huber
from fedspec_proofs.refutation import refutation

FIFTHS = ((1, F(4)), (4, F(-1)))
"""Noise of mean zero and median -1, with its probabilities in fifths."""

WIDE = huber(F(1), reach=F(2))


def landing(x: Fraction, xi: Fraction, alpha: Fraction) -> Fraction:
    """Where one round of one client takes x when its gradient is f'(x) + xi."""
    h = lamb(eta_l=alpha, v0=F(36))
    oracle: Oracle = lambda k, at: vector([WIDE.gradient(a) + xi for a in at])  # noqa: E731
    after = one_round(h, begin(h, vector([x]), 1), [oracle])
    if after.v_hat[0] != h.v0:
        raise ValueError(f"landing: v_hat is {after.v_hat[0]}, not v0, at x = {x}; the walk is no Markov chain then")
    new: Fraction = after.x[0]
    return new


def law_of_walk(x: Fraction, alpha: Fraction, R: int) -> list[dict[Fraction, int]]:
    """The exact law of the model before each of R rounds: that of round r = 0, 1, ... in units of 5^(-r)."""
    laws, known = [{x: 1}], {}
    for _ in range(R - 1):
        after: dict[Fraction, int] = {}
        for place, chance in laws[-1].items():
            for weight, xi in FIFTHS:
                if (place, xi) not in known:
                    known[place, xi] = landing(place, xi, alpha)
                to = known[place, xi]
                after[to] = after.get(to, 0) + weight * chance
        laws.append(after)
    return laws


@claim(
    "fed-lamb.theorem-1-noise",
    statement="(4), whose term of the noise falls as 1/(n R), holds after 200 rounds of one client with noise of mean "
    "zero, at a constant rate",
    source=at("ours, Theorem 1, eq. (4) (L252) at the constant rate of its proof (L582)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=THEOREM,
)
def noise_floor() -> Finding:
    """x^2/2 with noise 4 once and -1 four times in five: the walk stays about 1, where gradients have median 0."""
    alpha, R = F(1), 200
    laws = law_of_walk(F(1), alpha, R)
    # v_hat = v0 = 36 in every round, which landing() makes sure of.
    squares = [sum(q * WIDE.gradient(x) ** 2 for x, q in law.items()) for law in laws]
    left = F(0)
    # Horner's scheme from the last round on keeps the sum over the powers of 1/5 cheap.
    for square in reversed(squares):
        left = left / 5 + square
    left = left / 36 / R
    M = WIDE.largest + 4
    k = Constants(
        gap=WIDE.value(F(1)) - WIDE.least,
        M=M,
        sigma=F(5, 2),
        R=F(R),
        alpha=alpha,
        least_alpha=alpha,
        beta2=F(99, 100),
        L_bar=WIDE.smoothness,
        v0=F(36),
    )
    variance = sum(q * xi**2 for q, xi in FIFTHS) / 5
    return refutation(
        instance=f"x^2/2 (lines beyond |x| = 2) from 1, one client, noise 4 with probability 1/5, else -1; alpha = 1, "
        f"R = {R}, "
        "v0 = 36, beta1 = 0, beta2 = 99/100; the exact law of the model after every round",
        conditions={
            "H1: L = 1": WIDE.smoothness == 1,
            "H2: the noise has mean zero": sum(q * xi for q, xi in FIFTHS) == 0,
            "H2: M = 6": M == 6,
            "H3: the variance 4 is below sigma^2 = 25/4": variance < k.sigma**2,
            "H4: phi = 1": k.phi_m == k.phi_M == 1,
            **as_in_proofs(lamb()),
            "the probabilities of every law sum to 1": all(sum(law.values()) == 5**r for r, law in enumerate(laws)),
            "rate: constant, as the proof takes it (L582)": k.alpha == k.least_alpha,
            "T, lam: one local step, lam = 0": k.T == 1 and lamb().lam == 0,
        },
        left=left,
        right=bounds.theorem_1(k),
    )
