"""The comparison with the rule catches by itself, in the quick profile, what other laws are asked for."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from test_judge.diagnosing import offer_of, setting_at

sys.path.insert(0, str(Path(__file__).with_name("subjects")))

from alone import RIGHT, WRONG

from fedspec.contract import Case, ClientMessage, Messages
from fedspec.params import flatten
from fedspec.reference import SUBJECT
from fedspec_suite import mutants
from fedspec_suite.judge import runner
from fedspec_suite.judge.runner import conclude, judge_offer
from fedspec_suite.measure.bench import Bench, bench_of, reference
from fedspec_suite.measure.conditioning import dangers
from fedspec_suite.measure.far_cases import far_scenarios
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.input_ranges import extent_of
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import Reach, setting_of
from fedspec_suite.measure.tagged_numbers import SHORT, Short32
from fedspec_suite.measure.verdict import Conformity, Obligation, Status

pytestmark = pytest.mark.table(20)

COMPARISON = "follows-x,far-numbers,far-rounds"
"""Laws of the comparison that catch every mistake; far-coordinates and far-clients cost most of the time."""


def asked(subject: object, seed: int = 0) -> list[Obligation]:
    return judge_offer(InProcess(subject), subject.info.offers[0], profile="quick", law=COMPARISON, seed=seed)  # type: ignore


@pytest.mark.table(4)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_one_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SHRINKING", 0)
    assert conclude(asked(WRONG[name]))[0] is Conformity.DOES_NOT


@pytest.mark.table(2)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_one_conforms(name: str) -> None:
    found = asked(RIGHT[name])
    assert conclude(found)[0] is Conformity.CONFORMS, found
    # What rounding spoils is less than half of the cases.
    assert all(o.cases > 12 / 2 for o in found if o.law == "far-numbers")


@pytest.mark.parametrize("name", ["fedbuff-against-present", "fedbuff-trains-present"])
def test_a_late_update_against_the_wrong_version_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SHRINKING", 0)
    assert conclude(asked(mutants.Mutated(mutants.find(name))))[0] is Conformity.DOES_NOT


@pytest.mark.parametrize(
    ("algorithm", "level", "found"),
    [
        ("fedavg", "server", ()),
        ("fednova", "round", ()),
        ("scaffold", "round", ()),
        ("krum", "server", ("near", "unlike", "equal")),
        ("krum", "round", ("near", "unlike", "equal")),
        ("geometric-median", "server", ("near",)),
        ("median", "round", ("unlike",)),
        ("trimmed-mean", "round", ("unlike",)),
        ("ef21", "round", ("equal",)),
        ("choco", "trace", ("equal",)),
        ("fedyogi", "server", ("equal", "small")),
        ("fedadam", "round", ("small",)),
        ("adam", "client", ("small",)),
    ],
)
def test_the_dangers_of_a_rule_are_read_off_a_run_of_it(algorithm: str, level: str, found: tuple[str, ...]) -> None:
    assert dangers(setting_at(algorithm, level)) == found


def voted(*places: float, dtype: str = "float32", x: float = 0.0) -> tuple[Bench, Scenario]:
    """Round of Krum whose changes lie on a line."""
    offer = offer_of("krum", "server")
    s = setting_of(offer, dtype)
    case = Case("krum", "server", s.reading, dict(s.options), dtype, {"w": np.array([x], dtype)}, {"eta": 1.0, "f": 1})
    sent = (ClientMessage(i, {"w": np.array([a], dtype)}, 1, 1, 1) for i, a in enumerate(places))
    return bench_of(InProcess(SUBJECT), offer, s), Scenario(case, (Messages(tuple(sent)),))


def test_of_equal_numbers_that_nobody_rounds_the_rule_says_which_is_taken() -> None:
    bench, s = voted(0, 1, 2, 3, 4)
    assert np.isinf(bounds_of(reference(s)[0]["x"])).all()
    (answer,) = bench.decided(s)
    assert float(answer["x"][0]) == 1 and answer["x"][0].bound < 10


@pytest.mark.parametrize(
    "places", [(0, 0.1, 0.2, 0.3, 0.4), (0, 1 / 3, 2 / 3, 1, 4 / 3), (2.0**-20, 1, 2, 3, 4 - 2.0**-20)]
)
def test_equal_numbers_that_somebody_rounds_decide_nothing(places: tuple[float, ...]) -> None:
    bench, s = voted(*places)
    assert np.isinf(bounds_of(bench.decided(s)[0]["x"])).all()
    bench, s = voted(0, 1, 2, 3, 4, x=2.0**22 + 0.5)
    assert np.isinf(bounds_of(bench.decided(s)[0]["x"])).all()


def test_a_quotient_by_three_is_rounded_even_if_it_is_whole() -> None:
    three, six = Short32(3), Short32(6)
    assert (six / 2).exact and (three + six).exact and (six * six).exact and (three * three).sqrt().exact
    assert not (six / three).exact and not six.sqrt().exact and not (six * (Short32(1) / three)).exact
    assert not six._ties(Short32(6)) and (six / three)._ties(Short32(2))
    assert {kind.__name__ for kind in SHORT.values()} == {"Short32", "Short64"}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_danger_and_every_magnitude_has_its_turn(dtype: str) -> None:
    """In as many cases as the quick profile has."""
    found = draw_cases(far_scenarios(setting_at("krum", "server", dtype), "numbers"), 12, seed=2)
    rounds = [e for s in found for e in s.events if isinstance(e, Messages)]
    sent = [np.array([flatten(m.delta) for m in e.messages], dtype=float) for e in rounds]
    eps = float(np.finfo(dtype).eps)
    assert sum(bool(0 < np.ptp(a, axis=0).max() < np.abs(a).min() / 500) for a in sent) >= 2
    assert sum(bool(np.abs(a).max() * eps > np.median(np.abs(a)) > 0) for a in sent) >= 2
    assert sum(sorted((a[:, 0] - a[:, 0].min()).tolist()) == [*range(len(a))] for a in sent) >= 2
    usual = draw_cases(far_scenarios(setting_at("fedavg", "server", dtype), "numbers"), 12, seed=2)
    sizes = {round(float(np.log10(extent_of(s)["magnitude"][1])) / 3) for s in usual}
    assert sizes >= {-2, -1, 0, 1, 2}


def test_a_small_reach_holds_for_dangers_too() -> None:
    few = Reach(coordinates=3, rounds=1, clients=5)
    for s in draw_cases(far_scenarios(setting_at("krum", "server", reach=few), "numbers"), 12, seed=0):
        there = extent_of(s)
        assert there["coordinates"][1] <= 3 and there["rounds"][1] == 1 and there["clients"][1] <= 5
    for s in draw_cases(far_scenarios(setting_at("ef21", "round", reach=few), "numbers"), 12, seed=0):
        assert extent_of(s)["rounds"][1] == 1


def test_what_a_subject_fixes_stays_fixed() -> None:
    fixed = setting_at("fedadam", "server", fixed={"tau": 0.001, "v0": 1e-6})
    for s in draw_cases(far_scenarios(fixed, "numbers"), 12, seed=0):
        assert s.case.hyper["tau"] == 0.001 and s.case.hyper["v0"] == 1e-6
    squared = setting_at("fedadam", "server", v0_is_tau_squared=True)
    for s in draw_cases(far_scenarios(squared, "numbers"), 12, seed=0):
        assert s.case.hyper["v0"] == s.case.hyper["tau"] ** 2


def test_no_case_is_left_undecided_where_all_is_exact() -> None:
    """The tied cases of rows that choose are compared: they would be undecided otherwise."""
    for algorithm, level in (("krum", "server"), ("ef21", "round"), ("choco", "trace")):
        offer = offer_of(algorithm, level, dtypes=("float64",))
        (o,) = judge_offer(InProcess(SUBJECT), offer, profile="quick", law="far-numbers")
        assert o.status is Status.PASS and o.cases == 12, (algorithm, o.cases)
