"""Inductions with the evidence that a claim needs: a simulation as confirmation, and the effect of dropping each input.

The builders of inductions take their variables from a :class:`~fedspec_proofs.engines.draw.Draw`, so that the same
step, invariant and claim run on z3 reals and, from the first state on, on random fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec_proofs.claim import Dropped, Engine, Finding, Second, Verdict
from fedspec_proofs.engines import Draw, Rationals, Real, exact
from fedspec_proofs.engines.algebra import true, variables
from fedspec_proofs.engines.smt import TIMEOUT_MS, Formulas, Induction, Outcome, Proof, prove
from fedspec_proofs.words import as_text

Build = Callable[[Draw], Induction[Any]]
"""An induction as a function of its draw of variables."""

RUN = 6
"""Steps of one simulated run."""

RUNS = 20

LINEAR = "QF_LRA"

TURNS = 5
"""Number of attempts for an undecided query."""

ABLATION_MS = 1500
"""Time limit of queries about dropped assumptions, in milliseconds."""

TRIES = 40
"""Number of draws of inputs until they satisfy the conditions."""


class Small(Rationals):
    """Random rationals of [0, 3] with small denominators, which often satisfy the conditions on an induction's inputs.

    Rules that take a root which the claim does not look at get numerals of z3 instead, whose roots stay unevaluated.
    """

    def __init__(
        self, rng: np.random.Generator, known: Mapping[str, Fraction] | None = None, *, numerals: bool = False
    ) -> None:
        super().__init__(rng, known)
        self.numerals = numerals

    def drawn(self, positive: bool) -> Fraction:
        """Draw a rational of [0, 3]."""
        return Fraction(exact.rationals(self.rng, 1, low=int(positive), high=3, denominators=(1, 2, 3, 4))[0])

    def shown(self, value: Fraction) -> Any:
        """Return the rational, or a numeral of z3 if ``numerals``."""
        return Real(value) if self.numerals else value


def _holds(formulas: Mapping[str, Any]) -> list[str]:
    return [words for words, formula in formulas.items() if not true(formula)]


def simulated(
    build: Build, *, kept: tuple[str, ...] = (), runs: int = RUNS, steps: int = RUN, numerals: bool = False
) -> tuple[int, str]:
    """Run the system from its initial state on random fractions; return the number of steps and any failure in words.

    Args:
        build: function that makes the induction.
        kept: names of inputs that stay the same during a run; all other inputs are drawn again at every step.
        runs: number of runs.
        steps: number of steps of each run.
        numerals: True if fractions are passed as z3 numerals.
    """
    rng, count = exact.generator(), 0
    for _ in range(runs):
        held: dict[str, Any] = {}
        state: Any = None
        for _ in range(steps):
            induction, draw = _drawn(build, rng, held, numerals)
            if induction is None:
                break
            held = {n: v for n, v in draw.values.items() if any(n == k or n.startswith(f"{k}_") for k in kept)}
            before = induction.initial if state is None else state
            if state is None and (wrong := _holds(induction.invariant(before))):
                return count, f"at the first state, {as_text(draw.values)}: not {wrong[0]}"
            state = induction.step(before)
            if wrong := _holds({**induction.invariant(state), **induction.claim(before, state)}):
                return count, f"{as_text(draw.values)}: not {wrong[0]}"
            count += 1
    return count, ""


def _drawn(
    build: Build, rng: np.random.Generator, held: Mapping[str, Any], numerals: bool
) -> tuple[Induction[Any] | None, Small]:
    draw = Small(rng, held, numerals=numerals)
    for _ in range(TRIES):
        draw = Small(rng, held, numerals=numerals)
        induction = build(draw)
        if not _holds(induction.inputs):
            return induction, draw
    return None, draw


def reachable(build: Build, without: str) -> Dropped:
    """Drop an assumption on the inputs: it matters if a run of equal steps from the initial state breaks the claim."""
    induction = build(variables)
    inputs = {words: formula for words, formula in induction.inputs.items() if words != without}
    state = induction.initial
    for n in range(1, 4):
        after = induction.step(state)
        answer = prove(induction.claim(state, after), inputs, timeout_ms=ABLATION_MS)
        if answer.outcome is Outcome.COUNTEREXAMPLE:
            return Dropped(True, f"broken at step {n} of a run from the first state: {as_text(dict(answer.model))}")
        state = after
    return Dropped(False, "no run of 3 equal steps from the first state breaks it")


def inductive(
    builds: Mapping[str, Build],
    *,
    kept: tuple[str, ...] = (),
    ablate: str = "",
    logic: str | None = None,
    runs: int = RUNS,
    steps: int = RUN,
    numerals: bool = False,
) -> Finding:
    """Proved if every induction is proved and every simulated run agrees.

    Args:
        builds: the induction for each of its sizes, by a label.
        kept: as in :func:`simulated`.
        ablate: the label for which the inputs' conditions are dropped one by one; by default the first. The evidence
            only describes the use of each invariant: a failing step without one refutes the induction, not the claim.
        logic: as in :func:`fedspec_proofs.engines.smt.prove`.
        runs: number of simulated runs over all sizes together, at least one for each size.
        steps: number of steps of each run.
        numerals: as in :func:`simulated`.
    """
    proofs: list[tuple[str, Proof]] = []
    for label, build in builds.items():
        proofs += [(label, p) for p in _proved(build(variables), logic)]
    broken = [f"{label}: {p}" for label, p in proofs if not p]
    if broken:
        return Finding(Verdict.UNKNOWN, "\n".join(broken))
    count = 0
    for label, build in builds.items():
        made, wrong = simulated(build, kept=kept, runs=max(1, runs // len(builds)), steps=steps, numerals=numerals)
        count += made
        if wrong:
            return Finding(Verdict.UNKNOWN, f"{label}: proved, but a run on fractions disagrees: {wrong}")
    chosen = builds[ablate or next(iter(builds))]
    whole = chosen(variables)
    known, claims = whole.invariant(whole.arbitrary), whole.claim(whole.arbitrary, whole.step(whole.arbitrary))
    lines = [
        f"{len(proofs)} queries over {len(builds)} sizes",
        f"invariant: {'; '.join(known)}",
        f"step: from {'; '.join((*whole.inputs, *known))} follow {'; '.join(('the same again', *claims))}",
        *_invariants(whole, logic),
    ]
    dropped = {words: reachable(chosen, words) for words in whole.inputs}
    second = Second(Engine.EXACT, count, "steps of runs of the rule on random fractions from its first state")
    return Finding(Verdict.PROVED, "\n".join(lines), dropped, second)


def patient(claims: Formulas, known: Formulas, *, logic: str | None) -> Proof:
    """Repeat a query if z3 gives up, since its speed on polynomials depends on its earlier queries.

    The solvers of the logic and of no logic take turns, each within a part of the limit.
    """
    answer = None
    for turn in range(TURNS):
        answer = prove(claims, known, timeout_ms=TIMEOUT_MS // TURNS, logic=None if turn % 2 else logic)
        if answer.outcome is not Outcome.UNKNOWN:
            return answer
    assert answer is not None
    return answer


def _proved(induction: Induction[Any], logic: str | None) -> list[Proof]:
    """The base and the step; outside linear arithmetic claim by claim, which z3 decides far more steadily."""
    if logic == LINEAR:
        return list(induction.prove(logic=logic))
    before, after = induction.arbitrary, induction.step(induction.arbitrary)
    base: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({words: formula}, {}) for words, formula in induction.invariant(induction.initial).items()
    ]
    given = {**induction.inputs, **induction.invariant(before)}
    again = {f"{words}, again": formula for words, formula in induction.invariant(after).items()}
    step = [({words: f}, given) for words, f in {**again, **induction.claim(before, after)}.items()]
    return [patient(claims, known, logic=logic) for claims, known in (*base, *step)]


def _invariants(whole: Induction[Any], logic: str | None) -> list[str]:
    known = whole.invariant(whole.arbitrary)
    after = whole.step(whole.arbitrary)
    claims = {**{f"{w}, again": f for w, f in whole.invariant(after).items()}, **whole.claim(whole.arbitrary, after)}
    lines = []
    for words in known:
        rest = {w: f for w, f in known.items() if w != words}
        answer = prove(claims, {**whole.inputs, **rest}, timeout_ms=ABLATION_MS, logic=logic)
        needed = {Outcome.PROVED: "not needed", Outcome.COUNTEREXAMPLE: "the step fails without it"}
        lines.append(f"invariant {words}: {needed.get(answer.outcome, 'whether it is needed was not decided')}")
    return lines
