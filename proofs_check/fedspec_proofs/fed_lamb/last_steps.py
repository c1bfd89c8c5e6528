"""From eq. (21) to Theorem 1, on the instance of the displays before. Fed-LAMB, L673-688."""

from __future__ import annotations

from typing import Any

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.fed_lamb import bounds
from fedspec_proofs.fed_lamb.audits import Audit, conditions, mean_gradients
from fedspec_proofs.fed_lamb.bounds import Constants
from fedspec_proofs.fed_lamb.problems import Problem
from fedspec_proofs.fed_lamb.rounds import F, lamb, noiseless, squared
from fedspec_proofs.fed_lamb.shared import FOUR, at
from fedspec_proofs.fed_lamb.summed_steps import SHUTTLE, SIGMA, fall, rough, shuttle
from fedspec_proofs.piecewise import huber
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.l-673",
    statement="1/n sum_i Gamma_i f_i' <= phi_M (1 - beta2) (1/n sum_i f_i')/sqrt(v), an inequality of vectors: read "
    "by coordinate or by length",
    source=at("L673"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def l_673() -> Finding:
    """And a lower bound of the left side would be needed, whose squares are to bound those of the right side."""
    a = shuttle()
    now = a.rounds[0]
    return refutation(
        instance=SHUTTLE.replace("R = 4", "round 1"),
        conditions=conditions(a),
        left=mean_gradients(a, 0)[0],
        right=(1 - a.h.beta2) * a.problem.gradient(now.x)[0] / sqrt(now.v_hat[0]),
    )


@claim(
    "fed-lamb.l-673-opposite",
    statement="||1/n sum_i Gamma_i f_i'|| >= phi_m (1 - beta2) ||1/n sum_i f_i'/sqrt(v)||, the other direction, "
    "which the step from (21) to L685 needs",
    source=at("ours, about L673"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def l_673_opposite() -> Finding:
    """Gamma f' is a sign in one coordinate, f'/sqrt(v_hat) as large as v0 is small."""
    problem = Problem(((huber(F(1)),),), (1,))
    a = Audit(lamb(v0=F(1, 10**6)), problem, vector("3/4"), 1)
    now = a.rounds[0]
    return refutation(
        instance="x^2/2 from 3/4, one client, beta1 = 0, beta2 = 99/100, v0 = 10^-6, round 1",
        conditions=noiseless(a.h, problem, F(1)),
        left=abs(mean_gradients(a, 0)[0]),
        right=(1 - a.h.beta2) * abs(problem.gradient(now.x)[0]) / sqrt(now.v_hat[0]),
        relation=">=",
    )


def _line_685(a: Audit) -> Any:
    """Its right side with beta1 = 0: the term of the noise is a sum over rounds, without 1/R."""
    k = Constants(
        gap=fall(a), R=F(a.R), alpha=a.h.eta_l, least_alpha=a.h.eta_l, beta2=a.h.beta2, L_bar=F(1), sigma=SIGMA
    )
    return bounds.initial(k) + a.h.eta_l * rough(a) + k.alpha * SIGMA + bounds.lemma_2(k) / k.R


@claim(
    "fed-lamb.l-685",
    statement="Going on from (21): (1/R) sum_r ||f'(x_r)/sqrt(v_r)||^2 <= sqrt(M^2 p/n) (f(x_1) - f(x_(R+1)))/(Lay "
    "alpha R) + alpha/n^2 sum_r sum_i sigma_i^2 ||Gamma_i||^2 + alpha phi_M sigma Lay p sqrt(n) + L_bar alpha^2 M^2 "
    "phi_M^2 (1 - beta2) p/(R v0), where beta1 = 0",
    source=at("L685, the last display"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def l_685() -> Finding:
    """Nothing is scaled here: from x = 1/4, where the walk has come to, f does not fall."""
    problem = Problem(((huber(F(1)),),), (1,))
    a = Audit(lamb(eta_l=F(1, 2)), problem, vector("1/4"), 4)
    left = sum(squared(problem.gradient(s.x)) / s.v_hat[0] for s in a.states[:-1]) / a.R
    return refutation(
        instance=SHUTTLE.replace("3/4", "1/4"),
        conditions={**conditions(a), "M = 1, p = n = Lay = 1": problem.largest_squared == 1},
        left=left,
        right=_line_685(a),
    )


@claim(
    "fed-lamb.l-688",
    statement="alpha/n^2 sum_r sum_i sigma_i^2 E||Gamma_i||^2 <= (phi_M sigma^2/(R n)) sqrt((1 - beta2)/(M^2 p)), by "
    "which L685 becomes L559",
    source=at("ours, about the step from L685 to L559 (L687)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def l_688() -> Finding:
    """||Gamma|| >= phi/M in one coordinate, and R of them are summed."""
    a = shuttle()
    k = Constants(sigma=SIGMA, R=F(a.R), beta2=a.h.beta2)
    return refutation(instance=SHUTTLE, conditions=conditions(a), left=a.h.eta_l * rough(a), right=bounds.noise(k))
