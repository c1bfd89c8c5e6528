"""The search for a name is bounded by a count, which is printed; every machine looks at the same."""

from __future__ import annotations

import itertools
import re
import time
from typing import Any

import numpy as np
import pytest
from test_judge.test_gates import Behind, diagnosed

from fedspec_suite.diagnosis import known, search
from fedspec_suite.diagnosis.identify import Diagnosis, in_words
from fedspec_suite.diagnosis.search import Search
from fedspec_suite.diagnosis.seen.fitting import Step, explained
from fedspec_suite.diagnosis.variants import Variant


def test_what_is_left_out_is_counted() -> None:
    far = Search()
    v = Variant(words="a", equation="", algorithm="sgd", options={})
    assert list(far.among(search.NAMES, [v, None, v], 3)) == [v, v] and str(far) == ""
    assert list(far.among(search.MECHANICAL, itertools.repeat(v), 2000, most=4)) == [v] * 4
    assert str(far) == "looked at 7 of 2,003 candidates"
    assert far.passes == ("3 of 3 that have a name", "4 of 2,000 mechanical edits")


def odd(inner: Any, e: Any, k: int) -> Any:
    answer = inner.step(e)
    return {**answer, "x": answer["x"] * (1 + 1e-3 * np.sin(np.arange(answer["x"].size) + k))}


@pytest.mark.night
def test_an_unnamed_one_is_not_looked_at_for_longer_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PAIRS", dict.fromkeys(search.PAIRS, 50))
    monkeypatch.setattr(known, "MOST", 100)
    subject = Behind("lamb", "client", take=odd)
    said = [in_words(diagnosed(subject), True)]
    hours = itertools.count(0, 3600)
    for clock in ("monotonic", "perf_counter", "time"):
        monkeypatch.setattr(time, clock, lambda: float(next(hours)))
    said.append(in_words(diagnosed(subject), True))
    assert said[0] == said[1]
    looked, there = (int(n.replace(",", "")) for n in re.findall(r"[\d,]+(?= of|(?= candidates))", said[0])[-2:])
    assert 100 < looked < 2000 < there


def test_how_far_it_went_is_said_where_nothing_is_found() -> None:
    d = Diagnosis(3, 1e6, seen="from the first event on", search="looked at 400 of 2,150 candidates")
    said = in_words(d, True)
    assert said == "no known variant; from the first event on; looked at 400 of 2,150 candidates"


@pytest.mark.parametrize("little", [1e-9, 1e-12])
def test_a_step_that_is_off_by_little_is_not_the_specified_one_times_one(little: float) -> None:
    """Nor are those behind a first one that is off by much as specified."""
    rng = np.random.default_rng(0)
    wanted = [rng.normal(size=4) for _ in range(8)]
    x = np.ones(4)

    def steps(first: float) -> list[Step]:
        return [
            Step(
                number=k,
                event="step",
                taken=w * (first if k == 0 else 1 + little),
                wanted=w,
                beside={"x": x},
                known={"t": k + 1.0},
            )
            for k, w in enumerate(wanted)
        ]

    assert explained(steps(1 + little), "float64") == ""
    assert "as specified" not in explained(steps(2.0), "float64")
