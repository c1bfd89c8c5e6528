"""Feature that decides: a subject follows the claim in small cases, deviates beyond them, and the report names it."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import benched, diagnosed
from test_judge.subjects.behind import Behind
from test_judge.subjects.gated import GATES, each, each_message, first, numbers

from fedspec.contract import Gradient, Messages
from fedspec_suite.diagnosis import identify as diagnosis
from fedspec_suite.diagnosis.cases.probes import Ladder
from fedspec_suite.diagnosis.diagnosis import Diagnosis, in_words, not_before
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.diagnosis.lasting import Larger
from fedspec_suite.diagnosis.seen import gates
from fedspec_suite.diagnosis.seen.course import course
from fedspec_suite.diagnosis.seen.gates import _words
from fedspec_suite.measure.scenario import with_hyper
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Undecided
from fedspec_suite.mutants import find

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]


@cache
def setting(algorithm: str, level: str, reading: str = "") -> Setting:
    return setting_of(Behind(algorithm, level, reading=reading).info.offers[0])


def forgetting(round_: int) -> Callable[[Any, Any, int], Any]:
    def take(inner: Any, e: Any, k: int) -> Any:
        if k == round_ - 1:
            inner.state = replace(inner.state, v=inner.state.v * 0)
        return inner.step(e)

    return take


def tired(inner: Any, e: Any, k: int) -> Any:
    late = isinstance(e, Gradient) and inner.k >= 10
    return inner.step(Gradient({n: 0 * a for n, a in e.g.items()}) if late else e)


def first_again(inner: Any, e: Any, k: int) -> Any:
    """The first step of a round is known by a buffer of zeros, not counted."""
    if isinstance(e, Gradient) and not inner.state.u.any():
        inner.k = 0
    return inner.step(e)


def in_order(k: int, e: Any) -> Any:
    return e if list(e.participants) == sorted(e.participants) else replace(e, steps=tuple(t + 1 for t in e.steps))


FOLLOWED = {
    "where clients do not come in the order of their numbers": Behind("fednova-vr", "round", event=in_order),
    "from 17 clients on": Behind("fedavg", "server", event=first(16)),
    "where a client's number is 256 or more": Behind("fedavg", "server", event=GATES["clients by number"][1].event),
    "from 65536 examples of a client on": Behind(
        "fedavg", "server", event=lambda k, e: each_message(e, weight=lambda n: min(n, 65535))
    ),
    "where rho = 0": Behind("momentum", "client", case=numbers(rho=lambda v: v or 0.9)),
    "where gamma = 0": Behind("decayed-sgd", "client", case=numbers(gamma=lambda v: v or 1.0)),
    "in # of # cases in which the first gradient of a round is zero": Behind(
        "dampened", "client", take=first_again, reading="first-gradient"
    ),
    "with numbers of about 1e+02 and more": Behind("momentum", "client", event=each(lambda a: np.clip(a, -100, 100))),
    "where mu is more than 1": Behind("proximal-sgd", "client", case=numbers(mu=lambda v: min(v, 1.0))),
    "from local step 11 on": Behind("adam", "client", take=tired),
    "from round 11 on": Behind("fedavgm", "server", take=forgetting(11)),
}


@pytest.mark.parametrize("words", FOLLOWED)
def test_the_feature_that_decides_is_said_and_no_other(words: str) -> None:
    d = diagnosed(FOLLOWED[words])
    said = re.sub(r"\d+ of \d+ cases", "# of # cases", in_words(d, True))
    assert len(d.gates) == 1
    # A sample may have the feature too.
    before = "x follows the claimed reading in small cases" if d.follows else "no known variant"
    assert said.startswith(f"{before}; it deviates {words}")


def only_once(inner: Any, e: Any, k: int) -> Any:
    answer = inner.step(e)
    return {**answer, "x": answer["x"] + (len(e.computing) == 1)}


def test_rounds_of_one_local_step_are_told_from_longer_ones() -> None:
    assert diagnosed(Behind("gossip-pga", "trace", take=only_once)).gates == ("with 1 local step of a round",)


def test_it_is_said_too_where_the_samples_show_it() -> None:
    d = diagnosed(Behind("fedavg", "server", event=first(3)))
    assert not d.follows and not d.found and d.gates == ("from 4 clients on",)
    assert re.match(
        r"no known variant; it deviates from 4 clients on, and in none of the \d+ other cases", in_words(d, True)
    )


def test_a_gate_that_a_case_played_contradicts_is_not_said() -> None:
    """With three clients it deviates too where the first has few examples: no number of clients decides alone."""

    def beside(inner: Any, e: Any, k: int) -> Any:
        most = 3 if e.messages[0].weight > 5 else 2
        return inner.step(Messages(e.messages[:most]))

    d = diagnosed(Behind("fedavg", "server", take=beside))
    # Four clients do not decide; that two never show it may be said, with the count of those that do.
    assert not d.found and all(gate.startswith("only from 3 clients on, in ") for gate in d.gates)


def test_where_it_does_not_deviate_is_said_of_the_cases_played() -> None:
    said = Diagnosis(3, 1e6, gates=("where rho = 0",), beside=7).instead("; or ")
    assert said == "no known variant; it deviates where rho = 0, and in none of the 7 other cases"
    said = Diagnosis(3, 1e6, gates=("from round 2 on",), beside=30).instead("; or ")
    assert said == "no known variant; it deviates from round 2 on; in none of the 30 cases of one round"
    said = Diagnosis(3, 1e6, gates=("from arrival 11 on",), beside=3).instead("; or ")
    assert said == "no known variant; it deviates from arrival 11 on; in none of the 3 cases of fewer than 11 arrivals"
    said = Diagnosis(3, 1e6, gates=("where rho = 0",)).instead("; or ")
    assert said == "no known variant; it deviates where rho = 0"


def test_the_words_do_not_depend_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count of events ends the search, not a time: a machine on which every look takes an hour says the same."""
    words = "from 65536 examples of a client on"
    hours = itertools.count(0, 3600)
    for clock in ("monotonic", "perf_counter", "time"):
        monkeypatch.setattr(time, clock, lambda: float(next(hours)))
    assert diagnosed(FOLLOWED[words]).gates == (words,)
    monkeypatch.setattr(gates, "EVENTS", 0)
    assert diagnosed(FOLLOWED[words]).gates == ()


