"""Lines about balls and means: sums and means of vectors by lengths and products; squares of sums and of means."""

from __future__ import annotations

from fedspec_proofs.engines.algebra import Statement
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import every


def farther(draw: Draw) -> Statement:
    """|u + v| <= r + a from |u| <= r and |v| <= a, by the squares of the lengths and the product <u, v>."""
    u2, v2, uv, r, a = (draw(name) for name in ("u2", "v2", "uv", "r", "a"))
    given = {
        "|u| <= r": every(r >= 0, u2 >= 0, u2 <= r * r),
        "|v| <= a": every(a >= 0, v2 >= 0, v2 <= a * a),
        "Cauchy-Schwarz": uv * uv <= u2 * v2,
    }
    return Statement(given, {"|u + v| <= r + a": u2 + 2 * uv + v2 <= (r + a) ** 2})


def mean_inside(draw: Draw) -> Statement:
    """|w u + (1 - w) v| <= r from |u|, |v| <= r: means stay in a ball, one member more at a time."""
    u2, v2, uv, r, w = (draw(name) for name in ("u2", "v2", "uv", "r", "w"))
    given = {
        "|u|, |v| <= r": every(r >= 0, u2 >= 0, u2 <= r * r, v2 >= 0, v2 <= r * r),
        "0 <= w <= 1": every(w >= 0, w <= 1),
        "Cauchy-Schwarz": uv * uv <= u2 * v2,
    }
    return Statement(given, {"in the ball": w * w * u2 + 2 * w * (1 - w) * uv + (1 - w) ** 2 * v2 <= r * r})


def squared_mean(draw: Draw) -> Statement:
    """(w a + (1 - w) b)^2 <= w a^2 + (1 - w) b^2: the square of a mean, one client, step or outcome more at a time."""
    a, b, w = draw("a"), draw("b"), draw("w")
    mean = w * a + (1 - w) * b
    return Statement({"0 <= w <= 1": every(w >= 0, w <= 1)}, {"mean": mean**2 <= w * a * a + (1 - w) * b * b})


def one_more_term(draw: Draw) -> Statement:
    """(sum u)^2 <= n sum u^2, from n to n + 1 terms."""
    total, n, squares, u = (draw(name) for name in ("sum", "n", "squares", "u"))
    given = {"so far": every(n >= 0, squares >= 0, total**2 <= n * squares)}
    return Statement(given, {"(sum u)^2 <= (n + 1) sum u^2": (total + u) ** 2 <= (n + 1) * (squares + u**2)})
