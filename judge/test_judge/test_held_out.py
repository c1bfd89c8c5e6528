"""Clients are alike, of one share, new or opposed in cases held out, and no more is said of a feature than holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from test_judge.test_gates import setting

from fedspec.contract import Offer, Quadratics, Round
from fedspec.reference import SUBJECT
from fedspec_suite import mutants
from fedspec_suite.diagnosis.cases.beside_others import HOLDING, taking_part
from fedspec_suite.diagnosis.cases.resized import opposed
from fedspec_suite.diagnosis.seen import held_out as held_out_module
from fedspec_suite.diagnosis.seen.held_out import alike, always, contradicted, held_out, shared
from fedspec_suite.diagnosis.variants import single
from fedspec_suite.measure.setting import setting_of


def test_one_client_has_the_share_that_it_is_given() -> None:
    s = next(s for s in held_out(setting("fedavg", "server")) if len(taking_part(s, s.events[0])) > 2)
    for part in (0.03, 0.5, 0.9):
        others = taking_part(s, s.events[0])[:-1]
        there = taking_part(shared(s, part), shared(s, part).events[0])
        total = sum(c.weight for c in there)
        assert abs(there[-1].weight / total - part) < 0.005
        assert [c.weight / there[0].weight for c in there[:-1]] == [c.weight / others[0].weight for c in others]


def test_clients_are_made_alike_in_steps_and_in_nothing_else() -> None:
    s = next(s for s in held_out(setting("fedavg", "round")) if len({c.steps for c in taking_part(s, s.events[0])}) > 1)
    before, after = taking_part(s, s.events[0]), taking_part(alike(s), alike(s).events[0])
    assert {c.steps for c in after} == {before[0].steps}
    assert [(c.number, c.weight) for c in after] == [(c.number, c.weight) for c in before]


def test_a_feature_is_held_against_cases_on_which_it_was_not_found() -> None:
    case: Any = None
    small, large = (lambda s, last: last < 3), (lambda s, last: last > 7)
    assert contradicted([small], [(case, 5)]) and not contradicted([small, large], [(case, 9), (case, 0)])
    follows: Any = type("case", (), {"events": (0,)})
    assert always([small], [(case, 2)]) and not always([small], [(case, 2), (follows, -1)])


def test_what_nearly_all_cases_have_tells_nothing() -> None:
    """Eleven of seventy deviate, as many as of all: the feature is had by chance."""
    chance = [(k < 70, k < 11) for k in range(74)]
    assert held_out_module._telling(chance) == (0.0, 0)
    assert held_out_module._telling([(k < 10, k < 8) for k in range(74)]) == (0.8, 64)
    assert held_out_module._telling([(k < 60, k < 60) for k in range(74)]) == (1.0, 14)
    # Nearly all cases have it, nearly all of those deviate: that few others follow is chance, that many do is none.
    assert held_out_module._telling([(k < 70, k < 60) for k in range(74)]) == (0.0, 0)
    assert held_out_module._telling([(k < 60, k < 55) for k in range(74)]) == (55 / 60, 14)


def test_cases_in_which_nothing_moves_are_not_held_out() -> None:
    cases = held_out(setting("fedavgm", "server"))
    assert len(cases) > 40 and not any(map(held_out_module.still, cases))
    none = {n: 0 * a for n, a in cases[0].events[0].messages[0].delta.items()}  # type: ignore[union-attr]
    events = [replace(e, messages=tuple(replace(m, delta=none) for m in e.messages)) for e in cases[0].events]  # type: ignore[union-attr]
    assert held_out_module.still(replace(cases[0], events=tuple(events)))


def test_new_clients_stand_for_those_who_come_back() -> None:
    """Numbers of new clients stay within N, if N is known; the changes stay."""
    for name in ("fedavg", "feddyn"):
        long = next(s for s in held_out(setting(name, "server")) if len(s.events) > 1)
        made = held_out_module.newcomers(long)
        assert made is not None
        who = [[m.client for m in e.messages] for e in made.events]  # type: ignore[union-attr]
        met = [i for there in who for i in there]
        assert len(met) == len({*met}) and (made.case.population is None or max(met) < made.case.population)
        before, after = ([m.delta for m in s.events[1].messages] for s in (long, made))  # type: ignore[union-attr]
        assert before == after
    (zero,) = [m for s in held_out(setting("fedavg", "server")) if (m := held_out_module.newcomers(s, True))][:1]
    assert not any(m.client == 0 for e in zero.events[1:] for m in e.messages)  # type: ignore[union-attr]


def test_steps_fall_and_rise_again() -> None:
    regained = "where a client takes more steps than the last time, and took more once before"
    (s,) = [s for s in held_out(setting("fedavg", "round")) if [e.steps[0] for e in s.events] == [3, 1, 2, 1]][:1]  # type: ignore[union-attr]
    assert [bool(HOLDING[regained](s, k)) for k in range(4)] == [False, False, True, False]


def test_clients_that_pull_against_one_another_nearly_cancel() -> None:
    """Two of 64 and -60 times the same: their mean is a thirty-first of a change, and a rate that is capped shows."""
    s = next(s for s in held_out(setting("fedexp", "server")) if len(s.events[0].messages) in (2, 4, 6))  # type: ignore[union-attr]
    against = opposed(s)
    assert against is not None
    one, two = (next(iter(m.delta.values())) for m in against.events[0].messages[:2])  # type: ignore[union-attr]
    assert np.array_equal(15 * one, -16 * two)
    answer = SUBJECT.start(against.case).step(against.events[0])
    assert answer["rate"] > 10
    alone, twice = (
        replace(s.case, problem=Quadratics(np.ones((2, 1, 1)), np.ones((2, 1)), np.ones(2))),
        Round((0, 1, 1), (1,) * 3),
    )
    (event,) = opposed(replace(s, case=alone, events=(twice,))).events  # type: ignore[union-attr]
    assert event == Round((0, 1), (1, 1))


def test_what_was_written_for_another_algorithm_is_looked_for_where_the_rule_runs() -> None:
    offer = Offer("fednova-sampled", "round", "box", {"solver": "nesterov"})
    words = {v.words for v in single(setting_of(offer))}
    assert "Nesterov's changes are normalised as plain momentum's" in words
    # Its solver does not run.
    assert mutants.find("momentum-no-decay").words not in words
