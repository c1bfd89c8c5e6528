"""Words of a claim with large or small numbers: code that leaves a word out deviates, or the verdict names the word.

The second route is a wrong subject: the specification without the word.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from test_judge.diagnosing import written
from test_judge.results import result

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Case, Claim, Level, Offer, Session
from fedspec.reference import SUBJECT
from fedspec_suite.judge.equation_coverage import compared_quantities, with_coverage
from fedspec_suite.judge.runner import judge_offer, result_of
from fedspec_suite.measure.case_summary import scenarios_in
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.verdict import Conformity, Result, Status, Unseen
from fedspec_suite.report.partial_conformance import to_be_seen

pytestmark = pytest.mark.table(4)


def without(offer: Offer, word: str, other: str = "") -> Any:
    """The specification, which drops a word of its claim, or puts another word in its place."""

    def start(case: Case) -> Session:
        schedules = {} if word == "schedule" else case.schedules
        said = {n: [other if w == word else w for w in getattr(case, n)] for n in ("gradients", "messages", "steps")}
        chains = {n: tuple(filter(None, words)) for n, words in said.items()}
        return SUBJECT.start(replace(case, schedules=schedules, **chains))

    return written(offer, start)


def another(offer: Offer, name: str, other: float) -> Any:
    """The specification, which has another number in the place of a hyper-parameter."""
    return written(offer, lambda case: SUBJECT.start(replace(case, hyper={**case.hyper, name: other})))


def judged(offer: Offer, word: str, other: str = "", laws: str = "follows-x") -> Result:
    subject = InProcess(without(offer, word, other))
    found = judge_offer(subject, offer, law=laws, profile="quick")
    return with_coverage(result_of(subject, offer, found, unasked=0), offer, compared_quantities(found))


def claim(level: str = "server", algorithm: str = "fedavg", **words: Any) -> Claim:
    reading = CATALOGUE[algorithm].readings[0].name
    return Claim(algorithm, level, reading, dtypes=words.pop("dtypes", ("float64",)), **words)


NOTICED = [
    *(
        (claim(level, messages=(word,)), word)
        for level in ("server", "round")
        for word in ("clip-norm 1e6", "fixed 40")
    ),
    *(
        (claim(messages=(word,)), word)
        for word in ("clip-value 1e8", "mean-clip-norm 1e5", "clip-norm 1e-8", "fixed 52")
    ),
    *((claim(messages=(w,), dtypes=("float32",)), w) for w in ("clip-norm 1e6", "fixed 36")),
    *((claim("client", "momentum", gradients=(w,)), w) for w in ("clip-norm 1e6", "decay 1e-9", "scale-norm 1e-6")),
    (claim("round", gradients=("clip-block-norm 1e6",)), "clip-block-norm 1e6"),
    (claim("trace", "dsgd", gradients=("clip-value 1e6",)), "clip-value 1e6"),
    (claim("client", "adam", steps=("decoupled-decay 1e-9",)), "decoupled-decay 1e-9"),
    (claim("client", "adam", steps=("lookahead 20 0.999",)), "lookahead 20 0.999"),
    (claim(messages=("clip-norm 1", "fixed 40")), "fixed 40"),
    (claim(messages=("clip-norm 1", "float16")), "float16"),
]


@pytest.mark.parametrize(("offer", "word"), NOTICED, ids=lambda v: v if isinstance(v, str) else v.level)
def test_cases_follow_the_number_of_a_word(offer: Claim, word: str) -> None:
    assert judged(offer, word).verdict is Conformity.DOES_NOT
    right = judged(offer, "")
    assert (right.verdict, right.unseen) == (Conformity.CONFORMS, ())


UNREACHED = [
    # No power of two fits both bounds, and a bfloat16 has no bits below 2^-60.
    (claim(messages=("clip-value 1", "clip-norm 1e6")), "clip-norm 1e6"),
    (claim(messages=("bfloat16", "fixed 60")), "fixed 60"),
    (claim(messages=("clip-norm 1", "mean-clip-norm 100")), "mean-clip-norm 100"),
    (claim(messages=("clip-norm 1e9", "float16")), "clip-norm 1e9"),
    (claim("server", "fedavgm", schedules={"eta": "step/round period=1000 factor=0.5"}), "schedule"),
]


@pytest.mark.parametrize(("offer", "word"), UNREACHED, ids=lambda v: v if isinstance(v, str) else v.level)
def test_a_word_that_no_case_reaches_is_named(offer: Claim, word: str) -> None:
    for r in (judged(offer, word), judged(offer, "")):
        assert r.verdict is Conformity.IN_PART
        said = "the schedule of eta" if word == "schedule" else word
        assert [u.equation for u in r.unseen] == [said]
        assert r.said == f"conforms in x; {said} was not seen"


def test_a_least_divisor_is_passed_by_more_clients_than_it_says() -> None:
    messages = ("clip-norm 1", "weight-cap 300", "divisor-at-least 12")
    offer = claim(messages=messages)
    assert judged(offer, messages[2], "divisor 12").verdict is Conformity.DOES_NOT
    assert judged(offer, "").verdict is Conformity.CONFORMS
    many = claim(messages=(*messages[:2], "divisor-at-least 400"))
    assert judged(many, "divisor-at-least 400", "divisor 400").verdict is Conformity.IN_PART


def test_masks_and_a_schedule_of_a_longer_run_need_no_word() -> None:
    assert judged(claim(messages=("masks 100",)), "masks 100").verdict is Conformity.CONFORMS
    offer = claim("server", "fedavgm", schedules={"eta": "step/round period=45 factor=0.5"})
    assert judged(offer, "", laws="follows-x,far-rounds").verdict is Conformity.CONFORMS
    assert judged(offer, "schedule", laws="far-rounds").verdict is Conformity.DOES_NOT
    # Only what ran counts: small cases have a few rounds.
    assert judged(offer, "").verdict is Conformity.IN_PART


def test_the_sentence_says_what_to_do() -> None:
    clip, late = (Unseen(word, word, ()) for word in ("clip-norm 1e9", "the schedule of eta"))
    c = Unseen("scaffold.c", "c = c", ("c",))
    both = to_be_seen(replace(result(), seen=("x",), unseen=(clip, c)))
    assert both == (
        "code without clip-norm 1e9 gives the same numbers in fedspec's cases; "
        "claim a number nearer to 1, which they reach; "
        "x would be the same with another scaffold.c; return c too"
    )
    assert to_be_seen(replace(result(), seen=("x",), unseen=(late,))).endswith(
        "; raise --rounds, or claim a number nearer to 1, which they reach"
    )


FIXED = [
    ("trimmed-mean", "server", "trim", 0.01, 0.0),
    ("agdu", "client", "z", 30, 300),
    ("ef21", "round", "kept", 100, 1000),
]


@pytest.mark.parametrize(("algorithm", "level", "name", "value", "other"), FIXED)
def test_a_fixed_number_that_no_case_reaches_is_named(
    algorithm: str, level: Level, name: str, value: float, other: float
) -> None:
    offer = claim(level, algorithm, fixed={name: value})
    subject = InProcess(another(offer, name, other))
    found = judge_offer(subject, offer, law="follows-x,far-*", profile="quick")
    r = with_coverage(result_of(subject, offer, found, unasked=0), offer, compared_quantities(found))
    assert r.said == f"conforms in x; {name} = {value:g} was not seen"
    seen = claim("server", "trimmed-mean", fixed={"trim": 0.2})
    assert judged(seen, "", laws="follows-x,far-clients").unseen == ()


def test_a_counterexample_keeps_the_fixed_numbers_of_its_claim() -> None:
    offer = claim("server", "trimmed-mean", fixed={"trim": 0.1})
    found = judge_offer(InProcess(another(offer, "trim", 0.0)), offer, law="follows-x,far-*", profile="quick")
    cases = [s for o in found if o.status is Status.FAIL for s in scenarios_in(o.case)]
    assert cases and {s.case.hyper["trim"] for s in cases} == {0.1}
