"""Replay of a capsule: run the law of each failure on its stored case again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from fedspec.catalogue import find
from fedspec.contract import Offer, Subject
from fedspec.errors import ContractError, FedspecError, UnknownNameError
from fedspec_suite.judge.capsules.file_format import Capsule, Failure
from fedspec_suite.judge.runner import REQUIREMENT, requirement_obligations
from fedspec_suite.laws import Law, law_named, retired
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.escaping import escape_controls
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Beyond, Deviates, Deviation, NotOffered, Status, Undecided, format_declaration


class Outcome(StrEnum):
    """Result of replaying a failure."""

    SAME = "still fails, with the same number"
    OTHER = "still fails, with another number"
    PASSES = "passes now"
    OPEN = "cannot be decided"
    SILENT = "no answer"
    UNKNOWN = "no such law any more"


CODES = {Outcome.SAME: 1, Outcome.OTHER: 1, Outcome.SILENT: 2, Outcome.OPEN: 3, Outcome.UNKNOWN: 3, Outcome.PASSES: 0}
"""Exit code of each outcome."""


@dataclass(frozen=True)
class ReplayResult:
    """Outcome of replaying one failure.

    Attributes:
        failure: the stored failure.
        outcome: result of the comparison with the stored failure.
        deviation: the present deviation.
        reason: reason why it cannot be decided, or for a missing answer.
    """

    failure: Failure
    outcome: Outcome
    deviation: Deviation | None = None
    reason: str = ""

    def record(self) -> dict[str, Any]:
        """Return the outcome as JSON values."""
        f = self.failure
        return {
            "id": f.id,
            "outcome": str(self.outcome),
            "stored": str(f.deviation or ""),
            "now": str(self.deviation or ""),
            "reason": self.reason,
        }


def exit_code(replayed: list[ReplayResult]) -> int:
    """Return 1 if a failure persists, 2 if one got no answer, 3 if one is undecided or its law is gone, else 0."""
    codes = {CODES[r.outcome] for r in replayed}
    return next((code for code in (1, 2, 3) if code in codes), 0)


def offer_of(capsule: Capsule, subject: Subject) -> Offer:
    """Return the subject's present offer that corresponds to the capsule's offer.

    Raises:
        ContractError: it offers nothing like it.
    """
    was, offers = _first_named(capsule.offer), subject.info.offers
    for same in (
        lambda o: o == was,
        lambda o: (
            (o.variant, o.algorithm, o.level, format_declaration(o))
            == (was.variant, was.algorithm, was.level, format_declaration(was))
        ),
        lambda o: (
            (o.variant, o.algorithm, o.level, o.reading, dict(o.options))
            == (was.variant, was.algorithm, was.level, was.reading, dict(was.options))
        ),
    ):
        for offer in offers:
            if same(_first_named(offer)):
                return offer
    known = ", ".join(f"{o.algorithm}/{o.level}/{format_declaration(o)}" for o in offers[:12])
    raise ContractError(
        f"replay: {subject.info.name} does not claim {was.algorithm}/{was.level}/{format_declaration(was)}, "
        f"which the capsule is about; its claims: {known}"
    )


def _first_named(offer: Offer) -> Offer:
    """The offer by the name that its reading had first; as it is, if the catalogue does not know it."""
    try:
        return replace(offer, reading=find(offer.algorithm).reading(offer.reading).stored)
    except UnknownNameError:
        return offer


def replay_capsule(capsule: Capsule, subject: Subject) -> list[ReplayResult]:
    """Replay every failure of a capsule on a subject.

    Raises:
        FedspecError: the subject offers nothing like it, or what it offers cannot be judged.
    """
    offer = offer_of(capsule, subject)
    setting_of(offer)
    return [_played(failure, subject, offer) for failure in capsule.failures]


def _played(failure: Failure, subject: Subject, offer: Offer) -> ReplayResult:
    if failure.law == REQUIREMENT:
        return _required(failure, offer)
    if failure.law in retired():
        # The case shows what it did; the rule decides in the place of the law.
        case = failure.case[0] if isinstance(failure.case, tuple) else failure.case
        failure = replace(failure, law="follows-x", case=case)
    law = law_named(failure.law)
    if law is None:
        return ReplayResult(failure, Outcome.UNKNOWN)
    if failure.dtype not in offer.dtypes:
        return ReplayResult(failure, Outcome.OPEN, reason=f"{failure.dtype} is no longer claimed")
    setting = setting_of(offer, failure.dtype)
    if reason := law.why_not(setting, offer.intermediates, subject.info.concurrent) or _unlike(failure.case, setting):
        return ReplayResult(failure, Outcome.OPEN, reason=reason)
    return _asked(failure, law, subject, offer, setting)


def _asked(failure: Failure, law: Law, subject: Subject, offer: Offer, setting: Setting) -> ReplayResult:
    try:
        with np.errstate(all="ignore"):
            law.check(bench_of(subject, offer, setting), failure.case)
    except Deviates as broken:
        return _fails(failure, broken.deviation)
    except (Beyond, NotOffered) as reason:
        return ReplayResult(failure, Outcome.OPEN, reason=str(reason))
    except Undecided:
        return ReplayResult(failure, Outcome.OPEN, reason="rounding errors could hide any deviation")
    except SubjectError as error:
        return ReplayResult(failure, Outcome.SILENT, reason=str(error))
    except FedspecError as error:
        return ReplayResult(
            failure, Outcome.OPEN, reason=f"the specification refuses the case: {escape_controls(str(error), most=300)}"
        )
    except Exception as error:
        # Whoever writes a capsule by hand can give a law what it never draws.
        said = escape_controls(f"{type(error).__name__}: {error}", most=200)
        return ReplayResult(failure, Outcome.OPEN, reason=f"its case is none that the law draws today ({said})")
    return ReplayResult(failure, Outcome.PASSES)


def _required(failure: Failure, offer: Offer) -> ReplayResult:
    """Check a reading's requirement on pinned hyper-parameters against today's offer."""
    wanted = failure.deviation.equation if failure.deviation else ""
    for o in requirement_obligations(setting_of(offer)):
        if o.status is Status.FAIL and wanted in o.equations:
            return _fails(failure, o.deviation)
    return ReplayResult(failure, Outcome.PASSES)


def _unlike(case: Any, setting: Setting) -> str:
    """Describe a hyper-parameter that the subject now fixes at another value than the case has; empty if none."""
    if isinstance(case, tuple):
        return next(filter(None, (_unlike(part, setting) for part in case)), "")
    if not isinstance(case, Scenario):
        return ""
    told = case.case.hyper
    for name, value in setting.fixed.items():
        if name in told and told[name] != value:
            return f"skipped: {name} is fixed at {value:g}, the case has {told[name]:g}"
    return ""


def _fails(failure: Failure, now: Deviation | None) -> ReplayResult:
    """A failure that is there; whether the very same number is wrong."""
    same = _bare(failure.deviation) == _bare(now)
    return ReplayResult(failure, Outcome.SAME if same else Outcome.OTHER, now)


def _bare(d: Deviation | None) -> str:
    """Represent a deviation without the notes on its case; infinite and missing numbers included."""
    return repr(d if d is None or d.got is None else replace(d, note="", ratio=None))
