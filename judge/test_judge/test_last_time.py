"""Memory of the last time that a client took part is told: a message, a loss, a model, a waiting update."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from test_judge.by_hand import Dynamic, Fair, Late, Scaffold, subject
from test_judge.diagnosing import diagnosed, names, written

from fedspec.contract import Case, Messages, Offer
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


SAID = {
    "tau as it was when the client last took part stands for tau in (delta, c_i[i] - c": subject(Scaffold, "own"),
    "an absent client's last message counts in every later round": averaging("kept"),
    "divided by the examples of all clients so far, not of this round's": averaging("over all"),
    "the client's own last model stands for x in": subject(Dynamic, "own"),
    "F_i is the loss of the model with which the client's last round began": subject(Fair, "stale"),
    "a full buffer is not emptied: the next update takes the place of the oldest": subject(Late, "slides"),
}


@pytest.mark.parametrize("words", SAID)
def test_what_is_kept_of_the_last_time_is_told(words: str) -> None:
    found = names(diagnosed(SAID[words]))
    assert found and found[0].startswith(words), found


def test_without_the_mistake_the_average_is_what_it_claims() -> None:
    assert diagnosed(averaging("")).follows


def test_a_name_has_one_value_of_the_last_time_however_often_it_is_read() -> None:
    kept = Memory(who=3, turn=1)
    assert [of_last_turn(kept, "g", v) for v in (1, 2)] == [1, 1]
    kept.turn = 2
    assert [of_last_turn(kept, "g", v) for v in (5, 6)] == [2, 2]
    kept.who, kept.turn = 4, 3
    assert of_last_turn(kept, "g", 7) == 7
    kept.who, kept.turn = 3, 4
    assert of_last_turn(kept, "g", 8) == 6
