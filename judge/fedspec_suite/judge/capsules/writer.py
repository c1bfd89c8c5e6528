"""Writer of capsules: replay each failure once with a recorder, and write a script that shows one wrong number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec.contract import Offer, Subject
from fedspec.errors import ContractError, FedspecError
from fedspec_suite.judge.capsules.file_format import Failure, body, failure_as_data, stem
from fedspec_suite.judge.capsules.recorder import Number, RecordedSubject, of_the_law, off_the_rule
from fedspec_suite.judge.capsules.script import script
from fedspec_suite.judge.runner import first
from fedspec_suite.laws import law_named
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Beyond, Deviates, Deviation, NotOffered, Obligation, Undecided


@dataclass(frozen=True)
class CapsuleFiles:
    """Contents of the files to write for an offer.

    Attributes:
        stem: common name of the files, without suffix.
        body: the capsule.
        script: the script beside it.
        why_not: reason for a missing script; else empty.
    """

    stem: str
    body: dict[str, Any]
    script: str
    why_not: str


def capsule(
    implementation: str,
    subject: Subject,
    number: int,
    among: Sequence[Offer],
    obligations: Sequence[Obligation],
) -> CapsuleFiles | None:
    """Return the capsule and script of an offer's failures, the most telling failure first; None if nothing failed.

    What a script plays is a number that the rule itself does not give, where there is one: what a law wants may come
    from another answer of the subject.
    """
    offer, failures, wrong = among[number], [], []
    for k, o in enumerate(first(obligations)):
        record, bench, found = _asked(subject, offer, o)
        try:
            failures.append(failure_as_data(Failure(o.law, o.dtype, o.deviation, o.case, tuple(record.calls))))
        except ContractError:
            # Its case holds what no capsule can: the failure is told, and cannot be played.
            failures.append(failure_as_data(Failure(o.law, o.dtype, o.deviation)))
            continue
        for shown in (off_the_rule(bench, record), of_the_law(bench, record, found)):
            if shown is not None:
                wrong.append((shown.law, k, shown, o))
    if not failures:
        return None
    text, why_not = "", "no single number shows what is wrong"
    if wrong:
        _, k, shown, o = min(wrong, key=lambda w: w[:2])
        calls = failures[k]["calls"][: shown.calls]
        text, why_not = script(implementation, o.id, _wanted(offer, o, shown), shown, calls)
    name = stem(implementation, subject.info, offer, among, number)
    return CapsuleFiles(name, body(implementation, subject.info, offer, failures), text, why_not)


def _wanted(offer: Offer, o: Obligation, shown: Number) -> str:
    """The equation of a number that the rule does not give; the law, for a number that only the law does not want."""
    if shown.law:
        return f"wanted by {o.law}: {law.words}" if (law := law_named(o.law)) else o.law
    setting = setting_of(offer, "" if o.dtype == "any" else o.dtype)
    tail = "step" if shown.name == "x" else shown.name
    at = setting.algorithm.equation(tail, setting.options) or ""
    printed = {e.id: e.text for e in setting.algorithm.running(setting.options)}
    return f"wanted, {at}: {printed[at]}" if at in printed else f"wanted: {shown.name} of {setting.algorithm.id}"


def _asked(subject: Subject, offer: Offer, o: Obligation) -> tuple[RecordedSubject, Bench, Deviation | None]:
    """Ask a case once more; how it deviates now."""
    record = RecordedSubject(subject, offer)
    bench = bench_of(record, offer, setting_of(offer, "" if o.dtype == "any" else o.dtype))
    law = law_named(o.law)
    if law and o.case is not None:
        with np.errstate(invalid="ignore", over="ignore"):
            try:
                law.check(bench, o.case)
            except Deviates as broken:
                return record, bench, broken.deviation
            except (Beyond, NotOffered, Undecided, FedspecError):
                pass
    return record, bench, None
