"""Where AFGA comes to rest on clients that differ: what gossip does to the drift of local steps, about Remark 3.1."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec.algorithms import afga
from fedspec.plan import Exchange
from fedspec_proofs.afga.formulas import both, hyper
from fedspec_proofs.afga.reduction import line
from fedspec_proofs.afga.sequences import doubly
from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities


def _fixed_point(draw: Draw) -> list[Any]:
    """The fixed point of Delta for clients a_i (x - b_i)^2/2, less the minimiser of f and its closed form."""
    a, b, eta_l, W = draw("a", 2, positive=True), draw("b", 2), draw("eta_l", positive=True), doubly(draw, 2)
    clients, everyone = [line(a[i], -a[i] * b[i]) for i in range(2)], (0, 1)
    plan = Exchange(everyone, (everyone, everyone), W)

    def delta(x: int) -> Any:
        return afga.change(hyper(eta_l), exact.vector(x), clients, plan)[0]

    # Delta is affine in x: its zero.
    start, slope = delta(0), delta(1) - delta(0)
    rho, whole = W[0, 0] - W[0, 1], a[0] + a[1]
    bent = (1 + rho) * (a[0] ** 2 + a[1] ** 2) / 2 + (1 - rho) * a[0] * a[1]
    closed = -eta_l * a[0] * a[1] * (a[0] - a[1]) * (b[0] - b[1]) * rho / (whole * (2 * whole - eta_l * bent))
    return [-start / slope - (a @ b) / whole - closed]


def _grows(draw: Draw) -> Statement:
    """rho/(2 (a_1 + a_2) - eta_l bent) at two rho."""
    a_1, a_2, eta_l, low, high = (draw(name) for name in ("a_1", "a_2", "eta_l", "low", "high"))

    def below(rho: Any) -> Any:
        bent = (1 + rho) * (a_1 * a_1 + a_2 * a_2) / 2 + (1 - rho) * a_1 * a_2
        return 2 * (a_1 + a_2) - eta_l * bent

    given = {
        "curvature": both(a_1 > 0, a_2 > 0),
        "step": both(eta_l > 0, eta_l * a_1 <= 1, eta_l * a_2 <= 1),
        "rho": both(low >= 0, low < high, high <= 1),
    }
    shown = {"denominators": both(below(low) > 0, below(high) > 0), "growth": low * below(high) < high * below(low)}
    return Statement(given, shown)


def _sample_growth(rng: np.random.Generator) -> dict[str, F]:
    a_1, a_2 = (F(int(k), 4) for k in rng.integers(1, 9, 2))
    low, more, step = (F(int(k), 8) for k in rng.integers((0, 1, 1), (5, 5, 9)))
    return {"a_1": a_1, "a_2": a_2, "eta_l": step / max(a_1, a_2), "low": low, "high": min(F(1), low + more)}


@claim(
    "afga.heterogeneity-without-gossip",
    statement="The fixed point of AFGA on a_i (x - b_i)^2/2 is off the minimiser of f by -eta_l a_1 a_2 (a_1 - "
    "a_2)(b_1 - b_2) rho/((a_1 + a_2)(2 (a_1 + a_2) - eta_l ((1 + rho)(a_1^2 + a_2^2)/2 + (1 - rho) a_1 a_2))) with "
    "rho = W_11 - W_12: by nothing for W = J, and by more for larger rho",
    source=Source(AFGA, "ours, about Remark 3.1 (L226)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="two clients, I = 2, all of them computing, d = 1",
    assumptions={
        "curvature": "a_1, a_2 > 0",
        "step": "0 < eta_l a_i <= 1",
        "rho": "two values of rho in [0, 1]",
    },
)
def heterogeneity() -> Finding:
    """The closed form by symbols through the rule, its growth by SMT."""
    closed, found = identities({"two clients": _fixed_point}), decide(_grows, sample=_sample_growth)
    verdict = found.verdict if closed.verdict is Verdict.PROVED else Verdict.UNKNOWN
    return replace(found, verdict=verdict, evidence=f"{closed.evidence}\n{found.evidence}")
