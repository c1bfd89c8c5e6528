"""Theorem 3, for T >= 1 local steps, its second display and its discussion. Fed-LAMB, eq. (22) (L706-729).

How the auxiliary sequence moves. Fed-LAMB, eq. (10) (L577), where the printed proof of Theorem 1 breaks first.

Theorem 3's proof: the inner product split, eqs. (23) and (24). Fed-LAMB, L733-755.

Theorem 3's proof: how far the auxiliary sequence and the local models are from the mean. Fed-LAMB, L748-768.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fedspec.arith import sqrt
from fedspec.readings import Normalisation, Phi
from fedspec_proofs.claim import Extent, Finding, Severity, Verdict, claim, false, refutation
from fedspec_proofs.engines import Draw, Inequality, Sides, Statement, curried, decide, decided, identities, several
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.fed_lamb.claims.lemma_1 import LENGTHS
from fedspec_proofs.fed_lamb.claims.lemma_2 import HOLDS
from fedspec_proofs.fed_lamb.claims.theorem_1 import hill
from fedspec_proofs.fed_lamb.kit import bounds
from fedspec_proofs.fed_lamb.kit.audits import INSTANCE, bump, conditions
from fedspec_proofs.fed_lamb.kit.bounds import Constants
from fedspec_proofs.fed_lamb.kit.problems import Problem
from fedspec_proofs.fed_lamb.kit.rounds import F, as_in_proofs, begin, lamb, local_models, squared
from fedspec_proofs.fed_lamb.kit.shared import FOUR, PROOF_1, PROOF_3, constant
from fedspec_proofs.fed_lamb.kit.walks import Walk, checked, plain, pulled
from fedspec_proofs.kit.piecewise import huber


@claim(
    "fed-lamb.eq-10",
    statement="vartheta_(r+1) - vartheta_r = alpha/(1 - beta1) mean(phi p_r/||p_r||) - alpha/(1 - beta1) mean(phi "
    "p_(r-1)/||p_(r-1)||)",
    source="eq. (10) (L577)",
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def eq_10() -> Finding:
    """Both signs are wrong, and the second term lacks beta1."""
    a = bump(F(1, 10))
    unit = [now.p / abs(now.p) for now in a.rounds]
    printed = a.h.eta_l / (1 - a.h.beta1) * (unit[1] - unit[0]).sum(axis=0)
    return refutation(instance=INSTANCE, conditions=conditions(a), left=a.moved(1)[0], right=printed[0], relation="=")


@claim(
    "fed-lamb.theorem-3-printed",
    statement="(1/tau) sum_t E||f'(x_t)/v_hat_t^(1/4)||^2 is at most the right side of (22), cst included",
    source="Theorem 3, eq. (22) (L706-712)",
    verdict=Verdict.UNDECIDABLE,
)
def printed() -> Finding:
    """No instance contradicts a bound with an unspecified constant."""
    return Finding(
        Verdict.UNDECIDABLE,
        "cst is not specified; with the one that its proof ends with (L808) it falls, fed-lamb.theorem-3; "
        "what stands of the order that follows it (L716) is fed-lamb.theorem-3-order-repaired",
    )


@claim(
    "fed-lamb.theorem-3",
    statement="Ours: (1/tau) sum_t E||f'(x_t)/v_hat_t^(1/4)||^2 is at most the right side of (22) with a cst, which "
    "Theorem 3 does not specify, taken from the end of its proof (L808, for M <= 1); here T = 1",
    source="ours, Theorem 3, eq. (22) (L706-712) with the cst of L808",
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
    chain=f"{PROOF_1} {PROOF_3}",
)
def theorem_3() -> Finding:
    """x^2/2 times c = 1/10; sigma = 3c/4 makes the root in (22) rational, and only increases the right side."""
    h = hill(F(1, 10), sigma=F(3, 40))
    return refutation(
        instance="x^2/20 near 0 from 1, one client, R = tau = 50, T = 1, rates 1/100 to 451/50000, beta1 = 0, v0 = "
        "1/100, sigma = 3/40",
        conditions={**h.conditions, "M <= 1 (L806)": h.k.M <= 1},
        left=h.mean(sqrt),
        right=bounds.theorem_3(h.k, h.k.L_bar),
    )


@curried
def _balance(draw: Draw, power: int = 5) -> Iterable[Any]:
    """tau = a^2, L = b^4, n = u^4, p = w^4, T - 1 = sqrt(tau) L^(5/4)/(n p)^(1/4), so that no root occurs."""
    a, b, u, w = several(draw, "a, b, u, w", positive=True)
    more = a * b**power / (u * w)
    last = more**2 * w**4 / (a**3 * b**12)
    first = w**2 / u**2 / (b**2 * a)
    return [last - first]


@claim(
    "fed-lamb.remark-local-steps",
    statement="T - 1 = sqrt(tau) L^(5/4)/(n p)^(1/4) makes the last term of L716 as large as its first one over M",
    source="discussion (L718-720)",
    extent=Extent.WHOLE,
    assumptions={"L^(5/4)": "the power of L, which is smoothness in one term and the number of layers in the other"},
)
def balance() -> Finding:
    """The remark follows from the display, but the display is false."""
    return identities({"fourth powers": _balance()}, without={"L^(5/4)": {"fourth powers": _balance(power=4)}})


@claim(
    "fed-lamb.theorem-3-order",
    statement="With alpha = O(1/(L sqrt(tau))), and O() read as a constant C that does not depend on n, the left "
    "side of (22) is at most C (sqrt(M^2 p/n)/sqrt(Lay tau) + sigma^2/(tau n sqrt(p)) + (T - 1)^2 p/(tau^(3/2) "
    "L^3)); here C = 5",
    source="ours, a reading of Theorem 3, second display (L716) and L812",
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def order() -> Finding:
    """At T = 1 the right side falls as 1/sqrt(n), but equal clients move as one: left/right grows without bound."""
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


@curried
def _in_rounds(draw: Draw, power: int = 1, sigma: Any = 0, zeta: Any = 0) -> Iterable[Any]:
    """Repaired bound times s = sqrt(R), with alpha = a/s^power, minus its claimed value."""
    names = "gap, L_bar, phi_m, phi_M, T, a, s, w, side, Lam, roots"
    gap, L_bar, phi_m, phi_M, T, a, s, w, side, Lam, roots = several(draw, names, positive=True)
    rate = a / s**power
    # v0 = w^2 and Lay = side^2 have roots.
    k = Constants(
        gap=gap, L_bar=L_bar, phi_m=phi_m, phi_M=phi_M, T=T, R=s**2, Lay=side**2, alpha=rate, least_alpha=rate,
        sigma=sigma, v0=w**2,
    )  # fmt: skip
    terms = bounds.per_layer_terms(k, bounds.errors(k, zeta, roots, (Lam,)))
    fixed = gap / (a * T) + a * T * phi_M**2 * L_bar / 2 + phi_M**2 * a * (T - 1) * side * Lam
    return [s * sum(terms.values()) - fixed / (phi_m * w)]


@claim(
    "fed-lamb.theorem-3-order-repaired",
    statement="What stands of L716: with a rate of a/sqrt(R), T fixed, exact gradients and clients alike (sigma = zeta "
    "= 0, beta1 = lam = 0) the repaired bound of Theorem 3 is C/sqrt(R) with a C that has no R, the order of the first "
    "term in tau; C does not fall with n, and noise or heterogeneity leave 2 phi_M (zeta + sigma sum_l "
    "sqrt(p_l))/(phi_m s), which no R makes smaller",
    source="ours, for Theorem 3, second display (L716)",
    extent=Extent.PART,
    assumptions={
        "rate": "alpha = a/sqrt(R)",
        "sigma = 0": "gradients are exact",
        "zeta = 0": "clients are alike",
    },
)
def order_in_rounds() -> Finding:
    """Order of the bound only, which fed-lamb.theorem-3-repaired proves; at a constant rate, noise does keep the
    left side above a positive constant (fed-lamb.theorem-1-noise).
    """
    without = {"rate": _in_rounds(power=2), "sigma = 0": _in_rounds(sigma=F(1)), "zeta = 0": _in_rounds(zeta=F(1))}
    return identities({"all sizes": _in_rounds()}, without={name: {"all sizes": b} for name, b in without.items()})


@claim(
    "fed-lamb.eq-23-bound",
    statement="(23) holds as >=, which is how it is used, coordinate by coordinate",
    source="ours, about eq. (23) (L739)",
)
@decided()
def looser(draw: Draw) -> Statement:
    """Read as >=, the identity drops ||a - b||^2/2."""
    a, b = draw("a", 1), draw("b", 1)
    return Statement({}, {"(23) as >=": a @ b >= squared(a) / 2 + squared(b) / 2 - squared(a - b)})


def _doubled(draw: Draw, factor: int = 2) -> Statement:
    """Two clients, one coordinate, through a point y between."""
    x, y, g = draw("x"), draw("y"), draw("g", 2)
    left = (x - (g[0] + g[1]) / 2) ** 2
    middle = sum((x - g[i]) ** 2 for i in range(2)) / 2
    right = sum(factor * ((x - y) ** 2 + (y - g[i]) ** 2) for i in range(2)) / 2
    return Statement({}, {"Jensen": left <= middle, "then 2, 2": middle <= right})


@claim(
    "fed-lamb.l-744",
    statement="||x - mean g_i||^2 <= (1/n) sum ||x - g_i||^2 <= (2/n) sum (||x - y||^2 + ||y - g_i||^2); (24) is the "
    "same with f' at the local models between",
    source="L744 and eq. (24) (L755)",
    sizes="two clients, d = 1",
)
def doubled() -> Finding:
    """Proof without any assumption on f or f_i, between which (24) alternates."""
    return decide(_doubled)


@false("fed-lamb.false-l-744", of=doubled, statement="The same with 3/4 in place of 2")
def _false_doubled() -> Finding:
    return decide(lambda draw: _doubled(draw, F(3, 4)), ablate=False)  # type: ignore[arg-type]


@claim(
    "fed-lamb.eq-25",
    statement="Going on from Lemma 1: B_1 = sum_i ||(f'(mean of x_(t,i)) - f'(x_(t,i)))/v_hat^(1/4)||^2 <= n "
    "(alpha^2 L/sqrt(v0)) M^2 (T - 1)^2 phi_M^2 (1 - beta2) p",
    source="eq. (25) (L760-766)",
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def eq_25() -> Finding:
    """Steps have length alpha, whatever M and beta2 are. T = 2, after one local step that separates the clients."""
    h, problem, coin = lamb(), Problem(((huber(F(1)),),) * 2, (1,)), ((F(1, 2), F(1)), (F(1, 2), F(-1)))
    # At 0, where they are, f' is 0 and a gradient is the noise alone.
    models = local_models(h, begin(h, vector(0), 2), [constant(g) for _, g in coin], 1)
    center, M = problem.gradient(models.sum(axis=0) / 2), F(2)
    return refutation(
        instance="two clients alike, x^2/2 (a line beyond |x| = 1) from 0, noise 1 or -1 with equal chances, the "
        "outcome (1, -1), T = 2 after the first step, alpha = 1/10, beta2 = 99/100, v0 = 1",
        conditions={
            "H1: L = 1": problem.lipschitz == (1,),
            "H2: the noise has mean 0": sum(q * g for q, g in coin) == 0,
            "H2: no outcome exceeds M = 2": problem.whole[0].largest + 1 <= M,
            "H3: the variance 1 is below sigma^2 = 5/4": sum(q * g**2 for q, g in coin) < F(5, 4),
            "H4: phi_m = phi_M = 1": h.phi is Phi.CONSTANT,
            **as_in_proofs(h),
        },
        left=sum(squared(center - problem.gradient(x)) for x in models) / sqrt(h.v0),
        right=2 * h.eta_l**2 / sqrt(h.v0) * M**2 * (2 - 1) ** 2 * (1 - h.beta2),
    )


def _within(w: Walk) -> Iterator[Sides]:
    root = np.sqrt(w.start.v_hat) if w.start.v_hat.dtype != object else sqrt(w.start.v_hat)
    reach = (w.lipschitz * w.h.eta_l * w.phi_M) ** 2 / w.w * w.n * w.Lay * (w.T - 1) ** 2
    for models in w.path[:-1]:
        center = models.sum(axis=0) / w.n
        left = sum(sum((w.problem.gradient(center) - w.problem.gradient(x)) ** 2 / root) for x in models)
        yield left, reach


FAR = Problem(((huber(F(1), F(-9), F(20)),), (huber(F(1), F(9), F(20)),)), (1,))
RATE = ("eta_l", F(1, 2))
WITHOUT = {
    "H1": plain(problem=FAR, T=2, lipschitz=F(1, 8), options=(RATE,)),
    "H4": plain(problem=FAR, T=2, options=(RATE, ("phi", Phi.IDENTITY))),
    "normalised": plain(problem=FAR, T=2, options=(RATE, ("normalisation", Normalisation.NONE))),
}


@claim(
    "fed-lamb.eq-25-repaired",
    statement="B_1 <= n (Lam^2/sqrt(v0)) alpha^2 phi_M^2 Lay (T - 1)^2 after up to T - 1 local steps",
    source="eq. (25) (L760-766)",
    verdict=Verdict.CHECKED,
    extent=Extent.WHOLE,
    assumptions={"H1": "f' changes no faster than Lam in any layer", **LENGTHS},
)
def consensus() -> Finding:
    """Uses the variance form of the corrected Lemma 1, and the squared Lipschitz constant."""
    return checked(Inequality(lambda c: pulled(c, 2), HOLDS, _within), 800, WITHOUT)
