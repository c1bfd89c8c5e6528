"""Buffers after a round, by hand, by a loop over fractions, and under equivalent inputs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedspec.buffers import COUNTERS, STATISTICS, Reading, after, counts
from fedspec.contract import Case, ClientMessage, Messages
from fedspec.errors import ContractError, PlanError, UnknownNameError, WeightError
from fedspec.with_buffers import SUBJECT

ROWS = st.lists(st.tuples(st.integers(1, 9), st.integers(-24, 24), st.integers(0, 200)), min_size=1, max_size=5)
"""Examples, a statistic in eighths and a counter of each client."""


QUICK = settings(suppress_health_check=[HealthCheck.too_slow])
"""Settings without the check of slow draws, which are small and slow only beside other work."""


def buffers(mean: Any, seen: int, kind: Any = float) -> dict[str, Any]:
    return {"mean": np.array([mean], dtype=kind), "seen": np.array(seen, dtype="int64")}


def become(rows: list[tuple[int, int, int]], reading: str, counters: str, held: tuple[int, int] = (7, 3)) -> Any:
    """The mean, as a fraction, and the counter after a round."""
    sent = [buffers(Fraction(m, 8), c, object) for _, m, c in rows]
    n = [n for n, *_ in rows]
    got = after(buffers(Fraction(held[0]), held[1], object), sent, n, statistics=reading, counters=counters)
    assert counts(got["seen"]) and got["seen"].shape == () and got["mean"].shape == (1,)
    return got["mean"][0], int(got["seen"])


def test_two_clients_by_hand() -> None:
    """Means 1 and 5, counters 10 and 21, of clients with 1 and 3 examples."""
    rows = [(1, 8, 10), (3, 40, 21)]
    want = {"averaged": (4, 18), "uniform": (3, 15), "kept": (7, 3), "first": (1, 10), "last": (5, 21)}
    assert {r: become(rows, r, r) for r in want} == want
    assert become(rows, "averaged", "largest") == (4, 21)
    assert become(rows, "kept", "averaged") == (7, 18) and become(rows, "last", "kept") == (5, 3)


@QUICK
@given(ROWS)
def test_a_mean_is_that_of_as_many_clients_as_there_are_examples(rows: list[tuple[int, int, int]]) -> None:
    each = [Fraction(m, 8) for n, m, _ in rows for _ in range(n)]
    batches = [c for n, _, c in rows for _ in range(n)]
    assert become(rows, "averaged", "averaged") == (sum(each) / len(each), sum(batches) // len(batches))
    alike = [(1, m, c) for _, m, c in rows]
    assert become(rows, "uniform", "uniform") == become(alike, "averaged", "averaged")


@QUICK
@given(ROWS)
def test_the_largest_is_the_last_of_those_in_order(rows: list[tuple[int, int, int]]) -> None:
    by_count = sorted(rows, key=lambda row: row[2])
    assert become(rows, "kept", "largest") == become(by_count, "kept", "last")
    assert (
        become(rows, "first", "first") == become(rows[::-1], "last", "last") == become(rows[:1], "averaged", "largest")
    )


@QUICK
@given(ROWS, st.sampled_from([r for r in STATISTICS if r is not Reading.KEPT]))
def test_what_all_have_in_common_stays(rows: list[tuple[int, int, int]], reading: str) -> None:
    (_, m, c), *_ = rows
    assert become([(n, m, c) for n, *_ in rows], reading, reading) == (Fraction(m, 8), c)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("reading", STATISTICS)
def test_types_stay(kind: str, reading: str) -> None:
    sent = [buffers(0.5, 7, kind), buffers(2.5, 8, kind)]
    got = after(buffers(0, 0, kind), sent, [2, 1], statistics=reading, counters=reading)
    assert (str(got["mean"].dtype), str(got["seen"].dtype)) == (kind, "int64")


def refused(error: type[Exception], words: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=words):
        call()


def test_what_is_refused() -> None:
    held, one = buffers(0, 0), [buffers(1, 1)]
    refused(
        UnknownNameError,
        "'largest' of statistics; known: averaged",
        lambda: after(held, one, [1], statistics="largest"),
    )
    refused(UnknownNameError, "'most' of counters", lambda: after(held, one, [1], counters="most"))
    refused(PlanError, "no client takes part", lambda: after(held, [], []))
    refused(
        PlanError, r"messages\[1\].buffers: got \['mean'\]", lambda: after(held, [*one, {"mean": held["mean"]}], [1, 1])
    )
    refused(WeightError, "add up to 0", lambda: after(held, one, [0]))
    # Nobody's examples are asked for where none are read.
    assert after(held, one, [0], statistics="uniform", counters="largest")["seen"] == 1


def test_the_subject_moves_the_model_as_it_does_without() -> None:
    x0, hyper = {"w": np.array([8.0])}, {"eta": 1.0}
    options = {"weights": "examples"}
    case = Case("fedavg", "server", "mcmahan-2017", options, "float64", x0, hyper, variant="averaged largest")
    carried = Case(**{**vars(case), "buffers": buffers(0.0, 0)})
    deltas = [(1, 4.0, buffers(1.0, 10)), (3, 0.0, buffers(5.0, 21))]
    sent = [ClientMessage(i, {"w": np.array([d])}, n, 1, 1, buffers=b) for i, (n, d, b) in enumerate(deltas)]
    got = SUBJECT.start(carried).step(Messages(tuple(sent)))
    plain = SUBJECT.start(case).step(Messages(tuple(ClientMessage(**{**vars(m), "buffers": None}) for m in sent)))
    assert got["x"] == plain["x"] == 9.0 and "buffers" not in plain
    assert got["buffers"]["mean"] == 4.0 and got["buffers"]["seen"] == 21
    with pytest.raises(ContractError, match="sends no buffers"):
        SUBJECT.start(carried).step(Messages((sent[0], ClientMessage(**{**vars(sent[1]), "buffers": None}))))


def test_every_pair_of_readings_is_offered_once() -> None:
    said = [tuple(o.buffers.values()) for o in SUBJECT.info.offers if o.algorithm == "fedavg"]
    assert sorted(said) == sorted((str(s), str(c)) for s in STATISTICS for c in COUNTERS)
