"""Laws of what a server makes of buffers: BatchNorm's running mean and variance, and its counter of batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.buffers import Reading, after, counts
from fedspec.contract import Buffers, ClientMessage
from fedspec_suite.laws.asked import becomes, both, carries_buffers
from fedspec_suite.laws.buffers_named import decisive, named
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import same
from fedspec_suite.measure.bench import Bench, Shown
from fedspec_suite.measure.carried import (
    MEAN,
    VARIANCE,
    buffered_scenarios,
    draw_buffers,
    each_round,
    sending_buffers,
    sent_in,
    shown_as,
)
from fedspec_suite.measure.parts import between, vectors
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation

Pair = tuple[Scenario, Scenario]

MEANS = (Reading.AVERAGED, Reading.UNIFORM)
ALONE = (Reading.FIRST, Reading.LAST)
MOVED = tuple(r for r in Reading if r is not Reading.KEPT)


def _held(s: Scenario) -> Buffers:
    assert s.case.buffers is not None
    return s.case.buffers


def _of(bench: Bench, b: Array) -> str:
    """What the offer says of a buffer's kind."""
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
    shown = shown_as(name)
    raise Deviates(Deviation(bench.equation_of(shown), f"round {k + 1}", *at, None, note, shown))


def _compare(bench: Bench, s: Scenario, k: int, name: str, got: Shown, want: Array, slack: int = 0) -> None:
    """A buffer after a round is the wanted one: a counter exactly or so many below, a statistic up to rounding."""
    there, want = got[shown_as(name)], np.reshape(want, -1)
    if counts(want):
        if not ((there <= want) & (there >= want - slack)).all():
            _complain(bench, name, k, "", there, want)
        return
    # A mean is rounded as its terms are; one that is sent as a change also as the server's own.
    near = [np.abs(np.reshape(b[name], -1)) for b in (_held(s), *(b for one in s.events[: k + 1] for b in _sent(one)))]
    bench.compare(shown_as(name), there.astype(float), want.astype(float), f"round {k + 1}", np.max(near, axis=0))


def _sent(event: object) -> list[Buffers]:
    return [m.buffers for m in getattr(event, "messages", ()) if m.buffers]


def _slack(reading: str, sent: list[Buffers], n: list[int], name: str) -> int:
    """1 where a mean of unlike counts is whole: computed in floats it may come out just below."""
    weights = [Fraction(w) if reading == Reading.AVERAGED else Fraction(1) for w in n]
    rows = [np.reshape(b[name], -1).tolist() for b in sent]
    means = [sum(map(lambda w, c: w * c, weights, column)) / sum(weights) for column in zip(*rows, strict=True)]
    unlike = any(len({*column}) > 1 for column in zip(*rows, strict=True))
    return int(reading in MEANS and unlike and any(mean.denominator == 1 for mean in means))


def _follows(bench: Bench, s: Scenario) -> None:
    follow(bench, s, bench.play(s))


def follow(bench: Bench, s: Scenario, answers: Sequence[Shown]) -> None:
    """Compare the buffers of each answer with what the readings of the offer make of those sent.

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
    """Counters are of an integer type, and between those that there are."""
    for k, (got, (sent, _)) in enumerate(zip(bench.play(s), sent_in(s), strict=True)):
        for name, held in _held(s).items():
            if not counts(held):
                continue
            there, some = got[shown_as(name)], [held] if _of(bench, held) == Reading.KEPT else [b[name] for b in sent]
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


def _alike(bench: Bench, s: Scenario) -> None:
    for k, (got, (sent, _)) in enumerate(zip(bench.play(s), sent_in(s), strict=True)):
        for name, held in _held(s).items():
            if _of(bench, held) != Reading.KEPT:
                _compare(bench, s, k, name, got, sent[0][name])


@st.composite
def _all_alike(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Every client of a round sends the same buffers."""
    s: Scenario = draw(buffered_scenarios(setting))

    def alike(sent: tuple[ClientMessage, ...]) -> list[ClientMessage]:
        return [replace(m, buffers=sent[0].buffers) for m in sent]

    return each_round(s, alike)  # type: ignore[arg-type]


def _untouched(bench: Bench, s: Scenario) -> None:
    for k, got in enumerate(bench.play(s)):
        for name, held in _held(s).items():
            there = got[shown_as(name)]
            if _of(bench, held) == Reading.KEPT and not np.array_equal(there, np.reshape(held, -1)):
                _complain(bench, name, k, f"{name} is left out, and has moved", there, np.reshape(held, -1))


def _same_in(bench: Bench, pair: Pair, readings: tuple[str, ...]) -> None:
    """Two runs have the same buffers, of the kinds that become one of these."""
    before, s = pair
    for k, (one, other) in enumerate(zip(bench.play(before), bench.play(s), strict=True)):
        sent, n = sent_in(s)[k]
        for name, held in _held(s).items():
            if _of(bench, held) in readings:
                there = one[shown_as(name)]
                # Two means may both have come out just below.
                slack = _slack(_of(bench, held), sent, n, name) if counts(there) else 0
                _compare(bench, s, k, name, other, there + slack, 2 * slack)


def _as(*readings: str) -> Callable[[Bench, Pair], None]:
    def check(bench: Bench, pair: Pair) -> None:
        _same_in(bench, pair, readings)

    return check


@st.composite
def _split(draw: st.DrawFn, setting: Setting) -> Pair:
    """A client with twice the examples, and two that have sent the same."""
    s: Scenario = draw(buffered_scenarios(setting))
    one = each_round(s, lambda sent: [replace(sent[0], weight=2 * sent[0].weight), *sent[1:]])
    return one, each_round(s, lambda sent: [sent[0], *sent[1:], replace(sent[0], client=len(sent))])


