"""Coverage of a claim: an equation is seen if mutating it changes a compared quantity, a word if omitting it does.

An equation is *seen* if the law ``follows-NAME`` of some quantity that was compared notices that it is spoilt: a
quantity that does not change with an equation shows nothing of it to any other law either. This is asked of the very
offer, with its options and what it pins, so that nothing is stored. A word is an entry of the claim such as
``clip-norm 1``. If no case reaches its number, code that leaves the word out would pass every check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np

from fedspec.contract import Case, Offer, Session, Subject
from fedspec.domains import COUNTS, DECAY, DOMAINS
from fedspec.reference import SUBJECT
from fedspec.rules import Equation, equations
from fedspec_suite.laws import LAWS
from fedspec_suite.measure.bench import Bench, Shown
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.far_cases import Side, far_scenarios
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import USUAL_REACH, Reach, setting_of
from fedspec_suite.measure.verdict import Conformity, Deviates, Obligation, Result, Status, Undecided, Unseen
from fedspec_suite.mutants import Mutant, Mutated, functions
from fedspec_suite.mutants.spoilt import spoils

LARGE = 4
"""Number of cases on each side that is large."""

FEW, MANY = 12, 48
"""Numbers of cases that must miss a mutated equation: at first, and before the equation counts as unseen."""

DTYPE, SEED = "float64", 0

CHAINS = ("gradients", "messages", "steps")
"""Fields of a claim that list words."""

WITHOUT_EFFECT = ("masks",)
"""Words that change no number: masks cancel."""

INSTEAD = {
    "divisor-at-least": "divisor",
    "accumulate-tokens": "accumulate-batches",
    "accumulate-batches": "accumulate-tokens",
}
"""Words that can't be left out, or are hardly ever, each with the word that stands in its place."""

FAR = 1e30
"""Bound that no change reaches."""

SEVERAL = 2
"""Least number of cases that notice a word which counts as seen: a run has other cases, of the same kinds."""

NEXT = 0.01
"""Share by which a number differs from a fixed one: a share of clients that is rounded to a count may not differ."""

SIDES: tuple[Side, ...] = ("rounds", "clients", "coordinates")
"""Sides in which cases are large that may reach what small cases do not."""


def compared_quantities(obligations: Sequence[Obligation]) -> tuple[str, ...]:
    """Return the quantities that were compared with the rule and passed every comparison; x first."""
    by: dict[str, set[Status]] = {"x": set()}
    for o in obligations:
        if o.reads and o.law in LAWS and o.status is not Status.SKIP:
            by.setdefault(LAWS[o.law].shows or "x", set()).add(o.status)
    return tuple(name for name, found in by.items() if found == {Status.PASS})


def uncovered_equations(offer: Offer, compared: Sequence[str]) -> tuple[Unseen, ...]:
    """Return the claim's equations that affect no compared quantity, each with the quantities it affects.

    The claim is what runs at the offer's level: at level server, no equation of the clients.
    """
    claim = _Claim(offer)
    found = ((e, claim.shown_by(e, compared)) for e in claim.equations)
    return tuple(Unseen(e.id, e.text, names) for e, names in found if not {*names} & {*compared})


def unreached_words(offer: Offer, reach: Reach = USUAL_REACH, large: int = LARGE) -> tuple[Unseen, ...]:
    """Return the words and fixed numbers of a claim that change no model: the cases do not reach them.

    Args:
        offer: the claim.
        reach: the sizes of the largest cases that were run.
        large: the number of cases to look at on each side that is large.
    """
    words = [(n, w) for n in CHAINS for w in getattr(offer, n) if w.split()[0] not in WITHOUT_EFFECT]
    changes: dict[str, list[Callable[[Case], Case]]] = {w: [partial(_without, n, w)] for n, w in words}
    changes |= {f"the schedule of {rate}": [partial(_unscheduled, rate)] for rate in offer.schedules}
    changes |= {f"{n} = {v:g}": [*_other_numbers(n, v)] for n, v in offer.fixed.items() if v}
    claim = _Claim(offer, reach, large) if changes else None
    missed = [said for said, some in changes.items() if claim and some and not any(map(claim.reaches, some))]
    return tuple(Unseen(said, said, ()) for said in missed)


def _unscheduled(rate: str, case: Case) -> Case:
    """The case without the schedule of a rate."""
    return replace(case, schedules={n: said for n, said in case.schedules.items() if n != rate})


def _other_numbers(name: str, value: float) -> Iterator[Callable[[Case], Case]]:
    """Yield functions that put the next number, larger or smaller, in the place of a fixed one."""
    count, room = name in COUNTS, 1 - value if DOMAINS[name].domain is DECAY else value
    for other in (value + 1, value - 1) if count else (value + NEXT * room, value - NEXT * room):
        if DOMAINS[name].domain.holds(other):
            yield partial(_with_number, name, int(other) if count else other)


def _with_number(name: str, value: float, case: Case) -> Case:
    return replace(case, hyper={**case.hyper, name: value})


