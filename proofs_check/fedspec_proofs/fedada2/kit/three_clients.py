"""The three clients of Theorem 20 under variants of Algorithm 2, whose client steps agree with it for K = 1."""

from __future__ import annotations

from typing import Any

from fedspec_proofs.claim import Finding, refutation
from fedspec_proofs.engines import exact
from fedspec_proofs.fedada2.kit.bounds import ABOVE, Constants, Setting, right
from fedspec_proofs.fedada2.kit.conditions import printed
from fedspec_proofs.fedada2.kit.problems import BALANCED, Round, everybody, rounds
from fedspec_proofs.fedada2.kit.rational import F
from fedspec_proofs.fedada2.kit.typed import HALF_C, Typed, typed

HORIZON = 10**16


def rates(T: int = HORIZON) -> dict[str, Any]:
    """Hyper-parameters with eta_l = T^(-1/2), T a square, and all others 1, 1/2 or 1/4."""
    one = F(1)
    rate = F(1, round(T**0.5))
    return {"eta_l": rate, "eps": one, "eta": one, "beta1": F(1, 2), "tau": one, "v0": one, "eps_s": F(1, 4)}


def setting(h: Any, T: int = HORIZON) -> Setting:
    """Arguments of the bounds for these hyper-parameters."""
    gap = BALANCED.gap(exact.vector(0))
    return Setting(T, 1, 1, 1, h.eta, h.eta_l, h.eps, h.eps_s, h.tau, h.beta1, F(0), h.v0, F(1), F(1), gap)


def unmoved(
    step: Round, h: Any, constants: Constants, more: dict[str, bool], words: str, again: Typed, **plan: Any
) -> Finding:
    """Refutation: every x_t is x_0 = 0, where the gradient of f is 1/9, and the printed right side is below 1/81.

    Args:
        step: function of a round of the algorithm.
        h: hyper-parameters of the algorithm.
        constants: constants of the printed bound, with roots rounded up.
        more: further printed assumptions, each with whether it holds.
        words: further description of the instance.
        again: the same constants, typed a second time as a check.
        plan: further fields of the plan for each of the three clients, beside participants and steps.
    """
    x = exact.vector(0)
    slopes = [abs(client(0, x)[0]) for client in BALANCED.clients]
    steps = [slope / (slope + h.eps) for slope in slopes]
    run = rounds(step, h, BALANCED, x, everybody(BALANCED, 1, **plan), 3)
    return refutation(
        instance="three Huber clients of scale 1 about -1, 1/3, 1/3, all in every round, f their mean; x_0 = 0, "
        "K = z = d = 1, "
        f"eps = tau = eta = {h.eta}, eps_s = {h.eps_s}, server beta1 = {h.beta1} and v_0 = {h.v0}, eta_l = T^(-1/2), "
        f"T = {HORIZON}; "
        f"{words}; the right "
        "side is a "
        "rational upper bound",
        conditions={
            **printed(BALANCED, F(1), F(1), h),
            **more,
            "no step of the clients is shorter than eps_s": min(steps) >= h.eps_s,
            "one round, in fractions, gives the very same x, m and v: every x_t is x_0": run.still and run.exact,
        },
        left=run.floor(BALANCED),
        right=right(setting(h), constants, ABOVE),
        again=typed(HORIZON, 0.5, 0.25, 1 / 162, HALF_C, again),
    )
