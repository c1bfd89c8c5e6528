"""Every edge is played by every way to a verdict, and a rule of the whole model is told from one of each block."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Case, Event, Level, Offer, Session, SubjectInfo
from fedspec.reference import SUBJECT
from fedspec_suite.diagnosis.defects import blockwise
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.diagnosis.variants import as_claimed
from fedspec_suite.judge.capsules.made import capsule
from fedspec_suite.judge.capsules.replay import Outcome, replayed
from fedspec_suite.judge.capsules.stored import read
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.measure.at_edges import edge_cases
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.edges import EDGES, Edge, edges_of
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Conformity, Status
from fedspec_suite.vectors.judging import judged
from fedspec_suite.vectors.stored import FOLDER, load

pytestmark = pytest.mark.table(1)

OFFERS = SUBJECT.info.offers
SETTINGS = [setting_of(o) for o in OFFERS]

ROWS: dict[Level, tuple[str, ...]] = {
    "client": ("sgd", "adam"),
    "server": ("fedavg", "fedadam"),
    "round": ("fedavg", "fedada2"),
    "trace": ("fedbuff", "dsgd"),
}
"""Two algorithms of each level; of the first that can have an edge it is asked."""


def can_have(edge: Edge, setting: Setting) -> bool:
    return setting.level in edge.levels and edge.possible(setting)


@pytest.mark.parametrize("number", range(len(OFFERS)), ids=lambda k: f"{OFFERS[k].algorithm}/{OFFERS[k].level}/{k}")
def test_the_cases_of_a_setting_have_every_edge_that_it_can_have(number: int) -> None:
    setting = SETTINGS[number]
    there = {edge.name for s in edge_cases(setting) for edge in edges_of(s)}
    assert there >= {edge.name for edge in EDGES if can_have(edge, setting)}


class Wrong:
    """The specification, but for the models after an event with an edge: they are off by an eighth."""

    concurrent = True

    def __init__(self, edge: Edge, offer: Offer) -> None:
        self.edge = edge
        self.info = SubjectInfo(f"wrong at {edge.name}", "1", (offer,))

    def start(self, case: Case) -> Session:
        return _Wrong(self.edge, case)


class _Wrong:
    def __init__(self, edge: Edge, case: Case) -> None:
        self.edge, self.case, self.events = edge, case, tuple[Event, ...]()
        self.session = SUBJECT.start(case)

    def step(self, event: Event) -> Mapping[str, Any]:
        answer = dict(self.session.step(event))
        self.events += (event,)
        if self.edge.shows(Scenario(self.case, self.events)):
            answer["x"] = np.asarray(answer["x"]) + np.asarray(0.125, dtype=self.case.dtype)
        return answer


def offers_at(edge: Edge) -> list[Offer]:
    """At each level the first of some offers that can have an edge, showing x alone."""
    found = []
    for level in edge.levels:
        names = [n for n in ROWS[level] if can_have(edge, setting_of(Offer(n, level, CATALOGUE[n].readings[0].name)))]  # type: ignore[arg-type]
        found += [Offer(n, level, CATALOGUE[n].readings[0].name, dtypes=("float64",)) for n in names[:1]]  # type: ignore[arg-type]
    return found


CROSSED = [(edge, offer) for edge in EDGES for offer in offers_at(edge)]
NAMES = [f"{edge.name}-{offer.algorithm}-{offer.level}" for edge, offer in CROSSED]


def test_every_edge_is_crossed_with_every_way() -> None:
    assert {edge.name for edge, _ in CROSSED} >= {edge.name for edge in EDGES} - {"repeats"}
    assert any(offer.algorithm == "fedada2" for edge, offer in CROSSED if edge.name == "repeats")


@pytest.mark.parametrize(("edge", "offer"), CROSSED, ids=NAMES)
def test_check_one_law_and_a_capsule_of_it_see_who_is_wrong_at_an_edge(
    edge: Edge, offer: Offer, tmp_path: Path
) -> None:
    subject = Wrong(edge, offer)
    (o,) = judge_offer(subject, offer, profile="quick", law="follows-x")
    assert o.status is Status.FAIL and o.case is not None
    made = capsule("py:wrong.py:WRONG", subject, 0, (offer,), [o])
    assert made
    path = tmp_path / "kept.json"
    path.write_text(json.dumps(made.body), encoding="utf-8")
    assert [(r.outcome, r.reason) for r in replayed(read(path), subject)] == [(Outcome.SAME, "")]


# A vector separates something from the rule; where nothing moves at all, nothing is separated. Its inputs are short
# numbers, and the model where a round ended is none.
STORED = [
    (n, c)
    for n, c in zip(NAMES, CROSSED, strict=True)
    if c[0].name != "same-model" and (c[0].name != "zeros" or c[1].level == "client")
]


@pytest.mark.parametrize(("edge", "offer"), [c for _, c in STORED], ids=[n for n, _ in STORED])
def test_vectors_see_who_is_wrong_at_an_edge(edge: Edge, offer: Offer) -> None:
    setting = setting_of(offer)
    (stored,) = load(FOLDER, [offer.algorithm])
    assert judged(bench_of(Wrong(edge, offer), offer, setting), setting, stored).verdict is Conformity.DOES_NOT


@pytest.mark.parametrize(("edge", "offer"), CROSSED, ids=NAMES)
def test_identify_sees_who_is_wrong_at_an_edge(edge: Edge, offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whether it deviates is seen before a name is looked for, which takes longer.
    monkeypatch.setattr("fedspec_suite.diagnosis.identify.stages", lambda *given: iter(()))
    monkeypatch.setattr("fedspec_suite.diagnosis.identify.two_at_once", lambda *given: iter(()))
    setting = setting_of(offer)
    assert not identify(bench_of(Wrong(edge, offer), offer, setting), setting).follows


def _apart(setting: Setting, s: Scenario, defect: Any) -> bool:
    """True if a defect shows in the models of a case, by far more than rounding."""
    claimed = as_claimed(setting)
    wrong = replace(claimed, defects=(defect,))
    pairs = zip(*(v.quick(s, v.editions()()) for v in (claimed, wrong)), strict=True)
    return any(np.abs(a["x"] - b["x"]).max() > 1e-5 * (1e-9 + np.abs(a["x"]).max()) for a, b in pairs)


@pytest.mark.night
def test_what_is_done_block_by_block_shows_at_the_edges_wherever_a_rule_reads_the_whole_model() -> None:
    seen: dict[tuple[str, str, str], bool] = defaultdict(bool)
    for setting in SETTINGS:
        for defect in blockwise.of(setting):
            # Under some options a function does not run.
            key = (setting.algorithm.id, setting.level, defect.words)
            seen[key] = seen[key] or any(_apart(setting, s, defect) for s in edge_cases(setting))
    assert {algorithm for algorithm, *_ in seen} >= {"ef21", "fedcams", "dp-fedavg", "fedsam", "krum", "fedexp"}
    assert [key for key, shows in seen.items() if not shows] == []
