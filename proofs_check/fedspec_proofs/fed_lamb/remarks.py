"""What the text says about its bounds, and the theorem that it quotes. Fed-LAMB, sec. 3.2 (L262-294)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedspec.algorithms import local_ams
from fedspec.algorithms.local_ams import FedAms
from fedspec.arith import sqrt
from fedspec.catalogue import CATALOGUE
from fedspec.costs import floats
from fedspec.plan import Plan, Setup
from fedspec.readings import LocalCorrection
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.fed_lamb import bounds
from fedspec_proofs.fed_lamb.bounds import Constants
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
    words = (
        "two criteria are assumed to be of one order, and the other bound is not printed here; see fed-lamb.remark-rate"
    )
    return Finding(Verdict.UNDECIDABLE, words)


@claim(
    "fed-lamb.remark-rate",
    statement="The first term of (4) is of order 1/R, by which it is called faster than Local-AMS's 1/sqrt(R), under "
    "the rate of Corollary 1 as well: R times the term does not grow",
    source=at("ours, about the comparison with Local-AMS (L278)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def remark_rate() -> Finding:
    """1/(alpha R) with alpha = 1/sqrt(R) is 1/sqrt(R): R times it is sqrt(R), and the two rates are alike."""
    k = Constants(gap=F(1))
    few, many = (replace(k, R=R, least_alpha=1 / sqrt(R)) for R in (F(4), F(16)))
    return refutation(
        instance="M = p = n = Lay = gap = 1, alpha = 1/sqrt(R), R = 4 and 16",
        conditions={"the rate is 1/(L sqrt(R)) with L = 1": few.least_alpha == F(1, 2) and many.least_alpha == F(1, 4)},
        left=many.R * bounds.initial(many),
        right=few.R * bounds.initial(few),
    )


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


@claim(
    "fed-lamb.remark-communication",
    statement="L290, that bits are sent once a round where SCAFFOLD sends two vectors, read as a count: a client of "
    "Fed-LAMB sends one vector",
    source=at("ours, about communication complexity (L290)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def remark_communication() -> Finding:
    """Line 13 sends the model and v: as many floats as SCAFFOLD's model and control variate."""
    d = 10
    costs = {name: CATALOGUE[name].costs for name in ("fed-lamb", "scaffold")}
    up = {name: floats(cost.up, {"d": d, "m": 1, "n": 1}) for name, cost in costs.items()}
    return refutation(
        instance=f"a model of d = {d} parameters, one participant; floats that it sends, by the catalogue's counted "
        f"costs",
        conditions={"SCAFFOLD sends two vectors": up["scaffold"] == 2 * d},
        left=F(up["fed-lamb"]),
        right=F(d),
    )


@claim(
    "fed-lamb.remark-dimension",
    statement="The sqrt(p) of (4), which L294 puts down to the bound on single coordinates' variance, is gone without "
    "noise",
    source=at("ours, about the dependence on the dimension (L294)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def remark_dimension() -> Finding:
    """It multiplies the term of the start; in the term of the noise it divides."""
    one, four = (Constants(gap=F(1), least_alpha=F(1), p=p) for p in (F(1), F(4)))
    return refutation(
        instance="the right side of (4) with M = n = Lay = R = alpha = gap = 1 and sigma = L_bar = 0, p = 4 and p = 1",
        conditions={"no noise": one.sigma == four.sigma == 0},
        left=bounds.theorem_1(four),
        right=bounds.theorem_1(one),
    )
