"""Lines behind eq. (44) and Lemma F.8, about a round of exchanges with any number of clients, added up.

Lengths, inner products and traces are variables, so that no dimension and no number of clients enters.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fedspec_proofs.claim import Finding
from fedspec_proofs.engines import Draw, Statement, Step, Sum, added, decide, every, identities, several
from fedspec_proofs.engines.exact import rationals
from fedspec_proofs.kit.balls import squared_mean

ONE_STEP = {
    "mixing": "Xperp_(t+1) = (W - J) Y, Y = Xperp_t - eta_l D_S (grad F + noise), is at most rho |Y| long",
    "noise": "E|Y|^2 = E|Xperp_t - eta_l D_S grad F|^2 + eta_l^2 E|D_S noise|^2: given S, noise is unbiased",
    "m clients": "E|D_S noise|^2 <= m sigma^2 <= n sigma^2: 4.2",
    "Young": "|Xperp_t - eta_l D_S grad F|^2 <= (1 + 1/zeta) |Xperp_t|^2 + (1 + zeta) eta_l^2 |D_S grad F|^2",
    "drawn": "|D_S grad F|^2 <= |grad F|^2: rows are left out",
}


def one_step(draw: Draw) -> Sum:
    """Steps of the proof that add up to the bound of E|Xperp_(t+1)|^2 in AFGA's eq. (44), last line."""
    rho2, e2, zeta, n, sigma2, X2, F2 = several(draw, "rho^2, eta_l^2, zeta, n, sigma^2, X2, F2", positive=True)
    after, Y2, noise2, moved2, drawn2 = several(draw, "after, Y2, noise2, moved2, drawn2")
    steps = {
        "mixing": Step(1, after, rho2 * Y2),
        "noise": Step(rho2, Y2, moved2 + e2 * noise2),
        "m clients": Step(rho2 * e2, noise2, n * sigma2),
        "Young": Step(rho2, moved2, (1 + 1 / zeta) * X2 + (1 + zeta) * e2 * drawn2),
        "drawn": Step(rho2 * (1 + zeta) * e2, drawn2, F2),
    }
    return Sum(steps, after, rho2 * ((1 + 1 / zeta) * X2 + (1 + zeta) * e2 * F2 + e2 * n * sigma2))


def _young(draw: Draw) -> Statement:
    """(x - y)^2 <= (1 + 1/zeta) x^2 + (1 + zeta) y^2, times zeta."""
    x, y, zeta = draw("x"), draw("y"), draw("zeta")
    return Statement(
        {"zeta > 0": zeta > 0}, {"Young": zeta * (x - y) ** 2 <= (zeta + 1) * x * x + zeta * (1 + zeta) * y * y}
    )


def _rest(draw: Draw) -> list[Any]:
    """(I - J) W = W - J and (W - J) J = 0, entry by entry: columns and rows of W sum to one."""
    n, entry, column, row = draw("n", positive=True), draw("W_ij"), draw("column"), draw("row")
    # The last entry is what makes the sum 1.
    in_column, in_row = column + (1 - column), row + (1 - row)
    return [entry - in_column / n - (entry - 1 / n), in_row / n - n * (1 / n) * (1 / n)]


def consensus_lines() -> tuple[Finding, ...]:
    """Proofs of the lines that lead to the last line of eq. (44)."""
    shrunk = identities({"what an exchange leaves beside the mean, any n": _rest})
    return shrunk, added(one_step, ONE_STEP), decide(_young, ablate=False, instances=20)


def _passing(draw: Draw) -> Iterable[Any]:
    """1_S = p 1 + rest, p = m/n: |rest|^2 = m (1 - p), the sum of rest is 0, and 1_S' W^s 1_T = m p + rest' W^s rest.

    W keeps 1 on both sides; on rest W^s is (W - J)^s, whose norm is at most rho^s.
    """
    m, n, along = draw("m", positive=True), draw("n", positive=True), draw("along")
    p = m / n
    yield m * (1 - p) ** 2 + (n - m) * p**2 - m * (1 - p)
    yield m * (1 - p) - (n - m) * p
    # p^2 1'1, twice p times the sum of a rest, and what is left.
    yield p**2 * n + 2 * p * (m * (1 - p) - (n - m) * p) + along - (m * p + along)


