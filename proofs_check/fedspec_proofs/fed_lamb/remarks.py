"""What the text says about its bounds, and the theorem that it quotes. Fed-LAMB, sec. 3.2 (L262-294)."""

from __future__ import annotations

from typing import Any

from fedspec.algorithms import local_ams
from fedspec.algorithms.local_ams import FedAms
from fedspec.arith import sqrt
from fedspec.plan import Plan, Setup
from fedspec.readings import LocalCorrection
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.fed_lamb.problems import Problem, vector
from fedspec_proofs.fed_lamb.rounds import F
from fedspec_proofs.fed_lamb.shared import H1, H2, H3, at
from fedspec_proofs.piecewise import huber
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.remark-lamb",
    statement="The rate has the order 1/R of LAMB's Theorem 3 in You et al., for a criterion of similar order",
    source=at("comparison with LAMB (L262-268)"),
    engine=Engine.EXACT,
    verdict=Verdict.UNDECIDABLE,
)
def remark_lamb() -> Finding:
    """What is compared are two criteria that are assumed to be of one order, and another paper's constants."""
    words = "two criteria are assumed to be of one order, and the other bound is not printed here"
    return Finding(Verdict.UNDECIDABLE, words)


@claim(
    "fed-lamb.theorem-2",
    statement="Local-AMS: (1/R) sum_r E||f'(x_r)/sqrt(v_hat_r)||^2 <= 8 sqrt(p/(R n)) (gap) + 8 L_s sqrt(p/(R n)) "
    "sigma^2/eps + cst",
    source=at("Theorem 2, eq. (5) (L272-276)"),
    engine=Engine.EXACT,
    verdict=Verdict.UNDECIDABLE,
)
def theorem_2() -> Finding:
    """Quoted from another paper, under regularity conditions that are not printed, and with a constant that is not."""
    return Finding(
        Verdict.UNDECIDABLE,
        "cst is not specified, nor are the conditions or the rate; fed-lamb.theorem-2-cst has cst = 0",
    )


@claim(
    "fed-lamb.theorem-2-cst",
    statement="The right side of (5) without its cst, which is not specified, is a bound under H1 to H3 (other "
    "conditions are not printed), with the rate sqrt(n/(R p))",
    source=at("ours, about Theorem 2, eq. (5) (L272-276)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions={"H1": H1, "H2": H2, "H3": H3},
)
def theorem_2_cst() -> Finding:
    """The scale law holds of Fed-AMS as well, and both printed terms are of degree 1 in c."""
    c, R, sigma = F(1, 100), 25, F(1, 10**6)
    problem = Problem(((huber(c),),), (1,))
    rates: dict[str, Any] = {"eta_l": 1 / sqrt(F(R)), "beta1": F(0), "beta2": F(99, 100), "eps": F(0), "v0": c**2}
    h = FedAms(**rates, bias_correction=LocalCorrection.NONE)
    states = [local_ams.init(h, vector([F(1)]), Setup((1,), {"l0": (1,)}))]
    for _ in range(R):
        states.append(local_ams.step(h, states[-1], problem.clients, Plan((0,), (1,), (1,)))[0])
    gap = problem.value(states[0].x) - problem.value(states[-1].x)
    return refutation(
        instance="x^2/200 near 0 from 1, one client of Fed-AMS, R = 25, alpha = sqrt(n/(R p)) = 1/5, v0 = eps = 10^-4, "
        "beta1 = 0, beta2 = 99/100",
        conditions={
            "H1: L_s = 1/100": problem.lipschitz == (c,),
            "H2: M = 1/100": problem.largest_squared <= c**2,
            "H3: the variance 0 is below sigma^2": sigma > 0,
        },
        left=sum(problem.gradient(s.x)[0] ** 2 / s.v_hat[0] for s in states[:-1]) / R,
        right=8 * sqrt(F(1, R)) * (gap + c * sigma**2 / h.v0),
    )
