"""Theorem 3 about the least gradient over the rounds, where every round has a tau_eff of its own."""

from __future__ import annotations

from dataclasses import replace

from fedspec.algorithms.fednova import FedNova
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import TauEff
from fedspec_proofs.claim import FEDNOVA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import decide
from fedspec_proofs.fednova.bounds import gap, gradient, printed, rational
from fedspec_proofs.fednova.runs import ASSUMPTIONS, rate
from fedspec_proofs.fednova.settings import Setting
from fedspec_proofs.fednova.theorem_1 import ONE
from fedspec_proofs.fednova.theorem_1_fedprox import dissimilar
from fedspec_proofs.fednova.theorem_3 import eq_151
from fedspec_proofs.refutation import refutation


@claim(
    "fednova.theorem-3-minimum",
    statement="Where the server chooses another tau_eff^(t) in every round, (149) with their mean for its one tau_eff: "
    "min_t E|grad F|^2 <= 4 gap / (eta tau_eff T) + the averages over all rounds of the other three terms of (97)",
    source=Source(
        FEDNOVA,
        "ours, about Theorem 3 (L208), eqs. (148)-(149) (L821-822), which have one tau_eff, with a tau_eff^(t) "
        "as the server likes (L111, L198)",
    ),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=ASSUMPTIONS,
)
def fails_for_the_minimum() -> Finding:
    """Rounds that hardly move thin out the average of C, which the other rounds have made necessary.

    Twenty rounds with tau = (4, 1) and tau_eff = 64 from the fixed point of such a round, which they keep, as a replay
    shows; then tau = (1, 1), where C = 0, with a tau_eff so small that all of these rounds together hardly move: |M|^n
    >= 1 - n (1 - M) (Bernoulli) bounds how far. Weighted by tau_eff the average of C is nearly that of the first rounds
    (``fednova.theorem-3-repaired``).
    """
    k, curvatures, e = 256, exact.vector(1, 2).reshape(2, 1, 1), exact.vector(0, 2).reshape(2, 1)
    h = FedNova(eta_l=ONE / k, tau_eff=ONE * k / 4, tau_eff_choice=TauEff.FIXED)
    far = Setting(h, QuadraticClients(curvatures, e), (4, 1), (1, 1))
    near = replace(far, h=replace(h, tau_eff=ONE / 10**9), steps=(1, 1))
    few, many = 20, 2 * k**2 - 50
    p, x = far.shares(), far.limit()
    first = slope = gradient(far.problem, p, x)[0]
    kept = True
    for _ in range(few):
        x = far.round(x)
        kept = kept and gradient(far.problem, p, x)[0] == first
    best, M = far.problem.minimiser(p), near.linear_part(x * 0)[0, 0]
    slope = slope * (1 - many * (1 - M))
    total = few * h.tau_eff + many * ONE / 10**9
    C, T, L, kappa2, beta2 = printed(far).C, few + many, 2 * ONE, ONE, 2 * ONE
    right = 4 * gap(far.problem, p, x) / (rate(far) * total) + 12 * (rate(far) * L) ** 2 * kappa2 * C * few / T
    return refutation(
        instance="F_1 = x^2/2, F_2 = (x-1)^2, p = 1/2, eta = 1/256, no noise; 20 rounds with tau = (4, 1), tau_eff = "
        f"64, then {many} with tau = (1, 1), tau_eff = 10^-9; left: a lower bound of |grad F|^2 at every round",
        conditions={
            "L = 2 is the largest second derivative (Assumption 1)": (far.problem.H <= L).all(),
            "beta^2 = 2, kappa^2 = 1 for every w and x (Assumption 3, z3)": decide(dissimilar).verdict
            is Verdict.PROVED,
            "eta = sqrt(m / (tau~ T))": rate(far) ** 2 * (few * rational(5, 2) + many) == 2,
            "eq. (151) at every round": eq_151(far, L, beta2) and eq_151(near, L, beta2),
            "the first rounds keep the gradient": kept,
            "the others lead towards the minimiser and not past it": 0 < M < 1 and (near.round(best) == best).all(),
            "n (1 - M) < 1, so that the lower bound is not negative": many * (1 - M) < 1,
        },
        left=slope**2,
        right=right,
    )