PASSED = {
    "split": "1_S' W^s 1_T = m p + rest_S' (W - J)^s rest_T",
    "norm": "rest_S' (W - J)^s rest_T <= rho^s |rest_S| |rest_T| = rho^s m (1 - p)",
}


def passed(draw: Draw) -> Sum:
    """Bound of (1/m) 1_S' W^s 1_T: the part of the set T's gradients that the senders S hold after s exchanges."""
    m, p, power = draw("m", positive=True), draw("p"), draw("rho^s", positive=True)
    got, along = draw("got"), draw("along")
    steps = {"split": Step(1 / m, got, m * p + along), "norm": Step(1 / m, along, power * m * (1 - p))}
    return Sum(steps, got / m, p + (1 - p) * power)


def _longer(draw: Draw) -> Statement:
    """|u + w g| <= r + w G from |u| <= r and |g| <= G: gradients with what passed of them, one more at a time."""
    u2, g2, ug, r, w, G = several(draw, "u2, g2, ug, r, w, G")
    given = {
        "so far": every(r >= 0, u2 >= 0, u2 <= r * r),
        "|g| <= G": every(G >= 0, g2 >= 0, g2 <= G * G, w >= 0),
        "Cauchy-Schwarz": ug * ug <= u2 * g2,
    }
    return Statement(given, {"|u + w g| <= r + w G": u2 + 2 * w * ug + w * w * g2 <= (r + w * G) ** 2})


def _averaged(draw: Draw) -> Statement:
    """beta a + (1 - beta) b <= B from a, b <= B: m_r by lengths, v_r by coordinates and by lengths; maxima as well."""
    a, b, B, beta = several(draw, "a, b, B, beta")
    given = {"so far": a <= B, "new": b <= B, "0 <= beta <= 1": every(beta >= 0, beta <= 1)}
    return Statement(given, {"a mean": beta * a + (1 - beta) * b <= B})


def _numbers(rng: np.random.Generator) -> dict[str, Any]:
    u, g, w = rationals(rng, 3)
    given = {"u2": u * u, "g2": g * g, "ug": u * g, "r": abs(u), "G": abs(g), "w": abs(w)}
    return {**given, "a": u, "b": g, "B": max(u, g), "beta": 1 / (1 + abs(w))}


def passing_lines() -> tuple[Finding, ...]:
    """Proofs of the bound of :func:`passed`, for any n and m."""
    return identities({"any n and m": _passing}), added(passed, PASSED)


def reach_lines() -> tuple[Finding, ...]:
    """Proofs of the lines that bound the lengths of Delta_r, m_r and v_r."""
    lines = (decide(body, sample=_numbers, ablate=False, instances=20) for body in (_longer, _averaged))
    return (*passing_lines(), *lines)


def one_more_slope(draw: Draw) -> Statement:
    """|sum g_t|^2 <= I sum |g_t|^2 in one coordinate: induction step from I to I + 1 local steps."""
    total, squares, g, count = draw("sum"), draw("squares"), draw("g"), draw("I")
    given = {"so far": every(count >= 1, total * total <= count * squares)}
    return Statement(given, {"one more": (total + g) ** 2 <= (count + 1) * (squares + g * g)})


def chances(draw: Draw) -> tuple[Any, Any, Any, Any, Any]:
    """n, m, by symmetry the chances of one and of two clients of a cluster, and fac = m (n - m)/(n (n - 1))."""
    m, n = draw("m", positive=True), draw("n", positive=True)
    return n, m, m / n, m * (m - 1) / (n * (n - 1)), m * (n - m) / (n * (n - 1))


def mean_of_senders(draw: Draw) -> list[Any]:
    """The expected mean over m senders is the mean over all n clients, since each sends with probability m/n."""
    n, m, alone, _, _ = chances(draw)
    total = draw("sum of changes")
    return [alone * total / m - total / n]


def mean_after_exchange(draw: Draw) -> list[Any]:
    """An exchange keeps the sum of models (columns of W sum to one); a step moves their mean by -eta_l/n sum g."""
    so_far, y, column = draw("so far"), draw("y"), draw("others")
    n, eta_l, total, taken = draw("n", positive=True), draw("eta_l"), draw("sum of x"), draw("sum of g")
    # The last entry of a column is what makes it 1.
    exchanged = so_far + column * y + (1 - column) * y
    return [exchanged - so_far - y, (total - eta_l * taken) / n - total / n + eta_l * taken / n]


