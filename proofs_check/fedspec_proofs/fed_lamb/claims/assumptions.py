"""Assumptions H1 to H5: objectives that meet them, with constants, and some that don't. Fed-LAMB, L180-188 and L282."""

from __future__ import annotations

import numpy as np

from fedspec.arith import array
from fedspec.client.lamb import Moments, precondition, scaling
from fedspec.mixing.periodic import moment_maximum
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import LocalCorrection, Phi
from fedspec_proofs.claim import Finding, claim
from fedspec_proofs.engines import Draw, Statement, all_proved, decide, decided, every, several
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.fed_lamb.kit.rounds import F
from fedspec_proofs.fed_lamb.kit.shared import within

COLUMN = {"column": "the column of the Hessian that belongs to the layer is no longer than L_l"}


@claim(
    "fed-lamb.assumption-1",
    statement="A quadratic meets H1, read for the whole gradient while one layer moves, with L_l the length of that "
    "layer's column of the Hessian",
    source="ours, an objective for H1 (L180)",
    sizes="two layers of one coordinate",
    assumptions=COLUMN,
)
@decided()
def smooth_quadratic(draw: Draw) -> Statement:
    """Proof through the gradients of the specification's quadratic clients."""
    # Two layers of one coordinate; the first is moved.
    (a, b, c), d, L = draw("H", 3), draw("d"), draw("L")
    x, e = draw("x", 2), draw("e", 2)
    H = array([a, b, b, c], x).reshape(1, 2, 2)
    (gradient,) = QuadraticClients(H, e.reshape(1, 2)).clients
    change = gradient(0, x + array([d, d * 0], x)) - gradient(0, x)
    return Statement({"column": a * a + b * b <= L * L}, {"H1": change @ change <= L * L * d * d})


@claim(
    "fed-lamb.assumption-2",
    statement="The gradient of c x^2/2 on the line is bounded by M = c B where |x| <= B, and by no M on the whole line",
    source="ours, an objective for H2 (L184)",
    assumptions={"|x| <= B": "the model stays in a bounded Theta", "c > 0": "the quadratic is not flat"},
)
@decided()
def bounded_gradient(draw: Draw) -> Statement:
    """Outside |x| <= B: at (1 + M) / c the gradient is 1 + M."""
    c, B, x = draw("c", 1), draw("B"), draw("x", 1)
    (gradient,) = QuadraticClients(c.reshape(1, 1, 1), (c * 0).reshape(1, 1)).clients
    g = gradient(0, x)[0]
    beyond = 1 + B
    inside, convex = within(x[0], B), c[0] > 0
    far = gradient(0, array([(1 + c[0] * B) / c[0]], x))[0]
    return Statement(
        {"|x| <= B": inside, "c > 0": convex}, {"inside": within(g, c[0] * B), "outside": far > c[0] * B + beyond * 0}
    )


NOISE = {
    "|g| <= M": "H2: both outcomes are bounded",
    "0 <= q <= 1": "q is a probability",
    "sigma > M": "sigma is larger than the bound of the gradients",
    "M >= 0": "M is a length",
}


def _outcomes(rng: np.random.Generator) -> dict[str, F]:
    M, q = F(int(rng.integers(1, 9))), F(int(rng.integers(0, 9)), 8)
    a, b = (F(int(rng.integers(-8, 9)), 8) * M for _ in range(2))
    return {"M": M, "q": q, "a": a, "b": b, "sigma": M + F(1, int(rng.integers(1, 9)))}


@claim(
    "fed-lamb.assumption-3",
    statement="H3 follows from H2 with every sigma > M",
    source="ours, about H3 (L186) and H2 (L184)",
    sizes="gradients of two outcomes, with any probabilities; one coordinate, as H3 is about each",
    assumptions=NOISE,
)
@decided(sample=_outcomes)
def bounded_variance(draw: Draw) -> Statement:
    """Proof for one coordinate. For any distribution, the variance is at most E g^2 <= M^2 < sigma^2, in words."""
    a, b, M, sigma = draw("a"), draw("b"), draw("M"), draw("sigma")
    q = draw("q")
    mean = q * a + (1 - q) * b
    variance = q * (a - mean) * (a - mean) + (1 - q) * (b - mean) * (b - mean)
    holds = (every(within(a, M), within(b, M)), every(q >= 0, q <= 1), sigma > M, M >= 0)
    return Statement(dict(zip(NOISE, holds, strict=True)), {"H3": variance < sigma * sigma})


