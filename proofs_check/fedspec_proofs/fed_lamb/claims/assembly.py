"""The corrected theorems as sums of steps: the inequality per layer, one round, and all rounds.

beta1 = lam = 0 and everybody takes part; D = 1/(sqrt(v_hat) + eps), s = sqrt(v0) + eps, so that s D <= 1 in every
coordinate. Inner products, lengths and expectations are variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fedspec_proofs.claim import Extent, Finding, claim, false
from fedspec_proofs.engines import Draw, Statement, Step, Sum, added, all_proved, decide, decided, every, several
from fedspec_proofs.fed_lamb.kit import bounds
from fedspec_proofs.fed_lamb.kit.bounds import Constants
from fedspec_proofs.kit.adding import spoiled, summed

F = Fraction

KEY = {
    "parts": "<h, D g> = <g, D g> + <h - g, D g>",
    "s D <= 1": "<g, D g> >= s ||D g||^2: fed-lamb.key-inequality-lines",
    "Cauchy": "<h - g, D g> >= -||h - g|| ||D g||",
    "triangle": "||D h|| <= ||D g|| + ||D (h - g)||",
    "s D <= 1, again": "s ||D (h - g)|| <= ||h - g||: fed-lamb.key-inequality-lines",
}


def key(draw: Draw) -> Sum:
    """Steps that add up to ||D g|| (s ||D h|| - 2 ||h - g||) <= <h, D g>."""
    Dg, Dh, Dd, gap, s = several(draw, "Dg, Dh, Dd, gap, s", positive=True)
    whole, own, cross = draw("whole"), draw("own"), draw("cross")
    steps = {
        "parts": Step(1, own + cross, whole),
        "s D <= 1": Step(1, s * Dg**2, own),
        "Cauchy": Step(1, -gap * Dg, cross),
        "triangle": Step(s * Dg, Dh, Dg + Dd),
        "s D <= 1, again": Step(Dg, s * Dd, gap),
    }
    return Sum(steps, Dg * (s * Dh - 2 * gap), whole)


def at_rest(draw: Draw) -> Sum:
    """Steps in the case D g = 0, where g = 0 and the layer stays: s ||D h|| - 2 ||h - g|| <= 0."""
    Dh, gap, s = several(draw, "Dh, gap, s", positive=True)
    return Sum({"s D <= 1, again": Step(1, s * Dh, gap)}, s * Dh - 2 * gap, 0, gap)


@claim(
    "fed-lamb.key-inequality-assembly",
    statement="<h, D g>/||D g|| >= s ||D h|| - 2 ||h - g|| in layers of any size, from the five steps that are "
    "assumed; where D g = 0 the layer stays, and the left side is 0",
    source="ours, in place of L598-612",
    assumptions=KEY,
    chain="key-inequality-lines",
)
def key_inequality() -> Finding:
    """Proof after multiplication by ||D g||; if that is 0, then h - g = h and s ||D h|| <= ||h||."""
    rest = {"s D <= 1, again": KEY["s D <= 1, again"]}
    return all_proved({"a layer that moves": added(key, KEY), "one that stays": added(at_rest, rest)})


@claim(
    "fed-lamb.key-inequality-lines",
    statement="s ||D g||^2 <= <g, D g> and s ||D d|| <= ||d||, coordinate by coordinate",
    source="ours, in place of L598-612",
    assumptions={"s D <= 1": "v_hat >= v0: fed-lamb.v-hat-floor"},
    chain="v-hat-floor",
)
@decided()
def lines(draw: Draw) -> Statement:
    """Proof per coordinate; both sides are sums over the coordinates, the second one squared."""
    g, d, D, s = draw("g"), draw("d"), draw("D"), draw("s")
    given = {"s D <= 1": every(s >= 0, D >= 0, s * D <= 1)}
    return Statement(given, {"own": s * (D * g) * (D * g) <= g * D * g, "gap": (s * D * d) * (s * D * d) <= d * d})


def _scaled(draw: Draw) -> Statement:
    """X = <h, D g>/||D g||, A = s ||D h||, B = 2 ||h - g||."""
    X, A, B, phi, phi_m, phi_M = several(draw, "X, A, B, phi, phi_m, phi_M")
    given = {
        "key inequality": X >= A - B,
        "lengths": every(A >= 0, B >= 0),
        "H4": every(phi_m >= 0, phi_m <= phi, phi <= phi_M),
    }
    return Statement(given, {"scaled": phi * X >= phi_m * A - phi_M * B})


def _clipped(rng: np.random.Generator) -> Mapping[str, F]:
    A, B, over, phi_m, more, above = (F(int(rng.integers(0, 9)), 4) for _ in range(6))
    return {"A": A, "B": B, "X": A - B + over, "phi_m": phi_m, "phi": phi_m + more, "phi_M": phi_m + more + above}


@claim(
    "fed-lamb.key-inequality-scaled",
    statement="phi <h, D g>/||D g|| >= phi_m s ||D h|| - 2 phi_M ||h - g||: the lower bound of phi goes with what is "
    "gained, the upper one with what is lost",
    source="ours, in place of L598-612",
    assumptions={
        "key inequality": "fed-lamb.key-inequality-assembly; 0 in place of <h, D g>/||D g|| where D g = 0",
        "lengths": "s ||D h|| and ||h - g|| are not negative",
        "H4": "0 <= phi_m <= phi <= phi_M",
    },
    chain="key-inequality-assembly",
)
def scaled() -> Finding:
    """Lengths and inner products are variables, so layers may have any size."""
    return decide(_scaled, sample=_clipped)


@false("fed-lamb.false-key-scaled", of=scaled, statement="The same with phi_m in place of phi_M")
@decided(sample=_clipped, ablate=False)
def _false_scaled(draw: Draw) -> Statement:
    """Take a larger phi where <h, D g> is negative: it goes farther the wrong way."""
    whole = _scaled(draw)
    X, A, B, phi, phi_m = several(draw, "X, A, B, phi, phi_m")
    return replace(whole, shown={"scaled": phi * X >= phi_m * A - phi_m * B})


ROUND = {
    "(7)": "f(x_r) <= f(x_(r-1)) + <f', x_r - x_(r-1)> + sum_l L_l/2 ||x_r^l - x_(r-1)^l||^2",
    "steps": "<f', x_r - x_(r-1)> = -alpha times the mean over all n clients of sum_t sum_l phi <f'^l, p^l>/||p^l||, 0 "
    "for a layer with p^l = 0",
    "key inequality": "phi <f'^l, p^l>/||p^l|| >= phi_m s ||D f'^l|| - 2 phi_M ||f'^l - g^l||, with 0 on its left "
    "where p^l = 0, summed: fed-lamb.key-inequality-scaled",
    "lengths": "||x_r^l - x_(r-1)^l|| <= alpha phi_M T: fed-lamb.lemma-1-repaired",
}


def one_round(draw: Draw) -> Sum:
    """Steps of fed-lamb.round-repaired; ``gain`` is sum_l ||D f'^l||, ``errors`` a mean over clients of sums."""
    alpha, T, phi_m, phi_M, s, L_bar = several(draw, "alpha, T, phi_m, phi_M, s, L_bar", positive=True)
    f, f_1, inner, along, square, gain, errors = several(draw, "f, f_1, inner, along, square, gain, errors")
    steps = {
        "(7)": Step(1, f_1, f + inner + square),
        "steps": Step(1, inner, -alpha * along),
        "key inequality": Step(alpha, T * phi_m * s * gain - 2 * phi_M * errors, along),
        "lengths": Step(1, square, L_bar / 2 * (alpha * phi_M * T) ** 2),
    }
    risen = {"errors": 2 * alpha * phi_M * errors, "rate": alpha**2 * T**2 * phi_M**2 / 2 * L_bar}
    return Sum(steps, f_1, {"": f - alpha * T * phi_m * s * gain, **risen})


