"""State that goes wrong, edited rules, two defects at once and wrong intermediates have names of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.by_hand import adaptive
from test_judge.diagnosing import benched, diagnosed, offer_of, written
from test_judge.subjects.behind import Behind
from test_judge.subjects.gated import numbers

from fedspec.catalogue import find
from fedspec.contract import Case, Offer, Round
from fedspec.reference import SUBJECT
from fedspec_suite import mutants
from fedspec_suite.diagnosis import found, identify
from fedspec_suite.diagnosis.cases.resized import scaled
from fedspec_suite.diagnosis.comparing import evidence
from fedspec_suite.diagnosis.composed import combined
from fedspec_suite.diagnosis.diagnosis import Diagnosis, in_words
from fedspec_suite.diagnosis.edits.systematic import edits
from fedspec_suite.diagnosis.found import Found, first
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.diagnosis.lasting import Larger
from fedspec_suite.judge.explained import explained, explanation
from fedspec_suite.judge.plan import Budgeted
from fedspec_suite.judge.runner import judge_offer, result_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.scenario import with_dtype, with_hyper
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Conformity, Deviation, Obligation, Status
from fedspec_suite.mutants import functions, texts

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]


def after(name: str, change: Callable[[Any, Any, int], Any]) -> Callable[[Any, Any, int], Any]:
    """A field of the state is something else after event k, from its values before and after."""

    def take(inner: Any, e: Any, k: int) -> Any:
        before = getattr(inner.state, name)
        answer = inner.step(e)
        value = change(before, getattr(inner.state, name), k)
        inner.state = replace(inner.state, **{name: value})
        return {**answer, name: value} if name in answer else answer

    return take


def frozen() -> Callable[[Any, Any, int], Any]:
    kept: dict[Any, Any] = {}

    def value(before: Any, now: Any, k: int) -> Any:
        if k == 0:
            kept["v"] = now
        return kept["v"]

    return value


def absent(inner: Any, e: Any, k: int) -> Any:
    answer = inner.step(e)
    assert isinstance(e, Round)
    there = np.isin(np.arange(len(inner.state.c_i)), e.participants)[:, None]
    inner.state = replace(inner.state, c_i=inner.state.c_i * there)
    return {**answer, "c_i": inner.state.c_i}


def undamped(inner: Any, e: Any, k: int) -> Any:
    h = inner.h
    inner.h = replace(h, beta=h.beta * (k >= 2))
    answer = inner.step(e)
    inner.h = h
    return answer


STATE = {
    "v stays as the first event leaves it": Behind("fedavgm", "round", take=after("v", frozen())),
    "v is forgotten at every second event": Behind(
        "fedavgm", "round", take=after("v", lambda before, now, k: now * 0 if k % 2 else now)
    ),
    # Nor does beta play a part in the first two events: it is the same.
    "the first event moves the model by eta times Delta; the state begins with the second": Behind(
        "fedavgm", "round", take=undamped
    ),
    "c_i of a client that sits out is forgotten": Behind("scaffold", "round", take=absent),
}


@pytest.mark.parametrize("words", STATE)
def test_what_becomes_of_the_state_has_a_name_at_level_round(words: str) -> None:
    assert words in in_words(diagnosed(STATE[words]), True)


def test_an_edit_of_a_rule_has_a_name_without_a_catalogue() -> None:
    divided = next(e for e in edits(functions(find("sgd"), "client")) if e.words.startswith("divided"))
    d = diagnosed(Behind("sgd", "client", edits=(divided.mutant,)))
    equation = "yours: x = x - g / eta_l, wanted: x = x - eta_l g"
    assert [(f.words, f.equation, f.kind) for f in d.found] == [(equation, "sgd.step", "written")]


def test_two_edits_of_one_rule_are_written_out_together() -> None:
    one, two = mutants.find("adam-m-sum"), mutants.find("adam-v-from-m")
    (both,) = combined((one,), (two,)) or ()
    assert one.new in texts(both)[1] and two.new in texts(both)[1]
    found = diagnosed(Behind("adam", "client", edits=(both,))).found
    assert [name["yours"] for name in found[0].names] == ["m = beta1 m + g", "v = beta2 v + (1 - beta2) m^2"]


def test_a_reading_and_an_ignored_number_are_written_out_together() -> None:
    subject = Behind(
        "adam",
        "client",
        case=lambda c: numbers(beta1=lambda v: 0.0)(replace(c, options={**c.options, "epsilon": "inside"})),
    )
    words = in_words(diagnosed(subject), True)
    assert "yours: m = g, wanted: m = beta1 m + (1 - beta1) g" in words and "sqrt(eps + v_hat)" in words


def test_a_reading_is_named_beside_a_defect_though_neither_shows_alone() -> None:
    subject = Behind(
        "dsgd",
        "trace",
        case=lambda c: replace(c, options={**c.options, "order": "gradient-at-combined"}),
        take=lambda inner, e, k: inner.step(replace(e, mixing=np.array(e.mixing).T)),
    )
    assert "reading gradient-at-combined at dsgd.step, and W is transposed" in in_words(diagnosed(subject), True)


def test_a_wrong_intermediate_is_named_where_the_model_is_right() -> None:
    wrong = Behind("scaffold", "server", edits=(mutants.find("scaffold-participants"),))
    d = diagnosed(wrong)
    assert not d.follows and d.unlike == ("c",)
    assert in_words(d, False).startswith(
        "x follows the claimed reading, not c: c is updated with the mean over the par"
    )

    def summed(inner: Any, e: Any, k: int) -> Any:
        return after("c", lambda before, now, k: before + (now - before) * inner.state.clients)(inner, e, k)

    total = diagnosed(Behind("scaffold", "server", take=summed))
    assert in_words(total, False).startswith(
        "x follows the claimed reading, not c: the sum of the changes stands for p @ changes at scaffold.c (ratio"
    )

    def enlarged(inner: Any, e: Any, k: int) -> Any:
        answer = inner.step(e)
        return {**answer, "c": answer["c"] * inner.h.eta}

    shown = diagnosed(Behind("scaffold", "server", take=enlarged))
    assert in_words(shown, False).startswith("x follows the claimed reading, not c: 1 / N is multiplied by eta (ratio")


SHOWN: dict[str, Callable[[Any, Any, int, int], Any]] = {
    "5 / 2 * (what it should be)": lambda c, h, k, n: 2.5 * c,
    "1 / 3 * ((what it should be) * (eta * t))": lambda c, h, k, n: c * (k + 1) * h.eta / 3,
    "(what it should be) / n": lambda c, h, k, n: c / n,
    "sqrt(abs((what it should be)))": lambda c, h, k, n: np.sqrt(abs(c)),
}


@pytest.mark.parametrize("formula", SHOWN)
def test_a_wrong_intermediate_is_written_out_where_nothing_names_it(formula: str) -> None:
    def other(inner: Any, e: Any, k: int) -> Any:
        answer = inner.step(e)
        return {**answer, "c": SHOWN[formula](answer["c"], inner.h, k, len(e.messages))}

    d = diagnosed(Behind("scaffold", "server", take=other), further=False)
    assert in_words(d, False) == f"x follows the claimed reading, not c: c is {formula}"


def agreed(subject: Behind, *names: str) -> list[str]:
    """Explanations of a server of FedDyn if these mutants are candidates, in stages of one each."""
    bench, setting = benched(subject)
    known = known_of(setting)
    given = {k: bench.play(s) for k, s in enumerate(known.samples[:4])}
    stages = [[v for v in known.variants if v.words == mutants.find(name).words] for name in names]
    beyond = Larger(bench, setting, known, given)
    return [f.said for f in first(stages, known, given, evidence(known, given), ("x",), beyond)]


def test_what_the_model_alone_agrees_with_is_not_said_of_the_rest() -> None:
    """The models are the same where h and where the step has the wrong sign; h, which is shown, tells."""
    step = Behind("feddyn", "server", edits=(mutants.find("feddyn-step-sign"),))
    assert agreed(step, "feddyn-h-sign") == ["in x, not in h: h moves the wrong way"]
    both = agreed(step, "feddyn-h-sign", "feddyn-step-sign")
    assert both == ["the dual variable moves the mean the wrong way"]


def test_a_name_that_holds_in_small_cases_only_says_so() -> None:
    def last_of_a_few(k: int, e: Any) -> Any:
        return type(e)(e.messages[-1:]) if len(e.messages) < 8 else e

    assert in_words(diagnosed(Behind("fedavg", "server", event=last_of_a_few)), True).startswith("in small cases ")


def test_a_verdict_stands_where_its_explanation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise KeyError("a bug of the diagnosis")

    monkeypatch.setattr("fedspec_suite.judge.explained.explanation", fails)
    subject = Behind("fedavg", "server", case=numbers(eta=lambda v: 2 * v))
    offer = subject.info.offers[0]
    found = result_of(subject, offer, judge_offer(InProcess(subject), offer, profile="quick", law="follows-x"))
    told = explained(found, Budgeted(subject, 60), offer)
    assert told.verdict is Conformity.DOES_NOT
    assert told.nearest.startswith("not diagnosed: ") and "a bug of the diagnosis" in told.nearest


def test_what_shows_beside_x_in_some_cases_and_x_in_others_is_said_of_some() -> None:
    """A law's own case showed x wrong, the cases of the diagnosis v alone."""
    d = Diagnosis(9, 0.5, unlike=("v",))
    assert in_words(d, model_failed=True) == "in some cases x follows the claimed reading, not v: no known variant"
    assert in_words(d, model_failed=False) == "x follows the claimed reading, not v: no known variant"


