"""The cases reach as far as they say, and what shows itself only there is caught, placed and put in words."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from test_judge.diagnosing import offer_of, setting_at
from test_judge.subjects.behind import Behind, moved
from test_judge.subjects.gated import GATES

from fedspec.contract import Gradient
from fedspec.reference import SUBJECT
from fedspec_suite import mutants
from fedspec_suite.diagnosis.seen.gates import deviates
from fedspec_suite.judge import runner
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.laws import far
from fedspec_suite.measure import bench
from fedspec_suite.measure.bench import Bench, reference
from fedspec_suite.measure.far_cases import far_scenarios
from fedspec_suite.measure.far_shrinking import simplest
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.input_ranges import Extent, beyond, extent_of, in_words, widen
from fedspec_suite.measure.running_error import RUNNING
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import Reach
from fedspec_suite.measure.verdict import Deviates, Deviation, Status, Undecided

pytestmark = pytest.mark.table(10)

FEDADAM = offer_of("fedadam", "server", dtypes=("float64",))
QUICK = ("sgd in float16", "tau or 1e-3", "at most twenty clients", "a limit of 512 coordinates")


def found(name: str) -> Deviation | None:
    """Deviation that the law finds which must see a gated flaw."""
    law, subject = GATES[name]
    (o,) = judge_offer(InProcess(subject), subject.info.offers[0], law=law, cases=32)
    assert o.status in {Status.PASS, Status.FAIL}, o.reason
    return o.deviation


@pytest.mark.parametrize("name", GATES)
def test_a_flaw_behind_a_gate_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SHRINKING", 0)
    assert found(name)


@pytest.mark.parametrize("name", QUICK)
def test_the_small_cases_do_not_see_it(name: str) -> None:
    _, subject = GATES[name]
    (o,) = judge_offer(InProcess(subject), subject.info.offers[0], law="follows-x", cases=12)
    assert o.status is Status.PASS


def test_who_is_wrong_everywhere_is_made_simpler_once() -> None:
    """All large cases come down to one small case, and after the first law nothing is looked for again."""
    wrong = InProcess(mutants.Mutated(mutants.find("fedavg-subtracts")))
    offer = offer_of("fedavg", "server", dtypes=("float64",))
    looked: list[int] = []

    def counted(*given: Any) -> Any:
        looked.append(1)
        return simplest(*given)

    with patch.object(far, "simplest", counted):
        asked = judge_offer(wrong, offer, law="far-*", cases=8)
    failed = [o.deviation for o in asked if o.status is Status.FAIL]
    assert len(failed) == 4 and len(looked) == 1 and len(set(failed)) == 1
    assert failed[0] is not None and failed[0].note == ""


def test_who_is_wrong_far_away_is_looked_at_from_every_side() -> None:
    """Clients beyond the twentieth are left out; where a case of another law has so many, it says so too."""
    _, subject = GATES["at most twenty clients"]
    (offer,) = subject.info.offers
    failed = [o.deviation for o in judge_offer(InProcess(subject), offer, law="far-*", cases=24) if o.deviation]
    assert failed and all("clients" in d.note for d in failed)


def test_a_shrunk_case_says_what_it_takes() -> None:
    deviation = found("tau or 1e-3")
    assert deviation is not None and "tau = 0" in deviation.note and "rounds" not in deviation.note


@pytest.mark.parametrize(("algorithm", "level"), [("fedavg", "server"), ("fedavg", "round"), ("fedbuff", "trace")])
@pytest.mark.parametrize("least", [1, 5])
def test_no_more_local_steps_are_named_than_it_takes(algorithm: str, level: str, least: int) -> None:
    """Subject that is wrong whenever a client takes so many steps: the report doesn't name eighteen steps instead."""

    def deviates(s: Scenario) -> None:
        if extent_of(s)["steps"][1] >= least:
            raise Deviates(Deviation("", ""), s)

    far = draw_cases(far_scenarios(setting_at(algorithm, level), "rounds"), 12, seed=3)
    s = max(far, key=lambda s: extent_of(s)["steps"][1])
    assert extent_of(s)["steps"][1] > 6
    found, _ = simplest(s, Deviates(Deviation("", ""), s), deviates)
    assert least <= extent_of(found)["steps"][1] <= 6


def reached(algorithm: str, level: str, side: str, **more: object) -> Extent:
    whole: Extent = {}
    for s in draw_cases(far_scenarios(setting_at(algorithm, level, **more), side), 24, seed=3):  # type: ignore[arg-type]
        widen(whole, extent_of(s))
    return whole


def test_they_reach_as_far_as_they_say() -> None:
    assert reached("adam", "client", "coordinates")["coordinates"][1] == 1000
    assert reached("fedadam", "server", "coordinates")["axes"] == (1, 4)
    assert reached("fedadam", "server", "rounds")["rounds"][1] == 50
    assert reached("fednova", "server", "rounds")["steps"][1] == 20
    clients = reached("fedavg", "round", "clients")
    assert clients["clients"][1] == 50 and clients["examples"][0] == 0 and clients["examples"][1] > 2**31 / 4
    assert reached("fedbuff", "trace", "rounds")["delay"][1] > 10
    numbers = reached("fedadam", "server", "numbers")
    assert numbers["tau"][0] == 0 and numbers["beta1"] == (0, 0.999)
    assert numbers["magnitude"][0] < 1e-6 and numbers["magnitude"][1] > 1e6


