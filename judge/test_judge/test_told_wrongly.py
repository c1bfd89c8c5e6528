"""Sentences that were printed and were wrong: each subject is told what is true of it, or nothing of the kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import benched, diagnosed, server
from test_judge.results import asked, result, wrong
from test_judge.subjects.behind import Behind
from test_judge.subjects.gated import numbers
from test_judge.test_gates import setting

from fedspec.arith import Array
from fedspec.contract import Case, ClientMessage, Messages
from fedspec_suite.diagnosis import known, search
from fedspec_suite.diagnosis.cases.samples import samples_of
from fedspec_suite.diagnosis.cases.without import on_ladder, without
from fedspec_suite.diagnosis.diagnosis import CLAIMED, Diagnosis, in_words, not_before
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.diagnosis.seen.held_out import held_out, related
from fedspec_suite.judge.runner import ITSELF, UNDECIDED
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.verdict import Conformity, Status
from fedspec_suite.report import sentences


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pair and few edits: what has a name is looked for in other tests."""
    monkeypatch.setattr(search, "PAIRS", dict.fromkeys(search.PAIRS, 5))
    monkeypatch.setattr(known, "MOST", 5)


def lone_is_nothing(inner: Any, e: Messages, k: int) -> Any:
    if len(e.messages) == 1:
        nothing = {n: 0 * a for n, a in e.messages[0].delta.items()}
        e = Messages((replace(e.messages[0], delta=nothing),))
    return inner.step(e)


@pytest.mark.slow
def test_a_lone_client_is_told_as_such_and_not_by_a_number_that_the_rule_does_not_read() -> None:
    d = diagnosed(Behind("diloco", "server", take=lone_is_nothing))
    (gate,) = d.gates
    assert not d.found and re.fullmatch(r"in \d+ of \d+ cases in which a round has one client", gate), gate


def median_without_zeros(case: Case, sent: tuple[ClientMessage, ...], n: str) -> Array:
    changes = np.stack([m.delta[n] for m in sent])
    counted = np.ma.masked_equal(changes, 0)  # type: ignore[no-untyped-call]
    return np.asarray(np.ma.median(counted, axis=0).filled(0))  # type: ignore[no-untyped-call]


def krum_without_zeros(case: Case, sent: tuple[ClientMessage, ...], n: str) -> Array:
    """A distance of zero counts as that to oneself."""
    changes = np.stack([np.concatenate([a.ravel() for a in m.delta.values()]) for m in sent])
    near = max(1, len(sent) - int(case.hyper["f"]) - 2)
    apart = ((changes[:, None] - changes[None]) ** 2).sum(-1)
    return sent[int(np.argmin([np.sort(row[row > 0])[:near].sum() for row in apart]))].delta[n]


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize(("algorithm", "move"), [("median", median_without_zeros), ("krum", krum_without_zeros)])
def test_what_goes_with_a_mistake_by_chance_is_not_said(algorithm: str, move: Callable[..., Array]) -> None:
    """Neither other norms than one another nor a single coordinate makes it deviate."""
    d = diagnosed(server(algorithm, move))
    said = in_words(d, True, small=False)
    assert not d.found and d.gates == () and "||a_i||" not in said and "small cases" not in said


def but_two(inner: Any, e: Messages, k: int) -> Any:
    answer = inner.step(e)
    return {**answer, "x": answer["x"] + 0.125 * (len(e.messages) != 2)}


@pytest.mark.slow
def test_all_numbers_but_one_are_told_as_an_exception() -> None:
    assert diagnosed(Behind("fedavg", "server", take=but_two)).gates == ("unless there are 2 clients",)


def last_message(inner: Any, e: Any, k: int) -> Any:
    """EF21 whose memory is the last message: it has no local steps, and takes any number of them."""
    answer = inner.step(replace(e, steps=(1,) * len(e.steps)))
    inner.state = replace(inner.state, g_i=answer["c_i"])
    return {"x": answer["x"], "c_i": answer["c_i"], "g_i": answer["g_i"], "g": answer["g"]}


@pytest.mark.slow
def test_no_second_mistake_is_said_that_no_case_of_the_claim_shows() -> None:
    d = diagnosed(Behind("ef21", "round", reading="richtarik-2021-code", take=last_message))
    assert "everybody takes one local step" not in in_words(d, True)


def mean(case: Case, sent: tuple[ClientMessage, ...], n: str) -> Array:
    return sum(m.weight * m.delta[n] for m in sent) / sum(m.weight for m in sent)  # type: ignore[no-any-return]


def masked(case: Case, sent: tuple[ClientMessage, ...], n: str) -> Array:
    """Secure aggregation in floats: each two clients add and take away the same normal numbers."""
    dice, weighed = np.random.default_rng(1), [m.weight * m.delta[n] for m in sent]
    for i in range(len(sent)):
        for j in range(i):
            mask = dice.standard_normal(sent[0].delta[n].shape)
            weighed[i], weighed[j] = weighed[i] + mask, weighed[j] - mask
    return sum(weighed) / sum(m.weight for m in sent)  # type: ignore[no-any-return]


