"""H1 to H3: what meets them, with which constants, and what does not. Fed-LAMB, sec. 3.1 (L180-186)."""

from __future__ import annotations

import numpy as np

from fedspec.arith import array
from fedspec.problems.quadratic import QuadraticClients
from fedspec_proofs.claim import Engine, Finding, Verdict, claim, false
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.fed_lamb.problems import Problem
from fedspec_proofs.fed_lamb.rounds import ONE, F
from fedspec_proofs.fed_lamb.shared import at, every, within
from fedspec_proofs.piecewise import huber
from fedspec_proofs.refutation import refutation

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


def _quartic(draw: Draw) -> Statement:
    L = draw("L")
    x = 1 + L
    return Statement({"L": L >= 0}, {"steeper": 4 * x * x * x - 0 > L * (x - 0)})


@claim(
    "fed-lamb.assumption-1-quartic",
    statement="x^4 does not meet H1 on the whole line: whatever L is, its derivative changes by more between 0 and 1 + "
    "L",
    source=at("ours, an objective for H1 (L180)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"L": "L >= 0"},
)
def rough_quartic() -> Finding:
    """4 (1 + L)^3 > L (1 + L)."""
    return decide(_quartic)


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


@claim(
    "fed-lamb.assumption-2-clients",
    statement="H2, which has no index of a client, read of every client alone: E g_(r,i) is the gradient of f, though "
    "clients differ and take exact gradients of their own",
    source=at("ours, about H2 (L184)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def biased_clients() -> Finding:
    """So it is read of the gradient of f_i elsewhere; no bound on how far the two are apart is assumed."""
    problem = Problem(((huber(F(1), F(-1)),), (huber(F(1), F(1)),)), (1,))
    x = vector(0)
    return refutation(
        instance="two clients, (x + 1)^2/2 and (x - 1)^2/2 near 0, without noise; the first one at x = 0",
        conditions={
            "H1 with L = 1": problem.lipschitz == (1,),
            "bounded by M = 1": problem.largest_squared <= 1,
        },
        left=problem.clients[0](0, x)[0],
        right=problem.gradient(x)[0],
        relation="=",
    )


NOISE = {
    "|g| <= M": "H2: both outcomes are bounded",
    "0 <= q <= 1": "q is a probability",
    "sigma > M": "sigma is larger than the bound of the gradients",
    "M >= 0": "M is a length",
}


def _variance(draw: Draw, factor: F = ONE, even: bool = False) -> Statement:
    a, b, M, sigma = draw("a"), draw("b"), draw("M"), draw("sigma")
    q = F(1, 2) if even else draw("q")
    mean = q * a + (1 - q) * b
    variance = q * (a - mean) * (a - mean) + (1 - q) * (b - mean) * (b - mean)
    holds = (every(within(a, M), within(b, M)), every(q >= 0, q <= 1), sigma > M, M >= 0)
    return Statement(dict(zip(NOISE, holds, strict=True)), {"H3": variance < factor * sigma * sigma})


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


@false("fed-lamb.false-variance", of=bounded_variance, statement="H3 follows with sigma^2 / 2 in the place of sigma^2")
def _false_variance() -> Finding:
    """Already for two outcomes of the same probability, which spares z3 a degree."""
    return decide(lambda draw: _variance(draw, F(1, 2), even=True), ablate=False)
