"""Theorem 3, for T >= 1 local steps, its second display and the discussion of it. Fed-LAMB, eq. (22) (L706-729)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Extent, Finding, Verdict, claim
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fed_lamb.claims.theorem_1 import hill
from fedspec_proofs.fed_lamb.kit import bounds
from fedspec_proofs.fed_lamb.kit.bounds import Constants
from fedspec_proofs.fed_lamb.kit.rounds import F
from fedspec_proofs.fed_lamb.kit.shared import FOUR, PROOF_1, PROOF_3, at
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.theorem-3-printed",
    statement="(1/tau) sum_t E||f'(x_t)/v_hat_t^(1/4)||^2 is at most the right side of (22), cst included",
    source=at("Theorem 3, eq. (22) (L706-712)"),
    engine=Engine.EXACT,
    verdict=Verdict.UNDECIDABLE,
)
def printed() -> Finding:
    """A bound with a constant that may be anything refuses nothing."""
    return Finding(
        Verdict.UNDECIDABLE,
        "cst is not specified; with the one that its proof ends with (L808) it falls, fed-lamb.theorem-3; "
        "what stands of the order that follows it (L716) is fed-lamb.theorem-3-order-repaired",
    )


@claim(
    "fed-lamb.theorem-3",
    statement="Ours: (1/tau) sum_t E||f'(x_t)/v_hat_t^(1/4)||^2 is at most the right side of (22) with a cst, which "
    "Theorem 3 does not specify, taken from the end of its proof (L808, for M <= 1); here T = 1",
    source=at("ours, Theorem 3, eq. (22) (L706-712) with the cst of L808"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
    chain=(*PROOF_1, *PROOF_3),
)
def theorem_3() -> Finding:
    """c = 1/10 of x^2/2; sigma = 3c/4, so that the root in (22) is rational, which only makes the right side larger."""
    h = hill(F(1, 10), sigma=F(3, 40))
    return refutation(
        instance="x^2/20 near 0 from 1, one client, R = tau = 50, T = 1, rates 1/100 to 451/50000, beta1 = 0, v0 = "
        "1/100, sigma = 3/40",
        conditions={**h.conditions, "M <= 1 (L806)": h.k.M <= 1},
        left=h.mean(sqrt),
        right=bounds.theorem_3(h.k, h.k.L_bar),
    )


def _balance(power: int = 5) -> Body:
    """tau = a^2, L = b^4, n = u^4, p = w^4, T - 1 = sqrt(tau) L^(5/4)/(n p)^(1/4), so that no root occurs."""

    def body(draw: Draw) -> Iterable[Any]:
        a, b, u, w = (draw(name, positive=True) for name in ("a", "b", "u", "w"))
        more = a * b**power / (u * w)
        last = more**2 * w**4 / (a**3 * b**12)
        first = w**2 / u**2 / (b**2 * a)
        return [last - first]

    return body


@claim(
    "fed-lamb.remark-local-steps",
    statement="T - 1 = sqrt(tau) L^(5/4)/(n p)^(1/4) makes the last term of L716 as large as its first one over M",
    source=at("discussion (L718-720)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
    assumptions={"L^(5/4)": "the power of L, which is smoothness in one term and the number of layers in the other"},
)
def balance() -> Finding:
    """So the remark follows from the display; the display does not hold."""
    return identities({"fourth powers": _balance()}, without={"L^(5/4)": {"fourth powers": _balance(power=4)}})


@claim(
    "fed-lamb.theorem-3-order",
    statement="With alpha = O(1/(L sqrt(tau))), and O() read as a constant C that does not depend on n, the left "
    "side of (22) is at most C (sqrt(M^2 p/n)/sqrt(Lay tau) + sigma^2/(tau n sqrt(p)) + (T - 1)^2 p/(tau^(3/2) "
    "L^3)); here C = 5",
    source=at("ours, a reading of Theorem 3, second display (L716) and L812"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def order() -> Finding:
    """At T = 1 it falls as 1/sqrt(n), and clients alike walk as one: left over right grows without bound."""
    h, more = hill(F(1), n=400, R=4), hill(F(1), n=1600, R=4)
    rights = [
        sqrt(F(k.M**2 * k.p, k.n)) / sqrt(k.Lay * k.R) + k.sigma**2 / (k.R * k.n * sqrt(F(k.p))) for k in (h.k, more.k)
    ]
    return refutation(
        instance="x^2/2 near 0 from 1, n = 400 clients alike, tau = 4, T = 1, rates from 1/100 on, v0 = 1, sigma = "
        "1/1000; left over right grows as sqrt(n) (clients alike walk as one, fed-lamb.clients-alike)",
        conditions={
            **h.conditions,
            "n = 1600: the left side is the same, the right side at most half": more.mean(sqrt) == h.mean(sqrt)
            and rights[1] <= rights[0] / 2,
        },
        left=h.mean(sqrt),
        right=5 * rights[0],
    )


def _in_rounds(power: int = 1, sigma: Any = 0, zeta: Any = 0) -> Body:
    """The repaired bound times s = sqrt(R), with alpha = a/s^power, less what it is said to be."""

    def body(draw: Draw) -> Iterable[Any]:
        names = ("gap", "L_bar", "phi_m", "phi_M", "T", "a", "s", "w", "side", "Lam", "roots")
        gap, L_bar, phi_m, phi_M, T, a, s, w, side, Lam, roots = (draw(name, positive=True) for name in names)
        rate = a / s**power
        # v0 = w^2 and Lay = side^2 have roots.
        k = Constants(
            gap=gap, L_bar=L_bar, phi_m=phi_m, phi_M=phi_M, T=T, R=s**2, Lay=side**2, alpha=rate, least_alpha=rate,
            sigma=sigma, v0=w**2,
        )  # fmt: skip
        terms = bounds.per_layer_terms(k, bounds.errors(k, zeta, roots, (Lam,)))
        fixed = gap / (a * T) + a * T * phi_M**2 * L_bar / 2 + phi_M**2 * a * (T - 1) * side * Lam
        return [s * sum(terms.values()) - fixed / (phi_m * w)]

    return body


@claim(
    "fed-lamb.theorem-3-order-repaired",
    statement="What stands of L716: with a rate of a/sqrt(R), T fixed, exact gradients and clients alike (sigma = zeta "
    "= 0, beta1 = lam = 0) the repaired bound of Theorem 3 is C/sqrt(R) with a C that has no R, the order of the first "
    "term in tau; C does not fall with n, and noise or heterogeneity leave 2 phi_M (zeta + sigma sum_l "
    "sqrt(p_l))/(phi_m s), which no R makes smaller",
    source=at("ours, for Theorem 3, second display (L716)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    extent=Extent.PART,
    assumptions={
        "rate": "alpha = a/sqrt(R)",
        "sigma = 0": "gradients are exact",
        "zeta = 0": "clients are alike",
    },
    repairs="fed-lamb.theorem-3-order",
)
def order_in_rounds() -> Finding:
    """Of the bound alone, whose own evidence is fed-lamb.theorem-3-repaired; that noise does leave a floor under the
    left side, at a constant rate, is fed-lamb.theorem-1-noise.
    """
    without = {"rate": _in_rounds(power=2), "sigma = 0": _in_rounds(sigma=F(1)), "zeta = 0": _in_rounds(zeta=F(1))}
    return identities({"all sizes": _in_rounds()}, without={name: {"all sizes": b} for name, b in without.items()})
