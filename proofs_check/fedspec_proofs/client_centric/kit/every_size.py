"""Inequalities that Theorem 4.1 adds up, proved by z3 for any number of coordinates, clients, rounds and local steps.

Lengths are sums over coordinates, so that an inequality of one coordinate is one of vectors; what a sum of many terms
needs is an induction that takes one term more. E bounds every sqrt(v_hat) + eps from below, H from above.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from fedspec_proofs.claim import Finding
from fedspec_proofs.engines import Draw, every, several
from fedspec_proofs.engines.algebra import Body, Sample, Statement, decide


def prove_each(*bodies: Body, sample: Sample | None = None) -> list[Finding]:
    """Decide each statement by z3, without dropping assumptions."""
    return [decide(body, sample=sample, ablate=False, instances=20) for body in bodies]


def nearby(rng: np.random.Generator) -> Mapping[str, Fraction]:
    """Draw denominators, bounds and rates that meet the assumptions; other variables are left to the random draw."""
    E, G, more, rise, tau, eta = (Fraction(int(rng.integers(1, 9)), 2) for _ in range(6))
    sign = (1, 0, -1)[int(rng.integers(0, 3))]
    size = rise * 2
    given = {"E": E, "root": E + more, "next": E + more + rise, "rise": rise, "size": size, "Delta": sign * size}
    given |= {"G": G, "g": sign * G / 2, "D": G, "d": -sign * G / 3, "fall": more, "kappa": tau, "w": Fraction(1, 3)}
    given |= {"product": Fraction(0), "total": tau, "s": tau + G, "square": rise, "sigma2": size}
    return given | {"L": tau, "move": more, "change": sign * tau * more, "n": tau, "r": G, "eta": eta}


def a_1(draw: Draw) -> Statement:
    """u w <= u^2/(2 kappa) + kappa w^2/2 (Young); d/root is at most d/E in absolute value, if root >= E."""
    u, w, kappa, d, root, E = several(draw, "u, w, kappa, d, root, E")
    given = {"kappa > 0": kappa > 0, "root >= E": every(E > 0, root >= E)}
    shown = {
        "Young": 2 * kappa * u * w <= u * u + kappa * kappa * w * w,
        "(d/root)^2 <= d^2/E^2": d * d * E * E <= d * d * root * root,
    }
    return Statement(given, shown)


def a_3(draw: Draw) -> Statement:
    """-g fall d <= G D fall, with |g| <= G, |d| <= D and fall >= 0."""
    g, G, d, D, fall = several(draw, "g, G, d, D, fall")
    given = {"|g| <= G": every(g <= G, -g <= G), "|d| <= D": every(d <= D, -d <= D), "fall >= 0": fall >= 0}
    return Statement(given, {"-g d <= G D": every(-g * d <= G * D, G * D >= 0), "then times the fall": fall >= 0})


def a_4(draw: Draw) -> Statement:
    """(p - q)^2 <= 2 p^2 + 2 q^2, and d^2 <= D^2, hence (fall d)^2 <= fall^2 D^2."""
    p, q, d, D, fall = several(draw, "p, q, d, D, fall")
    given = {"|d| <= D": every(d <= D, -d <= D)}
    shown = {
        "parallelogram": (p - q) ** 2 <= 2 * p * p + 2 * q * q,
        "d^2 <= D^2": d * d <= D * D,
        "fall^2 >= 0": fall * fall >= 0,
    }
    return Statement(given, shown)


def a_5(draw: Draw) -> Statement:
    """1/root decreases by (next - root)/(root next) <= |Delta|/E^2, so -g Delta times that is <= G Delta^2/E^2."""
    root, later, E, size, delta, g, G = several(draw, "root, next, E, size, Delta, g, G")
    given = {
        "root >= E": every(E > 0, root >= E),
        "a-5-roots": every(later >= root, later - root <= size),
        "|Delta|": every(size >= 0, size * size == delta * delta),
        "|g| <= G": every(g <= G, -g <= G),
    }
    shown = {
        "root next >= E^2": root * later >= E * E,
        "-g Delta (next - root) <= G Delta^2": -g * delta * (later - root) <= G * delta * delta,
        "G Delta^2 >= 0": G * delta * delta >= 0,
    }
    return Statement(given, shown)


def quotient(draw: Draw) -> Statement:
    """X/W <= Y/F from X <= Y, Y >= 0 and W >= F > 0."""
    X, Y, W, F = draw("X"), draw("Y"), draw("W"), draw("F")
    return Statement({"X <= Y": every(X <= Y, Y >= 0), "W >= F": every(W >= F, F > 0)}, {"X F <= Y W": X * F <= Y * W})


def one_more_noise(draw: Draw) -> Statement:
    """Induction step for E |sum xi|^2 <= s: one more noise vector, with mean zero given the earlier ones."""
    total, s, product, square, sigma2 = several(draw, "total, s, product, square, sigma2")
    given = {"so far": total <= s, "unbiased": product == 0, "variance": square <= sigma2}
    return Statement(given, {"after it": total + 2 * product + square <= s + sigma2})


def by_way_of(draw: Draw) -> Statement:
    """(x - z)^2 <= 2 (x - y)^2 + 2 (y - z)^2, with an intermediate point y."""
    x, y, z = draw("x"), draw("y"), draw("z")
    return Statement({}, {"(x - z)^2": (x - z) ** 2 <= 2 * (x - y) ** 2 + 2 * (y - z) ** 2})


def one_more_round(draw: Draw) -> Statement:
    """Induction step over T: the sum of w_(t - s) over t < T is the sum of all w_t minus the newest s terms."""
    late, all_, newest, w, oldest = several(draw, "late, all, newest, w, oldest")
    later = newest + w - oldest
    given = {"so far": late == all_ - newest, "terms are not negative": later >= 0}
    shown = {"again": late + oldest == all_ + w - later, "at most the whole": late + oldest <= all_ + w}
    return Statement(given, shown)


def one_more_lag(draw: Draw) -> Statement:
    """Induction step over s: a sum over s lags is at most s times the total; a delay includes each lag or not."""
    lags, late, all_, s, part = several(draw, "lags, late, all, s, part")
    given = {"so far": lags <= s * all_, "one lag": every(late <= all_, late >= 0), "part": every(part >= 0, part <= 1)}
    return Statement(given, {"(s + 1) times": every(lags + part * late <= (s + 1) * all_)})


def on_the_line(rng: np.random.Generator) -> Mapping[str, Fraction]:
    """Draw squares and products of two numbers (for balls), and partial sums of equal terms (for inductions)."""
    u, v, n = (Fraction(int(rng.integers(-8, 9)), 4) for _ in range(3))
    n, w = abs(n), Fraction(int(rng.integers(0, 5)), 4)
    given = {"u2": u * u, "v2": v * v, "uv": u * v, "r": max(abs(u), abs(v)), "w": w, "n": n}
    given |= {"sum": n * u, "squares": n * u * u, "all": abs(u) + abs(v), "newest": abs(v), "late": abs(u)}
    return given | {"oldest": Fraction(0), "lags": n * abs(u), "s": n, "part": Fraction(int(rng.integers(0, 2)))}


def drift_step(draw: Draw) -> Statement:
    """-2 eta u w <= u^2/theta + theta eta^2 w^2, and (p + q + r)^2 <= 3 (p^2 + q^2 + r^2)."""
    u, w, eta, theta, p, q, r = several(draw, "u, w, eta, theta, p, q, r")
    shown = {
        "Young": -2 * theta * eta * u * w <= u * u + theta**2 * eta**2 * w * w,
        "three": (p + q + r) ** 2 <= 3 * (p * p + q * q + r * r),
    }
    return Statement({"theta > 0": theta > 0}, shown)


def drift_again(draw: Draw) -> Statement:
    """Induction step from D_k <= 5 k b to D_(k+1) <= 5 (k + 1) b, for D_(k+1) <= (1 + 1/(2K - 1) + 6 share/K) D_k + b.

    share = K^2 eta_l^2 L^2 is at most 1/64 at rates up to 1/(8 K L).
    """
    D, later, k, K, b, share = several(draw, "D, later, k, K, b, share")
    given = {
        "so far": every(5 * k * b >= D, D >= 0),
        "one step": later <= D + D / (2 * K - 1) + 6 * share * D / K + b,
        "rate": every(share >= 0, 64 * share <= 1),
        "k < K": every(k >= 0, k + 1 <= K, K >= 1),
        "b >= 0": b >= 0,
    }
    return Statement(given, {"D_(k+1) <= 5 (k + 1) b": later <= 5 * (k + 1) * b})


def drifting(rng: np.random.Generator) -> Mapping[str, Fraction]:
    """Draw a client's drift after k of K steps, within the bound."""
    k, more = Fraction(int(rng.integers(0, 6))), Fraction(int(rng.integers(1, 4)))
    K, b, share = k + more, Fraction(int(rng.integers(1, 9)), 4), Fraction(1, int(rng.integers(64, 99)))
    D = 5 * k * b / int(rng.integers(1, 4))
    return {
        "theta": b,
        "k": k,
        "K": K,
        "b": b,
        "share": share,
        "D": D,
        "later": D + D / (2 * K - 1) + 6 * share * D / K + b,
    }