def in_fixed_point(bits: int) -> Callable[..., Array]:
    def move(case: Case, sent: tuple[ClientMessage, ...], n: str) -> Array:
        total = sum(m.weight for m in sent)
        whole = sum(np.round(m.weight / total * m.delta[n] * 2.0**bits) for m in sent)
        return np.asarray(whole / 2.0**bits)

    return move


DECIMALS = {
    "masked": (masked, "15 decimals"),
    "fixed point": (in_fixed_point(32), "8 decimals"),
    "coarse fixed point": (in_fixed_point(20), "5 decimals"),
}


@pytest.mark.table(1)
@pytest.mark.parametrize("name", DECIMALS)
def test_a_claim_that_is_met_to_some_decimals_is_told_as_that_and_as_no_deviation(name: str) -> None:
    move, decimals = DECIMALS[name]
    said = in_words(diagnosed(server("fedavg", move)), True)
    assert said == f"the claimed rule, to {decimals} absolutely"
    assert sentences.head(wrong(said)).startswith(f"{said}; first seen in")


@pytest.mark.table(1)
@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda *given: mean(*given) + 1e-9, marks=pytest.mark.slow),
        lambda *given: mean(*given) * (1 + 1e-6),
        lambda *given: np.where(abs(mean(*given)) < 1e-4, 0, mean(*given)),
        pytest.param(lambda *given: mean(*given).astype(np.float32), marks=pytest.mark.slow),
    ],
)
def test_what_is_no_rounding_to_some_place_is_not_told_as_the_claim(other: Callable[..., Array]) -> None:
    d = diagnosed(server("fedavg", other))
    assert not d.decimals and CLAIMED not in in_words(d, True) and "every step is eta times" not in in_words(d, True)


def test_no_case_that_a_law_found_contradicts_what_is_said() -> None:
    """It deviates where rho is 0, which cases that are drawn show, and beside one other number, which none does."""
    bench, of = benched(Behind("momentum", "client", case=numbers(rho=lambda v: 0.9 if v in {0, 0.3} else v)))
    assert identify(bench, of, further=True).gates == ("where rho = 0",)
    broken = [with_hyper(s, rho=0.3) for s in samples_of(of)[:2]]
    assert identify(bench, of, further=True, broken=broken).gates == ()


def test_an_event_before_which_a_law_saw_it_deviate_is_not_said_of_the_numbers_either() -> None:
    d = Diagnosis(4, 99.0, seen="from step 6 on, in 10 of 11 cases; return m too")
    assert not_before(d, ["step 3"]).seen == "return m too" and not_before(d, ["step 6", "round 1"]) == d


def changes(s: Scenario) -> list[list[float]]:
    """The sums of the changes of each event, in any order."""
    return [sorted(sum(float(a.sum()) for a in m.delta.values()) for m in e.messages) for e in s.events]  # type: ignore[union-attr]


def test_cases_are_made_that_lack_a_feature_and_nothing_else() -> None:
    of = setting("fednova", "server")
    several = [s for s in held_out(of) if min(len(e.messages) for e in s.events) > 1]  # type: ignore[union-attr]
    for words in (
        "where clients of a round have different weights",
        "where clients of a round take equally many steps",
        "where a client takes part again",
        "where clients are not numbered one after another",
        "where clients do not come in the order of their numbers",
    ):
        made = [s for s in (without(of, s, words, len(s.events) - 1) for s in several) if s is not None]
        assert made, words
        assert changes(made[0]) in [changes(s) for s in several]
    fedavg = setting("fedavg", "server")
    first = held_out(fedavg)[0]
    s = on_ladder(fedavg, first, "eta", (0.5,))
    assert s is not None and s.case.hyper == {**first.case.hyper, "eta": 0.5}
    assert on_ladder(fedavg, first, "numbers of about", (1.0,)) is None
    played = [(s, 0 if len(s.events[0].messages) > 1 else -1) for s in held_out(of)]  # type: ignore[union-attr]
    said, _ = related(played, lambda words: "several" in words)
    assert not said or "several clients" in said


def test_every_form_says_what_an_own_row_may_deny() -> None:
    """Laws that rounding decides too, for a rule with a wrong sign."""
    open_ = asked("rests", Status.INCONCLUSIVE)
    undecided = result(Conformity.INCONCLUSIVE, asked("follows-x"), open_, nearest=UNDECIDED)
    (said,) = sentences.remedies(undecided)
    assert said.endswith('denies={"rests": "why"}')
    both = wrong(ITSELF, asked("scales", Status.FAIL), open_)
    assert 'denies={"scales": "why", "rests": "why"}' in sentences.remedies(both)[0]
    assert not sentences.remedies(result(Conformity.INCONCLUSIVE, open_))
