"""Runs of a subject on random numbers: the level's events, and rounds of one client with one or two steps."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.averaging import delivery
from fedspec.chain import chain
from fedspec.contract import Arrival, Blocks, Event, Exchange, Gradient, Messages, Round
from fedspec.domains import COUNTS, DECAY, DOMAINS, NONNEGATIVE, POSITIVE
from fedspec.params import flatten, unflatten
from fedspec.parts import shared, shrunk, smaller
from fedspec_suite import mutants
from fedspec_suite.diagnosis.cases.beside_others import newcomers
from fedspec_suite.diagnosis.comparing import agrees
from fedspec_suite.diagnosis.edits.memory import Memory
from fedspec_suite.diagnosis.variants import CANNOT, Variant, as_claimed, kept, session_with
from fedspec_suite.measure.bench import UNPLAYED, Bench, Shown, of_models
from fedspec_suite.measure.case_parts import above_zero
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.function_copies import Edits
from fedspec_suite.measure.scenario import (
    Scenario,
    arranged,
    change_events,
    mapped,
    picked,
    posed,
    problem_of,
    with_hyper,
)
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import Setting

REFUSED = (*CANNOT, *UNPLAYED)
"""Exceptions of a subject that rejects a case, or whose answers cannot be read."""

CASES = 10
"""Number of cases to play."""

STEPS = (1, 2)
"""Numbers of local steps of a single client; two steps are played only if one step agrees with the claim."""


@dataclass(frozen=True)
class Play:
    """Case with the subject's models.

    Attributes:
        s: the case.
        answers: the models.
        steps: the number of times that a rule may run in an event, of which the last is open; the others are claimed.
        base: the claimed rule, another equation of which is known to be another; None: the claimed rule itself.
    """

    s: Scenario
    answers: Sequence[Shown]
    steps: int = 1
    base: Variant | None = None

    def session(self, edits: Edits) -> Any:
        """Start a session of the base on the case, with some functions replaced."""
        after = {m: mutants.editions(m)() for m in self.base.mutants} if self.base else {}
        known = mutants.edits(after, Memory(hyper={**self.s.case.hyper}))
        return session_with(self.s.case, {**known, **edits})


def generic_cases(setting: Setting, **lengths: tuple[int, int]) -> list[Scenario]:
    """Return cases with unrelated random numbers, so that formulas which agree on them are equal.

    Args:
        setting: the setting of the claim.
        lengths: least and largest number of ``steps`` and ``rounds``; four or five by default.
    """
    found: list[Scenario] = kept(_GENERIC, (id(setting), *lengths.items()), lambda: (setting, _drawn(setting, lengths)))
    return [*found]


_GENERIC: dict[Any, tuple[Setting, list[Scenario]]] = {}


def _drawn(setting: Setting, lengths: Mapping[str, tuple[int, int]]) -> list[Scenario]:
    dice = np.random.default_rng(0)
    few = lengths or ({"steps": (4, 5), "rounds": (1, 1)} if setting.level == "client" else {"rounds": (4, 5)})
    drawn = draw_cases(scenarios(setting, **few), 8 * CASES, seed=5)
    drawn = sorted(drawn, key=lambda s: -sum(a.size for a in s.case.x0.values()))[:CASES]
    # Where clients return and where none does: else a condition on them would look like one on the event's number.
    return [_generic(setting, (newcomers(s) if k % 2 else None) or s, dice) for k, s in enumerate(drawn)]


def _generic(setting: Setting, s: Scenario, dice: np.random.Generator) -> Scenario:
    size = float(dice.choice((0.3, 1.0, 3.0)))

    def fresh(a: Array) -> Array:
        return np.asarray(size * dice.normal(size=a.shape), a.dtype)

    told = {n: v for n, v in s.case.hyper.items() if n not in setting.fixed and n not in COUNTS}
    for n in told:
        domain = DOMAINS[n].domain
        if domain is DECAY:
            told[n] = float(dice.uniform(0.1, 0.95))
        elif domain is NONNEGATIVE:
            told[n] = float(10 ** dice.uniform(-1.5, 0))
        elif domain is POSITIVE and n not in ("phi_m", "phi_M"):
            told[n] = float(dice.uniform(0.2, 1.3))
    if "v0" in told and "tau" in told:
        told["v0"] = told["tau"] ** 2 * (1.0 if setting.v0_is_tau_squared else float(dice.uniform(1, 2)))
    s = with_hyper(change_events(s, fresh, fresh), **told)
    if s.case.problem is not None:
        s = posed(s, e=fresh(s.case.problem.e))
        s = replace(s, case=replace(s.case, problem=above_zero(problem_of(s))))
    return _around_bounds(mapped(s, Messages, lambda e: replace(e, hyper={})), dice)


def _around_bounds(s: Scenario, dice: np.random.Generator) -> Scenario:
    """The case with examples, changes and gradients below and above the claimed cap and clips, if there are any."""
    words = {word.name: word.c for word in (*delivery(s.case.messages), *chain(s.case.gradients))}
    cap, clip = (next((c for n, c in words.items() if n.startswith(of)), 0.0) for of in ("weight-cap", "clip-"))

    def sized(n: float) -> float:
        return float(np.ceil(cap * dice.uniform(0.1, 2))) if cap else n

    def scaled(blocks: Blocks) -> dict[str, Array]:
        by = clip * 10 ** dice.uniform(-1, 0.5) / max(float(np.linalg.norm(flatten(blocks))), 1e-9) if clip else 1.0
        return {n: np.asarray(by * a, a.dtype) for n, a in blocks.items()}

    def event(e: Event) -> Event:
        if isinstance(e, Messages):
            return replace(
                e, messages=tuple(replace(m, weight=sized(m.weight), delta=scaled(m.delta)) for m in e.messages)
            )
        return replace(e, g=scaled(e.g)) if isinstance(e, Gradient) and not e.tokens else e

    if cap and s.case.problem is not None:
        sizes = np.array([sized(n) for n in s.case.problem.examples])
        s = replace(s, case=replace(s.case, problem=replace(s.case.problem, examples=sizes)))
    return replace(s, events=tuple(map(event, s.events))) if cap or clip else s


def alone(setting: Setting, s: Scenario, steps: int) -> Scenario | None:
    """Return the case with one client per event that takes ``steps`` local steps; None if it has no rounds.

    Where clients exchange models, all of them take the steps. At level server, one message comes per event if a claim
    says what messages pass.
    """
    exchanges = [e for e in s.events if isinstance(e, Exchange)]
    if exchanges:
        return replace(s, events=tuple(replace(e, computing=e.computing[:steps]) for e in exchanges))
    if setting.messages and all(isinstance(e, Messages) for e in s.events):
        return mapped(s, Messages, lambda e: replace(e, messages=e.messages[:1])) if steps == 1 else None
    if s.case.problem is None or not all(isinstance(e, Round | Arrival) for e in s.events):
        return None
    events = [_of_one(e, steps, k) for k, e in enumerate(s.events)]
    if "everyone" in setting.takes:
        events = [replace(e, participants=(0,)) for e in events if isinstance(e, Round)]
        s = replace(s, case=replace(s.case, problem=picked(s.case.problem, [0])))
    hyper = {"buffer": 1} if "buffer" in s.case.hyper else {}
    return with_hyper(replace(s, events=tuple(events)), **hyper)


def _of_one(e: Event, steps: int, before: int) -> Event:
    match e:
        case Round():
            return replace(arranged(e, [0]), steps=(steps,), hyper={})
        case Arrival():
            return replace(e, steps=steps, delay=min(e.delay, before))
    return e


def played(bench: Bench, setting: Setting, base: Variant | None = None) -> list[Play]:
    """Return the subject's models in generic cases; at levels with clients, in cases of a single client too."""
    cases = generic_cases(setting)
    models, claimed = of_models(bench), base or as_claimed(setting)
    found = [*taken(models, cases)]
    for steps in STEPS:
        fewer = (alone(setting, s, steps) for s in cases)
        # An algorithm may take one local step alone.
        lone = [*taken(models, [s for s in fewer if s and claimed.answers(s)], steps)]
        found += lone
        if not all(agrees(claimed, p.s, [*p.answers]) for p in lone):
            break
    return [replace(play, base=base) for play in found]


def taken(bench: Bench, cases: Iterable[Scenario], steps: int = 1) -> Iterator[Play]:
    """Yield the plays of the cases that the subject takes."""
    for s in cases:
        try:
            yield from of_parameters(Play(s, bench.play(copy.deepcopy(s)), steps))
        except REFUSED:
            continue


def of_parameters(play: Play) -> Iterator[Play]:
    """Yield the play of the smaller model that a rule runs on, if the case has parts; none if clients keep blocks."""
    case = play.s.case
    if not case.parts:
        yield play
    elif not (within := smaller(case)).parts:
        events = tuple(shrunk(e, case) for e in play.s.events)
        answers = [{**a, "x": flatten(shared(case, unflatten(a["x"], case.x0)))} for a in play.answers]
        yield replace(play, s=Scenario(within, events), answers=answers)
