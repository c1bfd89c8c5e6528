"""H1 to H3: what meets them, with which constants, and what does not. Fed-LAMB, sec. 3.1 (L180-186)."""

from __future__ import annotations

import numpy as np

from fedspec.arith import array
from fedspec.problems.quadratic import QuadraticClients
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import every
from fedspec_proofs.fed_lamb.rounds import F
from fedspec_proofs.fed_lamb.shared import at, within

COLUMN = {"column": "the column of the Hessian that belongs to the layer is no longer than L_l"}


def _lipschitz(draw: Draw) -> Statement:
    """Two layers of one coordinate; the first is moved."""
    (a, b, c), d, L = draw("H", 3), draw("d"), draw("L")
    x, e = draw("x", 2), draw("e", 2)
    H = array([a, b, b, c], x).reshape(1, 2, 2)
    (gradient,) = QuadraticClients(H, e.reshape(1, 2)).clients
    change = gradient(0, x + array([d, d * 0], x)) - gradient(0, x)
    return Statement({"column": a * a + b * b <= L * L}, {"H1": change @ change <= L * L * d * d})


@claim(
    "fed-lamb.assumption-1",
    statement="A quadratic meets H1, read for the whole gradient while one layer moves, with L_l the length of that "
    "layer's column of the Hessian",
    source=at("ours, an objective for H1 (L180)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="two layers of one coordinate",
    assumptions=COLUMN,
)
def smooth_quadratic() -> Finding:
    """Through the gradients of the specification's quadratic clients."""
    return decide(_lipschitz)


def _bounded(draw: Draw) -> Statement:
    c, B, x = draw("c", 1), draw("B"), draw("x", 1)
    (gradient,) = QuadraticClients(c.reshape(1, 1, 1), (c * 0).reshape(1, 1)).clients
    g = gradient(0, x)[0]
    beyond = 1 + B
    inside, convex = within(x[0], B), c[0] > 0
    far = gradient(0, array([(1 + c[0] * B) / c[0]], x))[0]
    return Statement(
        {"|x| <= B": inside, "c > 0": convex}, {"inside": within(g, c[0] * B), "outside": far > c[0] * B + beyond * 0}
    )


@claim(
    "fed-lamb.assumption-2",
    statement="The gradient of c x^2/2 on the line is bounded by M = c B where |x| <= B, and by no M on the whole line",
    source=at("ours, an objective for H2 (L184)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"|x| <= B": "the model stays in a bounded Theta", "c > 0": "the quadratic is not flat"},
)
def bounded_gradient() -> Finding:
    """Beyond B: at (1 + M) / c the gradient is 1 + M."""
    return decide(_bounded)


NOISE = {
    "|g| <= M": "H2: both outcomes are bounded",
    "0 <= q <= 1": "q is a probability",
    "sigma > M": "sigma is larger than the bound of the gradients",
    "M >= 0": "M is a length",
}


def _variance(draw: Draw) -> Statement:
    a, b, M, sigma = draw("a"), draw("b"), draw("M"), draw("sigma")
    q = draw("q")
    mean = q * a + (1 - q) * b
    variance = q * (a - mean) * (a - mean) + (1 - q) * (b - mean) * (b - mean)
    holds = (every(within(a, M), within(b, M)), every(q >= 0, q <= 1), sigma > M, M >= 0)
    return Statement(dict(zip(NOISE, holds, strict=True)), {"H3": variance < sigma * sigma})


@claim(
    "fed-lamb.assumption-3",
    statement="H3 follows from H2 with every sigma > M",
    source=at("ours, about H3 (L186) and H2 (L184)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="gradients of two outcomes, with any probabilities",
    assumptions=NOISE,
)
def bounded_variance() -> Finding:
    """One coordinate. For any law the variance is at most E g^2 <= M^2 < sigma^2, in words."""
    return decide(_variance, sample=_outcomes)


def _outcomes(rng: np.random.Generator) -> dict[str, F]:
    M, q = F(int(rng.integers(1, 9))), F(int(rng.integers(0, 9)), 8)
    a, b = (F(int(rng.integers(-8, 9)), 8) * M for _ in range(2))
    return {"M": M, "q": q, "a": a, "b": b, "sigma": M + F(1, int(rng.integers(1, 9)))}
