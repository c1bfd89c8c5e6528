"""How the auxiliary sequence moves. Fed-LAMB, eq. (10) (L577), where the printed proof of Theorem 1 breaks first."""

from __future__ import annotations

from fedspec_proofs.claim import Engine, Finding, Severity, Verdict, claim
from fedspec_proofs.fed_lamb.kit.audits import INSTANCE, bump, conditions
from fedspec_proofs.fed_lamb.kit.rounds import F
from fedspec_proofs.fed_lamb.kit.shared import FOUR, at
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.eq-10",
    statement="vartheta_(r+1) - vartheta_r = alpha/(1 - beta1) mean(phi p_r/||p_r||) - alpha/(1 - beta1) mean(phi "
    "p_(r-1)/||p_(r-1)||)",
    source=at("eq. (10) (L577)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def eq_10() -> Finding:
    """Both signs are wrong and beta1 is missing from the second term."""
    a = bump(F(1, 10))
    unit = [now.p / abs(now.p) for now in a.rounds]
    printed = a.h.eta_l / (1 - a.h.beta1) * (unit[1] - unit[0]).sum(axis=0)
    return refutation(instance=INSTANCE, conditions=conditions(a), left=a.moved(1)[0], right=printed[0], relation="=")
