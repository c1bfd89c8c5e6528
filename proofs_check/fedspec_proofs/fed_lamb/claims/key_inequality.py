"""Inequality per layer, and the descent in a round that follows for every gradient, in place of the displays (16)-(21).

Links of the repaired theorems: lengths of steps, errors of gradients, and squares by lengths; in every size.

What is said of a layer is said in lengths and inner products; what many terms add up to is an induction over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Vector, norm
from fedspec.client.lamb import Moments, layer_step, precondition
from fedspec.readings import LocalCorrection, Phi
from fedspec_proofs.claim import Engine, Finding, claim
from fedspec_proofs.engines import Choose, Draw, Step, Sum, added, all_proved, every, identities, several
from fedspec_proofs.engines.algebra import Body, Statement, decide
from fedspec_proofs.engines.search import Inequality, Sides, searched
from fedspec_proofs.fed_lamb.claims.assembly import key_inequality, lines
from fedspec_proofs.kit.adding import confirmed
from fedspec_proofs.kit.balls import squared_mean


def along_rule(m: Vector, g: Vector, v_hat: Vector, beta1: Any, eps: Any) -> Vector:
    """Direction of a step: minus a step of length 1 from 0 by the rule, along the rule's own ratio."""
    kw = {"beta1": beta1, "beta2": 0, "eps": eps, "bias_correction": LocalCorrection.NONE}
    _, p = precondition(Moments(m, g * g, 0), g, v_hat, **kw)
    return -layer_step(g * 0, p, eta_l=1, phi=Phi.CONSTANT)


@dataclass(frozen=True)
class Layer:
    """Gradients and denominators of a layer, in floating point."""

    h: Vector
    g: Vector
    m: Vector
    w: Vector
    w_0: float
    eps: float
    beta1: float


def _layer(choose: Choose) -> Layer:
    d, w_0 = choose.whole(1, 3), choose.of(1.0, 0.125, 4.0)
    h, g, m = (choose.vector(d, -4, 4, 4).astype(float) for _ in range(3))
    near = choose.of(True, False)
    w = np.array([w_0 * choose.of(1.0, 2.0, 8.0, 0.5) for _ in range(d)])
    return Layer(h, h + g / 64 if near else g, m, w, w_0, choose.of(0.0, 0.5), choose.of(0.0, 0.0, 0.75))


def _key(c: Layer) -> Iterator[Sides]:
    unit = along_rule(c.m, c.g, c.w**2, c.beta1, c.eps)
    scaled = c.h / (c.w + c.eps)
    # The inner product may be negative: it is shifted by ||h||, which it cannot undercut.
    size = float(norm(c.h))
    right = {"along the step": float(c.h @ unit) + size, "error": 2 * float(norm(c.h - c.g))}
    yield (c.w_0 + c.eps) * float(norm(scaled)) + size, right


@claim(
    "fed-lamb.key-inequality-layers",
    statement="<h, D g>/||D g|| >= s ||D h|| - 2 ||h - g|| in layers of any size, beta1 = 0",
    source="ours, in place of L598-612",
    engine=Engine.SYMBOLIC,
    assumptions={"v_hat >= v0": "in every coordinate", "beta1 = 0": "the step is along the gradient, not its momentum"},
    chain="key-inequality-assembly",
)
def key_layers() -> Finding:
    """Proof by fed-lamb.key-inequality-assembly. Searched through the rule, in layers of up to three coordinates.

    Both sides are shifted by ||h||; equality where g = h and v_hat = v0.
    """
    met = {"v_hat >= v0": lambda c: bool((c.w >= c.w_0).all()), "beta1 = 0": lambda c: c.beta1 == 0}
    looked = searched(Inequality(_layer, met, _key), 1500, drop=300)
    return confirmed((key_inequality.body(), lines.body()), looked, 1500)


F = Fraction


def layers(draw: Draw) -> Statement:
    """Induction step: the squares of n layers, each at most a^2, sum to at most n a^2."""
    total, n, square, a = several(draw, "total, n, s2, a")
    given = {"so far": total <= n * a * a, "one layer": square <= a * a}
    return Statement(given, {"(n + 1) a^2": total + square <= (n + 1) * a * a})


def on_the_line(rng: np.random.Generator) -> Mapping[str, F]:
    """Draw squares and products of two numbers."""
    u, s, n = (F(int(rng.integers(-8, 9)), 4) for _ in range(3))
    given = {"u2": u * u, "v2": s * s, "uv": u * s, "r": max(abs(u), abs(s)), "a": abs(s), "w": abs(n) / 2, "s2": s * s}
    return given | {"n": abs(n), "total": abs(n) * s * s, "h": abs(u) + abs(s), "M": abs(u) + abs(s)}


def shown(*bodies: Body) -> list[Finding]:
    """Decide each statement by z3, without dropping assumptions."""
    return [decide(body, sample=on_the_line, ablate=False, instances=20) for body in bodies]


def one_more_coordinate(draw: Draw) -> list[Any]:
    """Squares of coordinates of alpha phi p/||p|| sum to alpha^2 phi^2 s/||p||^2, s the sum of p_j^2: induction."""
    alpha, phi, length = several(draw, "alpha, phi, length", positive=True)
    s, p = draw("s"), draw("p")
    so_far = (alpha * phi) ** 2 * s / length**2
    after = (alpha * phi) ** 2 * (s + p**2) / length**2
    whole = (alpha * phi) ** 2 * length**2 / length**2
    return [so_far + (alpha * phi * p / length) ** 2 - after, whole - (alpha * phi) ** 2]


