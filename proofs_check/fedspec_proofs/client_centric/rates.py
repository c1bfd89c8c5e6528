"""What the rates of Corollary 4.1.1 make of the terms of Theorem 4.1, as printed and as corrected."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from types import SimpleNamespace
from typing import Any

from fedspec_proofs.claim import CLIENT_CENTRIC, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric.regimes import corrected, printed, start_factors
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities

PLACE = "Corollary 4.1.1 (L250-262, L1103-1131)"


def _run(draw: Draw, power: int, **more: Any) -> Any:
    """A run at eta = r^power, r = sqrt(m K), and eta_l = 1 / s = 1 / sqrt(T), with one K; its constants are any."""
    s, r, K, F, d = (draw(name, positive=True) for name in ("s", "r", "K", "F", "d"))
    any_ = {name: draw(name, positive=True) for name in ("eps", "L", "G", "C", "tau", "sigma_l2", "sigma_g2")}
    clients = SimpleNamespace(d=d, gap=lambda x0: F)
    rates = {"eta": r**power, "eta_l": 1 / s, "T": s**2, "m": r**2 / K, "x0": None, "phi": lambda p: K**p}
    return SimpleNamespace(s=s, r=r, K=K, F=F, d=d, clients=clients, **any_, **rates, **more)


def _named(run: Any) -> Any:
    return (getattr(run, n) for n in ("s", "r", "K", "F", "d", "eps", "L", "G", "C", "tau", "sigma_l2", "sigma_g2"))


def _rates(draw: Draw, power: int) -> Any:
    """Theorem 4.1's right side at these rates, less its terms by their orders."""
    run = _run(draw, power)
    s, r, K, F, d, eps, L, G, C, tau, l2, g2 = _named(run)
    rate = (8 * eps * F + (4 * L * C**2 + 6 * L) * l2 / eps) / (r * s)
    slower = (240 * L**2 * K**2 * g2 + 40 * L**2 * K * l2 + 2 * L**2 * tau**2 * l2 / eps**2 + 4 * d * G**2 * C) / s**2
    small = 2 * G * l2 / (eps * r**2 * s) + 4 * d * L * G**2 * C**2 * r / (eps * s**3)
    return [printed(run) - rate - slower - small]


@claim(
    "client-centric.corollary-4-1-1-terms",
    statement="With eta_l = 1 / sqrt(T), eta = sqrt(m K) and one K the right side of Theorem 4.1 is a multiple of "
    "1 / sqrt(m K T), one of K^2 / T, K / T, tau^2 / T and 1 / T, of 1 / (m K sqrt(T)) and of sqrt(m K / T^3)",
    source=Source(CLIENT_CENTRIC, "proof of " + PLACE),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"eta": "eta = sqrt(m K)"},
)
def terms() -> Finding:
    """An identity in r = sqrt(m K) and s = sqrt(T); constants written out."""
    return identities(
        {"all terms": lambda draw: _rates(draw, 1)},
        without={"eta": {"eta = m K": lambda draw: _rates(draw, 2)}},
        instances=10,
    )


def _dominated(draw: Draw, power: int) -> Statement:
    s, r, K, tau, m = draw("s"), draw("r"), draw("K"), draw("tau"), draw("m")
    return Statement(
        {
            "s > 0": s > 0,
            "r": r >= 1,
            "K": K >= 1,
            "m": m >= 1,
            "m K": r**2 == m * K,
            "long": s**2 >= m * K**power,
            "moderate": tau**4 * r**2 <= s**2,
        },
        {
            "K^2 / T": K**2 * r <= s,
            "K / T": K * r <= s,
            "1 / T": r <= s,
            "1 / (m K sqrt(T))": r >= 1,
            "sqrt(m K / T^3)": r**2 <= s**2,
            "tau^2 / T": tau**2 * r <= s,
        },
    )


def long(rng: Any) -> dict[str, Fraction]:
    K, m, tau, more = (Fraction(int(rng.integers(1, 5))) ** 2 for _ in range(4))
    r = Fraction(isqrt(int(m * K)))
    return {"s": r * K**2 * tau * more, "r": r, "K": K, "m": m, "tau": Fraction(isqrt(int(tau)))}


EXPONENTS = {
    "s > 0": "s = sqrt(T)",
    "r": "m K >= 1",
    "K": "K >= 1",
    "m": "m >= 1",
    "m K": "r = sqrt(m K)",
    "long": "T >= m K^5",
    "moderate": "tau <= (T / (m K))^(1/4)",
}


@claim(
    "client-centric.corollary-4-1-1-exponents",
    statement="If T >= m K^5 and tau <= (T / (m K))^(1/4), each of these terms is at most 1 / sqrt(m K T)",
    source=Source(CLIENT_CENTRIC, "Corollary 4.1.1 (L257-262)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions=EXPONENTS,
)
def exponents() -> Finding:
    """Each comparison times r s^2, a polynomial one."""
    return decide(lambda draw: _dominated(draw, 5), sample=long)


def corrected_rates(draw: Draw, power: int, start: int) -> Any:
    """The corrected theorem's right side at these rates, less its terms by their orders."""
    n, s2 = draw("n", positive=True), draw("s2", positive=True)
    run = _run(draw, power, n=n + 1, v0=start)
    s, r, K, F, d, eps, L, G, C, tau, l2, g2 = _named(run)
    c_1, c_2 = start_factors(run)
    first = 4 * c_2 * eps * F / (r * s)
    falls = 4 * c_2 / c_1 * d * G**2 * C * (1 + 2 * L * C * r / (c_1 * eps * s)) / s**2
    drift = 4 * c_2 / c_1 * L**2 * (5 * K * l2 + 30 * K**2 * g2) / s**2
    # eta_l B, of orders r / s, 1 / s and r^2 tau^2 / s^2, times sigma_l^2 / (m K) and what drawing clients costs.
    B_l = L * (C**2 + 3) / 2 * r / s + G / s + (r * L * tau / s) ** 2 / (c_1 * eps)
    noise = 8 * c_2 / (c_1**2 * eps) * B_l * (l2 / r**2 + (n + 1 - run.m) / n * s2 * K / r**2)
    return [corrected(run, s2) - first - falls - drift - noise]


def orders(draw: Draw) -> Statement:
    """Each order times r s: at most K, that of sqrt(K / (m T)); those without the draw are at most 1."""
    base = _dominated(draw, 5)
    s, r, K, tau, m = draw("s"), draw("r"), draw("K"), draw("tau"), draw("m")
    drawn = {
        "1 / sqrt(m K T) <= sqrt(K / (m T))": K >= 1,
        "1 / (m sqrt(T))": r <= m * K,
        "K tau^2 / T": tau**2 * r <= s,
    }
    return Statement(base.given, {**base.shown, **drawn})
