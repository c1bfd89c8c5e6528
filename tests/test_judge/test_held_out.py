"""It is said where a subject deviates by what clients are beside one another, and of a feature no more than holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from test_judge.test_gates import Behind, diagnosed, setting

from fedspec_suite.judge import held_out as held_out_module
from fedspec_suite.judge import known, search
from fedspec_suite.judge.beside_others import taking_part
from fedspec_suite.judge.held_out import alike, always, contradicted, held_out, shared

pytestmark = pytest.mark.long


def moved(when: Callable[[list[Any], set[int]], bool]) -> Callable[[Any, Any, int], Any]:
    """A subject that adds to the model in some events: by who takes part, and who did in events before."""

    met: set[int] = set()

    def take(inner: Any, e: Any, k: int) -> Any:
        if k == 0:
            met.clear()
        answer = inner.step(e)
        who = [(m.client, m.weight, m.a_norm) for m in getattr(e, "messages", ())] or [
            (i, 1, None) for i in e.participants
        ]
        wrong = when(who, met)
        met.update(i for i, *_ in who)
        return {**answer, "x": answer["x"] + wrong}

    return take


def share(who: list[Any]) -> list[float]:
    total = sum(n for _, n, _ in who)
    return [n / total for _, n, _ in who]


def late(who: list[Any], met: set[int]) -> bool:
    return bool(met) and any(i not in met for i, *_ in who)


SAID = {
    "where a client has more than 0.5 of the weights": Behind(
        "fedavg", "server", take=moved(lambda who, met: max(share(who)) > 0.5)
    ),
    "where a client has less than 0.1 of the weights": Behind(
        "fedavg", "server", take=moved(lambda who, met: any(0 < p < 0.1 for p in share(who)))
    ),
    "only where clients of a round have one ||a_i||_1, and there not always": Behind(
        "fednova",
        "server",
        take=moved(lambda who, met: len({a for *_, a in who}) == 1 < len({n for _, n, _ in who})),
    ),
    "where a client takes part for the first time after the first round": Behind("fedavg", "round", take=moved(late)),
    "where client 0 takes part again": Behind(
        "fedavg", "round", take=moved(lambda who, met: 0 in met and any(i == 0 for i, *_ in who))
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("words", SAID)
def test_it_is_said_what_clients_are_beside_one_another(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PAIRS", dict.fromkeys(search.PAIRS, 5))
    monkeypatch.setattr(known, "MOST", 5)
    d = diagnosed(SAID[words])
    assert not d.found and d.gates == (words,) and d.beside > 3


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


def test_cases_in_which_nothing_moves_are_not_held_out() -> None:
    cases = held_out(setting("fedavgm", "server"))
    assert len(cases) > 40 and not any(map(held_out_module.still, cases))
    none = {n: 0 * a for n, a in cases[0].events[0].messages[0].delta.items()}  # type: ignore[union-attr]
    events = [replace(e, messages=tuple(replace(m, delta=none) for m in e.messages)) for e in cases[0].events]  # type: ignore[union-attr]
    assert held_out_module.still(replace(cases[0], events=tuple(events)))
