"""Lemmas F.3 and F.4: how far the models stray in t local steps, with the universal constant made a number."""

from __future__ import annotations

from fedspec_proofs.afga import bounds
from fedspec_proofs.afga.bounds import C_1
from fedspec_proofs.afga.networks import ASSUMPTIONS, some
from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim

ALL = ("4.1", "4.2", "D.1 within", "D.1 between", "D.2", "step")


@claim(
    "afga.lemma-f-3",
    statement="Consensus error + drift after t local steps <= (t + 1) C_1 eta_l^2 {(I + rho^2 H)(alpha^2 E|grad f|^2 "
    "+ sigma_c^2) + rho^2 H sbar_l^2 + rho^2 sigma^2 + (1 + H^2 rho^2/I^2)(sigma^2/n + m(n-m)/(n(n-1)) I sbar_l^2)}, "
    "with C_1 = 2 for the constant that the paper leaves open",
    source=Source(AFGA, "Lemma F.3, eq. (47) (L3080)"),
    engine=Engine.SEARCH,
    verdict=Verdict.NOT_CONTRADICTED,
    assumptions=some(ASSUMPTIONS, *ALL),
)
def lemma_f_3() -> Finding:
    """t = 0..I-1; exact expectations over all sets and the noise; N <= 4, I <= 12, d = 1, affine gradients.

    The constants of the proof add up to 72 (:func:`lemma_f_3_constant`); none of these networks needs that much. 1 is
    not enough: one client on a concave parabola with noise drifts like sum_j (1 + eta_l)^(2j), above t + 1 from I = 10.
    """
    return bounds.one_round(lambda net: bounds.both_errors(net, 2, 1), *ALL)


@claim(
    "afga.lemma-f-3-constant",
    statement="Lemma F.3 with t in place of t + 1 and C_1 = 72; that the proof's steps add up to less is claim "
    "lemma-f-3-assembly",
    source=Source(AFGA, "ours, Lemma F.3 (L3080) with its constant C_1 made a number"),
    engine=Engine.SEARCH,
    verdict=Verdict.NOT_CONTRADICTED,
    assumptions=some(ASSUMPTIONS, *ALL),
)
def lemma_f_3_constant() -> Finding:
    """t = 0..I. The bound is loose by design."""
    return bounds.one_round(lambda net: bounds.both_errors(net, C_1, 0), *ALL)


@claim(
    "afga.lemma-f-4",
    statement="Consensus error after t local steps <= t C_1 eta_l^2 rho^2 {H (alpha^2 E|grad f|^2 + sigma_c^2) + H "
    "sbar_l^2 + sigma^2 + (H^2/I^2) sigma^2/n + m(n-m)/(n(n-1)) (H^2/I) sbar_l^2}, with t for the printed t + 1 and "
    "C_1 = 2 for the constant that the paper leaves open",
    source=Source(AFGA, "Lemma F.4, eq. (69) (L3591)"),
    engine=Engine.SEARCH,
    verdict=Verdict.NOT_CONTRADICTED,
    assumptions=some(ASSUMPTIONS, *ALL),
)
def lemma_f_4() -> Finding:
    """t = 0..I; the instances of Lemma F.3. With rho = 0 both sides are zero.

    Not C_1 = 1: two opposite clients on a concave parabola that hardly mix drift apart by (1 + eta_l)^t.
    """
    return bounds.one_round(lambda net: bounds.consensus_error(net, 2, 0), *ALL)
