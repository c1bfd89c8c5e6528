"""Lemma F.5, the second moment of Delta_r: the printed bound, and a tight one with the steps that add up to it.

In the sum of the steps every expectation is a variable: D2 and Db2 of Delta_r and Deltabar_r, cons_I and inner of the
consensus error at I and summed over t < I, at_models of the slopes at the models, summed; e2 = eta_l^2, p = m/n and
fac = m(n-m)/(n(n-1)).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec.algorithms import cafga
from fedspec.arith import Array
from fedspec.mixing import topology
from fedspec.plan import Exchange
from fedspec_proofs.afga.claims.sampling import DRAWS, expected, inexact, spread
from fedspec_proofs.afga.kit import bounds
from fedspec_proofs.afga.kit.constants import Well
from fedspec_proofs.afga.kit.mixed import one_more_slope, senders_by_clusters
from fedspec_proofs.afga.kit.network import EXACT, hyper
from fedspec_proofs.afga.kit.networks import ASSUMPTIONS, DRAWN, PRINTED, conditions, some, two_tilts
from fedspec_proofs.afga.kit.rounds import enumerated
from fedspec_proofs.claim import Engine, Extent, Finding, Severity, claim, false, refutation
from fedspec_proofs.engines import Draw, Step, Sum, all_proved, curried, decide, exact, mean, record, several, signs
from fedspec_proofs.engines.identities import identities, identity
from fedspec_proofs.kit.adding import confirmed, in_setting, summed
from fedspec_proofs.kit.recorded import Asked, recorded

OURS = "ours, for Lemma F.5"


@claim(
    "afga.lemma-f-5",
    statement="E|Delta_r|^2 <= 2 eta_l^2 I sigma^2/N + 2 eta_l^2 (I - 1) sum_t E|1/N sum grad f_i(x^i_t)|^2 + 4 "
    "eta_l^2 E|1/K sum grad fbar_k(xbar^k_(I-1))|^2 + 8 ((n-m)/(m(n-1)) + eta_l^2 L^2) consensus error at I - 1 + 2 "
    "eta_l^2 sigma^2/N (n-m)/m rho_max^2",
    source="Lemma F.5, eq. (73) (L3729)",
    severity=Severity.FALSE_RESULT,
    assumptions=PRINTED,
)
def lemma_f_5() -> Finding:
    """Sampling in a single local step has a variance that no term contains: the right side is 0, whatever its
    constants are. Delta_r has the factor 1/(Km) of eq. (74), which the lemma's first line leaves out; here it is 1.
    """
    net = two_tilts((1, -1), 0)
    return refutation(
        instance="K = 1, two clients f_1 = x, f_2 = -x, one drawn at random, W = J, no noise, one local step from x_r "
        "= 0 with eta_l = 1/8, L = 1",
        conditions={**conditions(net), "4.3: |f_i'| <= 1": all(abs(c) <= 1 for c in net.c) and not any(net.a)},
        left=enumerated(net, lambda _, delta: delta @ delta),
        right=next(iter(bounds.change_as_printed(net)))[1],
        again=0,
    )


@curried
def senders_vary(draw: Draw, K: int, n: int, m: int, clusters: Any) -> list[Any]:
    """E over senders of Delta_r^2, minus Deltabar_r^2 and the claimed variance; zero if the identity holds."""
    X = draw("X", K * n, 1)
    whole, left = sum(X[:, 0]) / F(K * n), F(n - m, clusters * m * (n - 1))
    return [expected(X, K, n, m) / F(K * m) ** 2 - whole**2 - left * spread(X, K, n) / F(K * n)]


SIZES = [(1, 2, 1), (1, 2, 2), (1, 3, 1), (1, 3, 2), (1, 4, 2), (2, 2, 1), (2, 2, 2), (2, 3, 2), (3, 2, 1)]


@claim(
    "afga.eq-75-exact",
    statement="Over the senders, E|Delta_r|^2 = |Deltabar_r|^2 + (n-m)/(Km(n-1)) 1/N sum_k |Xperp^k|^2 exactly, the "
    "clients' models given",
    source=OURS + ", eqs. (74) and (75) (L3766-3819)",
    assumptions=DRAWS,
    chain="lemma-f-6-exact",
)
def eq_75_exact() -> Finding:
    """Exact moment of Lemma F.6; then K <= 3 clusters of n <= 4, models relative to x_r, d = 1."""
    sizes = {f"K = {K}, n = {n}, m = {m}": senders_vary(K, n, m, K) for K, n, m in SIZES}
    found = identities({"any K, n and m": senders_by_clusters, **sizes}, instances=6)
    # y are the models relative to x_r, and Delta_r the sum over those drawn, over K m.
    return Finding(found.verdict, found.evidence, inexact(F(1, 4)), found.second)


@false("afga.false-75-one-cluster", of=eq_75_exact, statement="The same without 1/K")
def without_clusters() -> Finding:
    """Refuted: K independently sampled clusters have 1/K of one cluster's variance."""
    return identities({"K = 2, n = 2, m = 1": senders_vary(2, 2, 1, 1)})


