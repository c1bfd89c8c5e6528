"""Run laws on an offer: draw cases, shrink the first violation, and conclude a verdict."""

from __future__ import annotations

import fnmatch
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import hypothesis
import numpy as np

from fedspec.catalogue import ADDED, Program
from fedspec.contract import Offer, Subject
from fedspec.errors import PluginError, UnknownNameError, none_called
from fedspec_suite.judge.case_search import Trial, once, paired, replayed, search
from fedspec_suite.judge.expected_failures import Expectation
from fedspec_suite.judge.request import is_itself, is_own
from fedspec_suite.laws import ALL, LAWS, PROPERTIES, Law, all_laws, follows_rule, matching, properties, retired
from fedspec_suite.laws.applicability import NEEDS, SKIPPED
from fedspec_suite.laws.common import pairs
from fedspec_suite.measure.bench import Bench, Measured, bench_of, shared_of
from fedspec_suite.measure.case_summary import call_of
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.declared_limits import limit_fields
from fedspec_suite.measure.far_shrinking import simplest
from fedspec_suite.measure.hyper_pools import POOLS
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.rare_cases import special_cases
from fedspec_suite.measure.setting import USUAL_REACH, Reach, Setting, setting_of
from fedspec_suite.measure.verdict import (
    Beyond,
    Conformity,
    Deviates,
    Deviation,
    NotOffered,
    Obligation,
    Result,
    Status,
    Undecided,
    head_of,
)

PROFILES = {"quick": 12, "full": 60, "soak": 600}
"""Number of cases drawn for each law, by profile."""


def profile_named(name: str) -> str:
    """Return the name of a profile, or raise if there is none of that name.

    Raises:
        UnknownNameError: nothing is called so.
    """
    if name not in PROFILES:
        raise UnknownNameError(f"profile: unknown {name!r}; known: {', '.join(PROFILES)}")
    return name


REQUIREMENT = "reading-requires"
"""Id of the obligation that checks a reading's requirements on fixed hyper-parameters; no law belongs to it."""

FOLLOWS = {law.id for law in follows_rule.LAWS}
"""Ids of the laws that compare one quantity with the rule, in all usual cases."""

ITSELF = "the specification breaks laws that its row does not deny"
"""Finding about a row whose rule, checked against itself, breaks laws that do not run the rule."""

UNDECIDED = "rounding decides what laws ask of its rule, and its row does not deny these laws"
"""Finding about an own row for which rounding decides laws that do not run the rule, as for a rule that takes a sign.
"""

WEIGHTS = "weights"
"""Name of the option of an averaging server that :func:`fedspec.mixing.weighted.shares` reads."""

PATIENCE = 3
"""Number of laws without an answer after which the runner skips the rest of an offer."""

SOME = 4
"""Number of obligations after which the progress line includes the remaining time."""

SHRINKING = 80
"""Number of cases spent on shrinking the first violation."""


class SearchFinished(BaseException):
    """Exception that stops Hypothesis, without shrinking, if no further case can change the outcome."""


@dataclass
class Trials:
    """Record of the cases on which a law was tried.

    Attributes:
        cases: number of tried cases, shrunk ones included.
        undecided: number of tried cases that decide nothing.
        most: largest number of cases to try after the first violation, to make it smaller.
        shrunk: number of them that were tried.
        deviation: the last violation found, which is the smallest.
        case: the case that shows it.
        error: the exception, if the subject could not answer.
        crash: a bug of the law.
        withheld: quantities that the law needs and the subject does not show, in some case.
        beyond: features that some case needs and the subject does not take, as its offer says.
        refused: number of cases with such features; they were not played.
    """

    cases: int = 0
    undecided: int = 0
    most: int = 0
    shrunk: int = 0
    deviation: Deviation | None = None
    case: Any = None
    error: SubjectError | None = None
    crash: Exception | None = None
    withheld: str = ""
    beyond: str = ""
    refused: int = 0


