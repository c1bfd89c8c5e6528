"""Memory of the last time that a client took part is told: a message, a loss, a model, a waiting update."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import diagnosed, names, written

from fedspec.contract import Arrival, Case, Messages, Offer, Round
from fedspec.params import flatten, unflatten
from fedspec_suite.diagnosis.edits.in_edits import of_last_turn
from fedspec_suite.diagnosis.edits.memory import Memory

pytestmark = [pytest.mark.slow, pytest.mark.table(2)]


def averaging(wrong: str) -> Any:
    """FedAvg's server, which keeps each client's last change."""

    def start(case: Case) -> Any:
        x, last = [flatten(case.x0)], dict[int, tuple[float, Any]]()

        def step(event: Messages) -> dict[str, Any]:
            now = [(m.weight, flatten(m.delta)) for m in event.messages]
            last.update(zip((m.client for m in event.messages), now, strict=True))
            sent = [*last.values()] if wrong == "kept" else now
            over = sum(n for n, _ in (last.values() if wrong == "over all" else sent))
            x[0] = x[0] + case.hyper["eta"] * sum(n * delta for n, delta in sent) / over
            return {"x": unflatten(x[0].astype(case.dtype), case.x0)}

        return SimpleNamespace(step=step)

    return written(Offer("fedavg", "server", options={"weights": "examples"}), start)


def dynamic(wrong: str) -> Any:
    """FedDyn by hand, whose clients are pulled to the model that they received, or to their own last one."""

    def start(case: Case) -> Any:
        q, own, h = case.problem, dict[int, Any](), case.hyper
        assert q is not None
        x, lam, dual = [flatten(case.x0)], np.zeros_like(q.e), [0 * flatten(case.x0)]

        def step(event: Round) -> dict[str, Any]:
            ends = []
            for i, steps in zip(event.participants, event.steps, strict=True):
                y, to = x[0], own.get(i, x[0]) if wrong else x[0]
                for _ in range(steps):
                    y = y - h["eta_l"] * (q.H[i] @ y - q.e[i] - lam[i] + h["mu"] * (y - to))
                own[i] = y
                lam[i] -= h["mu"] * (y - x[0])
                ends.append(y)
            dual[0] = dual[0] - h["mu"] * sum(y - x[0] for y in ends) / len(lam)
            x[0] = sum(ends) / len(ends) - dual[0] / h["mu"]
            return {"x": x[0]}

        return SimpleNamespace(step=step)

    return written(Offer("feddyn", "round"), start)


def fair(wrong: str) -> Any:
    """q-FedAvg by hand, whose clients report their loss at the model with which their last round began."""

    def start(case: Case) -> Any:
        q, h, x, before = case.problem, case.hyper, [flatten(case.x0)], dict[int, float]()
        assert q is not None and q.f is not None
        f = q.f

        def step(event: Round) -> dict[str, Any]:
            above, below = 0 * x[0], 0.0
            for i, steps in zip(event.participants, event.steps, strict=True):
                y, now = x[0], float(x[0] @ q.H[i] @ x[0] / 2 - q.e[i] @ x[0] + f[i]) + h["guard"]
                F, before[i] = before.get(i, now) if wrong else now, now
                for _ in range(steps):
                    y = y - h["eta_l"] * (q.H[i] @ y - q.e[i])
                g = (x[0] - y) / h["eta_l"]
                above = above + F ** h["q"] * g
                below += h["q"] * F ** (h["q"] - 1) * float(g @ g) + F ** h["q"] / h["eta_l"]
            x[0] = x[0] - above / below
            return {"x": x[0]}

        return SimpleNamespace(step=step)

    return written(Offer("q-fedavg", "round"), start)


def buffered(wrong: str) -> Any:
    """FedBuff without discounts by hand, whose full buffer is emptied, or slides."""

    def start(case: Case) -> Any:
        q, h, versions, waits = case.problem, case.hyper, [flatten(case.x0)], list[Any]()
        assert q is not None

        def step(event: Arrival) -> dict[str, Any]:
            start_ = y = versions[-1 - event.delay]
            for _ in range(event.steps):
                y = y - h["eta_l"] * (q.H[event.client] @ y - q.e[event.client])
            waits.append(y - start_)
            if len(waits) == h["buffer"]:
                versions.append(versions[-1] + h["eta"] * sum(waits) / len(waits))
                del waits[: 1 if wrong else None]
            return {"x": versions[-1]}

        return SimpleNamespace(step=step)

    return written(Offer("fedbuff", "trace"), start)


def controlled(wrong: str) -> Any:
    """SCAFFOLD by hand, whose clients divide by their number of steps, or by that of their last round."""

    def start(case: Case) -> Any:
        q, h, x, own = case.problem, case.hyper, [flatten(case.x0)], dict[int, int]()
        assert q is not None
        c_i, c = np.zeros_like(q.e), [0 * x[0]]

        def step(event: Round) -> dict[str, Any]:
            moved, new = [], {}
            for i, steps in zip(event.participants, event.steps, strict=True):
                y, counted, own[i] = x[0], own.get(i, steps) if wrong else steps, steps
                for _ in range(steps):
                    y = y - h["eta_l"] * (q.H[i] @ y - q.e[i] - c_i[i] + c[0])
                moved.append(y - x[0])
                new[i] = c_i[i] - c[0] - (y - x[0]) / (h["eta_l"] * counted)
            c[0] = c[0] + sum(v - c_i[i] for i, v in new.items()) / len(c_i)
            for i, v in new.items():
                c_i[i] = v
            x[0] = x[0] + h["eta"] * sum(moved) / len(moved)
            return {"x": x[0]}

        return SimpleNamespace(step=step)

    return written(Offer("scaffold", "round", options={"weights": "uniform"}), start)


SAID = {
    "tau as it was when the client last took part stands for tau in (delta, c_i[i] - c": (controlled, "own"),
    "an absent client's last message counts in every later round": (averaging, "kept"),
    "divided by the examples of all clients so far, not of this round's": (averaging, "over all"),
    "the client's own last model stands for x in": (dynamic, "own"),
    "F_i is the loss of the model with which the client's last round began": (fair, "stale"),
    "a full buffer is not emptied: the next update takes the place of the oldest": (buffered, "slides"),
}


@pytest.mark.parametrize("words", SAID)
def test_what_is_kept_of_the_last_time_is_told(words: str) -> None:
    subject, wrong = SAID[words]
    found = names(diagnosed(subject(wrong)))
    assert found and found[0].startswith(words), found


@pytest.mark.parametrize("subject", [averaging, dynamic, fair, buffered, controlled])
def test_without_the_mistake_each_is_what_it_claims(subject: Any) -> None:
    d = diagnosed(subject(""))
    assert not d.found and d.claimed < 1, d


def test_a_name_has_one_value_of_the_last_time_however_often_it_is_read() -> None:
    kept = Memory(who=3, turn=1)
    assert [of_last_turn(kept, "g", v) for v in (1, 2)] == [1, 1]
    kept.turn = 2
    assert [of_last_turn(kept, "g", v) for v in (5, 6)] == [2, 2]
    kept.who, kept.turn = 4, 3
    assert of_last_turn(kept, "g", 7) == 7
    kept.who, kept.turn = 3, 4
    assert of_last_turn(kept, "g", 8) == 6
