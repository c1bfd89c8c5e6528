"""Laws of a server's treatment of buffers: BatchNorm's running mean and variance, and its batch counter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.buffers import Reading, after, counts
from fedspec.contract import Buffers
from fedspec_suite.laws.applicability import carries_buffers
from fedspec_suite.laws.buffer_readings import decisive, named
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench, Shown
from fedspec_suite.measure.buffer_cases import buffer_key, buffered_scenarios, sent_in
from fedspec_suite.measure.scenario import Scenario, each_round
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation

MEANS = (Reading.AVERAGED, Reading.UNIFORM)


def _held(s: Scenario) -> Buffers:
    assert s.case.buffers is not None
    return s.case.buffers


def _of(bench: Bench, b: Array) -> str:
    """The offer's reading for a buffer's kind."""
    return bench.offer.buffers["counters" if counts(b) else "statistics"]


def _complain(bench: Bench, name: str, k: int, note: str, got: Array | None = None, want: Array | None = None) -> None:
    """Raise what is wrong with a counter after a round.

    Raises:
        Deviates: always.
    """
    at: tuple[int | None, float | None, float | None] = None, None, None
    if got is not None and want is not None:
        j = int(np.argmax(got != want))
        at = j, float(got[j]), float(want[j])
    shown = buffer_key(name)
    raise Deviates(Deviation(bench.equation_of(shown), f"round {k + 1}", *at, None, note, shown))


def _compare(bench: Bench, s: Scenario, k: int, name: str, got: Shown, want: Array, slack: int = 0) -> None:
    """A buffer after a round is the wanted one: a counter exactly or so many below, a statistic up to rounding."""
    there, want = got[buffer_key(name)], np.reshape(want, -1)
    if counts(want):
        if not ((there <= want) & (there >= want - slack)).all():
            _complain(bench, name, k, "", there, want)
        return
    # A mean is rounded as its terms are; one that is sent as a change also as the server's own.
    near = [np.abs(np.reshape(b[name], -1)) for b in (_held(s), *(b for one in s.events[: k + 1] for b in _sent(one)))]
    bench.compare(buffer_key(name), there.astype(float), want.astype(float), f"round {k + 1}", np.max(near, axis=0))


def _sent(event: object) -> list[Buffers]:
    return [m.buffers for m in getattr(event, "messages", ()) if m.buffers]


def _slack(reading: str, sent: list[Buffers], n: list[int], name: str) -> int:
    """1 where a mean of unlike counts is whole: computed in floats it may come out just below."""
    weights = [Fraction(w) if reading == Reading.AVERAGED else Fraction(1) for w in n]
    rows = [np.reshape(b[name], -1).tolist() for b in sent]
    means = [sum(map(lambda w, c: w * c, weights, column)) / sum(weights) for column in zip(*rows, strict=True)]
    unlike = any(len({*column}) > 1 for column in zip(*rows, strict=True))
    return int(reading in MEANS and unlike and any(mean.denominator == 1 for mean in means))


@st.composite
def _cases(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Draw buffers that the clients of a round have in common, in every second case: their mean is exact."""
    s: Scenario = draw(buffered_scenarios(setting))
    if not draw(st.booleans()):
        return s
    return each_round(s, lambda sent: [replace(m, buffers=sent[0].buffers) for m in sent])


def _follows(bench: Bench, s: Scenario) -> None:
    follow(bench, s, bench.play(s))


def follow(bench: Bench, s: Scenario, answers: Sequence[Shown]) -> None:
    """Compare the buffers of each answer with those that the offer's readings compute from the messages.

    Raises:
        Deviates: one is another.
    """
    held = _held(s)
    for k, (got, (sent, n)) in enumerate(zip(answers, sent_in(s), strict=True)):
        held = after(held, sent, n, **bench.offer.buffers)
        for name, want in held.items():
            slack = _slack(_of(bench, want), sent, n, name) if counts(want) else 0
            _compare(bench, s, k, name, got, want, slack)


def _say_which(bench: Bench, s: Scenario, broken: Deviates) -> Deviates:
    """The deviation in a case in which no two readings agree, with the one that the subject follows."""
    plain = decisive(s)
    try:
        _follows(bench, plain)
    except Deviates as there:
        return Deviates(replace(there.deviation, note=named(bench, plain) or there.deviation.note), plain)
    return broken


def _whole(bench: Bench, s: Scenario) -> None:
    """Check that counters have an integer type and lie between the counters that were sent."""
    for k, (got, (sent, _)) in enumerate(zip(bench.play(s), sent_in(s), strict=True)):
        for name, held in _held(s).items():
            if not counts(held):
                continue
            there, some = got[buffer_key(name)], [held] if _of(bench, held) == Reading.KEPT else [b[name] for b in sent]
            if not counts(there):
                whole = bool((there == np.floor(there)).all())
                what = f"is of type {there.dtype}" if whole else f"is {there.tolist()[0]:.9g}, no whole number"
                _complain(bench, name, k, f"{name} {what}; a counter stays whole, of an integer type")
            low, high = np.reshape(np.min(some, axis=0), -1), np.reshape(np.max(some, axis=0), -1)
            if not ((there >= low) & (there <= high)).all():
                where = f"between {low[0]} and {high[0]}"
                _complain(bench, name, k, f"{name} is {there[0]}, and all that there were lie {where}")
            if _of(bench, held) == Reading.LARGEST and (there < high).any():
                _complain(bench, name, k, f"{name} is {there[0]}, and some client has {high[0]}")


EXTERNAL = "external: fedspec.buffers"
LAWS = (
    Law(
        id="buffers-follow",
        words="statistics and counters are what the readings make of the clients'",
        levels=("server",),
        source=EXTERNAL,
        cases=_cases,
        check=_follows,
        applies=carries_buffers,
        reads_rule=True,
        simplify=_say_which,
    ),
    Law(
        id="buffers-whole",
        words="a counter stays whole, of an integer type, and none is below or above all that there were",
        levels=("server",),
        source="a number of batches is counted",
        cases=buffered_scenarios,
        check=_whole,
        applies=carries_buffers,
    ),
)