def test_a_subject_is_not_asked_what_it_refuses() -> None:
    numbers = reached("fedadam", "server", "numbers", nonzero=("tau", "weight"))
    assert numbers["tau"][0] > 0 and numbers["examples"][0] >= 1
    few = Reach(coordinates=9, rounds=4, clients=2)
    for side, name in (("coordinates", "coordinates"), ("rounds", "rounds"), ("clients", "clients")):
        assert reached("fedavg", "server", side, reach=few)[name][1] == getattr(few, name)


def test_numbers_that_a_type_does_not_have_begin_with_an_error() -> None:
    """In float32 a rate of 0.1 is rounded by the subject, before it computes."""
    x0, g = np.zeros(1, "float32"), np.ones(1, "float32")
    sgd = setting_at("sgd", "client", dtype="float32")
    (s, *_) = draw_cases(far_scenarios(sgd, "numbers"), 3, seed=0)
    case = replace(s.case, x0={"w": x0}, hyper={"eta_l": 0.1})
    (answer,) = reference(Scenario(case, (Gradient({"w": g}),)))
    (exact,) = reference(Scenario(replace(case, hyper={"eta_l": 0.125}), (Gradient({"w": g}),)))
    assert answer["x"][0].bound > exact["x"][0].bound


def test_an_extent_in_words() -> None:
    assert in_words({"rounds": (1, 50), "tau": (0, 0.1), "clients": (1, 1)}) == "1 to 50 rounds, 1 client, tau 0 to 0.1"
    sgd = setting_at("sgd", "client", reach=Reach(coordinates=40))
    sizes = [(s, extent_of(s)["coordinates"][1]) for s in draw_cases(far_scenarios(sgd, "coordinates"), 24, seed=0)]
    assert all(("40 coordinates" in beyond(s)) == (d == 40) for s, d in sizes) and any(d == 40 for _, d in sizes)


def test_a_verdict_says_what_its_cases_reached_over() -> None:
    offer = replace(SUBJECT.info.offers[0], dtypes=("float64",))
    ask = partial(judge_offer, InProcess(SUBJECT), offer, cases=8)
    (small,), (far,) = ask(law="follows-x"), ask(law="far-coordinates")
    assert small.extent["coordinates"][1] < 30 <= far.extent["coordinates"][1]


@pytest.mark.parametrize("carries", [True, False])
def test_a_verdict_covers_no_round_that_rounding_left_open(carries: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In SCAFFOLD on quadratics the size of what rounding may do grows twentyfold in a round."""
    if not carries:
        monkeypatch.setattr(bench, "carried", lambda dtype: {**RUNNING})
    late = InProcess(Behind("scaffold", "round", take=moved(lambda k, x: x + (k >= 40))))
    setting = setting_at("scaffold", "round")
    (s,) = draw_cases(far_scenarios(setting, "rounds"), 1, 0)
    asked = bench.bench_of(late, late.info.offers[0], setting)
    with pytest.raises(Deviates) if carries else nullcontext():
        far.everything(asked, s)
    assert asked.measured.extent["rounds"][0] >= 1 and (asked.measured.extent["rounds"][1] > 40) is carries
    (seen,) = judge_offer(InProcess(SUBJECT), FEDADAM, law="far-rounds", cases=8)
    assert seen.extent["rounds"][1] == 50


def test_a_case_that_decides_nothing_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    def undecided(*given: Any) -> None:
        raise Undecided("rounding")

    monkeypatch.setattr(Bench, "compare", undecided)
    (o,) = judge_offer(InProcess(SUBJECT), FEDADAM, law="far-rounds", cases=8)
    assert o.status is Status.INCONCLUSIVE and not o.extent


def test_the_largest_cases_are_as_large_as_told() -> None:
    long = reached("fedadam", "server", "rounds", reach=Reach(rounds=300))
    wide = reached("sgd", "client", "coordinates", reach=Reach(coordinates=3000))
    assert long["rounds"][1] == 300 and wide["coordinates"][1] == 3000


def test_few_cases_hold_sums_beyond_32_bits_long_delays_and_idle_steps() -> None:
    """As many as the quick profile draws: three implementations that nobody had seen got by without."""
    rounds = [
        e for s in draw_cases(far_scenarios(setting_at("fedavg", "server"), "numbers"), 12, seed=0) for e in s.events
    ]
    assert any(sum(m.weight for m in e.messages) >= 2**32 / 2 for e in rounds)
    arrivals = [
        e for s in draw_cases(far_scenarios(setting_at("fedbuff", "trace"), "rounds"), 3, seed=0) for e in s.events
    ]
    assert max(e.delay for e in arrivals) > 8
    steps = [
        S
        for s in draw_cases(far_scenarios(setting_at("afga", "trace"), "rounds"), 3, seed=0)
        for e in s.events
        for S in e.computing
    ]
    assert () in steps


def test_a_model_that_only_long_cases_show_wrong_is_not_passed_over_for_an_intermediate() -> None:
    def take(inner: Any, e: Any, k: int) -> Any:
        answer = inner.step(e)
        return {**answer, "v": np.array(answer["v"]) + 1, "x": np.array(answer["x"]) + (k >= 12)}

    subject = InProcess(Behind("fedadam", "server", take=take))
    (offer,) = subject.info.offers
    asked = {o.law: o for o in judge_offer(subject, offer, law="far-*", profile="quick")}
    models = bench.of_models(bench.bench_of(subject, offer, setting_at("fedadam", "server")))
    shown = {law: deviates(models, o.case) for law, o in asked.items() if o.status is Status.FAIL}
    assert shown["far-numbers"] is False and shown["far-rounds"] is True
    assert asked["far-rounds"].deviation and asked["far-rounds"].deviation.shown == "v"
