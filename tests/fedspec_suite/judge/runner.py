"""Run laws on an offer: draw cases, shrink the first violation, say what was exercised of what was asked."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity

from fedspec.contract import Offer, Subject
from fedspec_suite.laws import LAWS, Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import POOLS
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import (
    Conformity,
    Deviates,
    Deviation,
    NotOffered,
    Obligation,
    Result,
    Status,
    Undecided,
)

PROFILES = {"quick": 12, "full": 60, "soak": 600}
"""Cases drawn for each law."""

REQUIREMENT = "reading-requires"
"""The obligation that comes with a claimed reading instead of a law: what it asks of pinned hyper-parameters."""

PATIENCE = 3
"""After so many answers that never came, the rest of an offer is not asked."""

SHRINKING = 80
"""Cases spent on making the first violation smaller."""


@dataclass
class _Tally:
    cases: int = 0
    undecided: int = 0
    after_failure: int = 0
    deviation: Deviation | None = None
    error: SubjectError | None = None
    crash: Exception | None = None
    withheld: str = ""


def run_law(law: Law, bench: Bench, setting: Setting, examples: int, seed: int) -> Obligation:
    """One obligation: the law on this offer in this floating-point type."""
    tally = _Tally()
    bench.worst = 0.0

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
        print_blob=False,
    )
    @hypothesis.given(law.cases(setting))
    def holds(case: Any) -> None:
        if tally.error is not None:
            raise tally.error
        if tally.undecided > 2 * examples:
            return
        if tally.deviation is not None:
            tally.after_failure += 1
            if tally.after_failure > SHRINKING:
                return
        try:
            tally.cases += 1
            law.check(bench, case)
        except NotOffered as reason:
            tally.withheld = str(reason)
            raise
        except Undecided:
            tally.undecided += 1
            hypothesis.reject()
        except SubjectError as error:
            tally.error = error
            raise
        except Deviates as broken:
            tally.deviation = broken.deviation
            raise
        except hypothesis.errors.HypothesisException:
            raise
        except Exception as crash:
            # A bug of the judge must not hide as a case that could not be decided.
            tally.crash = crash
            raise

    try:
        holds()
    except (Deviates, SubjectError, NotOffered):
        pass
    except hypothesis.errors.HypothesisException:
        # Shrinking stops before it is done, which Hypothesis calls flaky; undecided cases can use up its patience.
        if tally.crash is not None:
            raise tally.crash from None
        if tally.deviation is None and tally.error is None and not tally.undecided:
            raise
    status, reason = Status.PASS, ""
    if tally.withheld:
        status, reason = Status.SKIP, tally.withheld
    elif tally.error is not None:
        status, reason = Status.ERROR, str(tally.error)
    elif tally.deviation is not None:
        status = Status.FAIL
    elif tally.cases - tally.undecided < max(1, examples // 3):
        status = Status.INCONCLUSIVE
        reason = f"{tally.undecided} of {tally.cases} cases could not be decided: rounding errors too large"
    return Obligation(
        law=law.id,
        dtype=setting.dtype,
        status=status,
        equations=(bench.equation_of(law.shows or "x"),),
        cases=tally.cases - tally.undecided,
        ratio=bench.worst,
        reason=reason,
        deviation=tally.deviation,
        reads=law.reads_rule,
    )


def requirement_obligations(setting: Setting) -> list[Obligation]:
    """What the claimed reading asks of hyper-parameters that the subject pins."""
    out = []
    for r in setting.algorithm.reading(setting.reading).requires:
        # What is not fixed is drawn so that the relation holds, tau from its pool.
        held = "v0" not in setting.fixed or r.holds({"tau": max(POOLS["tau"]), **setting.fixed})
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
                else Deviation(r.id, "", note=f"reading {setting.reading} asks {r.words}, the subject fixes {pinned}"),
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
    progress: Callable[[str], None] = lambda text: None,
) -> list[Obligation]:
    """Every obligation of one offer, in each floating-point type it is made for; ``cases`` overrides the profile's."""
    out: list[Obligation] = []
    silent = 0
    for dtype in offer.dtypes:
        setting = setting_of(offer, dtype)
        bench = Bench(subject, setting.algorithm, offer, setting.options, dtype)
        for rule in _chosen(law):
            skip = rule.why_not(setting, offer.intermediates, subject.info.concurrent)
            if skip:
                if skip.startswith("not offered"):
                    out.append(Obligation(rule.id, dtype, Status.SKIP, (), reason=skip))
                continue
            progress(f"{rule.id}/{dtype}")
            if silent >= PATIENCE:
                reason = f"not asked: {PATIENCE} laws before it got no answer"
                out.append(Obligation(rule.id, dtype, Status.ERROR, (), reason=reason))
                continue
            obligation = run_law(rule, bench, setting, cases or PROFILES[profile], seed)
            silent += obligation.status is Status.ERROR
            out.append(obligation)
    if fnmatch.fnmatchcase(REQUIREMENT, law):
        out += requirement_obligations(setting_of(offer))
    return out


def _chosen(pattern: str) -> Iterable[Law]:
    return [law for law in LAWS.values() if fnmatch.fnmatchcase(law.id, pattern)]


def conclude(obligations: list[Obligation]) -> tuple[Conformity, int, int, int]:
    """Verdict, obligations passed, exercised, required."""
    asked = [o for o in obligations if o.status is not Status.SKIP]
    passed = sum(o.status is Status.PASS for o in asked)
    exercised = sum(o.status in {Status.PASS, Status.FAIL} for o in asked)
    if any(o.status is Status.FAIL for o in asked):
        verdict = Conformity.DOES_NOT
    elif any(o.status is Status.ERROR for o in asked):
        verdict = Conformity.ERROR
    elif exercised < len(asked) or not asked:
        verdict = Conformity.INCONCLUSIVE
    else:
        verdict = Conformity.CONFORMS
    return verdict, passed, exercised, len(asked)


def first_deviation(obligations: list[Obligation]) -> str:
    """The deviation to look at first: of the rule itself if it was read, in the order of its equations."""
    failed = [o for o in obligations if o.status is Status.FAIL]
    # A later number can be wrong because an earlier one was: the first event counts, and in it the first equation,
    # which is the order that the laws stand in.
    failed.sort(key=lambda o: (not o.reads, o.deviation.event if o.reads and o.deviation else 0))
    if failed:
        o = failed[0]
        said = str(o.deviation or o.reason)
        return said if o.reads or o.law == REQUIREMENT else f"{said} (law {o.law})"
    silent = [o for o in obligations if o.status is Status.ERROR]
    return silent[0].reason if silent else ""


def result_of(subject: Subject, offer: Offer, obligations: list[Obligation], **more: Any) -> Result:
    """One line of the table."""
    verdict, passed, exercised, required = conclude(obligations)
    info = subject.info
    name = f"{info.name} ({info.variant})" if info.variant else info.name
    return Result(
        subject=name,
        version=info.version,
        algorithm=offer.algorithm,
        level=offer.level,
        reading=offer.reading,
        options=dict(offer.options),
        verdict=verdict,
        exercised=exercised,
        passed=passed,
        required=required,
        first_deviation=first_deviation(obligations),
        notes=offer.notes,
        obligations=tuple(obligations),
        **more,
    )