@pytest.mark.parametrize(("kind", "name"), [(np.float16, "float16"), (np.float32, "float32"), (np.float64, "")])
def test_changes_of_fewer_bits_are_named_though_the_samples_fit_any_type(kind: Any, name: str) -> None:
    def start(case: Case) -> Any:
        x = {n: a.astype(float) for n, a in case.x0.items()}

        def step(e: Any) -> Any:
            n = np.array([m.weight for m in e.messages]) / sum(m.weight for m in e.messages)
            for block, before in x.items():
                deltas = np.stack([m.delta[block].astype(kind).astype(float) for m in e.messages])
                x[block] = before + case.hyper["eta"] * np.tensordot(n, deltas, axes=1)
            return {"x": {**x}}

        return SimpleNamespace(step=step)

    offer = Offer("fedavg", "server", "mcmahan-2017", {"weights": "examples"}, dtypes=("float64",))
    bench, setting = benched(written(offer, start))
    known = known_of(setting)
    given = identify._played(bench, known.samples)
    claimed = f': if that is meant, claim messages=("{name}",)'
    said = f"each client's change is rounded to {name}{claimed}" if name else ""
    assert identify._narrow(bench, known, given) == said


def test_a_floor_under_losses_is_not_called_a_rounding() -> None:
    """In the samples of a diagnosis, with few digits or many, no loss is so small, and float32 shows as little."""

    def floored(k: int, e: Any) -> Any:
        return replace(e, messages=tuple(replace(m, loss=max(m.loss, 1e-4)) for m in e.messages))

    bench, setting = benched(Behind("q-fedavg", "server", event=floored))
    known = known_of(setting)
    assert identify._narrow(bench, known, identify._played(bench, known.samples)) == ""


