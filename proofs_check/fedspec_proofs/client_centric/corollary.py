"""Corollary 4.1.1: what the rates make of Theorem 4.1, and what they do not give when few clients are heard."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Any

from fedspec_proofs.claim import CLIENT_CENTRIC, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric.family import EPS, Schedule
from fedspec_proofs.client_centric.rates import EXPONENTS, PLACE, corrected_rates, long, orders
from fedspec_proofs.client_centric.runs import measure
from fedspec_proofs.client_centric.theorem import ASSUMED_PRINTED
from fedspec_proofs.engines.algebra import decide
from fedspec_proofs.engines.combine import all_refuted
from fedspec_proofs.engines.identities import identities
from fedspec_proofs.refutation import refutation


def members() -> list[Schedule]:
    """The family: K = 4, 16, ..., 1024 and T = 4 K^5."""
    return [Schedule(4**j, 4 * 4 ** (5 * j)) for j in range(1, 6)]


@claim(
    "client-centric.corollary-4-1-1",
    statement="With these rates the mean squared gradient is O(1 / sqrt(m K T)) + O(K^2 / T) + O(tau^2 / T), and "
    "O(1 / sqrt(m K T)) if T >= m K^5 and tau <= (T / (m K))^(1/4): at most a multiple of it that K, T and m "
    "do not enter; 50 is tried here",
    source=Source(CLIENT_CENTRIC, PLACE),
    engine=Engine.MOMENTS,
    verdict=Verdict.REFUTED,
    assumptions={
        **ASSUMED_PRINTED,
        "rates": "eta_l = Theta(1 / sqrt(T)), eta = Theta(sqrt(m K)), here with constants 1; one K for all",
        "long": EXPONENTS["long"],
        "moderate": EXPONENTS["moderate"],
        "constants": "O() may hide n, d, L, G, sigma_l, sigma_g, eps, beta, v_0, f(z_0) - f*; none of them varies here",
    },
)
def rate() -> Finding:
    """False when one of two clients is heard: along K = 4, 16, ... the quotient grows like K, past every constant.

    So 50 is no special number: for every square K >= 4 and T = 4 K^5 the quotient of CC-FedAMS is at least K / 10 (the
    argument is in the family's own lower bound), and that of CC-FedAdagrad at least K / 20 at the members that are
    computed, for v_0 = 0 and v_0 = eps^2. K^2 / T and tau^2 / T are no larger than 1 / sqrt(m K T) here.
    """
    family = members()
    met = {words: all(s.conditions[words] for s in family) for words in family[0].conditions}
    met["K^2 / T and tau^2 / T are at most 1 / sqrt(m K T)"] = all(s.K**4 * s.K <= s.T for s in family)
    ams = [s.bounds()[0] * isqrt(s.K) * isqrt(s.T) for s in family]
    proofs = {
        "closed form = moments = every draw of 4 rounds, first two members": all(s.agrees() for s in family[:2]),
        "each is at least u^2 / 8 - 1 / (32 u) - 1 / (2 u^4), u = sqrt(K), which is at least K / 10": all(
            q >= s.least >= Fraction(s.K, 10) for q, s in zip(ams, family, strict=True)
        ),
    }
    findings = [_unbounded("CC-FedAMS, v_0 = eps^2", ams, {**met, **proofs})]
    for v0, words in ((Fraction(0), "0"), (EPS**2, "eps^2")):
        below = [s.adagrad(v0) * isqrt(s.K) * isqrt(s.T) for s in family]
        own = {
            "v_t <= v_0 + eps^2 and |x_t| <= 1 throughout": all(s.stays() for s in family),
            "each is at least K / 20": all(q >= Fraction(s.K, 20) for q, s in zip(below, family, strict=True)),
            "every draw of 4 rounds through CC-FedAdagrad lies above the bound, first two members": all(
                measure(replace(s.regime, server="adagrad", v0=v0), exact=False)[0] >= float(s.adagrad(v0, 4))
                for s in family[:2]
            ),
        }
        findings.append(_unbounded(f"CC-FedAdagrad, v_0 = {words}", below, {**met, **own}))
    return all_refuted(*findings)


def _unbounded(name: str, quotients: list[Any], conditions: dict[str, bool]) -> Finding:
    shown = ", ".join(f"{float(q):.4g} at K = {s.K}" for q, s in zip(quotients, members(), strict=True))
    return refutation(
        instance=f"{name}: n = 2, m = 1, f_i Huber around 1 and -1, so L = 1, G = 2, sigma_g = 1, sigma_l = 0; tau = "
        "1, eps = 2, beta = 0, x_0 = 0 = x*, all fixed; K = 4^j, T = 4 K^5; mean squared gradient times sqrt(m K T), "
        f"from below: {shown}",
        conditions=conditions,
        # Rounded down: the fraction itself has thousands of digits.
        left=Fraction(int(1000 * quotients[-1]), 1000),
        right=Fraction(50),
    )


@claim(
    "client-centric.corollary-4-1-1-repaired",
    statement="With these rates the right side of the corrected theorem is O(1 / sqrt(m K T)) for m = n and "
    "O(sqrt(K / (m T))) for m < n, if T >= m K^5 and tau <= (T / (m K))^(1/4); for the two clients above and CC-FedAMS "
    "the mean squared gradient lies between 1/10 and 1/4 of sqrt(K / (m T)), at all members of the family",
    source=Source(CLIENT_CENTRIC, "ours: " + PLACE + ", corrected"),
    engine=Engine.MOMENTS,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="the orders for all n, m, K, T and tau; the two clients at K = 4^j, T = 4 K^5, j <= 5",
    assumptions={**EXPONENTS, "one of two": "n = 2 and m = 1, for the second half"},
    repairs="client-centric.corollary-4-1-1",
    chain=("client-centric.theorem-4-1-repaired",),
)
def rate_repaired() -> Finding:
    """No linear speed-up in K where clients are drawn: the term with s^2 has this order, and runs attain it.

    The orders of the theorem's terms are an identity and real algebra; at the members of the family the bounds from
    both sides are fractions. Where both clients are heard the run of the family does not leave x* at all.
    """
    sums = identities(
        {f"v_0 = {words}": partial(corrected_rates, power=1, start=v) for v, words in ((0, "0"), (1, "eps^2"))},
        instances=10,
    )
    sizes = decide(orders, sample=long)
    if sums.verdict is not Verdict.PROVED or sizes.verdict is not Verdict.PROVED:
        return Finding(Verdict.UNKNOWN, f"{sums.evidence}\n{sizes.evidence}")
    family = members()
    bounds = [(s.bounds(), Fraction(isqrt(s.K), isqrt(s.T))) for s in family]
    holds = all(order / 10 <= low and high <= order / 4 for (low, high), order in bounds)
    ratio = max(float(high / (order / 4)) for (_, high), order in bounds)
    full = all(measure(replace(s.regime, m=2), exact=True)[0] == 0 for s in family[:2])
    return Finding(
        Verdict.PROVED if holds else Verdict.REFUTED,
        f"terms: {sums.evidence}\norders: {sizes.evidence}\n"
        f"{len(family)} members up to K = {family[-1].K}, T = {family[-1].T}; largest left/right {ratio:.4g}",
        {
            **sizes.dropped,
            "one of two": Dropped(full, "with both clients in the buffer x_t = x* = 0 in 4 rounds, at K = 4 and 16"),
        },
    )
