"""The rate of Theorem 4.6, Corollary 4.7 and Remarks 4.8 to 4.10, of the explicit bound (:mod:`.explicit`)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

from fedspec.mixing import topology
from fedspec.mixing.gossip import gossip
from fedspec_proofs.afga.explicit import Setting
from fedspec_proofs.afga.formulas import both
from fedspec_proofs.afga.network import EXACT
from fedspec_proofs.claim import AFGA, Dropped, Engine, Finding, Source, Verdict, claim, false
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities


def _at_rate(R: float, I: int, m: int, n: int, K: int = 1, **more: Any) -> Setting:
    """The theorem's step sizes, eta = n sqrt(I/m) and eta_l = 1/(sqrt(R) I), with the constants that are told."""
    told = {"sbar2": 0.5, "sigma2": 0.25, "rho": 0.2, "gap": 1.0, "L": 1.0, "G": 2.0, "sigma2_c": 0.0, **more}
    phi = ((0.0,),) * (K * n)
    return Setting(
        K, n, m, I, int(R), n * sqrt(I / m), 1 / (sqrt(R) * I), 1.0, phi, beta1=0.5, told=tuple(told.items())
    )


def _scaled(R: float, I: int, m: int, n: int, K: int = 1, **more: Any) -> float:
    """bound sqrt(RIm)."""
    return _at_rate(R, I, m, n, K, **more).bound() * sqrt(R * I * m)


UNIFORM = 1300
"""A constant for the dominant term at eps = 1, beta1 = 1/2, d = 1, with C_1 = 72."""


SHARES = {"all": (1.0, 0.25, 0.5), "gap": (1.0, 0.0, 0.0), "sigma": (1e-9, 1.0, 0.0), "sigma_g": (1e-9, 0.0, 1.0)}
"""f(x_1) - f_*, sigma^2 and sigma_g^2, together and one by one."""


