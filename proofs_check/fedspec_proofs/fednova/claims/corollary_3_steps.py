"""App. G: steps of the proof of Corollary 3."""

from __future__ import annotations

from fedspec_proofs.claim import FEDNOVA, Engine, Extent, Finding, Source, Verdict, claim
from fedspec_proofs.engines.algebra import decide
from fedspec_proofs.fednova.claims.descent import drift_step, small_drift
from fedspec_proofs.fednova.kit.bounds import rational


@claim(
    "fednova.eq-177",
    statement="D <= 1 / (12 beta^2 + 1) gives 1/(1-D) <= 1 + 1/(12 beta^2) <= 2 and 3 D beta^2 / (1-D) <= 1/4",
    source=Source(FEDNOVA, "the words above eq. (177) (L930)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
    assumptions={"drift": "D <= 1 / (12 beta^2 + 1)", "beta": "beta^2 >= 1"},
)
def drift_constants() -> Finding:
    """For all reals."""
    return decide(drift_step(12, rational(2), rational(1, 12)), sample=small_drift(12))
