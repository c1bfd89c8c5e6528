"""Explanation of a deviating offer: its nearest known variant, the error's course, and the broken properties.

The judge loads it with all that is known of mistakes if an offer does not conform.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from fedspec.contract import Offer, Subject
from fedspec_suite.diagnosis.cases.samples import samples_of
from fedspec_suite.diagnosis.diagnosis import (
    FOLLOWS,
    INSIDE,
    Diagnosis,
    as_data,
    in_words,
    not_before,
    unnamed,
    unrepeated,
)
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.diagnosis.search import QUICK, Search
from fedspec_suite.diagnosis.seen.course import followed
from fedspec_suite.diagnosis.seen.gates import deviates
from fedspec_suite.judge.plan import Budgeted
from fedspec_suite.judge.request import is_itself, is_own, reason_of
from fedspec_suite.judge.runner import ITSELF, REQUIREMENT, UNDECIDED, about, first, judge_offer
from fedspec_suite.laws import PROPERTIES, law_named, properties
from fedspec_suite.measure.bench import bench_of, of_models
from fedspec_suite.measure.buffer_cases import buffer_key
from fedspec_suite.measure.input_ranges import beyond
from fedspec_suite.measure.scenario import Scenario, with_dtype
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Conformity, Course, Obligation, Result, Status

COURSES = 8
"""Number of sample cases to play until one shows a deviation."""

NAMING = {"resumes", "faults-as-declared", "dtype", "inputs"}
"""Laws whose message already names the fault: a search would add nothing."""

MANNERS = {"repeats", "isolated", "dtype", "inputs", REQUIREMENT}
"""Laws about the manner of answering (repeatability, dtype, ...), which can fail although the numbers are right."""


def explained(
    result: Result,
    subject: Budgeted,
    offer: Offer,
    broken: Sequence[Scenario] = (),
    progress: Callable[[str], None] = lambda text: None,
    *,
    ask: bool = True,
) -> Result:
    """Add a diagnosis to the result of an offer that doesn't conform.

    Args:
        result: the result of its obligations.
        subject: the subject.
        offer: the offer.
        broken: the cases in which obligations failed that compare with the rule.
        progress: is told how far the search is.
        ask: True: ask the properties of an offer whose deviation has no name.
    """
    if result.verdict is Conformity.INCONCLUSIVE and is_own(offer.algorithm):
        undecided = [o for o in result.obligations if o.status is Status.INCONCLUSIVE and not o.reads]
        if any(law_named(o.law) for o in undecided):
            return replace(result, nearest=UNDECIDED)
    if result.verdict is not Conformity.DOES_NOT or subject.spent:
        return result
    try:
        failed = [o for o in result.obligations if o.status is Status.FAIL]
        worst = first(failed)[0].deviation
        if worst and worst.unread:
            # Whoever mends the adapter sees numbers, and these may have a name.
            return result
        named = all(o.law in NAMING or about(o).startswith(buffer_key("")) for o in failed)
        if named and _follows(result, subject, offer):
            # What becomes of these is named by the law that found it; no rule is wrong.
            return replace(result, nearest=FOLLOWS)
        if is_itself(subject) and all(o.law in properties() for o in failed):
            # It follows itself: what is wrong is the rule, or that the row does not deny the law.
            return replace(result, nearest=ITSELF, course=_course(subject, offer, first(failed)[0]))
        progress("searching for a known variant or mistake: which of them gives these numbers")
        search = searching(offer, result.profile, progress)
        d, words = explanation(subject, offer, failed, broken, search)
        result = replace(result, nearest=words, nearest_data=tuple(as_data(d)), searched=d.passes)
        # A model without a finite number is told after its first case, and has no property; roundings break some.
        asked = ask and unnamed(words) and len(result.obligations) > 1 and INSIDE.partition("{")[0] not in words
        result = replace(result, properties=_properties(subject, offer, progress) if asked else {})
        return replace(result, course=_course(subject, offer, first(failed)[0]))
    except Exception as error:
        # What was judged stands, whatever becomes of its explanation.
        return replace(result, nearest=result.nearest or f"not diagnosed: {reason_of(error)}")


def _follows(result: Result, subject: Subject, offer: Offer) -> bool:
    """True if the model was compared with the rule and agrees; in a few cases, if no such check was asked."""
    compared = [o.status for o in result.obligations if o.law == "follows-x"]
    if compared:
        return {*compared} == {Status.PASS}
    setting = setting_of(offer)
    models = of_models(bench_of(subject, offer, setting))
    found = [deviates(models, s) for s in samples_of(setting)[:COURSES]]
    return False in found and True not in found


def searching(offer: Offer, profile: str, progress: Callable[[str], None] = lambda text: None) -> Search:
    """Return the search of a profile; the number of candidates is bounded in the quick profile."""
    return Search(most=QUICK[offer.level] if profile == "quick" else math.inf, tell=progress)


def _properties(subject: Subject, offer: Offer, progress: Callable[[str], None]) -> dict[str, str]:
    """Properties that an offer breaks or has, asked if its deviation has no name: pass or fail, by id."""
    asked = judge_offer(
        subject,
        replace(offer, dtypes=offer.dtypes[:1]),
        profile="quick",
        law=PROPERTIES,
        progress=progress,
        shrink=False,
        excused=lambda o: True,
    )
    return {o.law: str(o.status) for o in asked if o.status in {Status.PASS, Status.FAIL}}


def _course(subject: Subject, offer: Offer, o: Obligation) -> Course | None:
    """Follow the deviation that the report shows first through a small case, if one shows it."""
    setting = setting_of(offer, o.dtype if o.dtype in offer.dtypes else "")
    # Every case may run into the time limit of a subject that hangs.
    return followed(bench_of(subject, offer, setting), setting, samples_of(setting)[:COURSES], about(o))


def explanation(
    subject: Subject,
    offer: Offer,
    failed: Sequence[Obligation],
    broken: Sequence[Scenario] = (),
    search: Search | None = None,
) -> tuple[Diagnosis, str]:
    """Diagnose an offer by its failed obligations; return the diagnosis as data and in words.

    Args:
        subject: the subject.
        offer: the offer.
        failed: the obligations that failed.
        broken: the cases in which those failed that compare with the rule.
        search: the bound of the search for a name, and who hears of its progress.
    """
    setting = setting_of(offer)
    # What a narrower type shows is played in the type of the diagnosis.
    mine = [with_dtype(s, setting.dtype) for s in broken]
    bench = bench_of(subject, offer, setting)
    d = identify(bench, setting, further=True, broken=mine, search=search)
    laws = {o.law for o in failed}
    if "repeats" in laws:
        d = unrepeated(d)
    d = not_before(d, [o.deviation.where for o in failed if o.deviation and o.law not in MANNERS])
    models = of_models(bench)
    # A wrong intermediate may make the model wrong in the same case, or leave that undecided.
    in_x = any(o.law not in MANNERS and about(o) == "x" for o in failed)
    in_x = in_x or any(deviates(models, s) is not False for s in mine)
    # Only the laws of large cases say that it is the size, if their cases are still large when they are made simpler; a
    # case of another law may be rare, and is small.
    small = all(law.startswith("far-") for law in laws - MANNERS) and all(map(beyond, broken))
    return d, in_words(d, in_x, small=small)
