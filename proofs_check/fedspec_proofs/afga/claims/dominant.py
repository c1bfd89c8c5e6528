"""Explicit bound at the step sizes of Theorem 4.6 for K = 1: its term 1/sqrt(RIM) and the influence of rho.

With w = 1/sqrt(R), eta = n sqrt(I/m), eta_l = w/I and B = w beta the bound of :mod:`.explicit` times sqrt(RIm) is 8 C_0
(limit + w rest), with no w under a fraction in the rest, and C_0 = sqrt(w^2 beta^2 + eps), which tends to sqrt(eps).
At the end stand Corollary 4.7, Remark 4.8, and the condition on rho in the paper's own settings.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedspec.mixing import topology
from fedspec.mixing.gossip import gossip
from fedspec_proofs.afga.claims.assembly import setting
from fedspec_proofs.afga.kit.bounds import C_1
from fedspec_proofs.afga.kit.explicit import terms
from fedspec_proofs.afga.kit.network import EXACT
from fedspec_proofs.claim import Engine, Extent, Finding, Second, Verdict, claim
from fedspec_proofs.engines import Draw, Rationals, Statement, decide, decided, every, exact, several
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.engines.identities import identities, identity, symbolic
from fedspec_proofs.solvers import sympy

RATES = ("w", "i", "q", "n", "beta", "fac", "L", "kappa", "root", "C_1", "C_0", "G", "d", "T")


def _at_the_rate(draw: Draw) -> tuple[dict[str, Any], Any]:
    """The variables, and the bound times sqrt(RIm); i, q are the roots of I, m; sigma_c = 0."""
    names = (*RATES, "sigma2", "sbar2", "a_1", "s_1", "a_2", "s_2")
    v = {name: draw(name, positive=True) for name in names}
    w, i, q, n = (v[name] for name in ("w", "i", "q", "n"))
    rates = {"K": 1, "m": q**2, "I": i**2, "R": 1 / w**2, "eta": n * i / q, "eta_l": w / i**2, "B": w * v["beta"]}
    known = {**v, **rates, "sigma2_c": 0, "gap": draw("gap")}
    return v, sum(terms(SimpleNamespace(**known)).values()) * i * q / w


def _terms(v: dict[str, Any], gap: Any) -> tuple[Any, Any]:
    """The limit and the rest."""
    i, q, n, L, kappa, root, fac = (v[name] for name in ("i", "q", "n", "L", "kappa", "root", "fac"))
    w, beta, T, d, G, C = (v[name] for name in ("w", "beta", "T", "d", "G", "C_1"))
    c = L * (kappa**2 + 3) / (2 * root**2)
    limit = gap + c * (2 * v["sigma2"] + 4 * n * fac / q**2 * v["sbar2"] + C * n**3 * fac / q**6 * v["s_2"])
    rest = n * i / q * (1 + kappa) * G * beta * d / root + w * n**2 * i**2 / q**2 * L * kappa**2 * beta**2 * d / root**2
    rest += 3 * L**2 * q * T * C / (4 * root * i**5) * v["s_1"]
    rest += w * c * n * C * 4 * L**2 * fac * T / (q**2 * i**6) * v["s_2"]
    return limit, rest


def _limit(draw: Draw) -> list[Any]:
    v, scaled = _at_the_rate(draw)
    limit, rest = _terms(v, draw("gap"))
    return [scaled - 8 * v["C_0"] * (limit + v["w"] * rest)]


def _uniform(draw: Draw) -> Statement:
    """Terms beside the gap in the limit, over L (kappa^2 + 3)/(2 eps); Q = n^2 (n-m)/(m^2 (n-1)) rho^2."""
    sigma2, sbar2, n, I, H, Q, fac, share = several(draw, "sigma2, sbar2, n, I, H, Q, fac, share")
    given = {
        "variances": every(sigma2 >= 0, sbar2 >= 0),
        "sizes": every(n >= 1, I >= 1, share >= 0, share <= 1, fac >= 0, 2 * fac <= 1),
        "H": every(H >= 1, H <= I),
        "eq. (30)": every(Q >= 0, Q * H <= 1),
    }
    # Times n I^2.
    s_2 = n * I * I * (H * sbar2 + sigma2) + H * H * (sigma2 + n * fac * I * sbar2)
    left = n * I * I * (2 * sigma2 + 4 * share * sbar2) + C_1 * Q * s_2
    right = n * I * I * ((2 + 2 * C_1) * sigma2 + (4 + F(3, 2) * C_1) * sbar2)
    return Statement(given, {"limit": left <= right})


def _sample(rng: np.random.Generator) -> dict[str, F]:
    n, I = F(int(rng.integers(1, 9))), F(int(rng.integers(1, 9)))
    H = 1 + (I - 1) * F(int(rng.integers(0, 5)), 4)
    shares = [F(int(rng.integers(0, 5)), 4) for _ in range(5)]
    return {
        "n": n, "I": I, "H": H, "Q": shares[0] / H, "fac": shares[1] / 2, "share": shares[2], "sigma2": shares[3],
        "sbar2": shares[4],
    }  # fmt: skip


@claim(
    "afga.theorem-4-6-rate",
    statement="With eta = N sqrt(I/M) and eta_l = 1/(sqrt(R) I) the explicit bound times sqrt(RIM) tends, as R "
    "grows, to 8 sqrt(eps) times f_1 - f_* + L (kappa^2 + 3)/(2 eps) [2 sigma^2 + 4 (N-M)/(N-1) sigma_g^2 + C_1 N^2 "
    "(N-M)/(M^2 (N-1)) s_2]; where eq. (30) holds, the bracket is at most (2 + 2 C_1) sigma^2 + (4 + 3/2 C_1) "
    "sigma_g^2, whatever I, M and N",
    source="ours, for Theorem 4.6, eq. (3) (L291-314): the term O(1/sqrt(RIM)) of the explicit bound",
    extent=Extent.PART,
    assumptions={
        "variances": "sigma^2 and sigma_g^2 are not negative",
        "sizes": "N, I >= 1, (N-M)/(N-1) in [0, 1] and M(N-M)/(N(N-1)) in [0, 1/2]",
        "H": "1 <= H <= I",
        "eq. (30)": "N^2 (N-M)/(M^2 (N-1)) H rho^2 <= 1, as afga.eq-32 and eq-30 have it for rho <= M/(M + N)",
    },
    chain="eq-32 eq-30",
)
def theorem_4_6_rate() -> Finding:
    """Limit by symbols, with a bound by SMT. For M = N no condition on rho is needed: eq. (30) reads 0 <= 1."""
    expanded, found = identities({"limit and rest": _limit}), decide(_uniform, sample=_sample)
    verdict = found.verdict if expanded.verdict is Verdict.PROVED else Verdict.UNKNOWN
    return replace(found, verdict=verdict, evidence=f"{expanded.evidence}\n{found.evidence}")


@claim(
    "afga.remark-4-9",
    statement="In the limit of theorem-4-6-rate sigma_g^2 has the factor L (kappa^2 + 3)/(2 eps) [4 (N-M)/(N-1) + "
    "C_1 N^2 (N-M)/(M^2 (N-1)) rho^2 (H + H^2 fac/I)], which vanishes for M = N alone and, where eq. (30) holds, has "
    "a bound without I: sigma_g enters the dominant term",
    source="ours, about Remark 4.9 (L326)",
    extent=Extent.PART,
)
@identity("all sizes")
def remark_4_9(draw: Draw) -> list[Any]:
    """s_2 is affine in sigma_g^2; both terms have the factor fac = M(N-M)/(N(N-1)), bounded in theorem-4-6-rate."""
    v, _ = _at_the_rate(draw)
    H, rho, more = several(draw, "H, rho, more", positive=True)
    i, q, n, fac = (v[name] for name in ("i", "q", "n", "fac"))

    def limit(sbar2: Any) -> Any:
        tail = v["sigma2"] / n + fac * i**2 * sbar2
        s_2 = rho**2 * (H * sbar2 + v["sigma2"] + H**2 / i**4 * tail)
        return _terms({**v, "sbar2": sbar2, "s_2": s_2}, 0)[0]

    c = v["L"] * (v["kappa"] ** 2 + 3) / (2 * v["root"] ** 2)
    factor = 4 * n * fac / q**2 + v["C_1"] * n**3 * fac / q**6 * rho**2 * (H + H**2 * fac / i**2)
    return [limit(v["sbar2"] + more) - limit(v["sbar2"]) - c * factor * more]


GROWING = ("C_0", "B", "a_1", "s_1", "a_2", "s_2")
"""Quantities that depend on rho: sums of products of rho, H = min(I, 1/(1 - rho)) and nonnegative constants."""


def _growth(draw: Draw) -> Any:
    """The bound at values that are all larger by something positive, less that at them."""

    def right(larger: bool) -> Any:
        def told(name: str, *shape: int, positive: bool = False) -> Any:
            value = draw(name, *shape, positive=True)
            return value + draw(f"{name}_more", positive=True) if larger and name in GROWING else value

        v = setting(told)
        v.gap = draw("gap", positive=True)
        return sum(terms(v).values())

    return right(True) - right(False)


@claim(
    "afga.remark-4-10",
    statement="The explicit bound of theorem-4-6 and theorem-d-3 grows with rho: it does not fall where C_0, B, a_1, "
    "s_1, a_2 or s_2 grow, and none of these falls where rho grows",
    source="ours, about Remark 4.10 (L340)",
    engine=Engine.SYMBOLIC,
    extent=Extent.PART,
)
def remark_4_10() -> Finding:
    """Expanded, the difference is a sum of terms in positive symbols, all with a plus sign."""
    terms = sympy.Add.make_args(sympy.expand(_growth(symbolic)))
    signs = all(term.is_positive for term in terms)
    rng, count = generator(), 25
    again = all(_growth(Rationals(rng)) > 0 for _ in range(count))
    return Finding(
        Verdict.PROVED if signs and again else Verdict.UNKNOWN,
        f"{len(terms)} terms, all of them positive",
        second=Second(Engine.EXACT, count, "random fractions: the larger one is larger"),
    )


def _dominated(draw: Draw, factor: Any) -> Statement:
    R, q = draw("R"), draw("IM")
    return Statement(
        {"positive": every(R > 0, q > 0), "R >= IM": factor * R >= q},
        {"1/R <= 1/sqrt(RIM), squared and multiplied out": R * q <= R * R},
    )


@claim(
    "afga.corollary-4-7",
    statement="For R >= IM: 1/R <= 1/sqrt(RIM), the orders of the second and the first term of eq. (3), without what "
    "stands in their brackets, and without the third term, whose order hides I and M",
    source="ours, the step of Corollary 4.7 (L315) from eq. (3)",
    extent=Extent.PART,
    assumptions={"positive": "R, I, M > 0", "R >= IM": "enough rounds"},
)
def corollary_4_7() -> Finding:
    """Proof by real algebra, for all real values."""
    return decide(lambda draw: _dominated(draw, 1))


@claim(
    "afga.remark-4-8",
    statement="R >= IM is exactly when 1/R <= 1/sqrt(RIM)",
    source="ours, about Remark 4.8 (L323); whether the condition is practical is left open",
    extent=Extent.PART,
    assumptions={"positive": "R, I, M > 0"},
)
@decided()
def remark_4_8(draw: Draw) -> Statement:
    """Proof of both directions; Corollary 4.7 is one direction."""
    R, q = draw("R"), draw("IM")
    one, other = q <= R, R * q <= R * R
    return Statement({"positive": every(R > 0, q > 0)}, {"both or neither": one == other})


@claim(
    "afga.theorem-4-6-rings",
    statement="No ring of Settings 1 and 2 meets rho <= m/(m + n): not those of 100 and 50 clients with 5 drawn, nor "
    "those of 20 and 10 with 1 drawn",
    source="ours, about Theorem 4.6 and D.3 (L291, L1093) and the settings of Section 6 (L473-508)",
    engine=Engine.EXACT,
)
def rings() -> Finding:
    """A zero-sum vector that one exchange shortens too little bounds rho from below; exact squares."""
    lines = []
    for n, m in ((100, 5), (50, 5), (20, 1), (10, 1)):
        wave = exact.vector(*(abs(k - n // 2) - F(n, 4) for k in range(n)))
        image = gossip(wave[:, None], topology.ring(n, EXACT))[:, 0]
        below, asked = (image @ image) / (wave @ wave), F(m, m + n)
        if sum(wave) != 0 or below <= asked**2:
            return Finding(Verdict.REFUTED, f"ring of {n}: rho^2 >= {below}, asked for {asked}")
        lines.append(f"ring of {n}: rho >= {float(below) ** 0.5:.4f}, asked for at most {float(asked):.4f}")
    return Finding(Verdict.PROVED, "\n".join(lines))
