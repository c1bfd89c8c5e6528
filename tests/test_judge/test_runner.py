"""A bug of the judge itself is raised; it is neither a deviation of the subject nor a case left undecided."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedspec.arith import Array
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import run_law
from fedspec_suite.laws import Law, every
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Deviates, Deviation, NotOffered, Status


def test_a_crash_of_a_law_is_raised() -> None:
    def check(bench: Bench, case: Any) -> None:
        raise ZeroDivisionError("a slip of the judge")

    offer = SUBJECT.info.offers[0]
    setting = setting_of(offer)
    bench = bench_of(Inside(SUBJECT), offer, setting)
    with pytest.raises(ZeroDivisionError, match="a slip of the judge"):
        run_law(replace(every()["follows-x"], check=check), bench, setting, 5, 0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_law_that_is_asked_first_counts_in_its_precision(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SM3 on vectors never asks what the rule gives, so that nothing else can tell it the precision."""
    law = every()["sm3-vectors"]
    asked = ((offer, setting_of(offer, dtype)) for offer in SUBJECT.info.offers)
    offer, setting = next((o, s) for o, s in asked if not law.why_not(s, o.intermediates, concurrent=True))
    seen: set[float] = set()
    compare = Bench.compare

    def watched(self: Bench, name: str, got: Array, want: Array, *more: Any) -> None:
        seen.update(number.resolution for number in want)
        compare(self, name, got, want, *more)

    monkeypatch.setattr(Bench, "compare", watched)
    bench = bench_of(Inside(SUBJECT), offer, setting)
    run_law(law, bench, setting, 5, 0)
    assert seen == {float(np.finfo(dtype).eps)}


@pytest.mark.parametrize(
    ("other", "others"),
    [
        (NotOffered("not offered: not shown here"), "first"),
        (NotOffered("not offered: not shown here"), "later"),
        # An answer that never came ends a law, so that an error can only come later.
        (SubjectError("subject: no answer"), "later"),
    ],
    ids=["shown-later", "shown-first", "silent-later"],
)
def test_neither_a_skip_nor_an_error_hides_a_failure(other: Exception, others: str) -> None:
    """A subject that shows nothing in some cases and is wrong in others fails."""
    cases: list[Any] = []

    def check(bench: Bench, case: Any) -> None:
        cases.append(case)
        raise other if (len(cases) == 1) is (others == "first") else Deviates(Deviation("fedavg.step", "round 1"))

    offer = SUBJECT.info.offers[0]
    setting = setting_of(offer)
    bench = bench_of(Inside(SUBJECT), offer, setting)
    assert run_law(replace(every()["follows-x"], check=check), bench, setting, 5, 0).status is Status.FAIL


def test_what_is_never_shown_is_skipped() -> None:
    def check(bench: Bench, case: Any) -> None:
        raise NotOffered("not offered: not shown")

    offer = SUBJECT.info.offers[0]
    setting = setting_of(offer)
    bench = bench_of(Inside(SUBJECT), offer, setting)
    obligation = run_law(replace(every()["follows-x"], check=check), bench, setting, 5, 0)
    assert (obligation.status, obligation.reason) == (Status.SKIP, "not offered: not shown")


@pytest.mark.parametrize("law", [every()["follows-x"], every()["far-rounds"]], ids=["silent", "simplified"])
def test_nothing_is_drawn_where_no_case_can_change_what_is_known(law: Law) -> None:
    """After an answer that never came, and after a failure of a law that makes its cases simpler by itself."""
    drawn: list[Any] = []

    def check(bench: Bench, case: Any) -> None:
        raise Deviates(Deviation("fedavg.step", "round 1")) if law.simplify else SubjectError("subject: no answer")

    def noted(case: Any) -> Any:
        drawn.append(case)
        return case

    offer = next(o for o in SUBJECT.info.offers if not law.why_not(setting_of(o), o.intermediates, concurrent=True))
    setting = setting_of(offer)
    asked = replace(
        law,
        cases=lambda s: law.cases(s).map(noted),
        check=check,
        simplify=law.simplify and (lambda bench, case, broken: broken),
    )
    found = run_law(asked, bench_of(Inside(SUBJECT), offer, setting), setting, 5, 0)
    assert len(drawn) == 1 and found.status is (Status.FAIL if law.simplify else Status.ERROR)
