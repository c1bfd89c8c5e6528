"""Runs of a law: its own bugs are raised, a failure names its call, two runs differ by roundings."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import benched, offer_of, written
from test_judge.support import ROOT, python, with_own

from fedspec.arith import Array
from fedspec.contract import Case, ClientMessage, Event, Messages
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import first_deviation, judge_offer, run_law
from fedspec_suite.laws import Law, all_laws
from fedspec_suite.laws.relations import related
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.cases import case
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Deviates, Deviation, NotOffered, Obligation, Status
from fedspec_suite.mutants import Mutated, find
from fedspec_suite.report.sentences import finding_alone


def run(check: Any) -> Obligation:
    """A law with another check, on the specification's first offer."""
    bench, setting = benched(SUBJECT)
    return run_law(replace(all_laws()["follows-x"], check=check), bench, setting, 5, 0)


def test_a_crash_of_a_law_is_raised() -> None:
    def check(bench: Bench, case: Any) -> None:
        raise ZeroDivisionError("a slip of the judge")

    with pytest.raises(ZeroDivisionError, match="a slip of the judge"):
        run(check)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_law_that_is_asked_first_counts_in_its_precision(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SM3 on vectors never asks what the rule gives, so that nothing else can tell it the precision."""
    law = all_laws()["sm3-vectors"]
    asked = ((offer, setting_of(offer, dtype)) for offer in SUBJECT.info.offers)
    offer, setting = next((o, s) for o, s in asked if not law.why_not(s, o.intermediates, concurrent=True))
    seen: set[float] = set()
    compare = Bench.compare

    def watched(self: Bench, name: str, got: Array, want: Array, *more: Any) -> None:
        seen.update(number.resolution for number in want)
        compare(self, name, got, want, *more)

    monkeypatch.setattr(Bench, "compare", watched)
    bench = bench_of(InProcess(SUBJECT), offer, setting)
    run_law(law, bench, setting, 5, 0)
    assert seen == {float(np.finfo(dtype).eps)}


@pytest.mark.parametrize(
    ("other", "others"),
    [
        (NotOffered("skipped: not shown here"), "first"),
        (NotOffered("skipped: not shown here"), "later"),
        # An answer that never came ends a law, so that an error can only come later.
        (SubjectError("adapter: no answer"), "later"),
    ],
    ids=["shown-later", "shown-first", "silent-later"],
)
def test_neither_a_skip_nor_an_error_hides_a_failure(other: Exception, others: str) -> None:
    """A subject that shows nothing in some cases and is wrong in others fails."""
    cases: list[Any] = []

    def check(bench: Bench, case: Any) -> None:
        cases.append(case)
        raise other if (len(cases) == 1) is (others == "first") else Deviates(Deviation("fedavg.step", "round 1"))

    assert run(check).status is Status.FAIL


def test_what_is_never_shown_is_skipped() -> None:
    def check(bench: Bench, case: Any) -> None:
        raise NotOffered("skipped: not shown")

    obligation = run(check)
    assert (obligation.status, obligation.reason) == (Status.SKIP, "skipped: not shown")


@pytest.mark.parametrize("law", [all_laws()["follows-x"], all_laws()["far-rounds"]], ids=["silent", "simplified"])
def test_nothing_is_drawn_where_no_case_can_change_what_is_known(law: Law) -> None:
    """After an answer that never came, and after a failure of a law that makes its cases simpler by itself."""
    drawn: list[Any] = []

    def check(bench: Bench, case: Any) -> None:
        raise Deviates(Deviation("fedavg.step", "round 1")) if law.simplify else SubjectError("adapter: no answer")

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
    found = run_law(asked, bench_of(InProcess(SUBJECT), offer, setting), setting, 5, 0)
    assert len(drawn) == 1 and found.status is (Status.FAIL if law.simplify else Status.ERROR)


def failed(mutant: str, algorithm: str, level: str, law: str, reading: str = "") -> Obligation:
    """Obligation of a law that a mutant fails, in double precision."""
    offer = offer_of(algorithm, level, reading, dtypes=("float64",))
    asked = judge_offer(InProcess(Mutated(find(mutant))), offer, law=law, cases=12)
    return next(o for o in asked if o.status is Status.FAIL)


def test_it_names_offer_round_and_numbers() -> None:
    o = failed("fedadam-step-correction-late", "fedadam", "server", "follows-x", "kingma-ba-step")
    assert o.deviation is not None and o.case is not None
    where, number = o.call.split(", ")[:2]
    assert where == "fedadam/server/kingma-ba-step" and number == o.deviation.where
    said = dict(n.split("=") for n in o.call.split(", ")[2:])
    assert said == {n: f"{v:g}" for n, v in o.case.case.hyper.items()} and "eta" in said
    assert finding_alone(o) == first_deviation([o])
    assert finding_alone(o).startswith(f"{o.call}; fedadam.step; got[")


@pytest.mark.slow
def test_a_shared_rule_is_not_called_after_who_else_runs_it() -> None:
    """FedProx ends in the step of FedAvg; a mistake of its clients is no matter of fedavg."""
    o = failed("proximal-sign", "fedprox", "round", "follows-x")
    assert o.deviation is not None and o.deviation.equation == "fedavg.step"
    assert finding_alone(o).startswith("fedprox/round, round ") and "fedavg" not in finding_alone(o)
    assert "mu=" in o.call and "got[" in finding_alone(o)


@pytest.mark.slow
def test_an_own_algorithm_is_called_by_its_own_id(tmp_path: Path) -> None:
    """A copy of FedAgree that does not deny what is false of it, under the command and under pytest."""
    text = (ROOT / "examples/fed_agree.py").read_text(encoding="utf-8").replace('id="fed-agree', 'id="fed-agreed')
    denied = '        "coordinates": "its rate is one number over the whole model",\n'
    assert denied in text
    text = text.replace('MOVES = {"fed-agree"', 'MOVES = {"fed-agreed"').replace(denied, "")
    (tmp_path / "fed_agreed.py").write_text(text, encoding="utf-8")
    few = ("check", "spec", "--only", "fed-agreed/server", "--law", "coordinates", "--profile", "quick", "--json")
    ran = with_own(*few, "--plugin", "fed_agreed.py", cwd=tmp_path)
    assert ran.code == 1, ran.err
    (row,) = ran.rows
    called = next(o["call"] for o in row["obligations"] if o["status"] == "fail")
    words = ("--fedspec-impl", "spec", "--fedspec-only", "fed-agreed/server", "--fedspec-law", "coordinates")
    with_pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "fedspec_suite", *words)
    # What is judged here is chosen by no profile of ours.
    by_pytest = python(*with_pytest, cwd=tmp_path, env={"FEDSPEC_PLUGINS": "fed_agreed.py", "FEDSPEC_PROFILE": ""})
    for said in (row["first_deviation"], called, by_pytest.stdout):
        assert re.search(r"fed-agreed/server, round \d, eps=", said), said
    assert "coordinate 0 leaks into another" in by_pytest.stdout


OFFER = offer_of("fedavg", "server", dtypes=("float32",))
LARGE = 5001.0


def scenario(setting: Setting, large: float, *deltas: float) -> Scenario:
    """Scenario of one round, clients with 3 and 4 examples: one coordinate is large, the other one is given."""
    sent = tuple(
        ClientMessage(i, {"w": np.array([large, delta], dtype="float32")}, n, 1, 1)
        for i, (n, delta) in enumerate(zip((3, 4), deltas, strict=True))
    )
    return Scenario(case(setting, {"w": np.zeros(2, dtype="float32")}, {"eta": 1.0}), (Messages(sent),))


def pair() -> tuple[Bench, Scenario, Scenario]:
    """Changes that cancel but for 1, which floats of their size blur, and that 1 alone, which nothing blurs."""
    setting = setting_of(OFFER, "float32")
    bench = bench_of(InProcess(SUBJECT), OFFER, setting)
    return bench, scenario(setting, LARGE, 4 * LARGE + 1, -3 * LARGE + 1), scenario(setting, LARGE, 1.0, 1.0)


def test_the_run_that_is_rounded_more_may_be_either() -> None:
    """The large run is off by more than the small one's bounds allow, whichever is the first; it is right."""
    bench, large, small = pair()
    off = abs(float(bench.play(large)[0]["x"][1]) - float(bench.play(small)[0]["x"][1]))
    of_small = float(bounds_of(bench.expect(small)[0]["x"])[1])
    assert off > 30 * float(np.finfo("float32").eps) * (2 * of_small + 2)
    related(bench, large, small, lambda k, x: x)
    related(bench, small, large, lambda k, x: x)


def test_a_bound_is_carried_with_the_model() -> None:
    """Bound that a map scales with the model, and that a shift doesn't."""
    bench, large, small = pair()
    louder = scenario(setting_of(OFFER, "float32"), 64 * LARGE, 64.0, 64.0)
    related(bench, large, louder, lambda k, x: 64 * x)
    with pytest.raises(Deviates):
        related(bench, small, large, lambda k, x: x + 1)


def test_what_every_client_keeps_is_said_to_be_shown_by_who_takes_part() -> None:
    """Beside somebody who never takes part it is more numbers; it is not x that is another."""

    class ForAll:
        def __init__(self, case: Case) -> None:
            self.right: Any = SUBJECT.start(case)
            self.everybody = 0 if case.problem is None else len(case.problem.H)

        def step(self, event: Event) -> dict[str, Any]:
            answer = dict(self.right.step(event))
            return {**answer, "tau_eff": np.resize(answer["tau_eff"], self.everybody)}

    shown = offer_of("fednova", "round")
    subject = InProcess(written(shown, ForAll))
    (failed, *_) = judge_offer(subject, shown, profile="quick", law="bystander")
    assert failed.status is Status.FAIL and failed.deviation is not None
    assert failed.deviation.shown == "tau_eff" and "show a row for each participant" in failed.deviation.note


def test_a_comparison_fails_in_the_case_in_which_the_one_before_failed() -> None:
    """A wrong m makes x wrong in the same case; delta, which is right, is compared in cases of its own."""

    def start(case: Case) -> Any:
        inner: Any = SUBJECT.start(case)

        def step(event: Event) -> Any:
            answer = inner.step(event)
            return {**answer, "m": 2 * answer["m"], "x": answer["x"] + answer["m"]}

        return SimpleNamespace(step=step)

    offer = offer_of("fedadam", "server", "reddi-2021", intermediates=("delta", "m"), dtypes=("float64",))
    judged = judge_offer(InProcess(written(offer, start)), offer, profile="quick", law="follows-*")
    found = {o.law: o for o in judged}
    assert found["follows-delta"].status is Status.PASS and found["follows-delta"].cases >= 12
    assert found["follows-m"].status is found["follows-x"].status is Status.FAIL
    first, then = sorted((found["follows-m"], found["follows-x"]), key=lambda o: -o.cases)
    assert first.cases > then.cases == 1 and repr(first.case) == repr(then.case)