TIGHT = {
    "senders": "E|Delta_r|^2 = E|Deltabar_r|^2 + (n-m)/(Km(n-1)) consensus error at I: afga.eq-75-exact",
    "two sums": "E|Deltabar_r|^2 <= e2 (2 P + 2 Q), P of the sum of p g_t, Q of that of the draws' and the noise's "
    "deviations: afga.eq-9 and afga.eq-76-repaired",
    "Jensen": "P <= p^2 I sum_t E|g_t|^2, one step more at a time: looked at here",
    "deviations": "Q <= sum_t V_t + I M sigma^2/N^2: given the past, the deviations have mean zero, and so has the "
    "noise given the draws and the other clients' noise",
    "draws": "sum_t V_t <= fac/N times the summed variances in the clusters: afga.lemma-f-6-exact",
    "variance": "the summed variances <= 2 L^2 consensus errors + 2 I sbar_l^2: afga.lemma-f-1-lines, 4.1, D.1 within",
}


def tight(draw: Draw) -> Sum:
    """Steps that add up to the corrected eq. (73), in the terms that the search uses."""
    v = record(draw, "K n m I L eta_l fac sigma2 sbar2 inner at_models")
    D2, Db2, P, Q, V, spread, cons_I = several(draw, "D2, Db2, P, Q, V, spread, cons_I")
    p, e2, N = v.m / v.n, v.eta_l**2, v.K * v.n
    by_drawing = bounds.change_by_drawing(v, cons_I)
    steps = {
        "senders": Step(1, D2, Db2 + by_drawing),
        "two sums": Step(1, Db2, e2 * (2 * P + 2 * Q)),
        "Jensen": Step(2 * e2, P, p**2 * v.I * v.at_models),
        "deviations": Step(2 * e2, Q, V + v.I * v.K * v.m * v.sigma2 / N**2),
        "draws": Step(2 * e2, V, v.fac / N * spread),
        "variance": Step(2 * e2 * v.fac / N, spread, 2 * v.L**2 * v.inner + 2 * v.I * v.sbar2),
    }
    return Sum(steps, D2, {"": by_drawing, **bounds.change_terms(v, v.inner, v.at_models)})


@claim(
    "afga.eq-86-assembly",
    statement="The six steps that are assumed here add up to the bound of eq-86-tight for all K, n, m, I and constants",
    source="ours, for Lemma F.5 (L3729-4536)",
    engine=Engine.SYMBOLIC,
    extent=Extent.PART,
    assumptions=TIGHT,
    chain="eq-75-exact eq-9 eq-76-repaired lemma-f-6-exact lemma-f-1-lines",
)
def eq_86() -> Finding:
    """The sum has no slack."""
    jensen = decide(one_more_slope, ablate=False, instances=20)
    return all_proved({"sum": summed(tight, TIGHT), "Jensen": jensen})