ERRORS = {
    "triangle": "||f'(x)^l - g^l|| <= ||f'(x)^l - f_i'(x)^l|| + ||f_i'(x)^l - f_i'(x^t)^l|| + ||f_i'(x^t)^l - g^l||, x "
    "where the round begins, x^t after t local steps",
    "zeta": "the first, summed over layers and in the mean over clients, is at most zeta",
    "H1": "the second is at most Lam_l ||x - x^t||",
    "lengths": "||x - x^t|| <= alpha phi_M sqrt(Lay) t: fed-lamb.lemma-1-repaired",
    "mean of t": "the mean of t = 0..T-1 is (T - 1)/2",
    "H3": "E of the third is at most sigma sqrt(p_l), as gradients are unbiased, given everything before: (E|.|)^2 <= "
    "E|.|^2 <= p_l sigma^2",
}


def errors(draw: Draw) -> Sum:
    """Steps to the mean over clients and local steps of sum_l E||f'(x)^l - g^l||; Lam, roots are sums over layers."""
    alpha, phi_M, side, Lam, sigma, roots, zeta = several(
        draw, "alpha, phi_M, side, Lam, sigma, roots, zeta", positive=True
    )
    error, unlike, moved, noise, way, steps_taken, T = several(draw, "error, unlike, moved, noise, way, t, T")
    reach = Lam * alpha * phi_M * side
    steps = {
        "triangle": Step(1, error, unlike + moved + noise),
        "zeta": Step(1, unlike, zeta),
        "H1": Step(1, moved, Lam * way),
        "lengths": Step(Lam, way, alpha * phi_M * side * steps_taken),
        "mean of t": Step(reach, steps_taken, (T - 1) / F(2)),
        "H3": Step(1, noise, sigma * roots),
    }
    return Sum(steps, error, zeta + sigma * roots + alpha * (T - 1) / 2 * phi_M * side * Lam)


def counted(draw: Draw) -> list[Any]:
    """Induction step from T to T + 1 for 0 + 1 + ... + (T - 1) = T (T - 1)/2."""
    T = draw("T")
    return [T * (T - 1) / 2 + T - (T + 1) * T / 2]


@claim(
    "fed-lamb.errors",
    statement="The mean over clients and local steps of sum_l E||f'(x_(r-1))^l - g^l|| is at most zeta + sigma sum_l "
    "sqrt(p_l) + alpha (T - 1)/2 phi_M sqrt(Lay) sum_l Lam_l: the steps that are assumed here add up to it",
    source="ours, for Theorems 1 and 3 (L250-254, L706-716)",
    engine=Engine.SYMBOLIC,
    assumptions=ERRORS,
    chain="lemma-1-repaired",
)
def gradients_err() -> Finding:
    """Proof for all n, T and layers; the mean of t by induction, the square of a mean by induction over outcomes."""
    parts = {
        "sum": added(errors, ERRORS),
        "mean of t": identities({"any T": counted}),
        "H3": decide(squared_mean, sample=on_the_line, ablate=False, instances=20),
    }
    return all_proved(parts)


def _squares(draw: Draw) -> Statement:
    """a = ||D h||, h = ||h|| of a layer or of the whole."""
    a, h, s, M, product, V2 = (draw(name) for name in ("a", "h", "s", "M", "<h, D h>", "V^2"))
    given = {
        "lengths": every(a >= 0, h >= 0, s > 0),
        "s D <= 1": s * a <= h,
        "M": h <= M,
        "Cauchy": product <= h * a,
        "H5": every(V2 >= 0, h <= V2 * a),
    }
    return Statement(
        given,
        {
            "s a^2 <= M a": s * a * a <= M * a,
            "<h, D h> <= M a": product <= M * a,
            "h^2 <= V^2 M a": h * h <= V2 * M * a,
        },
    )


def _lengths(rng: np.random.Generator) -> Mapping[str, F]:
    a, s, more = (F(int(rng.integers(1, 9)), 4) for _ in range(3))
    h = s * a + more
    return {"a": a, "s": s, "h": h, "M": h + more, "<h, D h>": h * a - more, "V^2": s + more / a}


@claim(
    "fed-lamb.squares",
    statement="With M >= ||f'|| and s D <= 1: ||D f'||^2 <= (M/s) sum_l ||D f'^l||, ||f'/v_hat^(1/4)||^2 <= M sum_l "
    "||D f'^l||, and ||f'||^2 <= V^2 M sum_l ||D f'^l|| where sqrt(v_hat) <= V^2; D = 1/sqrt(v_hat) in the last two",
    source="ours, for Theorems 1 and 3 and Corollary 1 (L250-254, L284-286, L706-716)",
    assumptions={
        "s D <= 1": "v_hat >= v0: fed-lamb.v-hat-floor",
        "M": "no layer's gradient is longer than the whole, hence than M",
        "Cauchy": "<f'^l, D f'^l> <= ||f'^l|| ||D f'^l||",
        "H5": "|f'_j| = sqrt(v_hat_j) |D_j f'_j| <= V^2 |D_j f'_j|, coordinate by coordinate",
    },
    chain="v-hat-floor",
)
def squares_by_lengths() -> Finding:
    """Proof per layer; layers add up, since all three left sides are sums over layers."""
    return all_proved({"a layer": decide(_squares, sample=_lengths)}, {"s D <= 1", "M", "Cauchy", "H5"})