def test_a_right_one_deviates_nowhere() -> None:
    for algorithm, level in (("fedavg", "server"), ("momentum", "client"), ("fedavgm", "server")):
        d = diagnosed(Behind(algorithm, level))
        assert d.follows and not d.gates


def test_a_case_in_which_nothing_can_be_decided_is_passed_over() -> None:
    """A zero beside a second moment that may be zero: a case made plainer may come down to that."""
    bench, of = benched(Behind("fedyogi", "server"))
    known = known_of(of)
    cases = [with_hyper(s, tau=0.0, v0=0.0) for s in known.samples]
    s = next(s for s in cases if any((m.delta[n] == 0).all() for m in s.events[0].messages for n in m.delta))  # type: ignore[union-attr]
    with pytest.raises(Undecided):
        bench.play(s)
    nowhere = replace(known, samples=(s,) * len(cases))
    assert diagnosis._played(bench, (s,)) == {}
    assert gates._Asked(bench, known).first(s) is None
    assert course(bench, (s,)) == ""
    assert Larger(bench, of, nowhere, {0: [{"x": np.zeros(1)}]}).fits(known.claimed) == (True, True)


def test_values_that_are_rarely_right_are_said_as_an_exception() -> None:
    case: Any = None
    ladder = Ladder("beta1", (0.0, 0.25, 0.5, 0.9), lambda v: case)
    assert _words(ladder, [0.0, 0.25, 0.5, 0.9], [0.0, 0.25, 0.9]) == "unless beta1 is 0.5"
    assert _words(ladder, [0.0, 0.25, 0.5, 0.9], [0.25, 0.9]) == "where beta1 is 0.25 or 0.9"
    said = Diagnosis(3, 1e6, gates=("unless beta1 is 0.5",)).instead("; or ")
    assert said == "no known variant; it deviates unless beta1 is 0.5"


def test_an_event_before_which_a_law_saw_it_deviate_is_not_said() -> None:
    d = Diagnosis(4, 99.0, gates=("from round 2 on",), beside=30)
    assert not_before(d, ["round 2", "step 1", ""]) == d
    assert "from round 2" not in not_before(d, ["round 3", "round 1"]).instead("; ")
    other = Diagnosis(4, 99.0, gates=("where rho = 0",), beside=30)
    assert not_before(other, ["round 1"]) == other


def test_what_has_a_name_is_found_in_the_cases_that_deviate_where_no_sample_does() -> None:
    d = diagnosed(Behind("trimmed-mean", "server", edits=(find("trimmed-mean-clipped"),)))
    assert d.follows and [f.words for f in d.found] == ["what is left out counts as the nearest value that is kept"]
    assert in_words(d, True).startswith("what is left out counts as the nearest value that is kept at trimmed-mean.del")
    # What has none is told as before.
    assert not diagnosed(FOLLOWED["where mu is more than 1"]).found
