"""Server AMSGrad: order of its moments after any number of rounds, by SMT induction over the server rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

from fedspec.arith import Vector
from fedspec.readings import AmsOption
from fedspec.server.amsgrad import AmsGrad, ams, amsgrad
from fedspec_proofs.afga.kit import server_inductions as inductions
from fedspec_proofs.claim import Engine, Finding, claim
from fedspec_proofs.engines.smt import Formulas, some

WANG = "ours, about FedAMS beside eq. (2) (L112-130); external: Wang, Lin and Chen (2022), named in footnote 5"


def _ordered(step: inductions.Step, ceiling: Callable[[Any, Any, Any], Any], extra: Formulas | None = None) -> Finding:
    eps = inductions.numbers()["eps"]
    invariant = inductions.order(lambda v_hat, P: ceiling(v_hat, P, eps))
    answers = inductions.system(step, invariant, {**inductions.domain(), **(extra or {})}).prove()
    holds = inductions.in_order(ceiling)
    dropped = {
        "0 <= beta1 < 1": inductions.broken_by(step, holds, beta1=F(2)),
        "0 <= beta2 < 1": inductions.broken_by(step, holds, beta2=F(2)),
    }
    return inductions.finding(answers, inductions.simulated(step, holds), dropped)


def below_P(v_hat: Any, P: Any, eps: Any) -> Any:
    """Upper bound of v_hat for FedAMSGrad: v_hat <= P."""
    return v_hat <= P


@claim(
    "afga.amsgrad-order",
    statement="For FedAMSGrad's server, at every round and in every coordinate: 0 <= v <= v_hat <= the largest "
    "Delta^2 so far, |m| <= the largest |Delta| so far, and v_hat never falls",
    source="ours, about eq. (2) (L112-130)",
    engine=Engine.SMT,
    assumptions=inductions.WORDS,
)
def amsgrad_order() -> Finding:
    """v averages squares and zero, v_hat is a maximum of such v, m averages the Delta and zero."""
    return _ordered(amsgrad, below_P, {"eps >= 0": inductions.numbers()["eps"] >= 0})


def fedams(state: AmsGrad, delta: Vector, **numbers: Any) -> AmsGrad:
    """Server rule of FedAMS, option 1."""
    return ams(state, delta, **numbers, option=AmsOption.ONE)


@claim(
    "afga.fedams-order",
    statement="For FedAMS, option 1, the same with v_hat <= max(largest Delta^2 so far, eps), and v_hat >= eps",
    source=WANG,
    engine=Engine.SMT,
    assumptions=inductions.WORDS,
)
def fedams_order() -> Finding:
    """Eps inside the maximum is a lower bound of v_hat, and the upper bound while all Delta^2 are smaller."""

    least = inductions.numbers()["eps"]

    def ceiling(v_hat: Any, P: Any, eps: Any) -> Any:
        return some(v_hat <= P, v_hat <= eps)

    def floor(before: inductions.Watched, after: inductions.Watched) -> Formulas:
        return {
            "v_hat never falls": before.state.v_hat[0] <= after.state.v_hat[0],
            "eps": after.state.v_hat[0] >= least,
        }

    invariant = inductions.order(lambda v_hat, P: ceiling(v_hat, P, least))
    whole = replace(inductions.system(fedams, invariant, {**inductions.domain(), "eps >= 0": least >= 0}), claim=floor)

    def holds(states: list[AmsGrad], deltas: list[Any], eps: Any) -> bool:
        return inductions.in_order(ceiling)(states, deltas, eps) and bool(states[-1].v_hat[0] >= eps)

    def step(state: AmsGrad, delta: Vector, **numbers: Any) -> AmsGrad:
        return inductions.rootless(ams)(state, delta, **numbers, option=AmsOption.ONE)

    dropped = {
        "0 <= beta1 < 1": inductions.broken_by(step, holds, beta1=F(2)),
        "0 <= beta2 < 1": inductions.broken_by(step, holds, beta2=F(2)),
    }
    return inductions.finding(whole.prove(), inductions.simulated(step, holds), dropped)
