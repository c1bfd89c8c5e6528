"""Explicit bound of Theorems 4.6 and D.3, as a sum of proof steps with nonnegative multipliers.

Every expectation, summed over the R rounds, is a variable of its own here. A step is an inequality between them, which
the row that it names shows; the steps, each times its multiplier, add up to :func:`.explicit.terms` exactly, on
symbols, so that nothing is lost or lent between them, and nothing of the bound is typed again.
The steps that are a line each (Cauchy, Young and Jensen with the proof's constants) stand at the end.
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec_proofs.afga.kit.bounds import change_by_drawing, change_terms
from fedspec_proofs.afga.kit.explicit import changes, conditions, local, senders, terms
from fedspec_proofs.afga.kit.mixed import slope_lines
from fedspec_proofs.claim import Extent, Finding, claim, false
from fedspec_proofs.engines import Draw, Statement, Step, Sum, all_proved, decide, decided, every, record, several
from fedspec_proofs.kit.adding import spoiled, summed

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
    "senders": "E<grad f(x_r), V_(r-1)^(-1/2) Delta_r> = E<grad f(x_r), V_(r-1)^(-1/2) Deltabar_r>: the senders are "
    "drawn whatever the round was, x_r and v_hat_(r-1) are from before it: afga.eq-12",
    "means": "E<grad f(x_r), V_(r-1)^(-1/2) Deltabar_r> = -eta_l p sum_t E<grad f(x_r), V_(r-1)^(-1/2) g_t> with g_t = "
    "1/N sum_i grad f_i(x^i_t): afga.eq-9; whatever came before, each client computes with chance p, and the noise of "
    "those who do has mean zero",
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
"""Description of every step, with the claim that proves it."""


def setting(draw: Draw) -> Any:
    """Variables of any run, as :func:`.explicit.terms` needs them; fac is m (n - m)/(n (n - 1)), 0 for n = 1."""
    names = "K n m I R L G B d T C_1 eta eta_l root C_0 kappa fac sigma2 sbar2 sigma2_c alpha2 a_1 s_1 a_2 s_2"
    v = record(draw, names)
    v.f_1, v.f_star = draw("f_1"), draw("f_star")
    v.gap = v.f_1 - v.f_star
    return v


def sum_of_steps(draw: Draw) -> Sum:
    """Steps over named variables; the right side is by the same function that checks the runs."""
    v = setting(draw)
    slope2, g2 = draw("sum_slope2", positive=True), draw("sum_g2", positive=True)
    f_end, A, A_bar, a_delta, a_m, a_z, dz2, M2, D2, l_1, l_2 = several(
        draw, "f_end, A, A_bar, a_delta, a_m, a_z, dz2, M2, D2, l_1, l_2"
    )
    S, X, Y, Z, XY, XZ, YZ = several(draw, "S, X, Y, Z, XY, XZ, YZ")
    cons, cons_I, drift = draw("cons"), draw("cons_I"), draw("drift")

    L, G, B, eta, kappa, root, eps = v.L, v.G, v.B, v.eta, v.kappa, v.root, v.root**2
    p, e2 = v.m / v.n, v.eta_l**2
    step = eta * v.eta_l * p
    # Everything is divided by what stands before the mean of |grad f|^2 in the end.
    one = 8 * v.C_0 / (step * v.I * v.R)
    C_D, *_ = changes(v)
    inner = 4 * L**2 * e2 * v.fac / (v.K * v.n)
    both_errors = v.T * v.C_1 * e2 * (v.a_1 * (v.alpha2 * slope2 + v.R * v.sigma2_c) + v.R * v.s_1)
    one_error = v.C_1 * e2 * (v.a_2 * (v.alpha2 * slope2 + v.R * v.sigma2_c) + v.R * v.s_2)
    # A round's terms, as eq-86-assembly has them; the errors and slopes are sums over the rounds already.
    delta2 = {
        name: (v.R if name in ("noise", "dissimilarity") else 1) * term
        for name, term in change_terms(v, cons, g2).items()
    }
    rates = conditions(v)

    steps = {
        "descent": Step(1, f_end, v.f_1 + eta * (A - a_delta) - eta * kappa * a_m + eta * a_z + L / 2 * dz2),
        "f_*": Step(1, v.f_star, f_end),
        "V with Delta": Step(eta, -a_delta, G * B * l_1),
        "V with m": Step(eta * kappa, -a_m, G * B * l_1),
        "z beside x": Step(eta, a_z, eta * L / (2 * eps) * (kappa**2 * M2 + D2)),
        "dz": Step(L / 2, dz2, 2 * eta**2 * (D2 / eps + kappa**2 * B**2 * l_2)),
        "Lemma F.7": Step(eta**2 * L / (2 * eps) * kappa**2, M2, D2),
        "Lemma F.9, first": Step(eta * (1 + kappa) * G * B, l_1, v.d / root),
        "Lemma F.9, second": Step(eta**2 * L * kappa**2 * B**2, l_2, v.d / eps),
        "senders": Step(eta, A, A_bar),
        "means": Step(eta, A_bar, -v.eta_l * p * S),
        "eq. (17)": Step(step, -S, (XY + XZ + YZ - X - Y - Z) / 4),
        "grad f in V": Step(step / 4, v.I * slope2 / v.C_0, X),
        "g in V": Step(step / 4, g2 / v.C_0, Y),
        "z in V": Step(step / 4, 0, Z),
        "x - y": Step(step / 4, XY, L**2 / root * (cons + drift)),
        "x - z": Step(step / 4, XZ, L**2 / root * drift),
        "y - z": Step(step / 4, YZ, L**2 / root * cons),
        "Lemma F.3": Step(step * L**2 / (2 * root), cons + drift, both_errors),
        "Lemma F.5": Step(C_D, D2, change_by_drawing(v, cons_I) + sum(delta2.values())),
        "Lemma F.4, t = I": Step(C_D * senders(v), cons_I, v.I * one_error),
        "Lemma F.4, t < I": Step(C_D * inner, cons, v.T * one_error),
        "second condition": Step(g2, *rates["second condition"]),
        "third condition": Step(slope2, *rates["third condition"]),
    }
    scaled = {name: Step(one * taken.multiplier, taken.low, taken.high) for name, taken in steps.items()}
    # Eq. (18) has 3/4 of L^2, of which 1/2 is used.
    spare = one * local(v) / 3 * (v.a_1 * (v.alpha2 * slope2 + v.R * v.sigma2_c) + v.R * v.s_1)
    return Sum(scaled, slope2 / v.R, terms(v), spare)


@claim(
    "afga.theorem-4-6-assembly",
    statement="The 24 steps that are assumed here, each times a multiplier that is not negative, add up to the bound "
    "of theorem-4-6 and theorem-d-3, for all K, n, m, I, R, d, alpha and constants",
    source="ours, for the proof of Theorems 4.6 and D.3 (L1123-2621)",
    extent=Extent.PART,
    assumptions=STEPS,
    chain="eq-13 theorem-4-6-lines lemma-f-7 lemma-f-9 eq-12 eq-9 eq-17 eq-17-eps-repaired theorem-4-6-slopes "
    "lemma-f-3-assembly eq-86-assembly",
)
def assembly() -> Finding:
    """Expectations, summed over the rounds, are free variables. A third of the terms of eq. (18) is slack."""
    return summed(sum_of_steps, STEPS)


@false("afga.theorem-4-6-half-e-0", of=assembly, statement="They add up to the bound with half of e_0")
def half_of_e_0() -> Finding:
    """Refuted: half of e_0 covers sampling and noise as one square; the proof needs two."""
    return spoiled(sum_of_steps, "e_0")


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


@claim(
    "afga.theorem-4-6-lines",
    statement="The steps 'V with Delta', 'V with m', 'z beside x' and 'dz' of theorem-4-6-assembly: the first, second "
    "and last coordinate by coordinate, the third for the lengths of its vectors",
    source="ours, for eqs. (19) to (23) (L1560-1830)",
    extent=Extent.PART,
    assumptions={
        "signs": "G, B, eta, kappa, L, lengths and D = V_(r-1)^(-1/2) - V_r^(-1/2) are not negative, as v_hat never "
        "falls: afga.amsgrad-order; sqrt(eps) > 0",
        "G": "|grad f| <= G in the coordinate: afga.lemma-f-8-gradient",
        "B": "|Delta_r|, |m_(r-1)| <= B in the coordinate: afga.lemma-f-8-repaired",
        "smooth": "|grad f(z_r) - grad f(x_r)| <= L |z_r - x_r| = L kappa eta |V_(r-1)^(-1/2) m_(r-1)| <= L kappa eta "
        "|m_(r-1)|/sqrt(eps)",
        "v": "0 <= V_r^(-1/2) <= 1/sqrt(eps) in the coordinate",
    },
    chain="amsgrad-order lemma-f-8-gradient lemma-f-8-repaired",
)
@decided(sample=_some_lines)
def lines(draw: Draw) -> Statement:
    """Variables: slope, delta, m, D and v are one coordinate; change and the lengths are norms of vectors."""
    slope, delta, m, D, v = several(draw, "slope, delta, m, D, v")
    G, B, L, eta, kappa, root = several(draw, "G, B, L, eta, kappa, root")
    change, length_m, length_delta = several(draw, "change, length_m, length_delta")
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


def _slopes(draw: Draw, n: int) -> Statement:
    """Cluster of n clients in one dimension; h_i is the change of the i-th slope between its two points."""
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
    source="ours, for eq. (18) (L1475-1558)",
    extent=Extent.PART,
    assumptions={
        "4.1, x_r and x_i": "the clients' slopes change by at most L |x_r - x_i|",
        "4.1, x_r and xbar": "by at most L |x_r - xbar|",
        "4.1, xbar and x_i": "by at most L |xbar - x_i|",
    },
)
def slopes() -> Finding:
    """Proof for any number of clients, by means over clients; then for two clients in one dimension with V = eps."""
    parts = {f"line {k}": one for k, one in enumerate(slope_lines(), 1)}
    two = decide(lambda draw: _slopes(draw, 2), timeout_ms=5000)
    return all_proved({**parts, "two clients": two}, set(two.dropped))
