"""Steps of :mod:`.assembly` that are a line each: Cauchy, Young and Jensen with the proof's constants."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec_proofs.afga.mixed import slope_lines
from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.combine import all_proved
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import every


@claim(
    "afga.theorem-4-6-lines",
    statement="The steps 'V with Delta', 'V with m', 'z beside x' and 'dz' of theorem-4-6-assembly: the first, second "
    "and last coordinate by coordinate, the third for the lengths of its vectors",
    source=Source(AFGA, "ours, for eqs. (19) to (23) (L1560-1830)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={
        "signs": "G, B, eta, kappa, L, lengths and D = V_(r-1)^(-1/2) - V_r^(-1/2) are not negative, sqrt(eps) > 0",
        "G": "|grad f| <= G in the coordinate",
        "B": "|Delta_r|, |m_(r-1)| <= B in the coordinate: afga.lemma-f-8-repaired",
        "smooth": "|grad f(z_r) - grad f(x_r)| <= L |z_r - x_r| = L kappa eta |V_(r-1)^(-1/2) m_(r-1)| <= L kappa eta "
        "|m_(r-1)|/sqrt(eps)",
        "v": "0 <= V_r^(-1/2) <= 1/sqrt(eps) in the coordinate",
    },
)
def lines() -> Finding:
    """slope, delta, m, D and v are one coordinate; change, length_m and length_delta are lengths of vectors."""

    def body(draw: Draw) -> Statement:
        slope, delta, m, D, v = (draw(name) for name in ("slope", "delta", "m", "D", "v"))
        G, B, L, eta, kappa, root = (draw(name) for name in ("G", "B", "L", "eta", "kappa", "root"))
        change, length_m, length_delta = (draw(name) for name in ("change", "length_m", "length_delta"))
        step = eta * v * delta - eta * kappa * D * m
        given = {
            "signs": every(*(a >= 0 for a in (G, B, L, eta, kappa, D, change, length_m, length_delta)), root > 0),
            "G": every(slope <= G, -slope <= G),
            "B": every(delta <= B, -delta <= B, m <= B, -m <= B),
            "smooth": change * root <= L * kappa * eta * length_m,
            "v": every(v >= 0, v * root <= 1),
        }
        shown = {
            "V with Delta": -slope * D * delta <= G * B * D,
            "V with m": -slope * D * m <= G * B * D,
            "z beside x": 2 * root * change * length_delta
            <= eta * L * (kappa * length_m * kappa * length_m + length_delta * length_delta),
            "dz": step * step * root**2 <= 2 * eta * eta * (delta * delta + root**2 * kappa * kappa * B * B * D * D),
        }
        return Statement(given, shown)

    return decide(body, sample=_some_lines)


def _some_lines(rng: np.random.Generator) -> dict[str, F]:
    """Values that meet the assumptions: free ones in quarters, bounded ones as shares of their bounds."""

    def quarters(low: int, high: int) -> F:
        return F(int(rng.integers(low, high)), 4)

    free = {name: quarters(0, 9) for name in ("G", "B", "L", "eta", "kappa", "D", "length_m", "length_delta")}
    root = quarters(1, 9)
    shares = {"slope": free["G"], "delta": free["B"], "m": free["B"]}
    bounded = {name: bound * quarters(-4, 5) for name, bound in shares.items()}
    change = free["L"] * free["kappa"] * free["eta"] * free["length_m"] / root * quarters(0, 5)
    return {**free, **bounded, "root": root, "v": quarters(0, 5) / root, "change": change}


def _slopes(draw: Draw, n: int) -> Statement:
    """One cluster of n clients in one dimension; h_i is what the i-th slope changes by between its two points."""
    x, L, here = draw("x"), draw("L"), draw("X", n)
    mean = sum(here) / n
    cons, drift = sum((v - mean) ** 2 for v in here) / n, (mean - x) ** 2

    def bounded(h: Any, gaps: Any) -> Any:
        return every(*(h_i * h_i <= L * L * gap * gap for h_i, gap in zip(h, gaps, strict=True)))

    parted, means, inside = draw("h", n), draw("k", n), draw("l", n)
    given = {
        "4.1, x_r and x_i": bounded(parted, [v - x for v in here]),
        "4.1, x_r and xbar": bounded(means, [mean - x] * n),
        "4.1, xbar and x_i": bounded(inside, [v - mean for v in here]),
    }
    shown = {
        "x - y": (sum(parted) / n) ** 2 <= L * L * (cons + drift),
        "x - z": (sum(means) / n) ** 2 <= L * L * drift,
        "y - z": (sum(inside) / n) ** 2 <= L * L * cons,
    }
    return Statement(given, shown)


@claim(
    "afga.theorem-4-6-slopes",
    statement="The steps 'x - y', 'x - z' and 'y - z' of theorem-4-6-assembly",
    source=Source(AFGA, "ours, for eq. (18) (L1475-1558)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={
        "4.1, x_r and x_i": "the clients' slopes change by at most L |x_r - x_i|",
        "4.1, x_r and xbar": "by at most L |x_r - xbar|",
        "4.1, xbar and x_i": "by at most L |xbar - x_i|",
    },
)
def slopes() -> Finding:
    """For any clients, by means over them; then for two clients in one dimension with V = eps, all at once."""
    parts = {f"line {k}": one for k, one in enumerate(slope_lines(), 1)}
    two = decide(lambda draw: _slopes(draw, 2))
    return all_proved({**parts, "two clients": two}, set(two.dropped))