def test_x_is_not_said_to_follow_where_it_is_wrong_beside_an_intermediate() -> None:
    """The samples are exact in float16; where v deviates, x does in the same case."""

    def halved(k: int, e: Any) -> Any:
        sent = (
            replace(m, delta={n: a.astype(np.float16).astype(float) for n, a in m.delta.items()}) for m in e.messages
        )
        return replace(e, messages=tuple(sent))

    subject = Behind("fedavgm", "server", event=halved)
    offer = subject.info.offers[0]
    found = result_of(subject, offer, judge_offer(InProcess(subject), offer, profile="quick", law="far-numbers"))
    long = scaled(known_of(setting_of(offer)).samples[-1], 0.739)
    told = explained(found, Budgeted(subject, 60), offer, [long])
    assert told.nearest.startswith(
        "x follows the claimed reading in small cases; each client's change is rounded to fl"
    )


def test_a_server_that_skips_a_round_without_a_change_is_not_said_to_follow_in_x() -> None:
    def moves(s: Any) -> bool:
        return bool(s.delta.any())

    it = adaptive(
        "fedadam",
        "reddi-2021",
        ("m", "v"),
        m=lambda s: s.beta1 * s.m_old + (1 - s.beta1) * s.delta if moves(s) else s.m_old,
        v=lambda s: s.beta2 * s.v_old + (1 - s.beta2) * s.delta**2 if moves(s) else s.v_old,
        step=lambda s: moves(s) * s.m / (np.sqrt(s.v) + s.tau),
    )
    subject, (offer,) = InProcess(it), it.info.offers
    failed = [Obligation(law, "float64", Status.FAIL, ()) for law in ("unrolled", "follows-v")]
    _, said = explanation(subject, offer, failed)
    # One of the cases of a diagnosis has a round in which nothing changes.
    assert said.startswith("no known variant; from round 2 on")


