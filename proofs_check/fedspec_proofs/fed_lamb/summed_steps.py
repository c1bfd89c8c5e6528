"""The end of Theorem 1's proof: eqs. (20), (21) and the way from there to the theorem. Fed-LAMB, L651-688.

The instance of most displays: x^2/2 (a line beyond |x| = 1) from 3/4 with alpha = 1/2, which comes to 1/4 and -1/4 in
turn; Gamma f' is the sign of f' in one coordinate with beta1 = 0.
"""

from __future__ import annotations

from typing import Any

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Severity, Verdict, claim
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.fed_lamb import bounds
from fedspec_proofs.fed_lamb.audits import INSTANCE, Audit, bump, conditions, mean_gradients
from fedspec_proofs.fed_lamb.bounds import Constants
from fedspec_proofs.fed_lamb.problems import Problem
from fedspec_proofs.fed_lamb.rounds import HALF, F, lamb, squared
from fedspec_proofs.fed_lamb.shared import FOUR, at
from fedspec_proofs.piecewise import huber
from fedspec_proofs.refutation import refutation

SIGMA = F(1, 1000)


@claim(
    "fed-lamb.eq-20",
    statement="sum_r A_r^3 <= alpha beta1/(1 - beta1) sqrt((1 - beta2) p) Lay M^2/sqrt(v0)",
    source=at("eq. (20) (L651)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def eq_20() -> Finding:
    """A_r^3 as it is defined after L614, with its plus sign."""
    a = bump(F(1, 10))
    total = sum(a.problem.gradient(a.shifted[r]) @ a.memory(r) for r in range(2))
    k = Constants(beta1=a.h.beta1, beta2=a.h.beta2, alpha=a.h.eta_l, v0=a.h.v0)
    return refutation(
        instance=INSTANCE.replace("second of two rounds", "both rounds"),
        conditions=conditions(a),
        left=a.h.eta_l * total,
        right=bounds.a3(k),
    )


def shuttle() -> Audit:
    """The instance of this module, over four rounds."""
    return Audit(lamb(eta_l=HALF), Problem(((huber(F(1)),),), (1,)), vector("3/4"), 4)


SHUTTLE = "x^2/2 from 3/4, one client, alpha = 1/2, beta1 = 0, beta2 = 99/100, v0 = 1, sigma = 1/1000 (no noise), R = 4"


def fall(a: Audit) -> Any:
    """f at the start minus f at the end; without momentum the auxiliary sequence is the models."""
    return a.problem.value(a.states[0].x) - a.problem.value(a.states[-1].x)


def steps(a: Audit) -> Any:
    """sum_r ||1/n sum_i Gamma_i f_i'||^2."""
    return sum(squared(mean_gradients(a, r)) for r in range(a.R))


def rough(a: Audit) -> Any:
    """sum_r sum_i sigma_i^2 ||Gamma_i||^2 / n^2."""
    return sum(SIGMA**2 * squared(now.Gamma[0]) for now in a.rounds)


@claim(
    "fed-lamb.l-659",
    statement="sum_r (alpha phi_m sqrt(Lay (1 - beta2)/(M^2 p)) ||f'||^2 - alpha phi_M sum sigma_i^(l,j)/sqrt(n)) <= "
    "f(vartheta_1) - f(vartheta_(R+1)) - sum_r alpha^2/n^2 (||sum_i Gamma_i f_i'||^2 + sum_i sigma_i^2 "
    "||Gamma_i||^2), where beta1 = 0",
    source=at("(16), (19), (20) in (7) (L659)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def l_659() -> Finding:
    """In (7) the squared steps are added, and L_l/2 times."""
    a = shuttle()
    c = sqrt((1 - a.h.beta2) / 1)
    # The term of the noise is taken once for each round, which makes the left side smaller.
    left = a.h.eta_l * (c * sum(squared(a.problem.gradient(s.x)) for s in a.states[:-1]) - a.R * SIGMA)
    return refutation(
        instance=SHUTTLE,
        conditions={**conditions(a), "beta1 = 0: the terms with beta1 vanish": a.h.beta1 == 0},
        left=left,
        right=fall(a) - a.h.eta_l**2 * (steps(a) + rough(a)),
    )


@claim(
    "fed-lamb.eq-21",
    statement="Going on from L659: sum_r ||1/n sum_i Gamma_i f_i'||^2 <= (f(x_1) - f(x_(R+1)))/alpha + sum_r "
    "alpha/n^2 sum_i sigma_i^2 ||Gamma_i||^2 + alpha phi_M sigma Lay p sqrt(n) + (two terms with beta1)",
    source=at("eq. (21) (L667)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def eq_21() -> Finding:
    """The second-order term stands where the progress was: its sign was turned at L659."""
    a = shuttle()
    return refutation(
        instance=SHUTTLE,
        conditions=conditions(a),
        left=steps(a),
        right=fall(a) / a.h.eta_l + a.h.eta_l * rough(a) + a.R * a.h.eta_l * SIGMA,
    )


@claim(
    "fed-lamb.l-673",
    statement="1/n sum_i Gamma_i f_i' <= phi_M (1 - beta2) (1/n sum_i f_i')/sqrt(v), an inequality of vectors: read "
    "by coordinate or by length",
    source=at("L673"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
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
