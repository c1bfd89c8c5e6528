"""Term I of the proof: the algebra of eqs. (16) and (17), and a wrong exponent after eq. (17)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec.arith import sqrt
from fedspec.server.amsgrad import init
from fedspec_proofs.claim import Dropped, Extent, Finding, Severity, claim, refutation
from fedspec_proofs.engines import Draw, Statement, decide, every, exact, identity, several


@claim(
    "afga.eq-17",
    statement="-<x, y> <= -(|x|^2 + |y|^2 - |x - y|^2)/4 - (|x|^2 + |z|^2 - |x - z|^2)/4 + |x|^2/4 + |y - z|^2/4; the "
    "difference is |x + y - z|^2/4, coordinate by coordinate",
    source="eq. (17), first inequality (L1397-1440)",
    extent=Extent.WHOLE,
)
@identity("one coordinate")
def eq_17(draw: Draw) -> list[Any]:
    """Here x, y, z are f', the mean slope at the models and the mean slope at cluster means, each times V^(-1/4)."""
    x, y, z = (draw(name, 1) for name in "xyz")
    first = (x @ x + y @ y - (x - y) @ (x - y)) / 4
    second = (x @ x + z @ z - (x - z) @ (x - z)) / 4
    right = -first - second + x @ x / 4 + (y - z) @ (y - z) / 4
    return [right + x @ y - (x + y - z) @ (x + y - z) / 4]


@claim(
    "afga.eq-17-eps",
    statement="|x|^2 (v_hat + eps)^(-1/2) <= |x|^2 eps^(1/2); a slip of the exponent, eq. (17) has eps^(-1/2)",
    source="after eq. (17) (L1473), as converted",
    severity=Severity.SLIP,
)
def eq_17_eps() -> Finding:
    """A misprint: the exponent should be -1/2."""
    state = init(exact.vector(1))
    eps = F(1, 4)
    return refutation(
        instance="x = 1, v_hat = 0 as at the start, eps = 1/4",
        conditions={"v_hat >= 0": state.v_hat[0] >= 0, "eps > 0": eps > 0},
        left=state.x[0] ** 2 / sqrt(state.v_hat[0] + eps),
        right=state.x[0] ** 2 * sqrt(eps),
    )


@claim(
    "afga.eq-17-eps-repaired",
    statement="|x|^2/C_0 <= |x|^2 (v_hat + eps)^(-1/2) <= |x|^2 eps^(-1/2) with C_0^2 = B^2 + eps, if no coordinate "
    "of v_hat is above B^2, coordinate by coordinate",
    source="ours, for the bounds after eq. (17) (L1473), where B = eta_l I G",
    extent=Extent.WHOLE,
    assumptions={
        "v_hat >= 0": "a maximum of means of squares",
        "v_hat <= B^2": "Lemma F.8 as repaired",
        "roots": "s, e and C_0 are the positive roots of v_hat + eps, eps and B^2 + eps",
    },
    chain="lemma-f-8-repaired",
)
def eq_17_eps_repaired() -> Finding:
    """Proof for one coordinate; the sum over coordinates keeps both inequalities."""

    def body(draw: Draw) -> Statement:
        x, v, eps, B, s, e, C = several(draw, "x, v_hat, eps, B, s, e, C_0")
        given = {
            "v_hat >= 0": v >= 0,
            "v_hat <= B^2": v <= B**2,
            "roots": every(s > 0, e > 0, C > 0, s**2 == v + eps, e**2 == eps, B**2 + eps == C**2),
        }
        return Statement(given, {"lower": x**2 * s <= x**2 * C, "upper": x**2 * e <= x**2 * s})

    def sample(rng: np.random.Generator) -> dict[str, F]:
        B, C = F(1), F(5, 4)
        v, s = ((F(0), F(3, 4)), (B**2, C), (F(7, 16), F(1)))[int(rng.integers(0, 3))]
        return {"eps": F(9, 16), "e": F(3, 4), "B": B, "C_0": C, "v_hat": v, "s": s}

    found = decide(body, sample=sample)
    # Where z3 looks, B is no fraction.
    x, B, C, e, s = F(1), F(1), F(5, 4), F(3, 4), F(2)
    v = s**2 - e**2
    broken = v > B**2 and B**2 + e**2 == C**2 and x**2 * s > x**2 * C
    words = f"by hand: x = B = 1, eps = {e**2}, v_hat = {v}, C_0 = {C}: the lower bound fails"
    return replace(found, dropped={**found.dropped, "v_hat <= B^2": Dropped(broken, words)})