def one_draw(draw: Draw) -> list[Any]:
    """E (u - (eta_l/n) sum over S of g)^2 = (u - eta_l p h)^2 + eta_l^2 fac V/n, by the sums of g and of g^2."""
    n, _, alone, both, fac = chances(draw)
    u, eta_l, h, V = draw("u"), draw("eta_l", positive=True), draw("h"), draw("V")
    Q, P = n * (V + h**2), (n * h) ** 2
    second = alone * Q + both * (P - Q)
    left = u**2 - 2 * u * eta_l / n * alone * n * h + (eta_l / n) ** 2 * second
    return [left - (u - eta_l * alone * h) ** 2 - eta_l**2 * fac * V / n]


def senders_by_clusters(draw: Draw) -> list[Any]:
    """Exact second moment of Lemma F.6 over (K m)^2; ``spread`` is the mean squared distance to the cluster mean."""
    n, m, alone, _, fac = chances(draw)
    K, mean2, spread = draw("K", positive=True), draw("mean2"), draw("spread")
    moment = (alone**2 * (K * n) ** 2 * mean2 + fac * K * n * spread) / (K * m) ** 2
    return [moment - mean2 - (n - m) / (K * m * (n - 1)) * spread]


def variances(draw: Draw) -> list[Any]:
    """Inequalities about variances, in terms of the means of a, b and their products, for any number of clients."""
    a, b, aa, ab, bb = several(draw, "mean a, mean b, mean a^2, mean a b, mean b^2")

    def spread(p: Any, q: Any) -> Any:
        """Variance of p a + q b."""
        return p * p * aa + 2 * p * q * ab + q * q * bb - (p * a + q * b) ** 2

    share = draw("one") * 0 + 1
    both, apart = spread(share, share), spread(share, -share)
    return [
        16 * spread(1, 0) + 16 * spread(0, 1) / 15 - both - spread(15 * share, -share) / 15,
        2 * spread(1, 0) + 2 * spread(0, 1) - both - apart,
        aa - a**2 - spread(share, 0),
    ]


APART = {
    "root": "the left side in V^(-1/2) is at most |.|^2/sqrt(eps)",
    "Jensen": "the square of a mean over clients is at most the mean of the squares",
    "4.1": "each slope changes by at most L times the way",
    "ways": "the mean of |x_r - x_i|^2 is that of |xbar - x_i|^2 and |x_r - xbar|^2",
}


def slopes_apart(draw: Draw) -> Sum:
    """Bound of |grad f(x_r) - g_t|^2, weighted by V^(-1/2); the other two differences follow with one part left out."""
    L, root = draw("L", positive=True), draw("sqrt(eps)", positive=True)
    weighted, apart, squares, ways, cons, drift = several(
        draw, "weighted, apart, squares, ways, consensus error, drift"
    )
    steps = {
        "root": Step(1, weighted, apart / root),
        "Jensen": Step(1 / root, apart, squares),
        "4.1": Step(1 / root, squares, L**2 * ways),
        "ways": Step(L**2 / root, ways, cons + drift),
    }
    return Sum(steps, weighted, L**2 / root * (cons + drift))


def _ways(draw: Draw) -> list[Any]:
    """mean |x_i - x|^2 = mean |x_i - xbar|^2 + |xbar - x|^2, by the means of x_i and of x_i^2."""
    mean, square, x = draw("mean"), draw("mean square"), draw("x")
    return [square - 2 * x * mean + x**2 - (square - mean**2) - (mean - x) ** 2]


def _shares(rng: np.random.Generator) -> dict[str, Any]:
    a, b, w = rationals(rng, 3)
    return {"a": a, "b": b, "w": 1 / (1 + abs(w))}


def slope_lines() -> tuple[Finding, ...]:
    """Proofs of the steps about slopes in the theorem's assembly."""
    lines = decide(squared_mean, sample=_shares, ablate=False)
    return added(slopes_apart, APART), lines, identities({"ways": _ways})
