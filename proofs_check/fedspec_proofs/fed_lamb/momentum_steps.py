"""How the auxiliary sequence moves, and its inner product split. Fed-LAMB, eqs. (10), (11), (13)-(15) (L577-596)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fedspec.client.lamb import Moments, precondition
from fedspec.readings import LocalCorrection
from fedspec_proofs.claim import Engine, Finding, Severity, Verdict, claim
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fed_lamb.audits import INSTANCE, bump, conditions
from fedspec_proofs.fed_lamb.rounds import F, shifted
from fedspec_proofs.fed_lamb.shared import FOUR, at
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


@claim(
    "fed-lamb.eq-11",
    statement="vartheta_(r+1) - vartheta_r = alpha beta1/(1 - beta1) mean((Gamma_r - Gamma_(r-1)) m_(r-1)) + alpha "
    "mean(Gamma_r g_r)",
    source=at("eq. (11) (L579)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def eq_11() -> Finding:
    """Its right side is minus the left one."""
    a = bump(F(1, 10))
    return refutation(
        instance=INSTANCE,
        conditions=conditions(a),
        left=a.moved(1)[0],
        right=a.h.eta_l * (a.memory(1) + a.fresh(1))[0],
        relation="=",
    )


STEP = {
    "no correction": "m_r = beta1 m_(r-1) + (1 - beta1) g_r goes into the ratio as it is",
    "lam = 0": "the local step is -alpha Gamma m",
}


def _true_step(*, corrected: bool = False, lam: int = 0) -> Body:
    """Two clients, one coordinate; Gamma is a variable, alpha changes from round to round."""

    def body(draw: Draw) -> Iterable[Any]:
        b, alpha = draw("b", positive=True), draw("alpha", 2)
        beta1 = b / (1 + b)
        x, old, g, Gamma = draw("x", 1), draw("old", 2), draw("g", 2), draw("Gamma", 2, 2)
        kw = {"beta1": beta1, "beta2": beta1, "eps": 0}
        kw["bias_correction"] = LocalCorrection.IN_PLACE if corrected else LocalCorrection.NONE
        one = x * 0 + 1
        new = [precondition(Moments(old[i : i + 1], one, 0), g[i : i + 1], one, **kw)[0].m_i for i in range(2)]
        middle = x - alpha[0] * sum(Gamma[0, i] * (old[i : i + 1] + lam * x) for i in range(2)) / 2
        last = middle - alpha[1] * sum(Gamma[1, i] * (new[i] + lam * middle) for i in range(2)) / 2
        _, after, end = shifted([x, middle, last], beta1)
        memory = sum((alpha[1] * Gamma[1, i] - alpha[0] * Gamma[0, i]) * old[i] for i in range(2)) / 2
        fresh = alpha[1] * sum(Gamma[1, i] * g[i] for i in range(2)) / 2
        return [end[0] - after[0] + beta1 / (1 - beta1) * memory + fresh]

    return body


@claim(
    "fed-lamb.eq-11-repaired",
    statement="vartheta_(r+1) - vartheta_r = -beta1/(1 - beta1) mean((alpha_r Gamma_r - alpha_(r-1) Gamma_(r-1)) "
    "m_(r-1)) - alpha_r mean(Gamma_r g_r), m of each client, any rates",
    source=at("eq. (11) (L579)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="n = 2 clients, d = 1",
    assumptions=STEP,
    repairs="fed-lamb.eq-11",
)
def true_step() -> Finding:
    """m by the specification's rule."""
    without = {"no correction": {"n = 2": _true_step(corrected=True)}, "lam = 0": {"n = 2": _true_step(lam=1)}}
    return identities({"n = 2": _true_step()}, without=without)


@claim(
    "fed-lamb.eq-13-15",
    statement="Going on from (11): <f'(vartheta_r), vartheta_(r+1) - vartheta_r> is the term with Gamma_r - "
    "Gamma_(r-1), plus sign, and A_1, minus sign",
    source=at("eqs. (13)-(15) (L590-596)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def split() -> Finding:
    """Both come with minus; (11), from which they are taken, has plus for both."""
    a = bump(F(1, 10))
    there = a.problem.gradient(a.shifted[1])
    return refutation(
        instance=INSTANCE,
        conditions=conditions(a),
        left=there @ a.moved(1),
        right=a.h.eta_l * (there @ a.memory(1) - there @ a.fresh(1)),
        relation="=",
    )
