"""SMT: rules run on vectors of z3 reals; z3 decides claims about the result within a time limit.

A proof says what it assumed. It also asks whether the assumptions can hold at all, so that nothing is ever proved
from a contradiction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, Generic, TypeAlias, TypeVar

from fedspec_proofs.claim import Engine, by
from fedspec_proofs.engines.reals import term
from fedspec_proofs.solvers import z3

S = TypeVar("S")

Formulas: TypeAlias = Mapping[str, Any]
"""z3 formulas, each under its description in words."""

TIMEOUT_MS = 30_000


class Outcome(StrEnum):
    """Outcome of a query."""

    PROVED = "proved"
    COUNTEREXAMPLE = "counterexample"
    UNKNOWN = "unknown"
    VACUOUS = "vacuous"
    """The assumptions contradict each other, so nothing was shown."""


@dataclass(frozen=True)
class Proof:
    """Answer of z3 to one query.

    Attributes:
        outcome: z3's answer, an :class:`Outcome`.
        claims: description of the claim.
        assumptions: descriptions of the assumptions.
        model: the counterexample, by variable; empty otherwise. Irrational values are missing.
        reason: z3's reason for giving up; empty otherwise.
        seconds: time of the query.
    """

    outcome: Outcome
    claims: tuple[str, ...]
    assumptions: tuple[str, ...]
    model: Mapping[str, Fraction]
    reason: str
    seconds: float

    def __bool__(self) -> bool:
        return self.outcome is Outcome.PROVED

    def __str__(self) -> str:
        lines = [f"{self.outcome}: {'; '.join(self.claims)}"]
        lines += [f"  assuming {words}" for words in self.assumptions]
        lines += [f"  with {name} = {value}" for name, value in self.model.items()]
        lines += [f"  because {self.reason}"] if self.reason else []
        return "\n".join(lines)


def every(*formulas: Any) -> Any:
    """Conjunction of formulas: a z3 formula, or a truth value if none has variables."""
    return z3.And(*formulas) if any(isinstance(f, z3.ExprRef) for f in formulas) else all(formulas)


def some(*formulas: Any) -> Any:
    """Disjunction of formulas, as :func:`every` is their conjunction: a z3 formula or a truth value."""
    return z3.Or(*formulas) if any(isinstance(f, z3.ExprRef) for f in formulas) else any(formulas)


def number(value: Any) -> Fraction | None:
    """Value of a z3 numeral as a fraction; None if it is irrational or has variables."""
    value = z3.simplify(term(value))
    return Fraction(value.as_fraction()) if z3.is_rational_value(value) else None


def _alone(formula: Any, context: z3.Context) -> Any:
    return formula.translate(context) if isinstance(formula, z3.ExprRef) else z3.BoolVal(bool(formula), ctx=context)


@by(Engine.SMT)
def prove(
    claim: Formulas, assumptions: Formulas | None = None, *, timeout_ms: int = TIMEOUT_MS, logic: str | None = None
) -> Proof:
    """Decide by z3 whether the assumptions imply the claim, for all reals.

    Two queries are made, each within ``timeout_ms``: are the assumptions satisfiable; are they together with the
    negated claim.

    Args:
        claim: formulas that must all hold.
        assumptions: formulas that may be used.
        timeout_ms: time limit of each query, in milliseconds.
        logic: an SMT-LIB logic whose specialised solver to use, such as ``QF_LRA``.
    """
    start = time.perf_counter()
    given = assumptions or {}
    # A context of its own: else what z3 answers, and when, depends on all that it was asked before.
    context = z3.Context()
    solver = z3.SolverFor(logic, ctx=context) if logic else z3.Solver(ctx=context)
    solver.set("timeout", timeout_ms)
    solver.add(*(_alone(formula, context) for formula in given.values()))

    def answer(outcome: Outcome, model: Mapping[str, Fraction] | None = None, reason: str = "") -> Proof:
        return Proof(outcome, tuple(claim), tuple(given), model or {}, reason, time.perf_counter() - start)

    possible = solver.check()
    if possible == z3.unsat:
        return answer(Outcome.VACUOUS)
    if possible != z3.sat:
        return answer(Outcome.UNKNOWN, reason=f"assumptions: {solver.reason_unknown()}")
    solver.add(z3.Not(_alone(every(*claim.values()), context)))
    result = solver.check()
    if result == z3.unsat:
        return answer(Outcome.PROVED)
    if result != z3.sat:
        return answer(Outcome.UNKNOWN, reason=solver.reason_unknown())
    found = solver.model()
    values = {str(v): number(found.eval(v(), model_completion=True)) for v in found.decls() if v.arity() == 0}
    return answer(Outcome.COUNTEREXAMPLE, {n: q for n, q in sorted(values.items()) if q is not None})


@dataclass(frozen=True)
class Induction(Generic[S]):
    """A claim about every reachable state of a system, to be proved by induction over its steps.

    Attributes:
        initial: the state before the first step.
        arbitrary: a state of fresh variables.
        step: function of one step; its inputs are fresh variables.
        inputs: conditions on the inputs.
        invariant: formula that holds in every reachable state; proved initially, assumed before and proved after a
            step.
        claim: formula about the states before and after a step, which must follow from the invariant.
    """

    initial: S
    arbitrary: S
    step: Callable[[S], S]
    inputs: Formulas
    invariant: Callable[[S], Formulas]
    claim: Callable[[S, S], Formulas]

    def prove(self, *, timeout_ms: int = TIMEOUT_MS, logic: str | None = None) -> tuple[Proof, Proof]:
        """Prove the base case and the inductive step; if both succeed, the claim holds after any number of steps."""
        base = prove(self.invariant(self.initial), timeout_ms=timeout_ms, logic=logic)
        before, after = self.arbitrary, self.step(self.arbitrary)
        assumptions = {**self.inputs, **self.invariant(before)}
        claims = {
            **{f"{words}, again": formula for words, formula in self.invariant(after).items()},
            **self.claim(before, after),
        }
        return base, prove(claims, assumptions, timeout_ms=timeout_ms, logic=logic)
