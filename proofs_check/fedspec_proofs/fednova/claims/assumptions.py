"""Assumptions 1 to 3: functions that satisfy them, with explicit constants, and functions that do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec.problems.heavy_tailed import noisy
from fedspec.problems.quadratic import QuadraticClients
from fedspec_proofs.claim import Dropped, Extent, Finding, Verdict, claim
from fedspec_proofs.engines import Choose, Draw, Statement, all_proved, decide, every, exact, identities, mean, signs
from fedspec_proofs.engines.search import Inequality, Sides, searched
from fedspec_proofs.fednova.kit.bounds import least_kappa, rational
from fedspec_proofs.fednova.kit.runs import BETAS, quadratics


def _smooth(draw: Draw) -> Statement:
    """|grad F(x) - grad F(y)|^2 <= L^2 |x - y|^2 for H = diag(a, c), 0 <= a, c <= L."""
    a, c, L = draw("a"), draw("c"), draw("L")
    zero = a * 0
    H = np.array([[a, zero], [zero, c]], dtype=object)
    x, y, e = draw("x", 2), draw("y", 2), draw("e", 2)
    (g,) = QuadraticClients.clients.fget(_Bare(H[None], e[None]))  # type: ignore[attr-defined]
    difference, step = g(0, x) - g(0, y), x - y
    inside = [a >= 0, a <= L, c >= 0, c <= L]
    return Statement(
        {"eigenvalues": every(*inside)},
        {"Lipschitz": difference @ difference <= L**2 * (step @ step)},
    )


@dataclass(frozen=True)
class _Bare:
    """The arrays of quadratics without the check that H is symmetric, which z3 terms cannot answer."""

    H: Any
    e: Any
    f: None = None


@claim(
    "fednova.assumption-1",
    statement="Quadratics are smooth with L the largest eigenvalue of a Hessian; F(x) = x^4/4 with no L at all",
    source="Assumption 1 (L141)",
    sizes="d = 2, H diagonal (as any H is after a rotation)",
    assumptions={"eigenvalues": "0 <= a, c <= L for H = diag(a, c)"},
)
def smoothness() -> Finding:
    """Proof of the Lipschitz bound per coordinate for diagonal H; with L / sqrt(2) for L it is refuted.

    For the quartic, x = L + 1 and y = 0 give |x^3 - 0| > L |x - 0|, whatever L >= 0.
    """
    holds = decide(_smooth)

    def quartic(draw: Draw) -> Statement:
        L = draw("L")
        return Statement({"L": L >= 0}, {"not Lipschitz": (L + 1) ** 3 > L * (L + 1)})

    not_smooth = decide(quartic, ablate=False)
    proved = holds.verdict is Verdict.PROVED and not_smooth.verdict is Verdict.PROVED
    words = f"{holds.evidence}\nquartic: {not_smooth.evidence}"
    return Finding(Verdict.PROVED if proved else Verdict.UNKNOWN, words, holds.dropped, holds.second)


def _moments(size: Any, x: Vector, scaled: bool) -> tuple[Any, Any]:
    """Mean and variance of the stochastic gradient at x, its noise a fair coin times ``size``, or times size x."""

    def gradient(coin: tuple[int, ...]) -> Vector:
        return noisy([coin[0] * size * (x if scaled else x * 0 + 1)])(0, x)

    centre = mean(gradient, signs(1))
    return centre[0], mean(lambda c: (gradient(c) - centre) @ (gradient(c) - centre), signs(1))


def _added(draw: Draw) -> Iterable[Any]:
    s, x = draw("s"), draw("x", 1)
    centre, square = _moments(s, x, False)
    yield from (centre - x[0], square - s**2)


def _grown(draw: Draw) -> Iterable[Any]:
    s, x = draw("s"), draw("x", 1)
    centre, square = _moments(s, x, True)
    yield from (centre - x[0], square - s**2 * x[0] ** 2)


@claim(
    "fednova.assumption-2",
    statement="A gradient with added coins of size s is unbiased with variance sigma^2 = s^2 everywhere; with coins of "
    "size s x it is unbiased and no sigma^2 bounds its variance",
    source="Assumption 2 (L145)",
    sizes="d = 1",
    assumptions={"additive": "the noise does not grow with the model"},
)
def variance() -> Finding:
    """Exact expectations over the coin for the specification's noisy quadratic, at every x and s; if the noise grows
    with x, the variance is s^2 x^2, which no sigma^2 bounds.
    """
    found = identities({"added coins": _added, "coins times x": _grown})
    _, far = _moments(rational(3, 2), exact.vector(1000), True)
    words = f"coins of size 3/2 x: variance {far} at x = 1000, not 9/4"
    return replace(found, dropped={"additive": Dropped(far > rational(9, 4), words)})


@dataclass(frozen=True)
class Clients:
    """QuadraticClients, weights, a point, and the beta^2 and kappa^2 to be tested on them."""

    problem: QuadraticClients
    w: Any
    x: Vector
    beta2: Any
    kappa2: Any
    enough: bool


def _clients(choose: Choose) -> Clients:
    m, d = choose.whole(2, 3), choose.whole(1, 2)
    problem, _ = quadratics(choose, m, d)
    w, x = choose.simplex(m), choose.vector(d, -8, 8, 4)
    fit = [(b, k) for b in BETAS if (k := least_kappa(problem, w, b)) is not None]
    beta2, kappa2 = choose.of(*fit) if fit else (rational(1), rational(0))
    short = choose.of(rational(1), rational(1), rational(3, 4))
    return Clients(problem, w, x, beta2, kappa2 * short, bool(fit) and (short == 1 or kappa2 == 0))


def _sides(c: Clients) -> Iterable[Sides]:
    g = np.stack([client(0, c.x) for client in c.problem.clients])
    centre = c.w @ g
    left = sum(w_i * (g_i @ g_i) for w_i, g_i in zip(c.w, g, strict=True))
    yield left, {"beta^2": c.beta2 * (centre @ centre), "kappa^2": c.kappa2}


def _opposite() -> int:
    """F_1 = x^2/2 and F_2 = -x^2/2 at equal weights have gradients x and -x, so that kappa^2 >= x^2 for every x: number
    of points, of six, at which this holds."""
    H = exact.vector(1, -1).reshape(2, 1, 1)
    problem, half = QuadraticClients(H, exact.vector(0, 0).reshape(2, 1)), rational(1, 2)
    count = 0
    for k in range(1, 7):
        g = [client(0, exact.vector(10**k))[0] for client in problem.clients]
        count += half * sum(g) == 0 and half * sum(g_i**2 for g_i in g) == 100**k
    return count


@claim(
    "fednova.assumption-3",
    statement="Positive definite quadratics meet it, with kappa^2 as small as sum w_i |r_i|^2 + b' Q^(-1) b for beta^2 "
    "(r_i the gradients at the surrogate's minimiser); F_1 = x^2/2, F_2 = -x^2/2 meet it with no constants",
    source="Assumption 3 (L149); the constants are ours",
    verdict=Verdict.CHECKED,
    extent=Extent.PART,
    assumptions={
        "constants": "kappa^2 is at least that, and beta^2 H_w^2 - sum w_i H_i^2 is positive definite (or zero)"
    },
)
def dissimilarity() -> Finding:
    """Random search over clients, weights and points. The constants depend on the weights; the assumption can also
    be read as one pair of constants for all weights, which is stronger.
    """
    found = searched(Inequality(_clients, {"constants": lambda c: c.enough}, _sides), 800, drop=300)
    none = _opposite()
    ok = found.verdict is Verdict.CHECKED and none == 6
    words = f"{found.evidence}\nno constants at {none} points x = 10, ..., 10^6 of F = x^2/2, -x^2/2"
    return replace(found, verdict=Verdict.CHECKED if ok else Verdict.UNKNOWN, evidence=words)


def _same(draw: Draw) -> Statement:
    """Every gradient is g: sum w_i |g|^2 and |sum w_i g|^2, from the sum of the weights and |g|^2."""
    total, square = draw("sum_w"), draw("|g|^2")
    return Statement({"sum": total == 1, "square": square >= 0}, {"(1, 0)": total * square <= total**2 * square})


@claim(
    "fednova.assumption-3-identical",
    statement="Identical functions meet Assumption 3 with beta^2 = 1, kappa^2 = 0",
    source="Assumption 3, last sentence (L149)",
    extent=Extent.WHOLE,
    assumptions={"sum": "the weights sum to one"},
)
def identical() -> Finding:
    """Proof for any number of clients and coordinates: both sides equal |g|^2."""
    return all_proved({"both sides": decide(_same)}, ("sum",))
