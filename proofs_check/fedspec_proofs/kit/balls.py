"""Inequalities about vectors in balls, stated by squared lengths and inner products; squares of sums and of means."""

from __future__ import annotations

from fedspec_proofs.engines import Draw, Statement, every, several


def farther(draw: Draw) -> Statement:
    """|u + v| <= r + a from |u| <= r and |v| <= a, stated by squared lengths and the inner product <u, v>."""
    u2, v2, uv, r, a = several(draw, "u2, v2, uv, r, a")
    given = {
        "|u| <= r": every(r >= 0, u2 >= 0, u2 <= r * r),
        "|v| <= a": every(a >= 0, v2 >= 0, v2 <= a * a),
        "Cauchy-Schwarz": uv * uv <= u2 * v2,
    }
    return Statement(given, {"|u + v| <= r + a": u2 + 2 * uv + v2 <= (r + a) ** 2})


def mean_inside(draw: Draw) -> Statement:
    """|w u + (1 - w) v| <= r from |u|, |v| <= r: induction step for a mean of any number of points of a ball."""
    u2, v2, uv, r, w = several(draw, "u2, v2, uv, r, w")
    given = {
        "|u|, |v| <= r": every(r >= 0, u2 >= 0, u2 <= r * r, v2 >= 0, v2 <= r * r),
        "0 <= w <= 1": every(w >= 0, w <= 1),
        "Cauchy-Schwarz": uv * uv <= u2 * v2,
    }
    return Statement(given, {"in the ball": w * w * u2 + 2 * w * (1 - w) * uv + (1 - w) ** 2 * v2 <= r * r})


def squared_mean(draw: Draw) -> Statement:
    """(w a + (1 - w) b)^2 <= w a^2 + (1 - w) b^2: induction step for the square of a mean of any number of values."""
    a, b, w = draw("a"), draw("b"), draw("w")
    mean = w * a + (1 - w) * b
    return Statement({"0 <= w <= 1": every(w >= 0, w <= 1)}, {"mean": mean**2 <= w * a * a + (1 - w) * b * b})


def one_more_term(draw: Draw) -> Statement:
    """(sum u)^2 <= n sum u^2: the induction step from n to n + 1 terms."""
    total, n, squares, u = several(draw, "sum, n, squares, u")
    given = {"so far": every(n >= 0, squares >= 0, total**2 <= n * squares)}
    return Statement(given, {"(sum u)^2 <= (n + 1) sum u^2": (total + u) ** 2 <= (n + 1) * (squares + u**2)})
