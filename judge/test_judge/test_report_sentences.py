"""Sentences of a verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_judge.results import HERE, asked, result, wrong

from fedspec_suite.diagnosis.diagnosis import AT_ONCE, SMALL
from fedspec_suite.judge.runner import about, first
from fedspec_suite.laws import all_laws
from fedspec_suite.measure.verdict import ADAPTER, Conformity, Deviation, Obligation, Result, Status
from fedspec_suite.report.sentences import (
    broken,
    finding,
    head,
    holds,
    names,
    offer_single,
    remedies,
    single_only,
    tally,
    unknown,
    words,
)

FAIL, PASS = Status.FAIL, Status.PASS
SEEN = "no known variant; the numbers agree to 6e-08, as if it computed in float32 somewhere inside"


FIRST = "; first seen in round 2: x[1] is 0.25, not 0.5"
ASKS = Deviation("fedyogi.v0", "", note="reading reddi-2021 asks v_0 >= tau^2, the subject fixes v0 = 0")
LATE = Deviation("fedavg.step", "round 2", note="arrays were changed in place")
LOST = "after restore, v is at its initial value: the resumed run gives other models (restored after round 1)"
AT_1 = replace(HERE, where="round 1", got=3.0)

HEADS = [
    (wrong("the sum is no mean at fedavg.delta (ratio 0.18)"), f"the sum is no mean at fedavg.delta{FIRST}"),
    # What cannot be compared has its deviation alone.
    (wrong(""), FIRST.removeprefix("; ")),
    # What is seen is said unless the event says it.
    (wrong(f"no known variant; {AT_ONCE}"), f"no known variant{FIRST}"),
    (wrong("no known variant; from round 2 on, in 3 of 12 cases"), f"from round 2 on, in 3 of 12 cases{FIRST}"),
    # Two variants name their equation once.
    (wrong("A (in the step) at a.b (ratio 0.18); or B at a.b (ratio 2)"), "A (in the step) at a.b, or B; first seen"),
    (wrong("A at a.b (ratio 0.18); or the rule of sgd (ratio 2)"), "A at a.b, or the rule of sgd; first seen"),
    # Where x is right the finding comes first.
    (
        wrong("x follows the claimed reading", asked("reading-requires", FAIL, "any", deviation=ASKS)),
        f"{ASKS.note}; x follows the claimed reading",
    ),
    (
        wrong("x follows the claimed reading", asked("inputs", FAIL, deviation=LATE)),
        f"in round 2 arrays were changed in place (check inputs: {all_laws()['inputs'].words}); x follows the claimed",
    ),
    (
        wrong("x follows the claimed reading", asked("isolated", FAIL, deviation=replace(HERE, note="it shares v"))),
        f"it shares v: in round 2 x[1] is 0.25, not 0.5 (check isolated: {all_laws()['isolated'].words}); x follows",
    ),
    (
        wrong("x follows the claimed reading", asked("resumes", FAIL, deviation=replace(HERE, note=LOST))),
        f"{LOST}; without interruption x follows the claimed reading",
    ),
    (
        wrong("x follows the claimed reading", asked("resumes", FAIL, deviation=replace(LATE, note="save fails: E"))),
        "in round 2 save fails: E; without interruption x follows the claimed reading",
    ),
    # A feature that decides comes before the numbers.
    (
        wrong("x follows the claimed reading in small cases; it deviates from 21 clients on"),
        "small cases; it deviates from 21 clients on; first seen in round 2: x[1] is 0.25, not 0.5",
    ),
    # Of two quantities each is said from when on, and the number is of the one that the law reads.
    (
        wrong("no known variant; from round 2 on", asked("follows-lam-i", FAIL)),
        "no known variant; x from round 2 on; first seen in round 2: lam_i[1] is 0.25, not 0.5",
    ),
    (wrong("A", asked("follows-v-hat", FAIL), asked("follows-x", FAIL)), "A; first seen in round 2: v_hat[1] is 0.25"),
    # The deviation is the one that the judge put first.
    (
        wrong("A", asked("mean", FAIL), asked("follows-x", FAIL, deviation=AT_1), first_deviation=str(AT_1)),
        "A; first seen in round 1: x[1] is 3, not 0.5",
    ),
]


@pytest.mark.parametrize(("r", "said"), HEADS, ids=[said for _, said in HEADS])
def test_what_a_verdict_comes_to_is_one_sentence(r: Result, said: str) -> None:
    assert said in head(r)


def test_large_cases_that_come_down_to_the_same_say_it_once() -> None:
    plain, other = replace(HERE, note="in a case with usual numbers"), replace(HERE, note="in a case with 9 clients")
    laws = ("far-numbers", "far-coordinates", "far-rounds", "far-clients")
    notes = (plain, plain, other, replace(plain, got=4.0))
    far = [asked(law, FAIL, deviation=d) for law, d in zip(laws, notes, strict=True)]
    single = asked("far-rounds", FAIL, "float32", deviation=plain)
    r = wrong("A", *far, single)
    assert [finding(o, r) for o in far] == [str(plain), "as far-numbers", str(other), "as far-numbers"]
    assert finding(single, r) == str(plain)


def test_a_law_that_met_what_is_no_number_and_nothing_else_is_not_said_to_fail() -> None:
    nan = replace(HERE, got=None, want=None, note="x[7] is nan")
    far = replace(HERE, got=float("inf"))
    r = wrong(
        "no known variant",
        asked("unanimous", Status.FAIL, deviation=nan),
        asked("mean", Status.FAIL, deviation=far),
        asked("zero-weight", Status.FAIL, deviation=nan),
        asked("zero-weight", Status.FAIL, "float32"),
    )
    assert broken(r) == [all_laws()["zero-weight"].words]


def test_an_answer_that_cannot_be_read_is_said_to_be_that_and_no_breach_of_the_law_that_asked() -> None:
    unread = Deviation("fedavg.step", "round 1", note=f"{ADAPTER}x['w'] has shape (2, 1)", shown="x")
    shown = replace(unread, note=f"{ADAPTER}v_hat['w'] has shape (2, 1)", shown="v_hat")
    r = wrong("no known variant", asked("inputs", FAIL, deviation=unread))
    assert head(r) == f"{unread.note} (seen in round 1)"
    assert broken(r) == []
    # A law of the model met what is shown beside it: of the model nothing wrong was seen.
    assert [about(asked("follows-x", FAIL, deviation=d)) for d in (unread, shown)] == ["x", "v_hat"]


def test_broken_and_holding_laws_are_said_in_their_words_and_once() -> None:
    r = wrong(
        "no known variant",
        asked("follows-x", FAIL),
        asked("zero-weight", FAIL),
        asked("zero-weight", FAIL, "float32"),
        asked("unanimous", PASS),
        asked("unanimous", FAIL, "float32"),
        asked("mirrors"),
        asked("mirrors", PASS, "float32"),
        asked("repeats"),
        asked("mean", Status.SKIP),
        asked("client-order", Status.INCONCLUSIVE),
    )
    assert unknown(r)
    assert broken(r) == [all_laws()["zero-weight"].words, f"{words('unanimous')} (float32 alone)"]
    assert holds(r) == [all_laws()["mirrors"].words]
    assert not unknown(wrong("A at fedavg.step (ratio 1)")) and not unknown(result())


def by(ratio: float | None, dtype: str = "float64", nearest: str = SEEN) -> Result:
    deviation = replace(HERE, ratio=ratio, note="" if ratio else "other bits")
    passed = asked("follows-x", PASS, "float32" if dtype == "float64" else "float64")
    return wrong(nearest, asked("follows-x", FAIL, dtype, deviation=deviation), passed)


@pytest.mark.parametrize(
    ("r", "agrees"),
    [
        (by(2.6e8), True),
        (by(1e10), True),
        (by(1e11), False),
        (by(1e3), False),
        (by(None), False),
        (by(1e3, "float32"), False),
        (result(), False),
    ],
)
def test_float32_accuracy_is_the_threshold_in_its_own_epsilon(r: Result, agrees: bool) -> None:
    assert single_only(r) is agrees
    assert ("agrees to float32 accuracy only" in head(r)) is agrees


def test_float32_inside_is_said_in_words_and_with_the_way_out() -> None:
    cause = "agrees to float32 accuracy only, as if it computed in float32 somewhere inside; first seen in round 2"
    assert head(by(1e8)).startswith(cause)
    assert head(by(1e8, nearest="no known variant")).startswith(cause)
    assert offer_single(by(1e8)) == ('in float32 1 of 1 check pass; if that is all you need, claim dtypes=("float32",)')


@pytest.mark.parametrize(("status", "agrees"), [(FAIL, True), (PASS, False), (Status.SKIP, True)])
def test_what_only_some_large_cases_show_is_no_rounding(status: Status, agrees: bool) -> None:
    """Client memory that expires after ten rounds is off by as little, in long runs alone."""
    off = asked("far-rounds", FAIL, deviation=replace(HERE, ratio=1e8))
    assert single_only(wrong(SMALL, off, asked("far-numbers", status, deviation=off.deviation))) is agrees
    assert single_only(wrong(SEEN, off, asked("far-numbers", status, deviation=off.deviation)))


def test_float32_accuracy_does_not_hide_what_is_known_of_the_cause() -> None:
    named = head(by(1e8, nearest="1e-8 inside the root at sm3-ii.step (ratio 0.4)"))
    assert named.startswith("1e-8 inside the root at sm3-ii.step; first seen")
    fitted = head(by(1e8, nearest="no known variant; only block b deviates, never w"))
    assert fitted.startswith("agrees to float32 accuracy only; only block b deviates, never w; first seen")


def test_no_answer_says_what_was_raised_and_how_often() -> None:
    error = asked("follows-x", Status.ERROR, reason="adapter: KeyError: 'lr'")
    r = result(Conformity.ERROR, error, asked("repeats"), first_deviation=error.reason)
    assert head(r) == "KeyError: 'lr'; 1 of 2 checks raised an error"
    assert head(result(Conformity.ERROR, error, first_deviation=error.reason)) == "KeyError: 'lr'"
    both = head(wrong("A", asked("follows-x", FAIL), error))
    silent = asked("follows-x", Status.ERROR, reason="adapter: no answer to 'step' within 20 s; it was stopped")
    hangs = result(Conformity.ERROR, silent, asked("repeats"), first_deviation=silent.reason)
    assert head(hangs).endswith("; 1 of 2 checks got no answer")
    assert tally([r]) == "0 of 1 claim conforms, 1 raised an error."
    assert tally([r, r]) == "0 of 2 claims conform, 2 raised an error."
    assert tally([r, hangs]) == "0 of 2 claims conform, 2 gave no answer."
    assert both.startswith("KeyError: 'lr' (1 of 2 checks raised an error); A; ")


def test_zeros_that_are_refused_are_named_and_the_rest_is_counted() -> None:
    def refuses(name: str) -> Obligation:
        return asked(f"takes-zero-{name}", Status.ERROR, reason="adapter: ValueError: no samples")

    r = result(Conformity.ERROR, asked("repeats"), asked("rests"), refuses("rho"))
    assert (
        head(r) == 'refuses rho = 0 (ValueError: no samples), which nonzero=("rho",) declares; without it 2 of 2 pass'
    )
    two = result(Conformity.ERROR, asked("repeats"), refuses("rho"), refuses("weight"))
    assert head(two).startswith("refuses rho = 0 and a client without examples (")
    assert 'nonzero=("rho", "weight") declares' in head(two)
    assert tally([r]) == "0 of 1 claim conforms, 1 refuses a zero."
    lost = result(Conformity.ERROR, asked("repeats", Status.ERROR, reason="adapter: it ended"))
    assert tally([r, lost]) == "0 of 2 claims conform, 2 gave no answer."
    assert "; refuses rho = 0 (" in head(wrong("A", asked("follows-x", FAIL), refuses("rho")))


def test_inconclusive_says_which_laws() -> None:
    r = result(Conformity.INCONCLUSIVE, asked("repeats"), asked("rests", Status.INCONCLUSIVE))
    assert head(r) == "1 of 2 checks could not be decided, rounding errors too large: rests"
    assert head(result(Conformity.INCONCLUSIVE, asked("repeats", Status.SKIP))) == "no check is about what it claims"


def test_offers_are_called_by_no_more_than_tells_them_apart() -> None:
    a = result()
    assert names([a, result(algorithm="fedprox")]) == ["mine 0.1 fedavg", "mine 0.1 fedprox"]
    assert names([a, result(level="round")]) == ["mine 0.1 fedavg server", "mine 0.1 fedavg round"]
    assert names([a, result(level="round", reading="other")]) == ["mine 0.1 fedavg server", "mine 0.1 fedavg round"]
    assert names([a, result(reading="other")]) == ["mine 0.1 fedavg mcmahan-2017", "mine 0.1 fedavg other"]
    assert names([a, result(subject="mine (new)")]) == ["mine 0.1 fedavg", "mine 0.1 (new) fedavg"]
    assert names([a, result(version="0.2")]) == ["mine 0.1 fedavg", "mine 0.2 fedavg"]


def test_twins_are_told_apart_by_what_is_declared_or_pinned() -> None:
    options = [result(options={"weights": w}) for w in ("examples", "uniform")]
    assert names(options) == ["mine 0.1 fedavg weights=examples", "mine 0.1 fedavg weights=uniform"]
    pinned = [result(fixed=fixed) for fixed in ({}, {"eta": 1.0}, {"eta": 0.1})]
    assert names(pinned) == ["mine 0.1 fedavg", "mine 0.1 fedavg fixed eta=1", "mine 0.1 fedavg fixed eta=0.1"]
    assert names([result(), result()]) == ["mine 0.1 fedavg (1 of 2)", "mine 0.1 fedavg (2 of 2)"]
    assert len(set(names([*options, *pinned, result()]))) == 6


def test_line_ends_of_a_subject_do_not_break_a_sentence() -> None:
    error = asked("follows-x", Status.ERROR, reason="adapter: one\ntwo")
    r = result(Conformity.ERROR, error, first_deviation=error.reason, version="1\n2")
    assert head(r) == "one two" and names([r]) == ["mine 1 2 fedavg"]


def test_a_number_is_called_by_what_it_is_of_and_told_apart() -> None:
    d = Deviation("fednova.tau_eff", "round 1", 0, got=0.999999999999889, want=1.0, ratio=56.0, shown="tau_eff")
    r = result(Conformity.DOES_NOT, asked("far-numbers", Status.FAIL, deviation=d))
    assert "tau_eff[0] is 0.9999999999999, not 1" in head(r)


def test_an_ignored_hyper_parameter_has_a_remedy() -> None:
    remedy = 'if your user cannot set eta, or your claim is older than eta, claim fixed={"eta": 1}'
    assert remedies(wrong("eta is ignored (taken as 1)")) == [remedy]
    assert not remedies(wrong("eta is squared"))
    starts = replace(wrong("v starts at zero, whatever v_0 is at fedadam.v"), algorithm="fedadam")
    assert remedies(starts) == ['if it always starts there, claim fixed={"v0": 0.0}']


def test_the_rule_comes_before_cases_that_are_made_for_a_law() -> None:
    later = replace(HERE, where="round 3")
    failed = [
        asked("tie-stays", Status.FAIL),
        asked("follows-tie", Status.FAIL, deviation=HERE),
        asked("far-numbers", Status.FAIL, deviation=HERE),
        asked("follows-x", Status.FAIL, deviation=later),
    ]
    assert [o.law for o in first(failed)] == ["follows-x", "follows-tie", "far-numbers", "tie-stays"]
    assert [o.law for o in first(failed[:2])] == ["follows-tie", "tie-stays"]


def test_the_most_telling_property_comes_first() -> None:
    r = wrong("no known variant", asked("follows-x", FAIL), asked("unrolled", FAIL), asked("inputs", FAIL))
    r = replace(r, properties={"fedavgm-is-fedavg": "fail", "rate": "fail", "client-split": "fail", "mean": "pass"})
    ids = ("inputs", "client-split", "rate", "unrolled", "fedavgm-is-fedavg")
    assert broken(r) == [words(law) for law in ids]


@pytest.mark.parametrize(("nearest", "begins"), [("no known variant", True), ("v is forgotten at a.b", False)])
def test_inputs_that_are_changed_are_said_before_what_has_no_name(nearest: str, begins: bool) -> None:
    note = "arrays that were handed in were changed in place: delta"
    touched = asked("inputs", Status.FAIL, deviation=Deviation("a.b", "round 1", note=note))
    said = head(wrong(nearest, asked("follows-x", Status.FAIL), touched))
    assert note in said and said.startswith(f"{note}: mend that first") == begins


def test_a_type_that_is_not_kept_is_said_before_what_has_no_name() -> None:
    note = "x comes back as float32 from float64"
    typed = asked("dtype", Status.FAIL, deviation=Deviation("a.b", "round 1", note=note))
    assert head(wrong(SEEN, asked("follows-x", Status.FAIL), typed)).startswith(f"{note}: mend that first")
