"""Server AMSGrad: the order of its moments for any number of rounds, by SMT induction over the server rules.

The rules act on each coordinate alone, so one coordinate is enough. P is the largest Delta^2 so far, A the largest
|Delta|; both are fresh variables that are told to be that maximum. The model x, behind a root, is not asked about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import z3

from fedspec.arith import Vector
from fedspec.readings import AmsOption
from fedspec.server.amsgrad import AmsGrad, ams, amsgrad, init
from fedspec_proofs.engines.reals import real, reals
from fedspec_proofs.engines.smt import Formulas, Induction, Proof
from fedspec_proofs.record import AFGA, Finding, Source, Verdict, proof

ENGINE = "SMT induction (z3, nonlinear real arithmetic)"
WANG = "external: Wang, Lin and Chen (2022), named in footnote 5; about eq. (2) (L112-130)"

ETA, BETA1, BETA2, EPS = (real(name) for name in ("eta", "beta1", "beta2", "eps"))
DOMAIN: Formulas = {
    "0 <= beta1 < 1": z3.And(BETA1 >= 0, BETA1 < 1),
    "0 <= beta2 < 1": z3.And(BETA2 >= 0, BETA2 < 1),
    "eps >= 0": EPS >= 0,
}


@dataclass(frozen=True)
class Watched:
    """A server state with the largest Delta^2 and the largest absolute Delta so far."""

    state: AmsGrad
    P: Any
    A: Any


def _fresh() -> AmsGrad:
    x, m, v, v_hat = (reals(name, 1) for name in ("x", "m", "v", "v_hat"))
    return AmsGrad(x=x, m=m, v=v, v_hat=v_hat, t=1)


def _largest(new: Any, old: Any, candidate: Any) -> Any:
    return z3.And(new >= old, new >= candidate, z3.Or(new == old, new == candidate))


def induction(
    step: Callable[[AmsGrad, Vector], AmsGrad], ceiling: Callable[[Any, Any], Any], words: str, extra: Formulas
) -> Induction[Watched]:
    """0 <= v <= v_hat <= the ceiling of P, |m| <= A, and v_hat never falls."""
    delta = reals("Delta", 1)
    d, P, A, size = delta[0], real("P_new"), real("A_new"), real("size")
    inputs = {
        **DOMAIN,
        **extra,
        "P' = max(P, Delta^2)": _largest(P, real("P"), d * d),
        "A' = max(A, |Delta|)": z3.And(size >= 0, z3.Or(size == d, size == -d), _largest(A, real("A"), size)),
    }

    def invariant(w: Watched) -> Formulas:
        (m,), (v,), (v_hat,) = w.state.m, w.state.v, w.state.v_hat
        return {
            "0 <= v <= v_hat": z3.And(v >= 0, v <= v_hat),
            f"v <= P, v_hat <= {words}": z3.And(v <= w.P, ceiling(v_hat, w.P)),
            "|m| <= A": z3.And(m <= w.A, -m <= w.A),
        }

    def claim(before: Watched, after: Watched) -> Formulas:
        return {"v_hat never falls": before.state.v_hat[0] <= after.state.v_hat[0]}

    start = init(reals("x", 1))
    return Induction(
        Watched(start, start.v[0], start.v[0]),
        Watched(_fresh(), real("P"), real("A")),
        lambda w: Watched(step(w.state, delta), P, A),
        inputs,
        invariant,
        claim,
    )


def _finding(answers: tuple[Proof, Proof]) -> Finding:
    verdict = Verdict.PROVED if all(answers) else Verdict.UNKNOWN
    return Finding(verdict, "\n".join(f"{name}: {p}" for name, p in zip(("base", "step"), answers, strict=True)))


def _server(state: AmsGrad, delta: Vector) -> AmsGrad:
    return amsgrad(state, delta, eta=ETA, beta1=BETA1, beta2=BETA2, eps=EPS)


@proof(
    "afga.amsgrad-order",
    statement="For FedAMSGrad's server, at every round: 0 <= v <= v_hat <= the largest Delta^2 so far, |m| <= the "
    "largest |Delta| so far, and v_hat never falls",
    source=Source(AFGA, "ours, about eq. (2) (L112-130)"),
    engine=ENGINE,
)
def amsgrad_order() -> Finding:
    """v is a mean of squares seen and of zero, v_hat a maximum of such v, m a mean of the Delta and of zero."""
    return _finding(induction(_server, lambda v_hat, P: v_hat <= P, "P", {}).prove())


@proof(
    "afga.fedams-order",
    statement="For FedAMS, option 1, the same with v_hat <= max(largest Delta^2 so far, eps), and v_hat >= eps",
    source=Source(AFGA, WANG),
    engine=ENGINE,
)
def fedams_order() -> Finding:
    """eps enters the maximum, so that it is both a floor and, while all Delta^2 are smaller, the ceiling."""

    def step(state: AmsGrad, delta: Vector) -> AmsGrad:
        return ams(state, delta, eta=ETA, beta1=BETA1, beta2=BETA2, eps=EPS, option=AmsOption.ONE)

    system = induction(step, lambda v_hat, P: z3.Or(v_hat <= P, v_hat <= EPS), "max(P, eps)", {})

    def floor(before: Watched, after: Watched) -> Formulas:
        return {**system.claim(before, after), "eps <= v_hat": after.state.v_hat[0] >= EPS}

    whole = Induction(system.initial, system.arbitrary, system.step, system.inputs, system.invariant, floor)
    return _finding(whole.prove())


@proof(
    "afga.fedams-option-two",
    statement="FedAMS with option 2 is FedAMSGrad",
    source=Source(AFGA, WANG),
    engine="SMT (z3, identical terms)",
)
def option_two() -> Finding:
    """Both rules give the very same z3 terms, x included."""
    state, delta = _fresh(), reals("Delta", 1)
    other = ams(state, delta, eta=ETA, beta1=BETA1, beta2=BETA2, eps=EPS, option=AmsOption.TWO)
    ours = _server(state, delta)
    same = all(
        left.term.eq(right.term)
        for left, right in zip(
            (*ours.x, *ours.m, *ours.v, *ours.v_hat), (*other.x, *other.m, *other.v, *other.v_hat), strict=True
        )
    )
    return Finding(Verdict.PROVED if same else Verdict.UNKNOWN, "4 terms: x, m, v, v_hat")