def _without(name: str, word: str, case: Case) -> Case:
    """The case whose chain of this name lacks a word, or has the word in its place that is the nearest to none."""
    chain: tuple[str, ...] = getattr(case, name)
    kind, *numbers = word.split()
    instead = [f"{INSTEAD[kind]} {numbers[0]}"] if kind in INSTEAD else []
    noise = next((said for said in chain if said.startswith("noise ")), "")
    if noise and kind == "clip-norm":
        # Noise is a multiple of the clip's bound: a bound that nothing reaches, and as much noise as before.
        less = float(noise.split()[1]) * float(numbers[0]) / FAR
        chain, instead = tuple(f"noise {less!r}" if said == noise else said for said in chain), [f"clip-norm {FAR!r}"]
    kept = [other for said in chain for other in (instead if said == word else [said])]
    changed: dict[str, Any] = {name: tuple(kept)}
    return replace(case, **changed)


def with_coverage(result: Result, offer: Offer, compared: Sequence[str], reach: Reach = USUAL_REACH) -> Result:
    """Add the unseen equations and words to the result of an offer that passed all its checks.

    Args:
        result: the result of its obligations.
        offer: the offer.
        compared: the quantities that were compared with the rule.
        reach: the sizes of the largest cases.
    """
    if result.verdict not in {Conformity.CONFORMS, Conformity.ASKED_IN_PART}:
        return result
    large = LARGE if result.profile == "quick" else 4 * LARGE
    unreached = unreached_words(offer, _as_run(reach, result), large) if compared else ()
    missing = (*uncovered_equations(offer, compared), *unreached) if compared else ()
    whole = (compared and not missing) or result.unasked
    verdict = result.verdict if whole else Conformity.IN_PART
    return replace(result, verdict=verdict, seen=tuple(compared), unseen=missing)


def _as_run(reach: Reach, result: Result) -> Reach:
    """The sizes of the largest cases that ran."""
    ran = {name: int(result.extent[name][1]) for name in SIDES if name in result.extent}
    return replace(reach, **{name: min(getattr(reach, name), most) for name, most in ran.items()})


class _Claim:
    """The rule that an offer claims, and cases to look at it in."""

    def __init__(self, offer: Offer, reach: Reach = USUAL_REACH, large: int = LARGE) -> None:
        self.most = large
        self.setting = setting_of(offer, DTYPE, reach)
        self.quantities = ("x", *self.setting.algorithm.shows_at(offer.level))
        self.offer = Offer(offer.algorithm, offer.level, offer.reading, intermediates=self.quantities[1:])
        self.wanted: dict[bytes, list[Shown]] = {}
        running = self.setting.algorithm.running(self.setting.options)
        options = {**self.setting.algorithm.under, **self.setting.options}
        self.equations = {
            e: f for f in functions(self.setting.algorithm, offer.level) for e in equations(f, options) if e in running
        }

    @cached_property
    def few(self) -> list[Scenario]:
        return draw_cases(scenarios(self.setting), FEW, SEED)

    @cached_property
    def large(self) -> list[Scenario]:
        return [s for side in SIDES for s in draw_cases(far_scenarios(self.setting, side), self.most, SEED)]

    @cached_property
    def many(self) -> list[Scenario]:
        return draw_cases(scenarios(self.setting), MANY, SEED + 1)

    def shown_by(self, e: Equation, enough: Sequence[str]) -> tuple[str, ...]:
        """The quantities that show an equation, or one of them that is enough.

        The narrowest place that shows at all decides: a wider one shows other equations too.
        """
        for mutants in spoils(self.equations[e], e):
            for name in enough:
                if self.notices(mutants, name, self.few):
                    return (name,)
            others = [q for q in self.quantities if q not in enough]
            found = [q for q in others if self.notices(mutants, q, self.few)]
            if found:
                left = [q for q in self.quantities if q not in found]
                found += [q for q in left if self.notices(mutants, q, self.many)]
                return tuple(q for q in self.quantities if q in found)
        return ()

    def notices(self, mutants: Sequence[Mutant], name: str, cases: Sequence[Scenario]) -> bool:
        """True if the law about a quantity detects a spoilt equation in some case."""
        return any(self._deviates(m, name, s) for m in mutants for s in cases)

    def reaches(self, without: Callable[[Case], Case]) -> bool:
        """True if the law about the model detects, in several small or large cases, that a word is left out."""
        subject = _Changed(without)
        cases = (s for name in ("few", "large") for s in getattr(self, name))
        noticed = (s for s in cases if self._differs(subject, "x", s))
        return len([*islice(noticed, SEVERAL)]) == SEVERAL

    def _deviates(self, mutant: Mutant, name: str, s: Scenario) -> bool:
        return self._differs(Mutated(mutant), name, s)

    def _differs(self, changed: Subject, name: str, s: Scenario) -> bool:
        subject = InProcess(changed)
        bench = Bench(subject, self.setting.algorithm, self.offer, self.setting.options, DTYPE, wanted=self.wanted)
        try:
            with np.errstate(all="ignore"):
                LAWS["follows-" + name.replace("_", "-")].check(bench, s)
        except Deviates:
            return True
        except (Undecided, SubjectError):
            # Rounding could hide it, or the specification refuses what follows from it.
            return False
        return False


class _Changed:
    """The specification, which runs another case than it is given."""

    info = SUBJECT.info

    def __init__(self, change: Callable[[Case], Case]) -> None:
        self.change = change

    def start(self, case: Case) -> Session:
        return SUBJECT.start(self.change(case))