def run_law(law: Law, bench: Bench, setting: Setting, examples: int, seed: int, *, shrink: bool = True) -> Obligation:
    """Run a law on an offer in one floating-point type and return its obligation."""
    bench, trials = replace(bench, measured=Measured()), Trials(most=SHRINKING if shrink else 0)
    examples = max(1, examples // law.costs)
    # Bounds that are infinite meet zeros in closed forms too.
    with np.errstate(invalid="ignore", over="ignore"):
        if law.id not in FOLLOWS:
            draw(law, bench, setting, examples, seed, trials)
        elif not fails_again(law, bench, trials):
            draw(law, bench, setting, examples, seed, trials)
            if trials.deviation is not None:
                bench.broken.append(pickle.dumps(trials.case))
    return outcome(law, bench, setting, examples, trials)


def fails_again(law: Law, bench: Bench, trials: Trials) -> bool:
    """Try a comparison with the rule on the cases in which earlier ones failed, which are small already."""
    for kept in bench.broken:
        case = pickle.loads(kept)
        try:
            law.check(bench, case)
        except Deviates as broken:
            trials.cases, trials.deviation, trials.case = 1, broken.deviation, case
            return True
        except (Beyond, NotOffered, SubjectError, Undecided):
            continue
    return False


def draw(law: Law, bench: Bench, setting: Setting, examples: int, seed: int, trials: Trials) -> None:
    """Draw cases, try the law on each, and shrink the first violation.

    Raises:
        Exception: a bug of the law, or of its strategy.
    """

    def trial(case: Any) -> None:
        attempt(law, bench, case, examples, trials)

    def searched(trial: Trial) -> None:
        search(law.cases(setting), examples, seed, trial)

    # The comparisons have the usual cases, beside buffers.
    cases = scenarios if law.id in FOLLOWS and not setting.buffers else law.cases
    key = cases, examples, seed
    try:
        if cases is pairs:
            # The usual cases, in which the subject was asked alone; pairs of their own can be shrunk.
            once(bench.drawn, key, partial(search, scenarios(setting), examples, seed), lambda case: None)
            kept = paired(bench.drawn[key])
            if replayed(kept, trial)[0] < len(kept):
                searched(trial)
        elif law.id in LAWS or cases is scenarios:
            once(bench.drawn, key, searched, trial)
        else:
            searched(trial)
        if law.id in FOLLOWS:
            play_edges(law, bench, setting, examples, trials)
    except Deviates:
        pass
    except SearchFinished:
        if trials.crash is not None:
            raise trials.crash from None
    except hypothesis.errors.HypothesisException:
        # Shrinking stops before it is done, which Hypothesis calls flaky; undecided cases can use up its patience.
        if trials.crash is not None:
            raise trials.crash from None
        if trials.deviation is None and trials.error is None and not trials.undecided:
            raise


def play_edges(law: Law, bench: Bench, setting: Setting, examples: int, trials: Trials) -> None:
    """Try a comparison with the rule on the edge and rare cases, and simplify the first violation.

    Raises:
        Enough: the subject does not answer, or the law has a bug.
    """
    for case in special_cases(setting):
        try:
            attempt(law, bench, case, examples, trials)
        except Undecided:
            continue
        except Deviates as broken:
            if trials.most:
                case, broken = simplest(case, broken, partial(law.check, bench), bench.offer.fixed)
            trials.case = case
            trials.deviation = broken.deviation
            return


def attempt(law: Law, bench: Bench, case: Any, examples: int, trials: Trials) -> None:
    """Try the law on one case and record the outcome; exceptions tell Hypothesis of a violation, or to stop."""
    if trials.undecided > 2 * examples:
        raise SearchFinished
    if trials.deviation is not None:
        trials.shrunk += 1
        if trials.shrunk > trials.most:
            raise SearchFinished
    try:
        trials.cases += 1
        law.check(bench, case)
    except NotOffered as reason:
        # It may be shown in another case, and be wrong there.
        trials.withheld = str(reason)
    except Beyond as reason:
        trials.beyond = str(reason)
        trials.refused += 1
    except Undecided:
        trials.undecided += 1
        raise
    except SubjectError as error:
        trials.error = error
        raise SearchFinished from error
    except Deviates as broken:
        if law.simplify and trials.most:
            broken = law.simplify(bench, case, broken)
        trials.deviation = broken.deviation
        trials.case = case if broken.case is None else broken.case
        if law.simplify or not trials.most:
            raise SearchFinished from None
        raise broken from None
    except hypothesis.errors.HypothesisException:
        raise
    except Exception as crash:
        # A bug of the judge must not hide as a case that could not be decided.
        trials.crash = crash
        raise


def outcome(law: Law, bench: Bench, setting: Setting, examples: int, trials: Trials) -> Obligation:
    """Return the obligation that the trials of its law amount to."""
    decided, status, reason = trials.cases - trials.undecided - trials.refused, Status.PASS, ""
    if trials.deviation is not None or trials.error is not None:
        status = Status.FAIL if trials.deviation is not None else Status.ERROR
        reason = "" if trials.error is None else str(trials.error)
    elif trials.withheld:
        status, reason = Status.SKIP, trials.withheld
    elif trials.beyond and decided < max(1, examples // 3):
        status, reason = Status.SKIP, trials.beyond
    elif decided < max(1, examples // 3):
        status = Status.INCONCLUSIVE
        reason = f"{trials.undecided} of {trials.cases} cases could not be decided: rounding errors too large"
    elif law.id in FOLLOWS and not bench.measured.compared:
        status, reason = Status.INCONCLUSIVE, unshown(law.shows or "x", setting, decided)
    return Obligation(
        law=law.id,
        dtype=setting.dtype,
        status=status,
        equations=(bench.equation_of(law.shows or "x"),),
        cases=decided,
        ratio=bench.measured.worst,
        reason=reason,
        deviation=trials.deviation,
        reads=law.reads_rule,
        extent=bench.measured.extent,
        detail="" if trials.error is None else trials.error.detail,
        case=trials.case,
        call=call_of(setting, trials.case, trials.deviation.where) if trials.deviation else "",
    )


def unshown(name: str, setting: Setting, cases: int) -> str:
    """Return the message for a quantity that the row declares but no case shows.

    Raises:
        PluginError: it never does, since each of its events would show it.
    """
    row = setting.algorithm
    said = f"{row.id} shows {name} in none of {cases} cases, so that nothing was compared"
    if isinstance(row.run, Program) and row.run.event == "arrival":
        return said
    raise PluginError(
        f"{said}; each name in shows=(...) of its row must be a field of its state or an entry that its step "
        f"returns: rename the field, return the entry, or remove the name"
    )


def requirement_obligations(setting: Setting) -> list[Obligation]:
    """Return the obligations from the reading's requirements on fixed hyper-parameters."""
    out = []
    for r in setting.algorithm.reading(setting.reading).requires:
        # What is not fixed is drawn so that the relation holds, tau from its pool.
        given = {"tau": max(POOLS["tau"]), **setting.fixed}
        held = not any(n in setting.fixed for n in r.about if n != "tau") or r.holds(given)
        pinned = ", ".join(f"{n} = {v:g}" for n, v in setting.fixed.items() if n in r.about)
        out.append(
            Obligation(
                law=REQUIREMENT,
                dtype="any",
                status=Status.PASS if held else Status.FAIL,
                equations=(r.id,),
                cases=1,
                deviation=None
                if held
                else Deviation(r.id, "", note=f"reading {setting.reading} asks {r.words}, the claim fixes {pinned}"),
            )
        )
    return out


def judge_offer(
    subject: Subject,
    offer: Offer,
    *,
    profile: str = "full",
    seed: int = 0,
    law: str = "*",
    cases: int | None = None,
    reach: Reach = USUAL_REACH,
    progress: Callable[[str], None] = lambda text: None,
    stop: bool = False,
    shrink: bool = True,
    excused: Callable[[Obligation], bool] = lambda o: False,
) -> list[Obligation]:
    """Run every obligation of one offer in each of its floating-point types; stop at the first failure if ``stop``.

    ``cases`` overrides the profile's number of cases; without ``shrink`` a failing case stays as drawn. The first
    failure that isn't ``excused`` is told when it is seen.
    """
    out: list[Obligation] = []
    silent, failed = 0, False
    settings = {dtype: setting_of(offer, dtype, reach) for dtype in offer.dtypes}
    asked = {dtype: asked_of(setting, offer, subject.info.concurrent, law) for dtype, setting in settings.items()}
    far = Far(sum(not skip for rules in asked.values() for _, skip in rules))
    for dtype, setting in settings.items():
        drawn, wanted = shared_of(setting)
        bench = replace(bench_of(subject, offer, setting), drawn=drawn, wanted=wanted)
        for rule, skip in asked[dtype]:
            if skip:
                out.append(Obligation(rule.id, dtype, Status.SKIP, (), reason=skip))
                continue
            progress(far.next(f"{rule.id}/{dtype}"))
            spent: str = getattr(subject, "spent", "")
            if spent or silent >= PATIENCE:
                reason = spent or f"not asked: {PATIENCE} checks before it got no answer"
                out.append(Obligation(rule.id, dtype, Status.ERROR, (), reason=reason))
                continue
            begun = time.monotonic()
            obligation = run_law(rule, bench, setting, cases or PROFILES[profile], seed, shrink=shrink)
            obligation = replace(obligation, seconds=time.monotonic() - begun)
            # A deviation may come with a silence in another case.
            silent += obligation.status in {Status.ERROR, Status.FAIL} and bool(obligation.reason)
            out.append(obligation)
            if obligation.status is Status.FAIL and not failed and not excused(obligation):
                failed = True
                progress(f"wrong: {_seen(obligation)}")
                if stop:
                    return out
    if asks(law, REQUIREMENT):
        out += requirement_obligations(setting_of(offer))
    return out


def _seen(o: Obligation) -> str:
    """The first failure in a line: the number, without the equation, which is the one that shows it."""
    d = o.deviation
    if d and d.note:
        return " ".join([*(["in", d.where] if d.where else []), *d.note.split()])
    if d is None or d.got is None or d.want is None or d.component is None:
        return " ".join(o.said.split())
    return f"in {d.where} {about(o)}[{d.component}] is {d.got:.9g}, not {d.want:.9g}"


@dataclass
class Far:
    """Progress through the obligations of an offer, for the progress line.

    Attributes:
        all: number of obligations.
        done: number of judged obligations.
        begun: begin of the work, in seconds of a clock.
    """

    all: int
    done: int = -1
    begun: float = field(default_factory=time.monotonic)

    def next(self, name: str) -> str:
        """Describe the progress as the next obligation begins; the time left is extrapolated from the time so far."""
        self.done += 1
        taken = time.monotonic() - self.begun
        left = f", {taken / self.done * (self.all - self.done):.0f} s left" if self.done >= SOME else ""
        return f"{self.done} of {self.all} checks{left}, {name}"


def laws_named(patterns: str) -> str:
    """Return the patterns if each matches some law; raise otherwise.

    Raises:
        UnknownNameError: a pattern matches no law, or is the id of a law that no longer exists.
    """
    for pattern in map(str.strip, patterns.split(",")):
        if gone := retired().get(pattern):
            raise UnknownNameError(f"law: {pattern} no longer exists; instead, {gone['instead']}")
        if not matching(pattern) and not asks(pattern, REQUIREMENT):
            raise none_called("law", pattern, all_laws(), "fedspec laws")
    return patterns


def patterns_of(law: str, entries: Sequence[Expectation], own: str = "") -> str:
    """Return the patterns of the laws to run on an offer.

    Without ``--law`` they also name the properties that an expected failure is about, and :func:`own_properties`.

    Args:
        law: the patterns of the request.
        entries: the expected failures that are about the offer.
        own: patterns of properties that the offer is asked without ``--properties``.
    """
    named = [e.law for e in entries if not matching(e.law).keys() <= LAWS.keys()]
    return ",".join([law, *named, *filter(None, [own])]) if law == ALL else law


def own_properties(subject: Subject, offer: Offer) -> str:
    """Return patterns of the properties of an own algorithm's specification, which no test of ours checks; else "".

    The weights are fedspec's code. So weights other than the default are asked only what the default isn't asked.
    """
    if not (is_itself(subject) and is_own(offer.algorithm)):
        return ""
    if WEIGHTS not in offer.options:
        return PROPERTIES

    def asked(options: Mapping[str, str]) -> set[str]:
        one = replace(offer, options=options)
        settings = [setting_of(one, dtype) for dtype in offer.dtypes]
        return {law.id for s in settings for law, _ in asked_of(s, one, subject.info.concurrent, PROPERTIES)}

    return ",".join(sorted(asked(offer.options) - asked({k: v for k, v in offer.options.items() if k != WEIGHTS})))


def asks(patterns: str, law: str) -> bool:
    """True if a law matches comma-separated patterns with * and ?."""
    return any(fnmatch.fnmatchcase(law, p.strip()) for p in patterns.split(","))


def asked_of(setting: Setting, offer: Offer, concurrent: bool, pattern: str) -> list[tuple[Law, str]]:
    """Return the laws that apply to an offer, each with the reason to skip it if the offer lacks something."""
    laws = matching(pattern).values()
    reasons = [(law, law.why_not(setting, offer.intermediates, concurrent)) for law in laws]
    return [(law, reason) for law, reason in reasons if not reason or reason.startswith(SKIPPED)]


def not_asked(subject: Subject, offer: Offer, obligations: Sequence[Obligation]) -> int:
    """Count the obligations of an offer that are missing here, for example because ``--law`` left them out."""
    asked = {(o.law, o.dtype) for o in obligations}
    whole = {(o.law, o.dtype) for o in requirement_obligations(setting_of(offer))}
    for dtype in offer.dtypes:
        rules = asked_of(setting_of(offer, dtype), offer, subject.info.concurrent, ALL)
        whole |= {(law.id, dtype) for law, skip in rules if not skip}
    return len(whole - asked)


def undeclared(subject: Subject, offer: Offer, pattern: str) -> str:
    """The fields that a claim needs for the checks of a pattern, in words; empty if no check needs one."""
    setting = setting_of(offer)
    reasons = {
        law.id: law.why_not(setting, offer.intermediates, subject.info.concurrent) for law in matching(pattern).values()
    }
    return "; ".join(f"the check {law} {why}" for law, why in reasons.items() if why.startswith(NEEDS))


def conclude(obligations: list[Obligation]) -> tuple[Conformity, int, int, int]:
    """Return the verdict, and the numbers of obligations passed, exercised and required."""
    asked = [o for o in obligations if o.status is not Status.SKIP]
    passed = sum(o.status is Status.PASS for o in asked)
    exercised = sum(o.status in {Status.PASS, Status.FAIL, Status.XFAIL} for o in asked)
    if any(o.status is Status.FAIL for o in asked):
        verdict = Conformity.DOES_NOT
    elif any(o.status is Status.ERROR for o in asked):
        verdict = Conformity.ERROR
    elif exercised < len(asked) or not asked:
        verdict = Conformity.INCONCLUSIVE
    elif any(o.status is Status.XFAIL for o in asked):
        verdict = Conformity.EXPECTED
    else:
        verdict = Conformity.CONFORMS
    return verdict, passed, exercised, len(asked)


MADE = {law.id for law in LAWS.values() if law.reads_rule} - FOLLOWS
"""Ids of the laws that compare with the rule on cases made for one law."""

if ADDED:
    # A file with an own algorithm may deny properties and say second routes, which are looked at as they are loaded.
    properties()


def first(obligations: Sequence[Obligation]) -> list[Obligation]:
    """Sort failed obligations, the most telling first: comparisons with the rule, by event, in the order of equations.

    A later number can be wrong because an earlier one was: the first event counts, and in it the first equation, which
    is the order that the laws stand in. Usual cases are easier to look at than large ones, or such as are made for one
    law.
    """
    failed = [o for o in obligations if o.status is Status.FAIL]
    return sorted(
        failed,
        key=lambda o: (not o.reads, o.law in MADE, o.deviation.event if o.reads and o.deviation else 0),
    )


def about(o: Obligation) -> str:
    """Return the quantity that a failed obligation concerns: x or an intermediate."""
    if o.deviation and o.deviation.unread:
        # Its law may be about another quantity, whose numbers nobody looked at.
        return o.deviation.shown or "x"
    shows = LAWS[o.law].shows if o.law in LAWS else ""
    return shows or (o.deviation.shown if o.deviation else "") or "x"


def first_deviation(obligations: Sequence[Obligation]) -> str:
    """Return the most telling deviation in words; if nothing failed, the reason of a missing answer."""
    for o in first(obligations):
        said = o.said or o.reason
        return said if o.reads or o.law == REQUIREMENT else f"{said} (check {o.law})"
    silent = [o for o in obligations if o.status is Status.ERROR]
    return silent[0].reason if silent else ""


def result_of(
    subject: Subject, offer: Offer, obligations: list[Obligation], *, unasked: int | None = None, **more: Any
) -> Result:
    """Build the result of an offer; a passing offer with obligations left out is ``asked in part``.

    Args:
        subject: the subject.
        offer: the offer.
        obligations: outcomes of the obligations that were asked.
        unasked: number of obligations left out; counted if it is not given.
        more: other fields of the result.
    """
    verdict, passed, exercised, required = conclude(obligations)
    unasked = not_asked(subject, offer, obligations) if unasked is None else unasked
    if verdict is Conformity.CONFORMS and unasked:
        verdict = Conformity.ASKED_IN_PART
    return Result(
        **head_of(subject.info, offer),
        verdict=verdict,
        exercised=exercised,
        passed=passed,
        required=required,
        first_deviation=first_deviation(obligations),
        notes=offer.notes,
        obligations=tuple(obligations),
        unasked=unasked,
        **limit_fields(offer),
        **more,
    )
