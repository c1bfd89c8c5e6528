"""Corollary 4.7, Remark 4.8, and the condition on rho in the paper's own settings."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

from fedspec.mixing import topology
from fedspec.mixing.gossip import gossip
from fedspec_proofs.afga.network import EXACT
from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import every


def _dominated(draw: Draw, factor: Any) -> Statement:
    R, q = draw("R"), draw("IM")
    return Statement(
        {"positive": every(R > 0, q > 0), "R >= IM": factor * R >= q},
        {"1/R <= 1/sqrt(RIM), squared and multiplied out": R * q <= R * R},
    )


@claim(
    "afga.corollary-4-7",
    statement="For R >= IM: 1/R <= 1/sqrt(RIM), the orders of the second and the first term of eq. (3), without what "
    "stands in their brackets, and without the third term, whose order hides I and M",
    source=Source(AFGA, "ours, the step of Corollary 4.7 (L315) from eq. (3)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"positive": "R, I, M > 0", "R >= IM": "enough rounds"},
)
def corollary_4_7() -> Finding:
    """For all reals."""
    return decide(lambda draw: _dominated(draw, 1))


@claim(
    "afga.remark-4-8",
    statement="R >= IM is exactly when 1/R <= 1/sqrt(RIM)",
    source=Source(AFGA, "ours, about Remark 4.8 (L323); whether the condition is practical is left open"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"positive": "R, I, M > 0"},
)
def remark_4_8() -> Finding:
    """The other direction of Corollary 4.7 too."""

    def body(draw: Draw) -> Statement:
        R, q = draw("R"), draw("IM")
        one, other = q <= R, R * q <= R * R
        return Statement({"positive": every(R > 0, q > 0)}, {"both or neither": one == other})

    return decide(body)


@claim(
    "afga.theorem-4-6-rings",
    statement="No ring of Settings 1 and 2 meets rho <= m/(m + n): not those of 100 and 50 clients with 5 drawn, nor "
    "those of 20 and 10 with 1 drawn",
    source=Source(AFGA, "ours, about Theorem 4.6 and D.3 (L291, L1093) and the settings of Section 6 (L473-508)"),
    engine=Engine.EXACT,
    verdict=Verdict.PROVED,
)
def rings() -> Finding:
    """A vector of sum zero that the exchange shortens by less is a lower bound of rho; squares, exactly."""
    lines = []
    for n, m in ((100, 5), (50, 5), (20, 1), (10, 1)):
        wave = exact.vector(*(abs(k - n // 2) - F(n, 4) for k in range(n)))
        image = gossip(wave[:, None], topology.ring(n, EXACT))[:, 0]
        below, asked = (image @ image) / (wave @ wave), F(m, m + n)
        if sum(wave) != 0 or below <= asked**2:
            return Finding(Verdict.REFUTED, f"ring of {n}: rho^2 >= {below}, asked for {asked}")
        lines.append(f"ring of {n}: rho >= {float(below) ** 0.5:.4f}, asked for at most {float(asked):.4f}")
    return Finding(Verdict.PROVED, "\n".join(lines))
