"""The explicit bound of Theorems 4.6 and D.3 from its steps: added up with multipliers that are not negative.

Every expectation, summed over the R rounds, is a variable of its own here. A step is an inequality between them, which
other rows show or hold to a search; :func:`assembly` shows that the steps, each times its multiplier, add up to the
bound of :mod:`.explicit` exactly, so that nothing is lost or lent between them.
The steps that are a line each (Cauchy, Young and Jensen with the proof's constants) stand at the end.
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec_proofs.afga.mixed import slope_lines
from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.certificate import Step, Sum, added
from fedspec_proofs.engines.combine import all_proved
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import every

STEPS: dict[str, str] = {
    "descent": "f(z_(r+1)) <= f(z_r) + <grad f(z_r), dz> + L/2 |dz|^2 with dz of eq. (13): 4.1 and afga.eq-13",
    "f_*": "f_* <= f(z_(R+1)): what f_* is",
    "V with Delta": "-<grad f(x_r), D_r Delta_r> <= G B ||D_r||_1 with D_r = V_(r-1)^(-1/2) - V_r^(-1/2): "
    "afga.theorem-4-6-lines",
    "V with m": "-<grad f(z_r), D_r m_(r-1)> <= G B ||D_r||_1: afga.theorem-4-6-lines",
    "z beside x": "<grad f(z_r) - grad f(x_r), V_r^(-1/2) Delta_r> <= eta L/(2 eps) (kappa^2 |m_(r-1)|^2 + "
    "|Delta_r|^2): afga.theorem-4-6-lines",
    "dz": "|dz|^2 <= 2 eta^2 (|Delta_r|^2/eps + kappa^2 B^2 ||D_r||_F^2): afga.theorem-4-6-lines",
    "Lemma F.7": "sum |m_r|^2 <= sum |Delta_r|^2: afga.lemma-f-7",
    "Lemma F.9, first": "sum ||D_r||_1 <= d/sqrt(eps): afga.lemma-f-9",
    "Lemma F.9, second": "sum ||D_r||_F^2 <= d/eps: afga.lemma-f-9",
    "eq. (15)": "E<grad f(x_r), V_(r-1)^(-1/2) Delta_r> = -eta_l p sum_t E<grad f(x_r), V_(r-1)^(-1/2) g_t> with g_t = "
    "1/N sum_i grad f_i(x^i_t): afga.eq-12 and eq-9, and that the draws and the noise have their means",
    "eq. (17)": "-<x, y> <= (|x - y|^2 + |x - z|^2 + |y - z|^2 - |x|^2 - |y|^2 - |z|^2)/4 with z the slopes at the "
    "clusters' means: afga.eq-17",
    "grad f in V": "I |grad f(x_r)|^2/C_0 <= sum_t |grad f(x_r)|^2 in V^(-1/2): afga.eq-17-eps-repaired",
    "g in V": "|g_t|^2/C_0 <= |g_t|^2 in V^(-1/2): afga.eq-17-eps-repaired",
    "z in V": "0 <= |z|^2: a square",
    "x - y": "|grad f(x_r) - g_t|^2 in V^(-1/2) <= L^2/sqrt(eps) (consensus error + drift): afga.theorem-4-6-slopes",
    "x - z": "|grad f(x_r) - z|^2 in V^(-1/2) <= L^2/sqrt(eps) drift: afga.theorem-4-6-slopes",
    "y - z": "|g_t - z|^2 in V^(-1/2) <= L^2/sqrt(eps) consensus error: afga.theorem-4-6-slopes",
    "Lemma F.3": "sum_(t<I) (consensus error + drift) <= T C_1 eta_l^2 (a_1 (|grad f|^2 + sigma_c^2) + s_1): "
    "afga.lemma-f-3-assembly",
    "Lemma F.5": "E|Delta_r|^2 by the consensus errors, the variances and sum_t E|g_t|^2: afga.eq-86-assembly",
    "Lemma F.4, t = I": "consensus error at I <= I C_1 eta_l^2 (a_2 (|grad f|^2 + sigma_c^2) + s_2): "
    "afga.lemma-f-3-assembly",
    "Lemma F.4, t < I": "sum_(t<I) consensus error <= T C_1 eta_l^2 (a_2 (|grad f|^2 + sigma_c^2) + s_2): likewise",
    "second condition": "C_D e_1 <= eta eta_l p/(4 C_0): one of the theorem's three",
    "third condition": "3 L^2 eta eta_l p/(4 sqrt(eps)) T C_1 eta_l^2 a_1 + C_D e_2 a_2 <= eta eta_l p I/(8 C_0): "
    "likewise",
}
"""Every step in words, with the row that it is taken from."""


def sum_of_steps(draw: Draw) -> Sum:
    """The steps over named variables; n - 1 = m + rest - 1 stands in fac alone."""

    def positive(*names: str) -> list[Any]:
        return [draw(name, positive=True) for name in names]

    K, n, m, I, R, L, G, B, d, T, C_1 = positive("K", "n", "m", "I", "R", "L", "G", "B", "d", "T", "C_1")
    eta, eta_l, root, C_0, kappa, fac = positive("eta", "eta_l", "root", "C_0", "kappa", "fac")
    sigma2, sbar2, sigma2_c, a_1, s_1, a_2, s_2 = positive("sigma2", "sbar2", "sigma2_c", "a_1", "s_1", "a_2", "s_2")
    slope2, g2 = positive("sum_slope2", "sum_g2")
    f_1, f_end, f_star = draw("f_1"), draw("f_end"), draw("f_star")
    A, a_delta, a_m, a_z, dz2, M2, D2, l_1, l_2 = (
        draw(name) for name in ("A", "a_delta", "a_m", "a_z", "dz2", "M2", "D2", "l_1", "l_2")
    )
    S, X, Y, Z, XY, XZ, YZ = (draw(name) for name in ("S", "X", "Y", "Z", "XY", "XZ", "YZ"))
    cons, cons_I, drift = draw("cons"), draw("cons_I"), draw("drift")

    eps, p, e2 = root**2, m / n, eta_l**2
    N, M, step = K * n, K * m, eta * eta_l * p
    senders = fac * n / m**2 / K
    C_D = eta**2 * L / (2 * eps) * (kappa**2 + 3)
    e_0 = e2 * (2 * I * M * sigma2 / N**2 + 4 * I * fac * sbar2 / N)
    e_1 = 2 * p**2 * I * e2
    e_2 = C_1 * e2 * (4 * L**2 * e2 * fac / N * T + I * senders)
    local = 3 * L**2 * step / (4 * root) * T * C_1 * e2
    both_errors = T * C_1 * e2 * (a_1 * (slope2 + R * sigma2_c) + R * s_1)
    one_error = C_1 * e2 * (a_2 * (slope2 + R * sigma2_c) + R * s_2)

    steps = {
        "descent": Step(1, f_end, f_1 + eta * (A - a_delta) - eta * kappa * a_m + eta * a_z + L / 2 * dz2),
        "f_*": Step(1, f_star, f_end),
        "V with Delta": Step(eta, -a_delta, G * B * l_1),
        "V with m": Step(eta * kappa, -a_m, G * B * l_1),
        "z beside x": Step(eta, a_z, eta * L / (2 * eps) * (kappa**2 * M2 + D2)),
        "dz": Step(L / 2, dz2, 2 * eta**2 * (D2 / eps + kappa**2 * B**2 * l_2)),
        "Lemma F.7": Step(eta**2 * L / (2 * eps) * kappa**2, M2, D2),
        "Lemma F.9, first": Step(eta * (1 + kappa) * G * B, l_1, d / root),
        "Lemma F.9, second": Step(eta**2 * L * kappa**2 * B**2, l_2, d / eps),
        "eq. (15)": Step(eta, A, -eta_l * p * S),
        "eq. (17)": Step(step, -S, (XY + XZ + YZ - X - Y - Z) / 4),
        "grad f in V": Step(step / 4, I * slope2 / C_0, X),
        "g in V": Step(step / 4, g2 / C_0, Y),
        "z in V": Step(step / 4, 0, Z),
        "x - y": Step(step / 4, XY, L**2 / root * (cons + drift)),
        "x - z": Step(step / 4, XZ, L**2 / root * drift),
        "y - z": Step(step / 4, YZ, L**2 / root * cons),
        "Lemma F.3": Step(step * L**2 / (2 * root), cons + drift, both_errors),
        "Lemma F.5": Step(
            C_D, D2, senders * cons_I + R * e_0 + 4 * L**2 * e2 * fac / N * cons + 2 * p**2 * I * e2 * g2
        ),
        "Lemma F.4, t = I": Step(C_D * senders, cons_I, I * one_error),
        "Lemma F.4, t < I": Step(C_D * 4 * L**2 * e2 * fac / N, cons, T * one_error),
        "second condition": Step(g2, C_D * e_1, step / (4 * C_0)),
        "third condition": Step(slope2, local * a_1 + C_D * e_2 * a_2, step * I / (8 * C_0)),
    }
    right = f_1 - f_star + eta * (1 + kappa) * G * B * d / root + eta**2 * L * kappa**2 * B**2 * d / eps
    right += R * (local * (a_1 * sigma2_c + s_1) + C_D * (e_0 + e_2 * (a_2 * sigma2_c + s_2)))
    # Eq. (18) has 3/4 of L^2, of which 1/2 is used.
    return Sum(steps, step * I / (8 * C_0) * slope2, right, step * L**2 / (4 * root) * both_errors)


@claim(
    "afga.theorem-4-6-assembly",
    statement="The 23 steps that are assumed here, each times a multiplier that is not negative, add up to the bound "
    "of theorem-4-6 and theorem-d-3, for all K, n, m, I, R and constants: the bound follows from them. How far "
    "a step is shown stands in the row that it names",
    source=Source(AFGA, "ours, for the proof of Theorems 4.6 and D.3 (L1123-2621)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions=STEPS,
)
def assembly() -> Finding:
    """Expectations summed over the rounds are free variables."""
    return added(sum_of_steps, STEPS)


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
    two = decide(lambda draw: _slopes(draw, 2), timeout_ms=5000)
    return all_proved({**parts, "two clients": two}, set(two.dropped))
