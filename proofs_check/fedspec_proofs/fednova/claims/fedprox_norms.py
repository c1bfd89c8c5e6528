"""Bounds on FedProx's accumulation vectors, Corollary 2, eqs. (134)-(137)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from fedspec.mixing.accumulation import a_norm, accumulation
from fedspec.mixing.nova import effective_steps, general_weights
from fedspec.readings import NovaWeights, Solver, TauEff
from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Second, Severity, Verdict, claim, refutation
from fedspec_proofs.engines import Draw, Induction, Real, Statement, all_proved, decide, every, identities
from fedspec_proofs.fednova.kit.bounds import Constants, drift, rational, reach, spread, squares
from fedspec_proofs.solvers import z3


def constants(steps: tuple[int, ...], alpha: Any) -> Constants:
    """A, B, C and tau_eff of FedProx for p = 1/m; C is the largest tau's, since ||a||_1 grows with tau."""
    m = len(steps)
    p = np.array([rational(1, m)] * m, dtype=object)
    a = [accumulation(Solver.PROXIMAL, tau, alpha=alpha) for tau in steps]
    norms = np.array([sum(a_i) for a_i in a], dtype=object)
    w = general_weights(p, norms, NovaWeights.IMPLIED)
    length = effective_steps(p, norms, steps, TauEff.WEIGHTED_NORM)
    return Constants(spread(a, w, length), drift(a, w), reach(a[steps.index(max(steps))]), length)


@claim(
    "fednova.eq-134",
    statement="At the best alpha = m^(1/2) / (tau_bar^(1/2) T^(1/6)), for tau_i >> 1, tau_eff is 1 / alpha up to a "
    "factor that does not depend on T (2 here)",
    source="eq. (134) (L775), an approximation there, with the alpha of eq. (139) (L786)",
    severity=Severity.PROOF_BREAKS,
)
def not_one_over_alpha() -> Finding:
    """Counterexample: alpha tau_i >> 1 fails, since alpha tau_bar = (m tau_bar)^(1/2) T^(-1/6) tends to 0 as T
    grows, so 1 / (alpha tau_eff) is at least T^(1/6) / (m tau_bar)^(1/2), as tau_eff <= tau.
    """
    tau, T = 100, 10**18
    alpha = rational(2, 10) / 10**3
    length = a_norm(Solver.PROXIMAL, tau, alpha=alpha)
    return refutation(
        instance=f"m = 4, tau_i = {tau}, T = 10^18, alpha = {alpha}; left 1 / alpha, right 2 tau_eff",
        conditions={
            "alpha^6 = m^3 / (tau_bar^3 T)": alpha**6 * tau**3 * T == 4**3,
            "tau_i >> 1": tau >= 100,
            "1 / (alpha tau_eff) grows without bound: above 25, 250, 2500 at T = 10^18, 10^24, 10^30": all(
                25 * 10**k * alpha / 10**k * a_norm(Solver.PROXIMAL, tau, alpha=alpha / 10**k) < 1 for k in range(3)
            ),
        },
        left=1 / alpha,
        right=2 * length,
    )


def _floor() -> Induction[tuple[Any, Any]]:
    """State: n and ||a||_1 after n proximal steps; one more step multiplies ||a||_1 by 1 - alpha and adds 1."""
    alpha, n, norm = (Real(z3.Real(name)) for name in ("alpha", "n", "A"))

    def holds(state: tuple[Any, Any]) -> dict[str, Any]:
        k, a = state
        return {"A (1 + alpha n) >= n": a * (1 + alpha * k) >= k, "alpha A <= 1": alpha * a <= 1, "n >= 1": k >= 1}

    return Induction(
        initial=(Real(1), Real(1)),
        arbitrary=(n, norm),
        step=lambda state: (state[0] + 1, (1 - alpha) * state[1] + 1),
        inputs={"0 <= alpha <= 1": z3.And(alpha >= 0, alpha <= 1)},
        invariant=holds,
        claim=lambda before, after: {},
    )


@claim(
    "fednova.norm-floor",
    statement="tau / (1 + alpha tau) <= ||a||_1 <= 1 / alpha for proximal SGD, 0 <= alpha <= 1",
    source="ours, in place of eq. (134) (L775)",
    extent=Extent.WHOLE,
    assumptions={"alpha": "0 <= alpha <= 1"},
    repairs="fednova.eq-134",
)
def floor() -> Finding:
    """Proof by induction over tau: A_1 = 1, A_(n+1) = (1 - alpha) A_n + 1, checked on ``a_norm``."""
    induction = _floor()
    # The base case needs the range of alpha as well: 1 + alpha >= 1 and alpha <= 1.
    base, step = decide(_base), induction.prove()[1]
    alphas = [rational(k, 16) for k in range(17)]
    norms = [[a_norm(Solver.PROXIMAL, n, alpha=alpha) for n in range(1, 9)] for alpha in alphas]
    grows = all(b == (1 - alpha) * a + 1 for alpha, row in zip(alphas, norms, strict=True) for a, b in pairwise(row))
    held = sum(
        n <= a * (1 + alpha * n) and alpha * a <= 1
        for alpha, row in zip(alphas, norms, strict=True)
        for n, a in enumerate(row, 1)
    )
    ok = base.verdict is Verdict.PROVED and bool(step) and grows and held == 17 * 8
    beyond = rational(3, 2)
    above = beyond * a_norm(Solver.PROXIMAL, 1, alpha=beyond)
    without = Dropped(above > 1, f"alpha = 3/2, tau = 1: alpha ||a||_1 = {above}")
    second = Second(Engine.EXACT, held, "pairs of alpha and tau <= 8 through the rule")
    words = f"base: {base.evidence}\nstep: {step}"
    return Finding(Verdict.PROVED if ok else Verdict.UNKNOWN, words, {"alpha": without}, second)


