"""Corollary 1, eq. (6) (L284-286, L690-694), and quoted results and remarks near it. Fed-LAMB, L262-294."""

from __future__ import annotations

from typing import Any

from fedspec.algorithms import local_ams
from fedspec.algorithms.local_ams import FedAms
from fedspec.arith import sqrt
from fedspec.plan import Plan, Setup
from fedspec.readings import ClientMemory, LocalCorrection
from fedspec_proofs.claim import Finding, Verdict, claim, refutation
from fedspec_proofs.engines import Draw, Statement, decided, every
from fedspec_proofs.fed_lamb.claims.theorem_1 import THEOREM, hill, instance_of
from fedspec_proofs.fed_lamb.kit import bounds
from fedspec_proofs.fed_lamb.kit.problems import Problem, vector
from fedspec_proofs.fed_lamb.kit.rounds import F, squared
from fedspec_proofs.fed_lamb.kit.shared import H1, H2, H3, H5
from fedspec_proofs.kit.piecewise import huber

TYPESET = {"H2": "||f'(x_R)|| <= M", "R >= 1": "there is a round"}


@claim(
    "fed-lamb.corollary-1",
    statement="A reading in which eq. (6) says nothing of Fed-LAMB: as typeset, with no sum over rounds, and with a "
    "constant that may depend on all but R, it is H2 alone, ||f'(x_R)||^2 / R <= M^2 / R <= M^2 / sqrt(R)",
    source="ours, about Corollary 1, eq. (6) (L286) as typeset",
    assumptions=TYPESET,
)
@decided()
def typeset(draw: Draw) -> Statement:
    """Proof after multiplication by R = s^2, for the length of the gradient in any dimension."""
    length, M, s = draw("length"), draw("M"), draw("s")
    holds = (every(length >= 0, length <= M), s >= 1)
    return Statement(dict(zip(TYPESET, holds, strict=True)), {"eq. (6) in R": length * length <= M * M * s})


@claim(
    "fed-lamb.corollary-1-intended",
    statement="With the sum that (6) leaves out, as its proof takes it from Theorem 1 and H5: (1/R) sum_r "
    "||f'(x_r)||^2 is at most V^4 times the right side of (4), alpha of order 1/(L sqrt(R)); no O() is left in it",
    source="ours, about Corollary 1, eq. (6) (L286) and its proof (L694)",
    verdict=Verdict.REFUTED,
    assumptions={**THEOREM, "H5": H5},
)
def intended() -> Finding:
    """The counterexample of Theorem 1 with fewer rounds; its first rate is (1/20) / (Lay sqrt(R))."""
    R = 25
    h = hill(F(1, 10), R=R)
    V_4 = max(s.v_hat[0] for s in h.states)
    return refutation(
        instance=f"{instance_of(h)}; V^4 is the largest v_hat, {V_4}",
        conditions={
            **h.conditions,
            "H5: ||sqrt(v_hat)||^2 <= V^4": all(s.v_hat[0] <= V_4 for s in h.states),
            "alpha = (1/20) / (Lay sqrt(R))": (20 * h.k.alpha) ** 2 * R == 1,
        },
        left=sum(squared(h.problem.gradient(s.x)) for s in h.states) / R,
        right=V_4 * bounds.theorem_1(h.k),
    )


@claim(
    "fed-lamb.remark-lamb",
    statement="The rate has the order 1/R of LAMB's Theorem 3 in You et al., for a criterion of similar order",
    source="comparison with LAMB (L262-268)",
    verdict=Verdict.UNDECIDABLE,
)
def remark_lamb() -> Finding:
    """The remark compares two criteria, assumed to have the same order, and constants of another paper."""
    words = "two criteria are assumed to be of one order, and the other bound is not printed here"
    return Finding(Verdict.UNDECIDABLE, words)


@claim(
    "fed-lamb.theorem-2",
    statement="Local-AMS: (1/R) sum_r E||f'(x_r)/sqrt(v_hat_r)||^2 <= 8 sqrt(p/(R n)) (gap) + 8 L_s sqrt(p/(R n)) "
    "sigma^2/eps + cst",
    source="Theorem 2, eq. (5) (L272-276)",
    verdict=Verdict.UNDECIDABLE,
)
def theorem_2() -> Finding:
    """Quoted from another paper, with regularity conditions and a constant that are not printed."""
    return Finding(
        Verdict.UNDECIDABLE,
        "cst is not specified, nor are the conditions or the rate; fed-lamb.theorem-2-cst has cst = 0",
    )


@claim(
    "fed-lamb.theorem-2-cst",
    statement="The right side of (5) without its cst, which is not specified, is a bound under H1 to H3 (other "
    "conditions are not printed), with the rate sqrt(n/(R p))",
    source="ours, about Theorem 2, eq. (5) (L272-276)",
    verdict=Verdict.REFUTED,
    assumptions={"H1": H1, "H2": H2, "H3": H3},
)
def theorem_2_cst() -> Finding:
    """Both printed terms have degree 1 in c, while the left side of Fed-AMS does not depend on c (scale law)."""
    c, R, sigma = F(1, 100), 25, F(1, 10**6)
    problem = Problem(((huber(c),),), (1,))
    rates: dict[str, Any] = {"eta_l": 1 / sqrt(F(R)), "beta1": F(0), "beta2": F(99, 100), "eps": F(0), "v0": c**2}
    plain: dict[str, Any] = {
        "bias_correction": LocalCorrection.NONE,
        "memory": ClientMemory.CARRIED,
    }
    h = FedAms(**rates, **plain)
    states = [local_ams.init(h, vector([F(1)]), Setup((1,), {"l0": (1,)}))]
    for _ in range(R):
        states.append(local_ams.step(h, states[-1], problem.clients, Plan((0,), (1,), (1,)))[0])
    gap = problem.value(states[0].x) - problem.value(states[-1].x)
    return refutation(
        instance=f"{c} x^2/2 near 0 from 1, one client of Fed-AMS, R = {R}, alpha = sqrt(n/(R p)) = {h.eta_l}, beta1 = "
        f"{h.beta1}, beta2 = {h.beta2}; v0 = {h.v0}, which stands for the eps of (5), nothing is added to the root",
        conditions={
            "H1: L_s = 1/100": problem.lipschitz == (c,),
            "H2: M = 1/100": problem.largest_squared <= c**2,
            "H3: the variance 0 is below sigma^2": sigma > 0,
        },
        left=sum(problem.gradient(s.x)[0] ** 2 / s.v_hat[0] for s in states[:-1]) / R,
        right=8 * sqrt(F(1, R)) * (gap + c * sigma**2 / h.v0),
    )