def test_a_case_of_float32_in_which_x_deviates_is_not_said_to_follow() -> None:
    def start(case: Case) -> Any:
        session = SUBJECT.start(case)
        off = np.asarray(case.hyper["eta"] == 0.625, dtype=case.dtype)
        return SimpleNamespace(step=lambda e: {"x": np.asarray(session.step(e)["x"]) + off})

    offer = offer_of("fedavg", "server", intermediates=())
    it, (sample, *_) = written(offer, start), known_of(setting_of(offer)).samples
    case = with_dtype(with_hyper(sample, eta=0.625), "float32")
    seen = Deviation("fedavg.delta", "round 1", 0, 1.0, 0.0, shown="delta")
    failed = [Obligation("far-coordinates", "float32", Status.FAIL, (), deviation=seen)]
    _, said = explanation(InProcess(it), offer, failed, [case])
    assert said.startswith("x follows the claimed reading in small cases")


def test_a_reading_is_placed_where_its_correction_stands() -> None:
    placed = {v.words: v.equation for v in known_of(setting_of(Offer("lamb", "client", "you-2020"))).variants}
    assert placed["reading uncorrected"] == "lamb.m_hat"


def test_a_mean_of_counts_that_is_rounded_is_named() -> None:
    rounded = mutants.Mutant(
        id="mean-steps-rounded",
        words="",
        algorithms=(),
        rule="fedspec.mixing.control_variates.drift_controls",
        old="sum(tau) / len(steps)",
        new="sum(steps) // len(steps)",
    )
    d = diagnosed(Behind("vrl-sgd", "round", reading="mean-steps", edits=(rounded,)))
    assert in_words(d, True).startswith("sum(tau) / (the number of clients) is rounded down to a whole number")


def test_what_fits_small_cases_alone_is_said_only_where_no_later_stage_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    small, whole = (Found(words, "", 0.1, 1, "edit", (), 1.0, small=words == "small") for words in ("small", "whole"))
    monkeypatch.setattr(found, "_agreeing", lambda known, among, *rest: among)
    rest: tuple[Any, ...] = (None, {}, None, ("x",), None)
    assert first([(small,), (), (whole,)], *rest) == (whole,)  # type: ignore[list-item]
    assert first([(small,), ()], *rest) == (small,)  # type: ignore[list-item]
