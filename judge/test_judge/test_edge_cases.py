"""Every edge is played by every way to a verdict, and a rule of the whole model is told from one of each block."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import written

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Case, Event, Level, Offer, Subject
from fedspec.reference import SUBJECT
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.judge.capsules.file_format import read
from fedspec_suite.judge.capsules.replay import Outcome, replay_capsule
from fedspec_suite.judge.capsules.writer import capsule
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.edge_cases import edge_cases
from fedspec_suite.measure.edge_features import EDGES, Edge, edges_of
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Conformity, Status
from fedspec_suite.vectors.checker import judged
from fedspec_suite.vectors.store import FOLDER, load

pytestmark = pytest.mark.table(1)

OFFERS = SUBJECT.info.offers
SETTINGS = [setting_of(o) for o in OFFERS]

ROWS: dict[Level, tuple[str, ...]] = {
    "client": ("sgd", "adam"),
    "server": ("fedavg", "fedadam"),
    "round": ("fedavg", "fedada2"),
    "trace": ("fedbuff", "dsgd", "afga"),
}
"""Two or three algorithms of each level; of the first that can have an edge it is asked."""


def can_have(edge: Edge, setting: Setting) -> bool:
    return setting.level in edge.levels and edge.possible(setting)


@pytest.mark.parametrize("number", range(len(OFFERS)), ids=lambda k: f"{OFFERS[k].algorithm}/{OFFERS[k].level}/{k}")
def test_the_cases_of_a_setting_have_every_edge_that_it_can_have(number: int) -> None:
    setting = SETTINGS[number]
    there = {edge.name for s in edge_cases(setting) for edge in edges_of(s)}
    assert there >= {edge.name for edge in EDGES if can_have(edge, setting)}


def test_no_loss_of_an_edge_can_be_negative() -> None:
    """The least of each objective, at H_i^{-1} e_i: another model than the rule's must not meet a root of less."""
    setting = setting_of(Offer("q-fedavg", "round", "li-2020-code"))
    for s in edge_cases(setting):
        problem = s.case.problem
        assert problem is not None and problem.f is not None
        for H, e, f in zip(problem.H, problem.e, problem.f, strict=True):
            assert f > e @ np.linalg.solve(H, e) / 2


def wrong_at(edge: Edge, offer: Offer) -> Subject:
    """The specification, but for the models after an event with an edge: they are off by an eighth."""

    def start(case: Case) -> Any:
        session, events = SUBJECT.start(case), list[Event]()

        def step(event: Event) -> Mapping[str, Any]:
            answer = dict(session.step(event))
            events.append(event)
            if edge.shows(Scenario(case, tuple(events))):
                answer["x"] = np.asarray(answer["x"]) + np.asarray(0.125, dtype=case.dtype)
            return answer

        return SimpleNamespace(step=step)

    return written(offer, start)  # type: ignore[no-any-return]


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
    subject = wrong_at(edge, offer)
    (o,) = judge_offer(subject, offer, profile="quick", law="follows-x")
    assert o.status is Status.FAIL and o.case is not None
    made = capsule("py:wrong.py:WRONG", subject, 0, (offer,), [o])
    assert made
    path = tmp_path / "kept.json"
    path.write_text(json.dumps(made.body), encoding="utf-8")
    assert [(r.outcome, r.reason) for r in replay_capsule(read(path), subject)] == [(Outcome.SAME, "")]


# A vector separates something from the rule; where nothing moves at all, nothing is separated. Its inputs are short
# numbers, and the model where a round ended is none. None decides that the change of a round without steps is zero.
STORED = [
    (n, c)
    for n, c in zip(NAMES, CROSSED, strict=True)
    if c[0].name not in ("same-model", "no-steps") and (c[0].name != "zeros" or c[1].level == "client")
]


@pytest.mark.parametrize(("edge", "offer"), [c for _, c in STORED], ids=[n for n, _ in STORED])
def test_vectors_see_who_is_wrong_at_an_edge(edge: Edge, offer: Offer) -> None:
    setting = setting_of(offer)
    (stored,) = load(FOLDER, [offer.algorithm])
    assert judged(bench_of(wrong_at(edge, offer), offer, setting), setting, stored).verdict is Conformity.DOES_NOT


@pytest.mark.parametrize(("edge", "offer"), CROSSED, ids=NAMES)
def test_identify_sees_who_is_wrong_at_an_edge(edge: Edge, offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whether it deviates is seen before a name is looked for, which takes longer.
    monkeypatch.setattr("fedspec_suite.diagnosis.identify.stages", lambda *given: iter(()))
    monkeypatch.setattr("fedspec_suite.diagnosis.identify.two_at_once", lambda *given: iter(()))
    setting = setting_of(offer)
    assert not identify(bench_of(wrong_at(edge, offer), offer, setting), setting).follows
