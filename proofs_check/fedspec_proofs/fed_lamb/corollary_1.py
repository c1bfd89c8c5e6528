"""Corollary 1: the gradient without its denominator. Fed-LAMB, eq. (6) (L284-286) and L690-694."""

from __future__ import annotations

import numpy as np

from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import every
from fedspec_proofs.fed_lamb import bounds
from fedspec_proofs.fed_lamb.rounds import F, squared
from fedspec_proofs.fed_lamb.shared import H5, at
from fedspec_proofs.fed_lamb.theorem_1 import THEOREM, hill
from fedspec_proofs.refutation import refutation

TYPESET = {"H2": "||f'(x_R)|| <= M", "R >= 1": "there is a round"}


def _typeset(draw: Draw) -> Statement:
    length, M, s = draw("length"), draw("M"), draw("s")
    holds = (every(length >= 0, length <= M), s >= 1)
    return Statement(dict(zip(TYPESET, holds, strict=True)), {"eq. (6) in R": length * length <= M * M * s})


@claim(
    "fed-lamb.corollary-1",
    statement="A reading in which eq. (6) says nothing of Fed-LAMB: as typeset, with no sum over rounds, and with a "
    "constant that may depend on all but R, it is H2 alone, ||f'(x_R)||^2 / R <= M^2 / R <= M^2 / sqrt(R)",
    source=at("ours, about Corollary 1, eq. (6) (L286) as typeset"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions=TYPESET,
)
def typeset() -> Finding:
    """Multiplied by R = s^2, for the length of the gradient in any dimension."""
    return decide(_typeset, sample=_large)


def _large(rng: np.random.Generator) -> dict[str, F]:
    return {"M": F(20), "s": F(int(rng.integers(1, 9))), "length": F(int(rng.integers(0, 21)))}


@claim(
    "fed-lamb.corollary-1-intended",
    statement="With the sum that (6) leaves out, as its proof takes it from Theorem 1 and H5: (1/R) sum_r "
    "||f'(x_r)||^2 is at most V^4 times the right side of (4), alpha of order 1/(L sqrt(R)); no O() is left in it",
    source=at("ours, about Corollary 1, eq. (6) (L286) and its proof (L694)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions={**THEOREM, "H5": H5},
)
def intended() -> Finding:
    """R = 25, alpha = 1/100 = (1/20) / (Lay sqrt(R)); the instance of Theorem 1."""
    h = hill(F(1, 10), R=25)
    V_4 = max(s.v_hat[0] for s in h.states)
    return refutation(
        instance="x^2/20 near 0 from 1, one client, R = 25, rates 1/100 to 9/1000, v0 = 1/100; V^4 is the largest "
        "v_hat, 1/100",
        conditions={**h.conditions, "H5: ||sqrt(v_hat)||^2 <= V^4": all(s.v_hat[0] <= V_4 for s in h.states)},
        left=sum(squared(h.problem.gradient(s.x)) for s in h.states) / 25,
        right=V_4 * bounds.theorem_1(h.k),
    )


CONVERTED = {"H5": "v_1 + v_2 <= V^4", "v > 0": "the denominator is positive"}


def _conversion(draw: Draw) -> Statement:
    """u = g / sqrt(v), so that no root occurs."""
    u, v, V_4 = draw("u", 2), draw("v", 2), draw("V_4")
    g_squared, ratio_squared = u[0] * u[0] * v[0] + u[1] * u[1] * v[1], u @ u
    holds = (v[0] + v[1] <= V_4, every(v[0] > 0, v[1] > 0))
    return Statement(dict(zip(CONVERTED, holds, strict=True)), {"conversion": g_squared <= V_4 * ratio_squared})


@claim(
    "fed-lamb.corollary-1-conversion",
    statement="||g||^2 <= V^4 ||g/sqrt(v)||^2 where ||sqrt(v)|| <= V^2",
    source=at("ours, about the proof of Corollary 1 (L694)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="d = 2",
    assumptions=CONVERTED,
)
def conversion() -> Finding:
    """The largest coordinate of v is below their sum; so the step from (4) to (6) is sound, and (4) is not."""
    return decide(_conversion, sample=_second)


def _second(rng: np.random.Generator) -> dict[str, F]:
    v = [F(int(rng.integers(1, 9)), 4) for _ in range(2)]
    return {"v_0": v[0], "v_1": v[1], "V_4": v[0] + v[1] + F(int(rng.integers(0, 3)))}
