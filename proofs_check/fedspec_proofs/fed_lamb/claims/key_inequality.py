"""The inequality per layer, and what a round gains by it, for every gradient: in place of the displays (16)-(21)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec.arith import Vector, norm
from fedspec.client.lamb import Moments, layer_step, precondition
from fedspec.readings import LocalCorrection, Phi
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.search import Inequality, Sides, searched
from fedspec_proofs.fed_lamb.claims.assembly import key_inequality, lines
from fedspec_proofs.fed_lamb.kit.shared import at
from fedspec_proofs.kit.adding import confirmed

KEY = {
    "v_hat >= v0": "v_hat = w^2 and v0 = w_0^2 with w >= w_0",
    "roots": "w and w_0 are positive",
    "eps >= 0": "the stabiliser is not negative",
}


def along_rule(m: Vector, g: Vector, v_hat: Vector, beta1: Any, eps: Any) -> Vector:
    """The direction of a step: minus the rule's own step of length 1 from 0, along the rule's own ratio."""
    kw = {"beta1": beta1, "beta2": 0, "eps": eps, "bias_correction": LocalCorrection.NONE}
    _, p = precondition(Moments(m, g * g, 0), g, v_hat, **kw)
    return -layer_step(g * 0, p, eta_l=1, phi=Phi.CONSTANT)


@dataclass(frozen=True)
class Layer:
    """A layer's gradients and denominators, in floating point."""

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
    source=at("ours, in place of L598-612"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"v_hat >= v0": "in every coordinate", "beta1 = 0": "the step is along the gradient, not its momentum"},
    chain=("fed-lamb.key-inequality-assembly",),
)
def key_layers() -> Finding:
    """By fed-lamb.key-inequality-assembly. Searched through the rule, in layers of up to three coordinates.

    Both sides are shifted by ||h||; equality where g = h and v_hat = v0.
    """
    met = {"v_hat >= v0": lambda c: bool((c.w >= c.w_0).all()), "beta1 = 0": lambda c: c.beta1 == 0}
    looked = searched(Inequality(_layer, met, _key), 1500, drop=300)
    return confirmed((key_inequality.body(), lines.body()), looked, 1500)
