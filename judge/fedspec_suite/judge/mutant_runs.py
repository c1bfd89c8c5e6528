"""Run laws on mutants, on each offer of the specification where the mutant's edit can show.

The cases of a law do not depend on the mutant, so they are drawn once for an offer, with the specification as the
subject; then every mutant plays them until the first violation.
"""

from __future__ import annotations

import copy
import functools
import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from fedspec.contract import Offer, Subject
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import FOLLOWS, PROFILES
from fedspec_suite.laws import Law, all_laws
from fedspec_suite.measure.bench import Bench, Shown, bench_of
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.rare_cases import special_cases
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.scheduled_cases import varied_scenarios
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Deviates, NotOffered, Undecided, format_declaration
from fedspec_suite.mutants import Mutant, Mutated, find, fresh, original, started

DTYPE = "float64"
"""Floating-point type in which mutants run: in a narrower type, rounding could only hide an edit."""

CRASHED = "the law crashes: "

CASES = PROFILES["quick"]
"""Number of cases drawn for each law on each offer."""


@dataclass(frozen=True)
class MutantResult:
    """Laws that killed a mutant on one offer, laws that did not, and laws that could not be asked.

    Attributes:
        killed: laws that found a violation.
        survived: laws that found none.
        not_asked: the other laws, by the reason.
    """

    killed: tuple[str, ...] = ()
    survived: tuple[str, ...] = ()
    not_asked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def ask_everywhere(
    names: Sequence[str], laws: Sequence[str], *, seed: int, jobs: int, progress: Callable[[str], None]
) -> dict[str, dict[str, MutantResult]]:
    """Run laws on each mutant, on each offer where its edit can show; return the results by mutant and offer.

    Raises:
        UnknownNameError: there is no such mutant.
    """
    tasks: dict[int, list[str]] = {}
    for name in sorted(names):
        for number in offers_of(find(name)):
            tasks.setdefault(number, []).append(name)
    found: dict[str, dict[str, MutantResult]] = {name: {} for name in sorted(names)}
    for done, (number, results) in enumerate(_shared(tasks, sorted(laws), seed, jobs), 1):
        o = SUBJECT.info.offers[number]
        progress(f"laws and mutants: {done} of {len(tasks)} claims")
        for name, result in results.items():
            found[name][f"{o.algorithm}/{o.level}/{format_declaration(o)}"] = result
    return {name: dict(sorted(results.items())) for name, results in found.items()}


def _shared(
    tasks: Mapping[int, list[str]], laws: Sequence[str], seed: int, jobs: int
) -> Iterator[tuple[int, dict[str, MutantResult]]]:
    if jobs == 1 or len(tasks) == 1:
        for number, names in tasks.items():
            yield number, ask(number, names, laws, seed, CASES)
        return
    # Not forked: the progress display has a thread of its own.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(ask, number, names, laws, seed, CASES): number for number, names in tasks.items()}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


@cache
def offer_setting(number: int) -> Setting:
    """Return the setting of the specification's offer ``number``, cached."""
    return setting_of(SUBJECT.info.offers[number], DTYPE)


def offers_of(mutant: Mutant) -> list[int]:
    """Return the numbers of the specification's offers on which a mutant is run.

    They are the offers of its algorithms that claim what the edit is made under; where no reading of an algorithm has
    it, the subject claims the canonical one and does something else. Offers of rates by round are asked about these.
    """
    found = []
    for algorithm in mutant.algorithms:
        about = [i for i, o in enumerate(SUBJECT.info.offers) if o.algorithm == algorithm]
        mine = [i for i in about if bool(offer_setting(i).varies) is mutant.rates]
        apt = [i for i in mine if mutant.options.items() <= offer_setting(i).options.items()]
        found += apt or [i for i in mine if _is_canonical(SUBJECT.info.offers[i])]
    return found


def _is_canonical(offer: Offer) -> bool:
    return offer.reading == _canonical(offer.algorithm) and not offer.options


@cache
def _canonical(algorithm: str) -> str:
    return next(o.reading for o in SUBJECT.info.offers if o.algorithm == algorithm)


