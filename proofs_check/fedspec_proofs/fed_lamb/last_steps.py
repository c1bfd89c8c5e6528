"""From eq. (21) to Theorem 1, on the instance of the displays before. Fed-LAMB, L673-688."""

from __future__ import annotations

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.fed_lamb.audits import conditions, mean_gradients
from fedspec_proofs.fed_lamb.shared import FOUR, at
from fedspec_proofs.fed_lamb.summed_steps import SHUTTLE, shuttle
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
