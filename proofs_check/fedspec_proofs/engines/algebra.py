"""Statements of real algebra: decided by z3 for all values, confirmed on random fractions, and tried again with each
assumption dropped.

A body says what it assumes and what it claims, in formulas made from its variables; the same lines then run on
fractions, where a formula is a plain truth value. What z3 finds against a claim is replayed that way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from typing import Any

import numpy as np

from fedspec.errors import FedspecError
from fedspec_proofs.claim import Dropped, Engine, Finding, Second, Verdict, by
from fedspec_proofs.engines.draw import At, Draw, Rationals, filled
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.engines.reals import real
from fedspec_proofs.engines.smt import TIMEOUT_MS, Formulas, Outcome, Proof, prove
from fedspec_proofs.solvers import z3
from fedspec_proofs.words import as_text

INSTANCES = 100
TRIES = 50
"""Draws per wanted instance, since a random instance may violate the assumptions."""


@dataclass(frozen=True)
class Statement:
    """Assumptions and claims as formulas (or truth values), each under its description."""

    given: Formulas
    shown: Formulas


Body = Callable[[Draw], Statement]

Sample = Callable[[np.random.Generator], Mapping[str, Fraction]]
"""Draws values of some variables that make the assumptions likely; the remaining variables are drawn at random."""


def variables(name: str, *shape: int, positive: bool = False) -> Any:
    """z3 reals as a :class:`~fedspec_proofs.engines.draw.Draw`; ``positive`` is ignored: state it as an assumption."""
    return filled(name, shape, real)


def true(formula: Any) -> bool:
    """True if a formula without variables holds."""
    return bool(z3.is_true(z3.simplify(formula))) if isinstance(formula, z3.ExprRef) else bool(formula)


@by(Engine.SMT)
def decide(
    body: Body,
    *,
    timeout_ms: int = TIMEOUT_MS,
    logic: str | None = None,
    sample: Sample | None = None,
    instances: int = INSTANCES,
    ablate: bool = True,
) -> Finding:
    """Decide a statement by z3: proved (and confirmed on fractions), or refuted by a counterexample in fractions.

    Args:
        body: function that makes the statement.
        timeout_ms: time limit of each query, in milliseconds.
        logic: as in :func:`fedspec_proofs.engines.smt.prove`.
        sample: function that draws instances which meet the assumptions.
        instances: number of instances.
        ablate: True if each assumption is dropped in turn.
    """
    whole = body(variables)
    answer = prove(whole.shown, whole.given, timeout_ms=timeout_ms, logic=logic)
    if answer.outcome is Outcome.COUNTEREXAMPLE:
        met, broken = _replay(body, answer)
        evidence = f"{answer}\nreplayed on fractions: {'confirmed' if met and broken else 'NOT confirmed'}"
        return Finding(Verdict.REFUTED if met and broken else Verdict.UNKNOWN, evidence)
    if not answer:
        return Finding(Verdict.UNKNOWN, str(answer))
    count, violation = _again(body, sample, instances)
    if violation:
        return Finding(Verdict.UNKNOWN, f"{answer}\nbut fractions disagree: {violation}")
    dropped = {}
    for words in whole.given if ablate else ():
        rest = {w: formula for w, formula in whole.given.items() if w != words}
        dropped[words] = _dropped(body, words, prove(whole.shown, rest, timeout_ms=timeout_ms, logic=logic))
    second = Second(Engine.EXACT, count, "random fractions that meet the assumptions")
    return Finding(Verdict.PROVED, f"{answer}\nin {answer.seconds:.2f} s", dropped, second)


def decided(**how: Any) -> Callable[[Body], Callable[[], Finding]]:
    """Decorator that turns a statement into evidence: a function that runs :func:`decide` on it with these options."""

    def decorate(body: Body) -> Callable[[], Finding]:
        @wraps(body)
        def found() -> Finding:
            return decide(body, **how)

        return found

    return decorate


def _replay(body: Body, answer: Proof, but: str = "") -> tuple[bool, bool]:
    """True if the assumptions (but one) hold of a counterexample, and whether the claim fails."""
    try:
        there = body(At(answer.model))
    except (ZeroDivisionError, ValueError):
        return False, False
    met = all(true(formula) for words, formula in there.given.items() if words != but)
    return met, not all(true(formula) for formula in there.shown.values())


def _again(body: Body, sample: Sample | None, instances: int) -> tuple[int, str]:
    rng, count = generator(), 0
    for _ in range(instances * TRIES):
        draw = Rationals(rng, sample(rng) if sample else None)
        try:
            there = body(draw)
        except (ZeroDivisionError, ValueError):
            continue
        if not all(true(formula) for formula in there.given.values()):
            continue
        if not all(true(formula) for formula in there.shown.values()):
            return count, as_text(draw.values)
        count += 1
        if count == instances:
            break
    return count, ""


def _dropped(body: Body, words: str, answer: Proof) -> Dropped:
    if answer.outcome is Outcome.COUNTEREXAMPLE:
        where = as_text(dict(answer.model))
        try:
            body(At(answer.model))
        except FedspecError as refused:
            return Dropped(True, f"{where}, by z3; on numbers the rule refuses it ({refused})")
        except ZeroDivisionError:
            return Dropped(False, f"z3 says {where}, where something is divided by zero")
        met, broken = _replay(body, answer, words)
        return Dropped(met and broken, where if met and broken else f"z3 says {where}; fractions do not confirm it")
    return Dropped(False, "still proved" if answer else f"not decided: {answer.reason or answer.outcome}")