def _bench(subject: Subject, offer: Offer, setting: Setting, known: dict[bytes, list[Shown]]) -> Bench:
    """A bench that remembers what the specification gives: the same for every mutant."""
    return replace(bench_of(InProcess(subject), offer, setting), wanted=known, keeps_all=True)


def _cases(law: Law, control: Bench, setting: Setting, count: int, seed: int) -> tuple[list[Any], str]:
    """The cases of a law that the specification passes, or why it cannot be asked."""
    if reason := law.why_not(setting, control.offer.intermediates, concurrent=True):
        return [], reason
    try:
        cases = draw_cases(law.cases(setting), max(2, count // law.costs), seed, functools.partial(law.check, control))
    except (Deviates, SubjectError, NotOffered) as broken:
        return [], f"the specification itself breaks it: {broken}"
    if law.id in FOLLOWS:
        cases += [s for s in special_cases(setting) if _decides(law, control, s)]
    return cases, "" if cases else "no case can be decided"


def _decides(law: Law, control: Bench, s: Scenario) -> bool:
    """True if the specification passes a special case; rounding may leave it open."""
    try:
        law.check(control, s)
    except Undecided:
        return False
    return True


def _fate(law: Law, bench: Bench, cases: Sequence[Any]) -> tuple[bool, str]:
    """Return whether a law kills the mutant on the bench, and why it could not be asked, if so."""
    for case in cases:
        try:
            # A mutant may overflow, and how far it is off may, too.
            with np.errstate(all="ignore"):
                law.check(bench, copy.deepcopy(case))
        except Deviates:
            return True, ""
        except Undecided:
            continue
        except (SubjectError, NotOffered) as reason:
            return False, str(reason)
        except Exception as crash:
            # A bug of the law: it is told of at the end instead of losing the other mutants.
            return False, f"{CRASHED}{type(crash).__name__}: {crash}"
    return False, ""


def plain_cases(setting: Setting, count: int, seed: int) -> list[Scenario]:
    """Draw cases of an offer that are not specific to a law."""
    return draw_cases(varied_scenarios(setting) if setting.varies else scenarios(setting), count, seed)


def ask(number: int, names: Sequence[str], laws: Sequence[str], seed: int, count: int) -> dict[str, MutantResult]:
    """Run some laws on some mutants, on the specification's offer ``number``."""
    offer, setting = SUBJECT.info.offers[number], offer_setting(number)
    plain = plain_cases(setting, count, seed)
    mutated = {name: Mutated(find(name)) for name in names if runs(find(name), plain)}
    found: dict[str, dict[str, Any]] = {n: {"killed": [], "survived": [], "not_asked": {}} for n in mutated}
    for law in (all_laws()[law] for law in laws if mutated):
        known: dict[bytes, list[Shown]] = {}
        cases, reason = _cases(law, _bench(SUBJECT, offer, setting, known), setting, count, seed)
        for name, subject in mutated.items():
            kills, why = False, reason
            if not why:
                one = Mutated(subject.mutant) if subject.mutant.leaks else subject
                kills, why = _fate(law, _bench(one, offer, setting, known), cases)
            if why:
                found[name]["not_asked"].setdefault(why, []).append(law.id)
            else:
                found[name]["killed" if kills else "survived"].append(law.id)
    idle = MutantResult(not_asked={"the edited function does not run here": tuple(laws)})
    return {name: _asked(**found[name]) if name in found else idle for name in names}


def _asked(killed: list[str], survived: list[str], not_asked: dict[str, list[str]]) -> MutantResult:
    return MutantResult(tuple(killed), tuple(survived), {why: tuple(laws) for why, laws in sorted(not_asked.items())})


def runs(mutant: Mutant, plain: Sequence[Scenario]) -> bool:
    """True if some scenario calls the function that the mutant edits."""

    @functools.wraps(fresh(mutant))
    def watched(*args: Any, **kwargs: Any) -> Any:
        raise _Called

    try:
        for s in plain:
            case = replace(s.case, options={**s.case.options, **mutant.options})
            session = started(case, {original(mutant): lambda names: watched})
            for event in s.events:
                session.step(event)
    except _Called:
        return True
    return False


class _Called(Exception):
    """The edited function was called."""
