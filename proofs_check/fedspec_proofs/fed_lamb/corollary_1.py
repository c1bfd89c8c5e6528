"""Corollary 1: the gradient without its denominator. Fed-LAMB, eq. (6) (L284-286) and L690-694."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Verdict, claim, false
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fed_lamb import bounds
from fedspec_proofs.fed_lamb.bounds import Constants
from fedspec_proofs.fed_lamb.rounds import ONE, F, begin, lamb, run, squared
from fedspec_proofs.fed_lamb.shared import H5, at, every
from fedspec_proofs.fed_lamb.theorem_1 import THEOREM, Hill, hill
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
    "fed-lamb.corollary-1-clients",
    statement="As typeset, with O() read as a constant C that does not depend on n: ||f'(x_R)||^2 / R <= C sqrt(p/n) "
    "/ (Lay sqrt(R)); here C = 5",
    source=at("ours, a reading of Corollary 1, eq. (6) (L286) as typeset"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions={**THEOREM, "H5": H5},
)
def clients() -> Finding:
    """n clients alike walk as one: left over right grows as sqrt(n), all other constants being the same."""
    h, more = hill(F(1), n=100, R=1), hill(F(1), n=400, R=1)
    sides = [(_last(k), sqrt(F(k.k.p, k.k.n)) / (k.k.Lay * sqrt(k.k.R))) for k in (h, more)]
    return refutation(
        instance="x^2/2 near 0 from 1, n = 100 clients alike, R = 1, alpha = 1/100 = 1/(100 L sqrt(R)), v0 = 1; left "
        "over right grows as sqrt(n) (clients alike walk as one, fed-lamb.clients-alike), so that C falls at n = 21 "
        "C^2/20",
        conditions={
            **h.conditions,
            "H5 with V = 1": h.states[0].v_hat[0] <= 1,
            "n = 400: the left side is the same, the right side half": sides[1] == (sides[0][0], sides[0][1] / 2),
            "so that any C falls at n = 21 C^2/20 and above": sides[0][0] ** 2 > F(20, 21),
        },
        left=sides[0][0],
        right=5 * sides[0][1],
    )


def _last(h: Hill) -> Any:
    """||f'||^2 / R after the one round of the hill."""
    rule, n = lamb(eta_l=h.k.alpha, v0=h.k.v0), int(h.k.n)
    after = run(rule, begin(rule, h.states[0].x, n), h.problem.clients, 1)[-1].x
    return squared(h.problem.gradient(after)) / h.k.R


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


def _conversion(draw: Draw, share: F = ONE) -> Statement:
    """u = g / sqrt(v), so that no root occurs."""
    u, v, V_4 = draw("u", 2), draw("v", 2), draw("V_4")
    g_squared, ratio_squared = u[0] * u[0] * v[0] + u[1] * u[1] * v[1], u @ u
    holds = (v[0] + v[1] <= V_4, every(v[0] > 0, v[1] > 0))
    return Statement(dict(zip(CONVERTED, holds, strict=True)), {"conversion": g_squared <= share * V_4 * ratio_squared})


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


@false("fed-lamb.false-conversion", of=conversion, statement="The same with half of V^4")
def _false_conversion() -> Finding:
    return decide(lambda draw: _conversion(draw, F(1, 2)), ablate=False)


def _rates(layers: bool, power: int = 1) -> Body:
    """The first term of (4) with alpha = 1 / (L s^power), R = s^2; L counts layers or is a smoothness constant."""

    def body(draw: Draw) -> Iterable[Any]:
        M, gap, Lay, smooth, s = (draw(name, positive=True) for name in ("M", "gap", "Lay", "smooth", "s"))
        u = draw("u", positive=True)
        rate = 1 / ((Lay if layers else smooth) * s**power)
        # p / n = u^2.
        term = bounds.initial(Constants(gap=gap, M=M, p=u**2, Lay=Lay, R=s**2, least_alpha=rate))
        gain = 1 if layers else smooth / Lay
        return [term - M * u * gap * gain / s]

    return body


@claim(
    "fed-lamb.corollary-1-layers",
    statement="With alpha = 1/(L sqrt(R)) the first term of (4) is sqrt(M^2 p/n) gap/sqrt(R) if L counts layers, where "
    "no 1/Lay is left, and L/Lay times that if L is a smoothness constant",
    source=at("ours, about Corollary 1 (L284-286) and L290"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"alpha": "the rate is 1/(L sqrt(R))"},
)
def layers() -> Finding:
    """The gain of 1/Lay in (6) needs that the plain L of the rate is not the number of layers."""
    bodies = {"L counts layers": _rates(True), "L is smoothness": _rates(False)}
    return identities(bodies, without={"alpha": {"L counts layers": _rates(True, power=2)}})


@claim(
    "fed-lamb.corollary-1-momentum",
    statement="The right side of L559 with the rate of Corollary 1, beta1 > 0, vanishes as 1/sqrt(R), which the "
    "proof of (6) needs: 10^6 times as many rounds make it at least 100 times smaller",
    source=at("ours, about Corollary 1, eq. (6) (L692) and L559"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def ignored() -> Finding:
    """The term with beta1^2 has neither alpha nor R: sqrt(R) times the right side grows without bound."""
    k = Constants(gap=F(1, 2), beta1=F(9, 10), beta2=F(99, 100), L_bar=F(1))
    few, many = (replace(k, R=R, alpha=1 / sqrt(R), least_alpha=1 / sqrt(R)) for R in (F(10**4), F(10**10)))
    return refutation(
        instance="M = L = v0 = gap 2 = 1, p = n = Lay = 1, beta1 = 9/10, beta2 = 99/100, alpha = 1/sqrt(R), R = 10^4 "
        "and 10^10",
        conditions={"the rate is 1/(L sqrt(R))": few.alpha == F(1, 100) and many.alpha == F(1, 10**5)},
        left=100 * bounds.theorem_1_appendix(many),
        right=bounds.theorem_1_appendix(few),
    )