@claim(
    "fed-lamb.round-assembly",
    statement="The four steps that are assumed here add up to round-repaired, for all n, T, layers and constants",
    source="ours, in place of (16)-(21)",
    assumptions=ROUND,
    chain="key-inequality-scaled lemma-1-repaired",
)
def round_falls() -> Finding:
    """The sum holds in every outcome of the noise."""
    return summed(one_round, ROUND)


ROUNDS = {
    "rounds": "alpha T phi_m s R (mean of sum_l E||D f'^l||) <= f(x_0) - E f(x_R) + 2 alpha phi_M R T error + R "
    "alpha^2 T^2 phi_M^2 L_bar/2: fed-lamb.round-assembly, summed",
    "f_*": "f_* <= f(x_R)",
    "error": "error <= zeta + sigma sum_l sqrt(p_l) + drift: fed-lamb.errors",
    "drift": "drift <= alpha (T - 1)/2 phi_M sqrt(Lay) sum_l Lam_l: fed-lamb.errors",
}


def rounds(draw: Draw) -> Sum:
    """Steps over the sums of all rounds, to :func:`.bounds.per_layer_terms`; v0 = w^2 and Lay = side^2 have rational
    roots.
    """
    names = "alpha, T, R, phi_m, phi_M, w, side, L_bar, sigma, roots, zeta, Lam"
    alpha, T, R, phi_m, phi_M, w, side, L_bar, sigma, roots, zeta, Lam = several(draw, names, positive=True)
    f_0, f_R, f_star, mean, error, drift = several(draw, "f_0, f_R, f_star, mean, error, drift")
    own = {"sigma": sigma, "R": R, "T": T, "phi_m": phi_m, "phi_M": phi_M, "L_bar": L_bar}
    k = Constants(gap=f_0 - f_star, Lay=side**2, alpha=alpha, least_alpha=alpha, v0=w**2, **own)
    gain = alpha * T * phi_m * w * R
    square = R * alpha**2 * T**2 * phi_M**2 * L_bar / 2
    steps = {
        "rounds": Step(1 / gain, gain * mean, f_0 - f_R + 2 * alpha * phi_M * R * T * error + square),
        "f_*": Step(1 / gain, f_star, f_R),
        "error": Step(2 * phi_M / (phi_m * w), error, zeta + sigma * roots + drift),
        "drift": Step(2 * phi_M / (phi_m * w), drift, alpha * (T - 1) / 2 * phi_M * side * Lam),
    }
    return Sum(steps, mean, bounds.per_layer_terms(k, bounds.errors(k, zeta, roots, (Lam,))))


@claim(
    "fed-lamb.theorem-3-assembly",
    statement="The four steps that are assumed here add up to the bound of theorem-3-repaired, and with T = 1 to "
    "that of theorem-1-repaired, for all n, R, T, layers and constants",
    source="ours, for Theorems 1 and 3 (L250-254, L706-716)",
    extent=Extent.PART,
    assumptions=ROUNDS,
    chain="round-assembly errors",
)
def theorems() -> Finding:
    """The sum gives the bound for lengths; that for squares follows from ||D f'|| <= M/s and ||f'|| <= M."""
    return summed(rounds, ROUNDS)


@false(
    "fed-lamb.theorem-3-half-rate",
    of=theorems,
    statement="They add up to the bound with half of the term alpha T phi_M^2 L_bar/(2 phi_m s)",
)
def half_of_rate() -> Finding:
    """Refuted: the coefficient 1/4 in place of 1/2."""
    return spoiled(rounds, "rate")


@false(
    "fed-lamb.theorem-3-half-heterogeneity",
    of=theorems,
    statement="They add up to the bound with zeta in place of 2 zeta",
)
def half_of_heterogeneity() -> Finding:
    """Refuted: the factor 2 is needed, by the inequality per layer."""
    return spoiled(rounds, "heterogeneity")
