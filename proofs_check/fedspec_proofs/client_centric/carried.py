"""Footnote 3: what of the bound of A_5 carries over to the other servers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fedspec_proofs.claim import CLIENT_CENTRIC, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric.combine import all_proved
from fedspec_proofs.client_centric.roots import maxima, root_step
from fedspec_proofs.client_centric.steps import increments
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.refutation import refutation


@claim(
    "client-centric.footnote-3",
    statement="The bound of A_5 in the proof holds for CC-FedAdam as well: A_5 <= (eta G / (4 eps^2)) |Delta_t|^2",
    source=Source(CLIENT_CENTRIC, "ours, about footnote 3 (L264), which says that similar results are easily had"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def footnote_3() -> Finding:
    """CC-FedAdam's v may fall, a_(t+1) - a_t is then positive, and A_5 is of the first order in Delta_t.

    A bound of another form may exist: what is refuted is this step, which uses that v_hat does not fall (L659).
    """
    eps, G, gamma, t = Fraction(1), Fraction(1), Fraction(1, 4), Fraction(1, 100)
    # v = 16 becomes 4 + 3 Delta^2 / 4, a square for this Delta.
    delta = exact.vector(4 * t / (Fraction(3, 4) - t**2))
    p, q = exact.vector(4), 2 + t * delta
    after = increments("adam", p, p, delta, gamma=gamma)
    a, a_next = 1 / (p + eps), 1 / (q + eps)
    return refutation(
        instance=f"d = 1, eps = G = eta = eta_l = 1, gamma = 1/4, v_t = 16, Delta_t = {delta[0]}, grad f(x_t) = 1",
        conditions={
            "v_t >= eps^2": all(one >= eps for one in p),
            "|Delta_t| <= eta_l G": all(abs(one) <= G for one in delta),
            "the root is that of CC-FedAdam's rule": bool(all(after == q**2)),
        },
        left=(a_next - a) @ delta,
        right=G / (4 * eps**2) * (delta @ delta),
    )


PARTS = {
    "old root": "v_hat_t >= eps^2",
    "new root": "the new root is not negative",
    "its square": "and that of the rule's v_hat",
    "v <= v_hat": "v_t <= v_hat_t",
    "size": "|Delta_t| is not negative",
    "|Delta|": "and its square is Delta_t^2",
    "gradient": "|grad f(x_t)| <= G",
    "gradient too": "and minus it, too",
    "eps > 0": "eps is positive",
    "gamma >= 0": "0 <= gamma",
    "gamma < 1": "gamma < 1",
}


def _grown(draw: Draw) -> Statement:
    """The root grows, by at most |Delta_t|."""
    p, q, delta, v, after = root_step(draw, "ams")
    eps, gamma, size = draw("eps"), draw("gamma"), draw("size")
    return Statement(
        {
            "old root": p >= eps,
            "new root": q >= 0,
            "its square": q * q == after,
            "v <= v_hat": v <= p * p,
            "size": size >= 0,
            "|Delta|": size * size == delta * delta,
            "eps > 0": eps > 0,
            "gamma >= 0": gamma >= 0,
            "gamma < 1": gamma < 1,
        },
        {"grows": q >= p, "by at most |Delta_t|": q - p <= size},
    )


def _factors(draw: Draw) -> Statement:
    """With rise = q - p: A_5's numerator is at most G Delta^2, and its denominators at least 2 eps each."""
    p, eps, delta, size, g, G, rise = (draw(n) for n in ("p", "eps", "Delta", "size", "g", "G", "rise"))
    return Statement(
        {
            "old root": p >= eps,
            "size": size >= 0,
            "|Delta|": size * size == delta * delta,
            "gradient": g <= G,
            "gradient too": -g <= G,
            "eps > 0": eps > 0,
            "part 1": rise >= 0,
            "part 1 too": rise <= size,
        },
        {
            "numerator": -g * delta * rise <= G * delta * delta,
            "it is not negative": G * delta * delta >= 0,
            "denominators": (p + eps) * (p + rise + eps) >= 4 * eps * eps,
        },
    )


def _product(draw: Draw) -> Statement:
    """X 4 eps^2 <= Y W from X <= Y, Y >= 0 and W >= 4 eps^2."""
    X, Y, W, E = draw("X"), draw("Y"), draw("W"), draw("4 eps^2")
    return Statement({"X <= Y": X <= Y, "Y >= 0": Y >= 0, "W >= E": W >= E, "E >= 0": E >= 0}, {"A_5": X * E <= Y * W})


def _part_2(rng: np.random.Generator) -> dict[str, Fraction]:
    (eps, G), (a, b, c) = exact.rationals(rng, 2, low=1), exact.rationals(rng, 3, low=0, high=1, denominators=(1, 2, 3))
    delta = 2 * a + b
    return {"eps": eps, "p": eps + a, "Delta": delta, "size": delta, "rise": delta * c, "G": G, "g": G * (1 - 2 * b)}


@claim(
    "client-centric.footnote-3-repaired",
    statement="The bound of A_5 carries over to CC-FedAMS: A_5 <= (eta G / (4 eps^2)) |Delta_t|^2",
    source=Source(CLIENT_CENTRIC, "ours: footnote 3 (L264), for CC-FedAMS only"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions=PARTS,
    repairs="client-centric.footnote-3",
)
def footnote_3_repaired() -> Finding:
    """One coordinate (the others add up by Cauchy and Schwarz), in three parts.

    With eta = 1, A_5 = -g Delta (q - p) / ((p + eps) (q + eps)). The rule's root grows by at most |Delta|; numerator
    and denominators are bounded from that; then they are multiplied.
    """
    whole = all_proved(
        decide(_grown, sample=maxima, instances=40), decide(_factors, sample=_part_2, instances=40), decide(_product)
    )
    # What one part shows is no assumption of the whole.
    return replace(whole, dropped={name: one for name, one in whole.dropped.items() if name in PARTS})
