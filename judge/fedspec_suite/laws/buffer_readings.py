"""Diagnosis of buffers: the reading or known mistake that a subject follows instead of its claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.buffers import COUNTERS, STATISTICS, after, counts
from fedspec.contract import Messages
from fedspec.errors import FedspecError
from fedspec.params import unflatten
from fedspec.reference import SUBJECT
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.buffer_cases import COUNTER, MEAN, VARIANCE, buffer_key, sent_in
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.verdict import Beyond, Deviates, Undecided

Path = list[dict[str, Array]]
"""Buffers after each round."""

ROUNDS = (
    ((1, (1.0, 2.0), 10), (2, (4.0, 1.0), 21), (5, (16.0, 8.0), 47)),
    ((3, (2.0, 4.0), 35), (1, (8.0, 16.0), 88), (6, (1.0, 0.5), 62)),
)
"""Messages of three clients in two rounds (examples, mean and variance, batches) that distinguish all readings."""


def decisive(s: Scenario) -> Scenario:
    """Turn a case into one in which no two readings agree: its first message three times, with other buffers.

    Where more clients take part than three, the others send what the third does.
    """
    event = s.events[0]
    assert isinstance(event, Messages)
    one, dtype, least = event.messages[0], s.case.dtype, len(event.messages)

    def carried(values: tuple[float, float], seen: int) -> dict[str, Array]:
        mean, variance = (np.array([v], dtype=dtype) for v in values)
        return {MEAN: mean, VARIANCE: variance, COUNTER: np.array(seen, dtype="int64")}

    def told(sent: Sequence[tuple[int, tuple[float, float], int]]) -> Messages:
        rows = [*sent, *[sent[-1]] * (least - len(sent))]
        messages = (
            replace(one, client=i, weight=n, buffers=carried(values, seen)) for i, (n, values, seen) in enumerate(rows)
        )
        return Messages(tuple(messages))

    case = replace(s.case, buffers=carried((3.0, 32.0), 5))
    return Scenario(case, tuple(map(told, ROUNDS)))


def named(bench: Bench, s: Scenario) -> str:
    """Describe how the subject treats buffers in a decisive case; empty if as claimed, or if nothing known matches."""
    try:
        got = bench.play(s)
    except (Beyond, Deviates, SubjectError, Undecided):
        return ""
    said = []
    for kind, of in (("statistics", _statistics(s)), ("counters", _counts(s))):
        names = [n for n, b in (s.case.buffers or {}).items() if counts(b) == (kind == "counters")]
        found = next((words for words, path in of.items() if _agrees(bench, got, path(), names)), "")
        claimed = bench.offer.buffers[kind]
        if found and found != _words(claimed):
            said.append(f"{kind}: {found}")
    return "; ".join(said)


def _words(reading: str) -> str:
    return f"reading {str(reading)!r}"


def _agrees(bench: Bench, got: Sequence[Mapping[str, Array]], path: Path, names: Sequence[str]) -> bool:
    near = 256 * float(np.finfo(bench.dtype).eps)
    return len(path) == len(got) and all(
        np.allclose(one[buffer_key(n)].astype(float), np.reshape(want[n], -1).astype(float), rtol=near, atol=0)
        for one, want in zip(got, path, strict=True)
        for n in names
    )


def _read(s: Scenario, **readings: str) -> Path:
    held, out = s.case.buffers or {}, []
    for sent, n in sent_in(s):
        held = after(held, sent, n, **readings)
        out.append(dict(held))
    return out


def _statistics(s: Scenario) -> dict[str, Callable[[], Path]]:
    """Candidate treatments of statistics, the readings first."""
    readings = {_words(r): partial(_read, s, statistics=r) for r in STATISTICS}
    return {**readings, "what the server's step makes of parameters": lambda: _stepped(s, (MEAN, VARIANCE))}


def _counts(s: Scenario) -> dict[str, Callable[[], Path]]:
    """Candidate treatments of a counter, the readings first."""

    def each(of: Callable[[list[int], list[int]], float]) -> Path:
        rows = ([int(b[COUNTER]) for b in sent] for sent, _ in sent_in(s))
        sizes = ([int(w) for w in n] for _, n in sent_in(s))
        return [{COUNTER: np.array(of(row, n))} for row, n in zip(rows, sizes, strict=True)]

    return {
        **{_words(r): partial(_read, s, counters=r) for r in COUNTERS},
        "the mean by examples, with its fraction": lambda: each(lambda c, n: float(np.dot(c, n)) / sum(n)),
        "the plain mean, with its fraction": lambda: each(lambda c, n: sum(c) / len(c)),
        "the sum of all": lambda: each(lambda c, n: sum(c)),
        "0, each count times its share cut down to a whole number": lambda: each(lambda c, n: 0),
        "what the server's step makes of parameters": lambda: _stepped(s, (COUNTER,)),
    }


def _stepped(s: Scenario, names: tuple[str, ...]) -> Path:
    """Path of these buffers if the specification's server treats them as parameters; empty if it cannot."""
    held = {n: np.atleast_1d(b).astype(s.case.dtype) for n, b in (s.case.buffers or {}).items() if n in names}
    try:
        session: Any = SUBJECT.start(replace(s.case, x0=held, buffers=None))
        out, x = [], held
        for e in s.events:
            assert isinstance(e, Messages)
            sent = [{n: np.atleast_1d((m.buffers or {})[n]).astype(s.case.dtype) for n in names} for m in e.messages]
            changes = [{n: b[n] - x[n] for n in names} for b in sent]
            messages = tuple(replace(m, delta=d, buffers=None) for m, d in zip(e.messages, changes, strict=True))
            flat = session.step(replace(e, messages=messages))["x"]
            x = unflatten(flat, held)
            out.append(x)
    except FedspecError:
        return []
    return out
