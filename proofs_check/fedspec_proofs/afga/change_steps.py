"""Lemma F.5 by adding up its steps: first the bound that is tight, then eq. (86) from it with Lemma F.4.

Every expectation is a variable: D2 and Db2 of Delta_r and Deltabar_r, cons_I and cons of the consensus error at I and
summed over t < I, g2 and z2 of the slopes at the models and at the clusters' means, summed; e2 = eta_l^2, p = m/n and
fac = m(n-m)/(n(n-1)).
"""

from __future__ import annotations

from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.certificate import Step, Sum, added
from fedspec_proofs.engines.draw import Draw

TIGHT = {
    "senders": "E|Delta_r|^2 = E|Deltabar_r|^2 + (n-m)/(Km(n-1)) consensus error at I: afga.eq-75-exact",
    "two sums": "E|Deltabar_r|^2 <= e2 (2 P + 2 Q), P of the sum of p g_t, Q of that of the draws' and the noise's "
    "deviations: afga.eq-9 and afga.eq-76-repaired",
    "Jensen": "P <= p^2 I sum_t E|g_t|^2",
    "deviations": "Q <= sum_t V_t + I M sigma^2/N^2: given the past, draws and noise are independent, of mean zero",
    "draws": "sum_t V_t <= fac/N times the summed variances in the clusters: afga.lemma-f-6-exact",
    "variance": "the summed variances <= 2 L^2 consensus errors + 2 I sbar_l^2: afga.lemma-f-1-lines, 4.1, D.1 within",
}


def tight(draw: Draw) -> Sum:
    """What stands in place of eq. (73)."""
    names = ("K", "n", "m", "I", "L", "eta_l", "fac", "sigma2", "sbar2", "cons", "g2")
    K, n, m, I, L, eta_l, fac, sigma2, sbar2, cons, g2 = (draw(name, positive=True) for name in names)
    D2, Db2, P, Q, V, spread, cons_I = (draw(name) for name in ("D2", "Db2", "P", "Q", "V", "spread", "cons_I"))
    p, e2, N, M = m / n, eta_l**2, K * n, K * m
    senders = fac * n / m**2 / K
    steps = {
        "senders": Step(1, D2, Db2 + senders * cons_I),
        "two sums": Step(1, Db2, e2 * (2 * P + 2 * Q)),
        "Jensen": Step(2 * e2, P, p**2 * I * g2),
        "deviations": Step(2 * e2, Q, V + I * M * sigma2 / N**2),
        "draws": Step(2 * e2, V, fac / N * spread),
        "variance": Step(2 * e2 * fac / N, spread, 2 * L**2 * cons + 2 * I * sbar2),
    }
    right = 2 * I * M * sigma2 / N**2 + 4 * I * fac * sbar2 / N + 4 * L**2 * fac * cons / N + 2 * p**2 * I * g2
    return Sum(steps, D2, senders * cons_I + e2 * right)


@claim(
    "afga.eq-86-assembly",
    statement="The six steps that are assumed here add up to the bound of eq-86-tight for all K, n, m, I and constants",
    source=Source(AFGA, "ours, for Lemma F.5 (L3729-4536)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions=TIGHT,
)
def eq_86() -> Finding:
    """Without a factor to spare."""
    return added(tight, TIGHT)