@claim(
    "afga.eq-86-tight",
    statement="E|Delta_r|^2 <= (n-m)/(Km(n-1)) consensus error at I + eta_l^2 {2 I M sigma^2/N^2 + 4 I/N fac sbar_l^2 "
    "+ 4 L^2/N fac sum_t consensus error at t + 2 p^2 I sum_t E|1/N sum grad f_i(x^i_t)|^2}, fac = m(n-m)/(n(n-1)); "
    "the braces bound E|Deltabar_r|^2",
    source=OURS + " (L3729)",
    engine=Engine.SYMBOLIC,
    extent=Extent.WHOLE,
    assumptions={**some(ASSUMPTIONS, "4.1", "4.2", "D.1 within"), **DRAWN},
    repairs="afga.lemma-f-5",
    chain="eq-86-assembly",
)
def eq_86_tight() -> Finding:
    """The bound needs neither C_1, alpha, sigma_c or rho nor a condition on eta_l."""
    looked = bounds.one_round(bounds.change_tight, "4.1", "4.2", "D.1 within")
    return confirmed((eq_86.body(),), in_setting(looked, DRAWN), bounds.TRIES)


@dataclass(frozen=True)
class Alone:
    """A client s log(1 + x^2)/2 that starts from x, with noise of 1 or -1."""

    s: Any
    x: Any
    eta_l: Any
    steps: int


def _split(one: Alone) -> tuple[Any, Any]:
    """E|sum of stochastic gradients|^2, and the two parts that eq. (76) makes of it, through the algorithm."""
    f, x, W = Well(one.s, F(0)), exact.vector(one.x), topology.complete(1, EXACT)
    plan = Exchange((0,), ((0,),) * one.steps, W)
    h = hyper(one.eta_l)

    def sums(coins: tuple[int, ...]) -> Array:
        asked: Asked = []
        noisy = recorded(lambda t, at: f.slope(at) + coins[t], asked)
        delta, _ = cafga.change(h, x, np.stack([x]), [noisy], plan)
        slopes = sum(f.slope(at)[0] for _, at, _ in asked)
        return exact.vector((delta[0] / one.eta_l) ** 2, sum(coins) ** 2, slopes**2)

    whole, noise, slopes = mean(sums, signs(one.steps))
    return whole, noise + slopes


@claim(
    "afga.eq-76",
    statement="E|sum_t (noise_t + grad f_i(x^i_t))|^2 = E|sum_t noise_t|^2 + E|sum_t grad f_i(x^i_t)|^2",
    source="Lemma F.5, eq. (76), third equality (L3821-3859)",
    severity=Severity.CONSTANT,
)
def eq_76() -> Finding:
    """The second gradient is evaluated where the first noise led: on a concave piece the two correlate, so the left
    side is larger, and the inequality that the proof needs fails as well.
    """
    one = Alone(F(1), F(2), F(1, 16), 2)
    whole, parts = _split(one)
    f = Well(one.s, F(0))
    return refutation(
        instance="one client f = log(1 + x^2)/2 from x_r = 2, where it is concave, noise of plus or minus 1, I = 2, "
        "eta_l = 1/16; over eta_l^2",
        conditions={
            "4.1: |f''| <= 1 = L": f.L == 1,
            "4.2: sigma = 1": mean(lambda coin: coin[0] ** 2, signs(1)) == 1,
            "4.3: |f' + noise| <= 3/2 = G": F(3, 2) == f.G + 1,
            "eta_l <= 1/(8IL)": one.eta_l * 16 * f.L <= 1,
            "f is bounded below, by 0": one.s >= 0,
        },
        left=whole,
        right=parts,
    )


@claim(
    "afga.eq-76-repaired",
    statement="E|sum_t (noise_t + grad_t)|^2 <= 2 E|sum_t noise_t|^2 + 2 E|sum_t grad_t|^2, in every outcome and "
    "coordinate by coordinate: the difference is |sum_t noise_t - sum_t grad_t|^2",
    source="ours, for eq. (76) (L3821-3859); eq. (74) has a factor of 2 in front of it already",
    extent=Extent.WHOLE,
)
@identity("one coordinate")
def eq_76_repaired(draw: Draw) -> list[Any]:
    """Proof with the two sums as arbitrary numbers, however they depend on each other."""
    noise, slopes = draw("noise"), draw("slopes")
    return [2 * noise**2 + 2 * slopes**2 - (noise + slopes) ** 2 - (noise - slopes) ** 2]
