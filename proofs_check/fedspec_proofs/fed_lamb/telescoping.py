"""The sums over rounds of squared steps: eqs. (18) and (19). Fed-LAMB, L633-647."""

from __future__ import annotations

import numpy as np

from fedspec.mixing.periodic import moment_maximum
from fedspec_proofs.claim import Engine, Finding, Severity, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.smt import every
from fedspec_proofs.fed_lamb.audits import INSTANCE, bump, conditions
from fedspec_proofs.fed_lamb.rounds import F, as_in_proofs, begin, lamb, run, squared
from fedspec_proofs.fed_lamb.shared import FOUR, at, constant
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.eq-18",
    statement="Going on from L598: sum_r ||beta1/(1 - beta1) sum_i (Gamma_r - Gamma_(r-1)) m_(r-1)||^2 <= beta1^2/(1 "
    "- beta1)^2 (Lay (1 - beta2)/p) M^2 phi_M^2 n p/v0",
    source=at("eq. (18) (L633-637)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def eq_18() -> Finding:
    """||p|| is pulled out of a difference as if it were constant, by the reversed bound of L598."""
    a = bump(F(1, 10))
    k = a.h.beta1 / (1 - a.h.beta1)
    return refutation(
        instance=INSTANCE.replace("second of two rounds", "both rounds"),
        conditions=conditions(a),
        left=sum(squared(a.memory(r)) for r in range(2)),
        right=k**2 * (1 - a.h.beta2) / a.h.v0,
    )


@claim(
    "fed-lamb.l-641",
    statement="L641, that v_r never falls, read of a client's own v_(r,i), which is no maximum",
    source=at("ours, about the term A_r^2 (L639-641)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def falling() -> Finding:
    """v_hat does not (fed-lamb.assumption-5), the clients' v does where gradients are small."""
    h = lamb()
    before, after = (s.v_i[0][0] for s in run(h, begin(h, vector(5), 1), [constant(0)], 1))
    return refutation(
        instance="one coordinate, gradient 0, v0 = 1, beta2 = 99/100, one round",
        conditions={
            "H1 to H4: the gradient is 0 everywhere, phi = 1": constant(0)(0, vector(5))[0] == 0,
            **as_in_proofs(h),
        },
        left=after,
        right=before,
        relation=">=",
    )


SUMMED = {
    "S = 1/w_0 - 1/w": "as at the start, where S = 0 and w = w_0",
    "roots": "w and w' are the positive roots of v_hat and of the next v_hat",
}


def _telescoped(draw: Draw) -> Statement:
    """One round of the server, one coordinate, two clients; S is the sum of |1/sqrt(v_(r-1)) - 1/sqrt(v_r)| so far."""
    w_0, w, new, S, Q, v = draw("w_0"), draw("w"), draw("new"), draw("S"), draw("Q"), draw("v", 2)
    after = moment_maximum(vector(0) + w * w, np.stack([v[:1], v[1:]]), clients=2)[0]
    step = 1 / w - 1 / new
    holds = (
        every(1 / w_0 - 1 / w == S, S / w_0 >= Q, Q >= 0),
        every(w_0 > 0, w >= w_0, new > 0, new * new == after),
    )
    shown = {
        "no term is negative": step >= 0,
        "S again": S + step == 1 / w_0 - 1 / new,
        "S <= 1/w_0": S + step <= 1 / w_0,
        "Q <= S/w_0 again": Q + step * step <= (S + step) / w_0,
        "Q <= 1/w_0^2": Q + step * step <= 1 / (w_0 * w_0),
    }
    return Statement(dict(zip(SUMMED, holds, strict=True)), shown)


def _rising(rng: np.random.Generator) -> dict[str, F]:
    w_0, more = F(int(rng.integers(1, 9)), 4), F(int(rng.integers(0, 9)), 4)
    w, up = w_0 + more, F(int(rng.integers(0, 9)), 4)
    S = 1 / w_0 - 1 / w
    return {"w_0": w_0, "w": w, "new": w + up, "S": S, "Q": S / w_0 / 2, "v_0": (w + up) ** 2, "v_1": (w + up) ** 2}


@claim(
    "fed-lamb.eq-18-telescoping",
    statement="sum_r |1/sqrt(v_hat_(r-1)) - 1/sqrt(v_hat_r)| <= 1/sqrt(v0) in every coordinate, the squares sum to at "
    "most 1/v0: p/sqrt(v0) and p/v0 for all p coordinates, any number of rounds",
    source=at("ours, about eq. (18), last two lines (L636-637)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="two clients; one coordinate, as every one is by itself",
    assumptions=SUMMED,
)
def telescoping() -> Finding:
    """What is true in (18); no repair of it, for ||p|| stays out. One round from any state that meets the sums."""
    return decide(_telescoped, sample=_rising)


@claim(
    "fed-lamb.eq-19",
    statement="Going on from (17) and (18): sum_r ||vartheta_(r+1) - vartheta_r||^2 <= beta1^2/(1 - beta1)^2 (Lay (1 "
    "- beta2)/p) M^2 phi_M^2 n p/v0 + sum_r alpha^2/n^2 (||sum_i Gamma_i f_i'||^2 + sum_i sigma_i^2 ||Gamma_i||^2)",
    source=at("eq. (19) (L645)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def eq_19() -> Finding:
    """It loses the alpha^2 of its first term as well."""
    a = bump(F(1))
    sigma = F(1, 1000)
    k = a.h.beta1 / (1 - a.h.beta1)
    noise = sum(sigma**2 * squared(now.Gamma[0]) for now in a.rounds)
    return refutation(
        instance="f' = 1, 1/5, 1 at x = 1, 0, -1, one client, alpha = 1, beta1 = 1/2, v0 = 1, sigma = 1/1000, no "
        "noise, two rounds",
        conditions=conditions(a),
        left=sum(squared(a.moved(r)) for r in range(2)),
        right=k**2 * (1 - a.h.beta2) / a.h.v0 + a.h.eta_l**2 * (sum(squared(a.fresh(r)) for r in range(2)) + noise),
    )