@claim(
    "fed-lamb.assumption-4",
    statement="phi(a) = min(max(a, phi_m), phi_M) meets H4 for every layer",
    source="ours, a phi for H4 (L188)",
    sizes="layers of two coordinates",
    assumptions={"phi_m <= phi_M": "the bounds are in order"},
)
@decided(timeout_ms=3000)
def clipped(draw: Draw) -> Statement:
    """Proof through the specification's phi; the number of coordinates enters through the length only."""
    x, phi_m, phi_M = draw("x", 2), draw("phi_m"), draw("phi_M")
    value = scaling(x, Phi.CLIP, phi_m, phi_M)
    return Statement({"phi_m <= phi_M": phi_m <= phi_M}, {"H4": every(value >= phi_m, value <= phi_M)})


def _floor(draw: Draw) -> Statement:
    """Floor of the maximum alone, for any moments that the clients send."""
    v0, v_hat = draw("v0"), draw("v_hat", 1)
    one, two = draw("s", 1), draw("s'", 1)
    alone = moment_maximum(v_hat, np.stack([one]), clients=1)[0]
    both = moment_maximum(v_hat, np.stack([one, two]), clients=2)[0]
    shown = {"v_hat >= v0": every(alone >= v0, both >= v0), "no fall": every(alone >= v_hat[0], both >= v_hat[0])}
    return Statement({"so far": v_hat[0] >= v0}, shown)


@claim(
    "fed-lamb.v-hat-floor",
    statement="v0 <= v_hat_r <= v_hat_(r+1) in every coordinate and round, whatever the clients send: their moments "
    "may be corrected for bias or not, and need no bound",
    source="ours, about line 15 of Alg. 1 (L152-154)",
    assumptions={"so far": "v_hat starts at v0; induction over the rounds"},
)
def floor() -> Finding:
    """Proof for the maximum of v_hat and any value; the mean of one or two clients' moments is such a value."""
    return decide(_floor)


CEILING = {
    "v0 <= v_hat <= C, 0 <= v <= C": "as at the start, where both are v0, with C the larger of v0 and the largest g^2",
    "g^2 <= C": "H2, by coordinate",
    "0 <= beta2 < 1": "v is a weighted mean",
}


def _ceiling(draw: Draw) -> Statement:
    v0, C, beta2, v_hat = draw("v0"), draw("C"), draw("beta2"), draw("v_hat", 1)
    v, g = draw("v", 2), draw("g", 2)
    kw = {"beta1": 0, "beta2": beta2, "eps": 0, "bias_correction": LocalCorrection.NONE}
    own = [precondition(Moments(v[:1], v[i : i + 1], 0), g[i : i + 1], vector(1), **kw)[0].v_i for i in range(2)]
    after = moment_maximum(v_hat, np.stack(own), clients=2)[0]
    before = every(v0 >= 0, v0 <= v_hat[0], v_hat[0] <= C, *(every(a >= 0, a <= C) for a in v))
    holds = (before, every(*(a * a <= C for a in g)), every(beta2 >= 0, beta2 < 1))
    again = every(*(every(a[0] >= 0, a[0] <= C) for a in own), v0 <= after, after <= C)
    return Statement(dict(zip(CEILING, holds, strict=True)), {"again": again, "v_hat does not fall": after >= v_hat[0]})


def _one_more(draw: Draw) -> Statement:
    mean, v, w, C = several(draw, "mean, v, w, C")
    given = {"so far": every(mean >= 0, mean <= C), "v": every(v >= 0, v <= C), "0 <= w <= 1": every(w >= 0, w <= 1)}
    after = w * mean + (1 - w) * v
    return Statement(given, {"after it": every(after >= 0, after <= C)})


def _shares(rng: np.random.Generator) -> dict[str, F]:
    mean, v, w = (F(int(rng.integers(0, 9)), 8) for _ in range(3))
    return {"mean": mean, "v": v, "w": w, "C": F(1)}


def _small(rng: np.random.Generator) -> dict[str, F]:
    C = F(int(rng.integers(4, 9)))
    v = {name: F(int(rng.integers(0, 9)), 8) * C for name in ("v_0", "v_1", "v_hat_0")}
    g = {f"g_{i}": F(int(rng.integers(-4, 5)), 2) for i in range(2)}
    return {**v, **g, "C": C, "v0": v["v_hat_0"] / 2, "beta2": F(int(rng.integers(0, 9)), 9)}


@claim(
    "fed-lamb.assumption-5",
    statement="H5 follows from H2 where no bias is corrected: v0 <= v_hat <= max(v0, largest g^2) in every "
    "coordinate, v_hat never falls, and the clients' v has the same ceiling",
    source="ours, about H5 (L282) and H2 (L184)",
    assumptions=CEILING,
)
def ceiling() -> Finding:
    """Proof for one round from any state within the bounds, which hold initially; so V^4 = p max(v0, M^2) suffices.

    Two clients through the rules; the mean of more is between 0 and C as well, one client more at a time.
    """
    parts = {
        "two clients": decide(_ceiling, sample=_small),
        "one more": decide(_one_more, sample=_shares, ablate=False),
    }
    return all_proved(parts, CEILING)
