"""Inductions over a server rule by SMT, confirmed by running the rule on fractions from its initial state.

The rules act on each coordinate alone, so one coordinate is enough. P is the largest Delta^2 so far, A the largest
|Delta|; both are fresh variables that are told to be that maximum. The model x, behind a root, is not asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

from fedspec.arith import Vector
from fedspec.server.amsgrad import AmsGrad, init
from fedspec_proofs.claim import Dropped, Engine, Finding, Second, Verdict
from fedspec_proofs.engines import curried, exact, real, reals
from fedspec_proofs.engines.mutation import mutate
from fedspec_proofs.engines.smt import Formulas, Induction, Proof, every
from fedspec_proofs.solvers import z3
from fedspec_proofs.words import as_text

WORDS = {"0 <= beta1 < 1": "decay of the first moment", "0 <= beta2 < 1": "decay of the second moment"}


def numbers() -> dict[str, Any]:
    """Hyper-parameters of the server, as z3 reals."""
    return {name: real(name) for name in ("eta", "beta1", "beta2", "eps")}


def domain() -> Formulas:
    """Assumptions 0 <= beta1, beta2 < 1."""
    return {f"0 <= {name} < 1": z3.And(real(name) >= 0, real(name) < 1) for name in ("beta1", "beta2")}


Step = Callable[..., AmsGrad]
"""A server rule: maps state, Delta and hyper-parameters by name to the next state."""

Invariant = Callable[["Watched"], Mapping[str, Any]]


@dataclass(frozen=True)
class Watched:
    """A server state with the largest Delta^2 (P) and largest |Delta| (A) so far."""

    state: AmsGrad
    P: Any
    A: Any


def fresh() -> AmsGrad:
    """A server state of free variables."""
    x, m, v, v_hat = (reals(name, 1) for name in ("x", "m", "v", "v_hat"))
    return AmsGrad(x=x, m=m, v=v, v_hat=v_hat, t=1)


def _largest(new: Any, old: Any, candidate: Any) -> Any:
    return z3.And(new >= old, new >= candidate, z3.Or(new == old, new == candidate))


@curried
def order(w: Watched, ceiling: Callable[[Any, Any], Any]) -> Mapping[str, Any]:
    """Invariant 0 <= v <= v_hat <= ceiling(P) and |m| <= A, on formulas or on numbers."""
    (m,), (v,), (v_hat,) = w.state.m, w.state.v, w.state.v_hat
    return {
        "0 <= v <= v_hat": every(v >= 0, v <= v_hat),
        "v <= P": v <= w.P,
        "v_hat <= its ceiling": ceiling(v_hat, w.P),
        "|m| <= A": every(m <= w.A, -m <= w.A),
    }


def system(step: Step, invariant: Invariant, given: Formulas) -> Induction[Watched]:
    """Induction over rounds of a rule with arbitrary Delta; the claim is that v_hat never decreases."""
    delta = reals("Delta", 1)
    d, P, A, size = delta[0], real("P_new"), real("A_new"), real("size")
    inputs = {
        **given,
        "P' = max(P, Delta^2)": _largest(P, real("P"), d * d),
        "A' = max(A, |Delta|)": z3.And(size >= 0, z3.Or(size == d, size == -d), _largest(A, real("A"), size)),
    }

    def never_falls(before: Watched, after: Watched) -> Formulas:
        return {"v_hat never falls": before.state.v_hat[0] <= after.state.v_hat[0]}

    def one(w: Watched) -> Watched:
        return Watched(step(w.state, delta, **numbers()), P, A)

    start = init(reals("x", 1))
    return Induction(
        Watched(start, start.v[0], start.v[0]),
        Watched(fresh(), real("P"), real("A")),
        one,
        inputs,
        invariant,
        never_falls,
    )


PATHS, ROUNDS = 40, 6


def rootless(rule: Step) -> Step:
    """Copy of a rule without the root in its model's update, so that it runs on fractions; moments are unchanged."""

    def one(v: Vector, *_: Any) -> Vector:
        return v * 0 + 1

    for name in ("root", "sqrt"):
        try:
            return mutate(rule, **{name: one})
        except KeyError:
            continue
    return rule


def simulated(step: Step, holds: Callable[[list[AmsGrad], list[Any], Any], bool], **fixed: Any) -> tuple[int, str]:
    """Run a rule on random fractions from its initial state; return the number of rounds and any failure in words.

    Args:
        step: the function of the rule.
        holds: predicate: True if the claim holds for the states and the Delta so far, and eps.
        fixed: numbers with fixed values, which aren't drawn.
    """
    rng, count, rule = exact.generator(), 0, rootless(step)
    for _ in range(PATHS):
        numbers = {name: F(int(rng.integers(0, 8)), 8) for name in ("beta1", "beta2")}
        numbers |= {"eta": F(1), "eps": F(int(rng.integers(1, 9)), 4), **fixed}
        states, deltas = [init(exact.vector(0))], []
        for _ in range(ROUNDS):
            delta = exact.rationals(rng, 1)
            states.append(rule(states[-1], delta, **numbers))
            deltas.append(delta[0])
            count += 1
            if not holds(states, deltas, numbers["eps"]):
                told = as_text({name: numbers[name] for name in ("beta1", "beta2", "eps")})
                return count, f"with {told}, after Delta = {as_text(deltas)}"
    return count, ""


def broken_by(step: Step, holds: Callable[[list[AmsGrad], list[Any], Any], bool], **fixed: Any) -> Dropped:
    """Check a claim with hyper-parameters outside their domain, by simulation."""
    count, where = simulated(step, holds, **fixed)
    return Dropped(bool(where), where or f"no counterexample in {count} rounds with {as_text(fixed)}")


def finding(answers: tuple[Proof, Proof], again: tuple[int, str], dropped: Mapping[str, Dropped]) -> Finding:
    """Proved if base case, step and simulation agree; refuted if the simulation reaches a failure."""
    lines = "\n".join(f"{name}: {p}" for name, p in zip(("base", "step"), answers, strict=True))
    count, disagreement = again
    if disagreement:
        return Finding(Verdict.UNKNOWN if all(answers) else Verdict.REFUTED, f"{disagreement}\n{lines}")
    verdict = Verdict.PROVED if all(answers) else Verdict.UNKNOWN
    second = Second(Engine.EXACT, count, "rounds from the first state on fractions, the model left out")
    return Finding(verdict, lines, dropped, second)


def in_order(ceiling: Callable[[Any, Any, Any], Any]) -> Callable[[list[AmsGrad], list[Any], Any], bool]:
    """Test of the order of the moments at the last state of a run."""

    def holds(states: list[AmsGrad], deltas: list[Any], eps: Any) -> bool:
        P, A = max(d * d for d in deltas), max(abs(d) for d in deltas)
        now = order(lambda v_hat, P: ceiling(v_hat, P, eps))(Watched(states[-1], P, A))
        return all(now.values()) and bool(states[-2].v_hat[0] <= states[-1].v_hat[0])

    return holds
