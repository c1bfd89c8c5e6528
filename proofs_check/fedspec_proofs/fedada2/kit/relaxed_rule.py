"""SGD, AdaGrad and Adam in the relaxed rule of Theorem 25, after any number of steps: inductions over their steps.

Weights of gradients and bounds of denominators, one coordinate; q is beta1^p, Q is beta2^n after n updates of v.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedspec.client.admu import Admu, admu
from fedspec.client.agdu import Agdu, agdu
from fedspec.client.sgd import sgd
from fedspec_proofs.claim import Finding
from fedspec_proofs.engines import Draw, Statement, decide, every, roots
from fedspec_proofs.fedada2.kit.rational import F


def _plain(draw: Draw) -> Statement:
    """SGD's step is its newest gradient alone, weight and denominator 1."""
    x, g, eta_l = draw("x", 1), draw("g", 1), draw("eta_l")
    moved = (sgd(x, g, eta_l=eta_l) - x)[0]
    return Statement({}, {"x' - x = -eta_l g": moved == -eta_l * g[0]})


def _weights(draw: Draw) -> Statement:
    """Adam's corrected weights: of the newest gradient, of an older one, and how a step changes the older ones.

    m = (1 - q) mean, mean the weighted sum of the gradients so far.
    """
    b, q, power, mean, g = draw("beta1"), draw("q"), draw("power"), draw("mean", 1), draw("g", 1)
    with roots():
        before = Admu(x=g * 0, m=mean * (1 - q), v=g * 0, v_hat=g * 0, t=0)
        (m,) = admu(before, g, eta_l=F(1), beta1=b, beta2=F(1, 2), eps=F(1)).m
    left = 1 - b * q
    given = {
        "0 <= beta1 < 1": every(b >= 0, b < 1),
        "q = beta1^p": every(q >= 0, q <= 1),
        "power": every(power >= 0, power <= 1),
    }
    shown = {
        "the newest: a = 1 - beta1 at least, 1 at most": every((1 - b) >= (1 - b) * left, 1 - b <= left),
        "an older one: 0 to 1": every((1 - b) * power >= 0, (1 - b) * power <= left),
        "older weights by beta1 (1 - q)/(1 - beta1 q)": m == b * (1 - q) * mean[0] + (1 - b) * g[0],
    }
    return Statement(given, shown)


def _second_moment(draw: Draw) -> Statement:
    """v <= (1 - Q) G^2 after n updates, so that the corrected one is at most G^2."""
    b, Q, v, g, G = draw("beta2"), draw("Q"), draw("v", 1), draw("g", 1), draw("G")
    with roots():
        before = Admu(x=g * 0, m=g * 0, v=v, v_hat=g * 0, t=0)
        (after,) = admu(before, g, eta_l=F(1), beta1=F(0), beta2=b, eps=F(1)).v
    given = {
        "0 <= beta2 < 1": every(b >= 0, b < 1),
        "Q = beta2^n": every(Q >= 0, Q <= 1),
        "so far": every(v[0] >= 0, v[0] <= (1 - Q) * G * G),
        "|g| <= G": every(g[0] <= G, -g[0] <= G),
    }
    return Statement(given, {"v' <= (1 - beta2 Q) G^2": every(after >= 0, after <= (1 - b * Q) * G * G)})


def _squares(draw: Draw) -> Statement:
    """AdaGrad's v <= n G^2 after n updates."""
    n, v, g, G = draw("n"), draw("v", 1), draw("g", 1), draw("G")
    with roots():
        (after,) = agdu(Agdu(x=g * 0, v=v, t=0), g, eta_l=F(1), eps=F(1), z=1).v
    given = {"so far": every(v[0] >= 0, v[0] <= n * G * G), "|g| <= G": every(g[0] <= G, -g[0] <= G)}
    return Statement(given, {"v' <= (n + 1) G^2": every(after >= 0, after <= (n + 1) * G * G)})


def _denominator(draw: Draw) -> Statement:
    """eps <= root + eps <= top + eps where root^2 <= top^2."""
    root, top, eps = draw("root"), draw("top"), draw("eps")
    given = {"roots": every(root >= 0, top >= 0, root * root <= top * top), "eps > 0": eps > 0}
    return Statement(given, {"m <= theta <= M": every(root + eps >= eps, root + eps <= top + eps)})


def _moments(rng: np.random.Generator) -> Mapping[str, F]:
    """Moments whose roots are rational after the step."""
    k = F(int(rng.integers(1, 5)), 2)
    share, q = (F(int(rng.integers(0, 4)), 4) for _ in range(2))
    given = {"g_0": 3 * k, "v_0": 16 * k * k, "G": 4 * k, "n": F(1), "beta1": share, "q": q, "power": q}
    return {**given, "beta2": F(0), "Q": F(0), "mean_0": k, "root": k, "top": 2 * k, "eps": k}


def _fresh(rng: np.random.Generator) -> Mapping[str, F]:
    """Adam's v before its first update."""
    G = F(int(rng.integers(1, 9)), 2)
    return {"G": G, "g_0": G * int(rng.integers(-2, 3)) / 2, "v_0": F(0), "beta2": F(0), "Q": F(1)}


def relaxed_lines() -> list[Finding]:
    """Proofs of all these statements by z3."""
    bodies = {_plain: None, _weights: _first, _second_moment: _fresh, _squares: _moments, _denominator: _moments}
    return [decide(body, sample=sample, ablate=False, instances=20) for body, sample in bodies.items()]


def _first(rng: np.random.Generator) -> Mapping[str, F]:
    """Adam's first moment; a gradient of 0 keeps its root rational."""
    return {**_moments(rng), "g_0": F(0)}