def _base(draw: Draw) -> Statement:
    alpha = draw("alpha")
    norm = a_norm(Solver.PROXIMAL, 1, alpha=alpha)
    inside = [alpha >= 0, alpha <= 1]
    given = every(*inside)
    return Statement({"alpha": given}, {"floor": norm * (1 + alpha) >= 1, "ceiling": alpha * norm <= 1})


def _ceilings(draw: Draw) -> Statement:
    """||a||_2^2 <= ||a||_1 <= 1/alpha from tau to tau + 1 steps, and what follows for A, B, C client by client."""
    alpha, n, s = draw("alpha"), draw("n"), draw("s")
    later, squared = (1 - alpha) * n + 1, (1 - alpha) ** 2 * s + 1
    so_far = [n >= 1, s >= 1, s <= n, alpha * n <= 1]
    return Statement(
        {"alpha": every(alpha >= 0, alpha <= 1), "so far": every(*so_far)},
        {
            "again": every(later >= 1, squared >= 1),
            "A": squared <= later,
            "alpha ||a||_1": alpha * later <= 1,
            "B": alpha**2 * (squared - 1) <= 1,
            "C": alpha**2 * (later * (later - 1)) <= 1,
        },
    )


def _few_steps(draw: Draw) -> Statement:
    """Statement on the rule's vectors for tau up to 4."""
    alpha = draw("alpha")
    shown = {}
    for tau in (1, 2, 3, 4):
        a = accumulation(Solver.PROXIMAL, tau, alpha=alpha)
        shown[f"A, tau = {tau}"] = squares(a) <= sum(a)
        shown[f"B, tau = {tau}"] = alpha**2 * (squares(a) - a[-1] ** 2) <= 1
        shown[f"C, tau = {tau}"] = alpha**2 * reach(a) <= 1
    return Statement({"alpha": every(alpha >= 0, alpha <= 1)}, shown)


def _in_norms(draw: Draw) -> Iterable[Any]:
    """A = sum ||a_i||_2^2 / sum ||a_i||_1 for p = 1/m, and the increase of both norms of the rule's a_i in a step."""
    alpha = draw("alpha", positive=True)
    for steps in ((1, 2), (3, 2), (1, 2, 4)):
        a = [accumulation(Solver.PROXIMAL, tau, alpha=alpha) for tau in steps]
        yield constants(steps, alpha).A * sum(map(sum, a)) - sum(map(squares, a))
    for tau in range(1, 7):
        now, later = (accumulation(Solver.PROXIMAL, n, alpha=alpha) for n in (tau, tau + 1))
        yield sum(later) - (1 - alpha) * sum(now) - 1
        yield squares(later) - (1 - alpha) ** 2 * squares(now) - 1


@claim(
    "fednova.fedprox-ceilings",
    statement="FedProx, p = 1/m: A <= 1, B <= 1/alpha^2, C <= 1/alpha^2, whatever the tau_i, and so without tau_i >> 1",
    source="eqs. (135)-(137) (L776-778)",
    sizes="two and three clients for A as a quotient of sums",
    assumptions={"alpha": "0 <= alpha <= 1"},
)
def ceilings() -> Finding:
    """Proof of ||a||_2^2 <= ||a||_1 <= 1/alpha for every tau, by induction from a = (1).

    A is sum ||a_i||_2^2 / sum ||a_i||_1, B a mean of the ||a_i||_2^2 - 1, C the largest of the ||a_i||_1 (||a_i||_1 -
    1). Beside it the rule's vectors for tau up to 4.
    """

    def sample(rng: np.random.Generator) -> dict[str, Fraction]:
        alpha, tau = rational(int(rng.integers(0, 17)), 16), int(rng.integers(1, 7))
        a = accumulation(Solver.PROXIMAL, tau, alpha=alpha)
        return {"alpha": alpha, "n": sum(a), "s": squares(a)}

    parts = {
        "tau <= 4": decide(_few_steps),
        "from tau to tau + 1": decide(_ceilings, sample=sample, ablate=False),
        "A, and what a step adds": identities({"tau <= 6": _in_norms}),
    }
    return all_proved(parts, ("alpha",))