def _limits(rho: Callable[[int, int], float]) -> list[float]:
    """bound sqrt(RIM) over f_0 - f_* + L (sigma^2 + sigma_g^2), at an R so large that nothing else is left of it."""
    found = []
    for n in (4, 16, 64):
        for m in (1, 2, n // 2, n):
            for I in (1, 2, 4, 16, 64, 256):
                for gap, sigma2, sbar2 in SHARES.values():
                    value = _scaled(1e18, I, m, n, rho=rho(m, n), gap=gap, sigma2=sigma2, sbar2=sbar2)
                    found.append(value / (gap + sigma2 + sbar2))
    return found


@claim(
    "afga.theorem-4-6-rate",
    statement="With eta = N sqrt(I/M), eta_l = 1/(sqrt(R) I) and rho <= M/(M + N) the explicit bound times sqrt(RIM) "
    "tends, as R grows, to at most 1300 [f_0 - f_* + L (sigma^2 + sigma_g^2)], whatever R, I, M and N (eps = 1, beta1 "
    "= 1/2, d = 1)",
    source=Source(AFGA, "ours, for Theorem 4.6, eq. (3) (L291-314): the term O(1/sqrt(RIM)) of the explicit bound"),
    engine=Engine.SEARCH,
    verdict=Verdict.NOT_CONTRADICTED,
    assumptions={"rho <= M/(M+N)": "the theorem's condition"},
)
def theorem_4_6_rate() -> Finding:
    """The bound of :mod:`.explicit` in floating point; N = 4, 16, 64, M = 1..N, I = 1..256, at R = 10^18.

    That it falls towards the limit as R grows is looked at as well. For M = N the condition on rho is not needed.
    """
    limits = _limits(lambda m, n: m / (m + n))
    falls = True
    for I in (1, 4, 16):
        values = [_scaled(R, I, 2, 8, rho=0.2) for R in (1e8, 1e12, 1e14, 1e16, 1e18)]
        falls = falls and all(high >= low * (1 - 1e-9) for high, low in pairwise(values))
    sparse = max(_limits(lambda m, n: 0.99))
    dropped = {"rho <= M/(M+N)": Dropped(sparse > UNIFORM, f"at rho = 0.99 everywhere: up to {sparse:.3g}")}
    told = f"{len(limits)} settings; limits between {min(limits):.4g} and {max(limits):.4g}"
    return Finding(Verdict.CHECKED if falls and max(limits) <= UNIFORM else Verdict.REFUTED, told, dropped)


@false(
    "afga.false-4-6-rate-dense",
    of=theorem_4_6_rate,
    statement="The same for rho <= 10 M/(M + N)",
)
def ten_times_as_sparse() -> Finding:
    """The condition on rho is what keeps N/M out of the dominant term."""
    largest = max(_limits(lambda m, n: min(0.99, 10 * m / (m + n))))
    verdict = Verdict.REFUTED if largest > UNIFORM else Verdict.CHECKED
    return Finding(verdict, f"up to {largest:.4g}")


def _dominated(draw: Draw, factor: Any) -> Statement:
    R, q = draw("R"), draw("IM")
    return Statement(
        {"positive": both(R > 0, q > 0), "R >= IM": factor * R >= q},
        {"1/R <= 1/sqrt(RIM), squared and multiplied out": R * q <= R * R},
    )


def _sample_rounds(rng: np.random.Generator) -> dict[str, F]:
    q = F(int(rng.integers(1, 40)))
    return {"IM": q, "R": q + int(rng.integers(0, 9))}


@claim(
    "afga.corollary-4-7",
    statement="For R >= IM: 1/R <= 1/sqrt(RIM), the orders of the second and the first term of eq. (3), without what "
    "stands in their brackets, and without the third term, whose order hides I and M",
    source=Source(AFGA, "ours, the step of Corollary 4.7 (L315) from eq. (3)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"positive": "R, I, M > 0", "R >= IM": "enough rounds"},
)
def corollary_4_7() -> Finding:
    """For all reals."""
    return decide(lambda draw: _dominated(draw, 1), sample=_sample_rounds)


@false("afga.false-4-7-half", of=corollary_4_7, statement="The same for R >= IM/2")
def half_the_rounds() -> Finding:
    """R = IM is the border."""
    return decide(lambda draw: _dominated(draw, 2), sample=_sample_rounds)


@claim(
    "afga.corollary-4-7-ratio",
    statement="The rate sqrt(I)/sqrt(RM) of FedAMS over 1/sqrt(RIM) is I: the orders are compared, not the algorithms",
    source=Source(AFGA, "ours, about Corollary 4.7 (L318-322), which calls this an improvement"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
)
def corollary_4_7_ratio() -> Finding:
    """i, q are the roots of I and RM."""

    def body(draw: Draw) -> list[Any]:
        i, q = draw("i", positive=True), draw("q", positive=True)
        return [(i / q) / (1 / (q * i)) - i**2]

    return identities({"all positive I, R, M": body})


@claim(
    "afga.remark-4-8",
    statement="R >= IM is exactly when 1/R <= 1/sqrt(RIM)",
    source=Source(AFGA, "ours, about Remark 4.8 (L323); whether the condition is practical is left open"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"positive": "R, I, M > 0"},
)
def remark_4_8() -> Finding:
    """The other direction of Corollary 4.7 too."""

    def body(draw: Draw) -> Statement:
        R, q = draw("R"), draw("IM")
        one, other = q <= R, R * q <= R * R
        return Statement({"positive": both(R > 0, q > 0)}, {"both or neither": one == other})

    return decide(body)


@claim(
    "afga.remark-4-9",
    statement="sigma_g enters the dominant term of the explicit bound of theorem-4-6: the bound times sqrt(RIM) at "
    "sigma_g less that at 0 tends to a positive number that for I = 2, 4, 16 is at most twice that for I = 1, and is "
    "linear in sigma_g^2",
    source=Source(AFGA, "ours, about Remark 4.9 (L326)"),
    engine=Engine.SEARCH,
    verdict=Verdict.NOT_CONTRADICTED,
)
def remark_4_9() -> Finding:
    """R = 10^16, N = 8, rho = M/(M + N); in floating point. It vanishes for M = N at rho = 0, when nothing is drawn."""
    shares = []
    for m in (1, 2, 4):
        for I in (1, 2, 4, 16):
            at = {s: _scaled(1e16, I, m, 8, rho=m / (m + 8), sbar2=s) for s in (0.0, 1.0, 2.0)}
            shares.append((at[1.0] - at[0.0], (at[2.0] - at[0.0]) / (at[1.0] - at[0.0])))
    gains = [g for g, _ in shares]
    linear = all(abs(r - 2) < 1e-3 for _, r in shares)
    by_m = [gains[k : k + 4] for k in range(0, len(gains), 4)]
    bounded = all(max(g) <= 2 * g[0] for g in by_m)
    ok = min(gains) > 0 and linear and bounded
    return Finding(
        Verdict.CHECKED if ok else Verdict.REFUTED,
        f"{len(gains)} pairs of I and M; shares {min(gains):.4g} .. {max(gains):.4g}",
    )


@claim(
    "afga.remark-4-10",
    statement="The explicit bound of theorem-4-6 grows with rho: a sparser network has a larger one",
    source=Source(AFGA, "ours, about Remark 4.10 (L340)"),
    engine=Engine.SEARCH,
    verdict=Verdict.NOT_CONTRADICTED,
)
def remark_4_10() -> Finding:
    """rho = 0, 0.05, ..., 0.95 at 24 settings of I, M, R and K, in floating point."""
    count = 0
    for I in (1, 2, 8):
        for m in (1, 4):
            for R in (1e4, 1e8):
                for K in (1, 3):
                    values = [_at_rate(R, I, m, 8, K, rho=k / 20).bound() for k in range(20)]
                    if any(high < low for low, high in pairwise(values)):
                        return Finding(Verdict.REFUTED, f"I = {I}, m = {m}, R = {R:g}, K = {K}")
                    count += 1
    return Finding(Verdict.CHECKED, f"{count} settings, 20 values of rho each")


@claim(
    "afga.theorem-4-6-rings",
    statement="No ring of Settings 1 and 2 meets rho <= m/(m + n): not those of 100 and 50 clients with 5 drawn, nor "
    "those of 20 and 10 with 1 drawn",
    source=Source(AFGA, "ours, about Theorem 4.6 and D.3 (L291, L1093) and the settings of Section 6 (L473-508)"),
    engine=Engine.EXACT,
    verdict=Verdict.PROVED,
)
def rings() -> Finding:
    """A vector of sum zero that the exchange shortens by less is a lower bound of rho; squares, exactly."""
    lines = []
    for n, m in ((100, 5), (50, 5), (20, 1), (10, 1)):
        wave = exact.vector(*(abs(k - n // 2) - F(n, 4) for k in range(n)))
        image = gossip(wave[:, None], topology.ring(n, EXACT))[:, 0]
        below, asked = (image @ image) / (wave @ wave), F(m, m + n)
        if sum(wave) != 0 or below <= asked**2:
            return Finding(Verdict.REFUTED, f"ring of {n}: rho^2 >= {below}, asked for {asked}")
        lines.append(f"ring of {n}: rho >= {float(below) ** 0.5:.4f}, asked for at most {float(asked):.4f}")
    return Finding(Verdict.PROVED, "\n".join(lines))
