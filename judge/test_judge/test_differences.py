"""A named deviation is written out: what the implementation computes, what was wanted, and what may be claimed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from test_judge.by_hand import adaptive
from test_judge.diagnosing import offer_of, written

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Case, Offer
from fedspec.reference import SUBJECT
from fedspec_suite.diagnosis.composed import together
from fedspec_suite.diagnosis.differences import claim, differences
from fedspec_suite.diagnosis.found import found_as
from fedspec_suite.diagnosis.search import Search
from fedspec_suite.diagnosis.variants import single
from fedspec_suite.judge import explained
from fedspec_suite.judge.check import check
from fedspec_suite.judge.request import Request
from fedspec_suite.judge.runner import PROFILES
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Conformity, Result
from fedspec_suite.report import sentences, terminal, verdicts
from fedspec_suite.report.junit import junit
from fedspec_suite.report.sarif import sarif


def wrong(reading: str, weights: str) -> Any:
    """FedAdam with the stabiliser under the root and a plain mean."""
    plain = {"p": lambda s: np.full(s.M, 1 / s.M), "step": lambda s: s.m / np.sqrt(s.v + s.tau)}
    return adaptive("fedadam", reading, weights=weights, dtypes=("float64", "float32"), **plain)


Wrong, Claimed = wrong("reddi-2021", "examples"), wrong("epsilon-inside", "uniform")


@pytest.fixture(scope="module")
def judged() -> Result:
    """The wrong implementation, judged and explained."""
    (result,) = check(Request([f"py:{__name__}:Wrong"], profile="quick", jobs=1), lambda said: None)
    return result


SOURCE = "Reddi et al. (2021); FedAda2, App. C.2"
REMEDY = 'either change these, or claim reading="epsilon-inside", weights="uniform"'


@pytest.mark.slow
def test_a_wrong_implementation_reads_its_own_equations_beside_the_wanted_ones(judged: Result) -> None:
    r = judged
    assert sentences.differences(r) == [
        [
            ("fedadam.step", "x = x + eta m / sqrt(v + tau)", "x = x + eta m / (sqrt(v) + tau)"),
            (
                "fedavg.delta",
                "p_i = 1 / number of participants",
                "p_i = n_i / sum of n_j over the participants, in Delta = sum_i p_i Delta_i",
            ),
        ]
    ]
    said = verdicts.text([r], "")
    assert "      yours:  x = x + eta m / sqrt(v + tau)\n      wanted: x = x + eta m / (sqrt(v) + tau)\n" in said
    assert f"    wanted by {SOURCE}\n    {REMEDY}\n" in said


@pytest.mark.slow
def test_reports_begin_with_the_equations(judged: Result, tmp_path: Path) -> None:
    r = judged
    (suite,) = ElementTree.fromstring(junit([r], (), ""))
    message = next(case.attrib["message"] for case in suite.iter("failure"))
    begins = "fedadam.step: yours x = x + eta m / sqrt(v + tau), wanted x = "
    assert message.startswith(begins) and message.endswith(f"; wanted by {SOURCE}; {REMEDY}")
    adapter = tmp_path / "adapter.py"
    adapter.write_text("class Session:\n    def start(self): ...\n    def step(self, event): ...\n")
    told = json.loads(sarif([replace(r, command=f"fedspec check py:{adapter}:S")], (), ""))["runs"][0]["results"][0]
    assert told["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}
    assert told["message"]["text"].startswith(begins) and f"; {REMEDY}; " in told["message"]["text"]


def row_setting(name: str, level: str = "") -> Setting:
    row = CATALOGUE[name]
    return setting_of(Offer(name, level or row.levels[0], row.readings_at(level or row.levels[0])[0].name))


@pytest.mark.parametrize(
    ("mutant", "algorithm", "yours", "wanted"),
    [
        # A helper shows in the equation that calls it.
        ("root-missing", "fedadam", "x = x + eta m / (v + tau)", "x = x + eta m / (sqrt(v) + tau)"),
        ("fedadam-stale-v", "fedadam", "v_hat = v_old; x = x + eta m / (sqrt(v_hat) + tau)", None),
        # The edit is of another reading's text; what is wanted is the claimed one.
        (
            "rate-first-moment-only",
            "fedadam",
            "x = x + (eta / (1 - beta1^t)) m / (sqrt(v) + tau)",
            "x = x + eta m / (sqrt(v) + tau)",
        ),
        # What no formula says is said in words, beside the equation.
        ("mean-last-client", "fedavg", "only the last client counts", "Delta = sum_i p_i Delta_i"),
        # What is kept as it was made is no equation: that by which it is made is wanted.
        ("muon-looked-ahead-kept", "muon", "m = u", "m = rho m + (1 - rho) g"),
    ],
)
def test_a_listed_mutant_is_written_out(mutant: str, algorithm: str, yours: str, wanted: str | None) -> None:
    setting = row_setting(algorithm, "client" if algorithm == "muon" else "server")
    (v,) = (v for v in single(setting) if v.mutants and v.mutants[0].id == mutant)
    (d,) = differences(setting, v)
    assert d.yours == yours and wanted in {None, d.wanted}


def test_a_pair_is_written_out_half_by_half() -> None:
    """Each half stands at its own equation, not at that of the other."""
    setting = row_setting("fed-lamb", "round")
    named = {v.words: v for v in single(setting)}
    one = named["the direction is divided by ||p|| instead of ||p + lam x||"]
    other = named["the maximum is never taken: v_hat is the last mean"]
    both = together(setting, one, other)
    assert both is not None
    assert [d.equation for d in differences(setting, both)] == ["fed-lamb.x_i", "fed-lamb.v_hat"]


def of_every_row() -> list[tuple[str, str]]:
    return [(name, level) for name, row in CATALOGUE.items() for level in row.levels]


@pytest.mark.table(2, 6)
@pytest.mark.parametrize(("name", "level"), of_every_row())
def test_each_variant_of_a_row_is_written_out_and_claimed_as_it_runs(name: str, level: str) -> None:
    """A printed claim resolves to the options that the variant runs under; no equation stands beside itself."""
    setting = row_setting(name, level)
    for v in single(setting):
        if v.kind in {"reading", "mutant"}:
            assert all(d.yours != d.wanted and d.yours for d in differences(setting, v)), v.words
        if said := claim(setting, v):
            row = CATALOGUE[said.get("algorithm", name)]
            reading = said.get("reading", setting.reading)
            fixes = row.reading(reading).fixes
            options = {n: w for n, w in {**setting.options, **said}.items() if n in row.options and n not in fixes}
            assert row.resolve(reading, options) == v.options, v.words


@pytest.mark.slow
def test_a_failing_check_ends_at_once_if_told_to() -> None:
    told: list[str] = []
    asked = Request([f"py:{__name__}:Wrong"], profile="quick", jobs=1, stop=True, named=False)
    (r,) = check(asked, told.append)
    assert (r.verdict, r.passed, r.required, r.nearest) == (Conformity.DOES_NOT, 0, 1, "")
    (wrong,) = (said for said in told if said.startswith(terminal.WRONG))
    assert wrong.startswith("wrong: in round 1 x[0] is 0.0435928645, not 0.0726423538")
    assert not any("searching for a known" in said for said in told)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [True, False])
def test_the_first_failure_keeps_its_diagnosis_and_asks_no_properties(
    stop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(case: Case) -> Any:
        inner = SUBJECT.start(case)

        def step(event: Any) -> Any:
            answer = inner.step(event)
            return {"delta": answer["delta"], "x": answer["x"] + np.cos(answer["delta"])}

        return SimpleNamespace(step=step)

    # The search takes most of the time, and finds nothing here.
    monkeypatch.setattr(explained, "searching", lambda *arguments: Search(most=1))
    odd = written(offer_of("fedavg", "server", dtypes=("float64",), intermediates=("delta",)), start)
    law = "follows-delta,follows-x"
    (r,) = check(Request(["odd"], profile="quick", law=law, jobs=1, stop=stop, given={"odd": odd}), lambda said: None)
    assert (r.verdict, "no known variant" in r.nearest, r.required) == (Conformity.DOES_NOT, True, 2)
    assert bool(r.properties) != stop


@pytest.mark.slow
def test_the_next_offers_are_not_judged_after_the_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is what the wrong one is told to claim, and conforms."""
    monkeypatch.setitem(PROFILES, "quick", 4)
    two = [f"py:{__name__}:{name}" for name in ("Claimed", "Wrong", "Claimed")]
    results = [*check(Request(two, profile="quick", jobs=1, stop=True, named=False), lambda said: None)]
    assert [str(r.verdict) for r in results] == ["conforms", "does not conform"]


@pytest.mark.slow
def test_two_names_of_the_same_equations_print_them_once(judged: Result) -> None:
    twice = replace(judged, nearest_data=judged.nearest_data * 2)
    assert sentences.differences(twice) == sentences.differences(judged)


def test_no_other_claim_is_named_for_what_fits_in_part() -> None:
    setting = row_setting("fedadam", "server")
    (v,) = (v for v in single(setting) if v.words == "reading epsilon-inside")
    assert found_as(setting, v, v.words, 0.0, 1.0, ()).claim == {"reading": "epsilon-inside"}
    assert not found_as(setting, v, v.words, 0.0, 1.0, (), small=True).claim
    assert not found_as(setting, v, v.words, 0.0, 1.0, ("m",)).claim
