"""Theorem 3's proof: how far the auxiliary sequence and the local models are from the mean. Fed-LAMB, L748-768."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedspec.arith import sqrt
from fedspec.readings import Normalisation, Phi
from fedspec_proofs.claim import Engine, Extent, Finding, Severity, Verdict, claim
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.search import Inequality, Sides
from fedspec_proofs.fed_lamb.kit.problems import Problem
from fedspec_proofs.fed_lamb.kit.rounds import F, as_in_proofs, begin, lamb, local_models, squared
from fedspec_proofs.fed_lamb.kit.shared import FOUR, H4, at, constant
from fedspec_proofs.fed_lamb.kit.walks import Walk, checked, plain, pulled
from fedspec_proofs.kit.piecewise import huber
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.eq-25",
    statement="Going on from Lemma 1: B_1 = sum_i ||(f'(mean of x_(t,i)) - f'(x_(t,i)))/v_hat^(1/4)||^2 <= n "
    "(alpha^2 L/sqrt(v0)) M^2 (T - 1)^2 phi_M^2 (1 - beta2) p",
    source=at("eq. (25) (L760-766)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
    assumptions=FOUR,
)
def eq_25() -> Finding:
    """Steps have length alpha, whatever M and beta2 are. T = 2, after one local step that parts the clients."""
    h, problem, coin = lamb(), Problem(((huber(F(1)),),) * 2, (1,)), ((F(1, 2), F(1)), (F(1, 2), F(-1)))
    # At 0, where they are, f' is 0 and a gradient is the noise alone.
    models = local_models(h, begin(h, vector(0), 2), [constant(g) for _, g in coin], 1)
    center, M = problem.gradient(models.sum(axis=0) / 2), F(2)
    return refutation(
        instance="two clients alike, x^2/2 (a line beyond |x| = 1) from 0, noise 1 or -1 with equal chances, the "
        "outcome (1, -1), T = 2 after the first step, alpha = 1/10, beta2 = 99/100, v0 = 1",
        conditions={
            "H1: L = 1": problem.lipschitz == (1,),
            "H2: the noise has mean 0": sum(q * g for q, g in coin) == 0,
            "H2: no outcome exceeds M = 2": problem.whole[0].largest + 1 <= M,
            "H3: the variance 1 is below sigma^2 = 5/4": sum(q * g**2 for q, g in coin) < F(5, 4),
            "H4: phi_m = phi_M = 1": h.phi is Phi.CONSTANT,
            **as_in_proofs(h),
        },
        left=sum(squared(center - problem.gradient(x)) for x in models) / sqrt(h.v0),
        right=2 * h.eta_l**2 / sqrt(h.v0) * M**2 * (2 - 1) ** 2 * (1 - h.beta2),
    )


def _within(w: Walk) -> Iterator[Sides]:
    root = np.sqrt(w.start.v_hat) if w.start.v_hat.dtype != object else sqrt(w.start.v_hat)
    reach = (w.lipschitz * w.h.eta_l * w.phi_M) ** 2 / w.w * w.n * w.Lay * (w.T - 1) ** 2
    for models in w.path[:-1]:
        center = models.sum(axis=0) / w.n
        left = sum(sum((w.problem.gradient(center) - w.problem.gradient(x)) ** 2 / root) for x in models)
        yield left, reach


FAR = Problem(((huber(F(1), F(-9), F(20)),), (huber(F(1), F(9), F(20)),)), (1,))
RATE = ("eta_l", F(1, 2))
WITHOUT = {
    "H1": plain(problem=FAR, T=2, lipschitz=F(1, 8), options=(RATE,)),
    "H4": plain(problem=FAR, T=2, options=(RATE, ("phi", Phi.IDENTITY))),
    "normalised": plain(problem=FAR, T=2, options=(RATE, ("normalisation", Normalisation.NONE))),
}


@claim(
    "fed-lamb.eq-25-repaired",
    statement="B_1 <= n (Lam^2/sqrt(v0)) alpha^2 phi_M^2 Lay (T - 1)^2 after up to T - 1 local steps",
    source=at("eq. (25) (L760-766)"),
    engine=Engine.SEARCH,
    verdict=Verdict.CHECKED,
    extent=Extent.WHOLE,
    assumptions={
        "H1": "f' changes no faster than Lam in any layer",
        "H4": H4,
        "normalised": "every local step is divided by the length of its direction",
    },
    repairs="fed-lamb.eq-25",
)
def consensus() -> Finding:
    """The variance form of the repaired Lemma 1, and the Lipschitz constant squared."""
    met = {
        "H1": lambda w: w.smooth_as_claimed,
        "H4": lambda w: w.scaled_as_claimed,
        "normalised": lambda w: w.normalised,
    }
    return checked(Inequality(lambda c: pulled(c, 2), met, _within), 800, WITHOUT)
