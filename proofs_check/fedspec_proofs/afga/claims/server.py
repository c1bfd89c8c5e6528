"""Lemmas F.7 and F.9, about the server's momentum and its preconditioner, by SMT induction over the server's rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

from fedspec.server.amsgrad import AmsGrad, amsgrad, init
from fedspec_proofs.afga.kit.server_inductions import broken_by, domain, finding, fresh, numbers, simulated
from fedspec_proofs.claim import Extent, Finding, claim, false
from fedspec_proofs.engines import Formulas, Induction, Real, prove, real, reals
from fedspec_proofs.engines.enclosure import sqrt_above, sqrt_below
from fedspec_proofs.solvers import z3


@dataclass(frozen=True)
class Sums:
    """A server state with sum m^2 and sum Delta^2 so far."""

    state: AmsGrad
    M: Any
    D: Any


def _momentum(factor: int) -> Finding:
    """sum m^2 <= sum Delta^2 / factor, from (1 - beta1)(D - factor M) >= factor beta1 m^2."""
    delta, h = reals("Delta", 1), numbers()

    def step(w: Sums) -> Sums:
        state = amsgrad(w.state, delta, **h)
        return Sums(state, w.M + state.m[0] ** 2, w.D + delta[0] ** 2)

    def invariant(w: Sums) -> Formulas:
        return {"kept": (1 - h["beta1"]) * (w.D - factor * w.M) >= factor * h["beta1"] * w.state.m[0] ** 2}

    def claimed(_: Sums, after: Sums) -> Formulas:
        return {"sum m^2 <= sum Delta^2": factor * after.M <= after.D}

    zero = Real(0)
    given = {"0 <= beta1 < 1": domain()["0 <= beta1 < 1"]}
    whole = Induction(
        Sums(init(reals("x", 1)), zero, zero), Sums(fresh(), real("M"), real("D")), step, given, invariant, claimed
    )

    def holds(states: list[AmsGrad], deltas: list[Any], _: Any) -> bool:
        return bool(factor * sum(s.m[0] ** 2 for s in states) <= sum(d * d for d in deltas))

    base, one = whole.prove()
    # The first state meets the invariant whatever beta1 is; that is not a statement about it.
    return finding((base, one), simulated(amsgrad, holds), {"0 <= beta1 < 1": broken_by(amsgrad, holds, beta1=F(-3))})


@claim(
    "afga.lemma-f-7",
    statement="sum_r |m_r|^2 <= sum_r |Delta_r|^2 on every path, so in expectation",
    source="Lemma F.7, eq. (91) (L4724)",
    extent=Extent.WHOLE,
    assumptions={"0 <= beta1 < 1": "decay of the first moment"},
)
def lemma_f_7() -> Finding:
    """Induction for one coordinate, any number of rounds, m_0 = 0; invariant (1 - beta1)(sum Delta^2 - sum m^2) >=
    beta1 m^2."""
    return _momentum(1)


@dataclass(frozen=True)
class Roots:
    """A server state with s = (v_hat + eps)^(-1/2), and both sums of Lemma F.9 so far."""

    state: AmsGrad
    s: Any
    first: Any
    second: Any


def _telescope(bound: Callable[[Any], Any]) -> Finding:
    """sum |s - s'| <= bound(e) and sum (s - s')^2 <= bound(e) e with e = eps^(-1/2)."""
    e, new, delta, h = real("e"), real("s_new"), reals("Delta", 1), numbers()
    start, before = init(reals("x", 1)), fresh()
    after = amsgrad(before, delta, **h)

    def step(w: Roots) -> Roots:
        change = z3.If((w.s - new).term >= 0, (w.s - new).term, (new - w.s).term)
        return Roots(after, new, w.first + Real(change), w.second + (w.s - new) ** 2)

    def invariant(w: Roots) -> Formulas:
        return {
            "s is a root": z3.And(w.s > 0, w.s**2 * (w.state.v_hat[0] + h["eps"]) == 1),
            "v_hat >= 0": w.state.v_hat[0] >= 0,
            "first sum = e - s": w.first == e - w.s,
            "second sum <= e^2 - s^2": w.second <= e**2 - w.s**2,
        }

    def claimed(_: Roots, w: Roots) -> Formulas:
        return {"first sum": w.first <= bound(e), "second sum": w.second <= bound(e) * e}

    inputs = {
        "e = eps^(-1/2)": z3.And(e > 0, e**2 * h["eps"] == 1),
        "s_new is a root": z3.And(new > 0, new**2 * (after.v_hat[0] + h["eps"]) == 1),
    }
    whole = Induction(
        Roots(start, e, Real(0), Real(0)),
        Roots(before, real("s"), real("S1"), real("S2")),
        step,
        inputs,
        invariant,
        claimed,
    )
    base = prove(invariant(whole.initial), {"e = eps^(-1/2)": inputs["e = eps^(-1/2)"]})
    return finding((base, whole.prove()[1]), simulated(amsgrad, _sums_below(bound)), _without_start(bound))


def _sums_below(bound: Callable[[Any], Any]) -> Callable[[list[AmsGrad], list[Any], Any], bool]:
    def holds(states: list[AmsGrad], _: list[Any], eps: Any) -> bool:
        low = [1 / sqrt_above(s.v_hat[0] + eps) for s in states]
        high = [1 / sqrt_below(s.v_hat[0] + eps) for s in states]
        first = sum(max(low[k] - high[k + 1], low[k + 1] - high[k]) for k in range(len(states) - 1))
        second = sum(max(F(0), low[k] - high[k + 1]) ** 2 for k in range(len(states) - 1))
        top = bound(1 / sqrt_below(eps))
        return bool(first <= top and second <= top / sqrt_below(eps))

    return holds


def _without_start(bound: Callable[[Any], Any]) -> Mapping[str, Any]:
    """Start at v_hat_0 = -3 eps/4, which no run has: the first sum is larger."""

    def holds(states: list[AmsGrad], deltas: list[Any], eps: Any) -> bool:
        first = AmsGrad(states[0].x, states[0].m, states[0].v, states[0].v_hat - F(3, 4) * eps, 0)
        return _sums_below(bound)([first, *states[1:]], deltas, eps)

    return {"v_hat_0 = 0": broken_by(amsgrad, holds, beta2=F(0))}


@claim(
    "afga.lemma-f-9",
    statement="sum_r ||V_(r-1)^(-1/2) - V_r^(-1/2)||_1 = d/sqrt(eps) - sum_j (v_hat_(R,j) + eps)^(-1/2) <= "
    "d/sqrt(eps), and sum_r ||.||^2 <= d/eps",
    source="Lemma F.9, eq. (95) (L4821)",
    extent=Extent.WHOLE,
    assumptions={"v_hat_0 = 0": "the start, which the paper does not print"},
)
def lemma_f_9() -> Finding:
    """Proof for one coordinate and any number of rounds: v_hat never falls, so the sum telescopes. Coordinates add
    up to d.
    """
    return _telescope(lambda e: e)


@false("afga.false-f-9-half", of=lemma_f_9, statement="The first sum is at most d/(2 sqrt(eps)), the second d/(2 eps)")
def half_of_the_root() -> Finding:
    """Refuted: after a large first Delta, (v_hat + eps)^(-1/2) falls from 1/sqrt(eps) almost to zero."""
    return _telescope(lambda e: e / 2)