@st.composite
def _reweighed(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(buffered_scenarios(setting, clients=(2, 4) if setting.crowd == 1 else None))
    return s, each_round(s, lambda sent: [replace(m, weight=draw(between(1, 9))) for m in sent])


def _turned(setting: Setting) -> st.SearchStrategy[Pair]:
    return buffered_scenarios(setting).map(lambda s: (s, each_round(s, lambda sent: sent[::-1])))


@st.composite
def _others(draw: st.DrawFn, setting: Setting) -> Pair:
    """The same with other buffers of all participants but the one that counts; of two that count, but these."""
    s: Scenario = draw(buffered_scenarios(setting))
    d, ends = len(_held(s)[MEAN]), {"first": 0, "last": -1}
    places = {ends[reading] for reading in setting.buffers.values() if reading in ends}

    def changed(sent: tuple[ClientMessage, ...]) -> list[ClientMessage]:
        mine = {place % len(sent) for place in places}
        own = draw_buffers(draw, d, setting.dtype)
        return [m if i in mine else replace(m, buffers=own) for i, m in enumerate(sent)]

    return s, each_round(s, changed)  # type: ignore[arg-type]


@st.composite
def _elsewhere(draw: st.DrawFn, setting: Setting) -> Pair:
    """The same changes beside other buffers, the counters far larger."""
    s: Scenario = draw(buffered_scenarios(setting))
    d = len(_held(s)[MEAN])
    return s, sending_buffers(s, lambda m: draw_buffers(draw, d, setting.dtype, most=10**6))


@st.composite
def _falling(draw: st.DrawFn, setting: Setting) -> Scenario:
    """The clients' variances are small, the server's large, and so is its rate, where it has one."""
    s: Scenario = draw(buffered_scenarios(setting, rounds=(2, 4)))
    held, d = _held(s), len(_held(s)[MEAN])
    s = replace(s, case=replace(s.case, buffers={**held, VARIANCE: held[VARIANCE] + 4}))
    small = vectors((d,), setting.dtype, denominator=64)
    s = sending_buffers(s, lambda m: {**(m.buffers or {}), VARIANCE: np.abs(draw(small))})
    return with_hyper(s, eta=2.0) if "eta" in s.case.hyper and "eta" not in setting.fixed else s


def _not_below_zero(bench: Bench, s: Scenario) -> None:
    for k, got in enumerate(bench.play(s)):
        there = got[shown_as(VARIANCE)]
        if not (there >= 0).all():
            least = there.min()
            _complain(bench, VARIANCE, k, f"{VARIANCE} is {least:.9g}, and no client's is below 0")


EXTERNAL = "external: fedspec.buffers"
LAWS = (
    Law(
        id="buffers-follow",
        words="statistics and counters are what the readings make of the clients'",
        levels=("server",),
        source=EXTERNAL,
        cases=buffered_scenarios,
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
    Law(
        id="buffers-alike",
        words="buffers that all clients have in common are the server's, the counter to the last batch",
        levels=("server",),
        source="a mean, a maximum or a choice of equals",
        cases=_all_alike,
        check=_alike,
        applies=both(carries_buffers, becomes(*MOVED)),
    ),
    Law(
        id="buffers-left-out",
        words="what is left out is untouched",
        levels=("server",),
        source="nothing of it is sent",
        cases=buffered_scenarios,
        check=_untouched,
        applies=both(carries_buffers, becomes(Reading.KEPT)),
    ),
    Law(
        id="buffers-split",
        words="averaged by examples, a client with twice the examples is as good as two",
        levels=("server",),
        source="sum_i n_i b_i / sum_i n_i",
        cases=_split,
        check=_as(Reading.AVERAGED),
        applies=both(carries_buffers, becomes(Reading.AVERAGED)),
    ),
    Law(
        id="buffers-unweighted",
        words="not averaged by examples, buffers are the same for any numbers of examples",
        levels=("server",),
        source="no n_i is read",
        cases=_reweighed,
        check=_as(Reading.UNIFORM, Reading.LARGEST, *ALONE),
        applies=both(carries_buffers, becomes(Reading.UNIFORM, Reading.LARGEST, *ALONE)),
    ),
    Law(
        id="buffers-order",
        words="the order in which clients are named does not matter to a mean or a maximum",
        levels=("server",),
        source="a sum, or a maximum, over those who take part",
        cases=_turned,
        check=_as(*MEANS, Reading.LARGEST),
        applies=both(carries_buffers, becomes(*MEANS, Reading.LARGEST)),
    ),
    Law(
        id="buffers-of-one",
        words="where those of one participant count, the others' do not matter",
        levels=("server",),
        source="nothing else is read",
        cases=_others,
        check=_as(*ALONE),
        applies=both(carries_buffers, becomes(*ALONE)),
    ),
    Law(
        id="buffers-apart",
        words="the model does not depend on buffers, whatever norms or orders a server looks at",
        levels=("server",),
        source="buffers are no parameters",
        cases=_elsewhere,
        check=same,
        applies=carries_buffers,
    ),
    Law(
        id="buffers-variance",
        words="no running variance is below 0 if no client's is: no rate of the server reaches it",
        levels=("server",),
        source="a mean of numbers that are not below 0, or one of them",
        cases=_falling,
        check=_not_below_zero,
        applies=both(carries_buffers, becomes(*MOVED, of=("statistics",))),
    ),
)
