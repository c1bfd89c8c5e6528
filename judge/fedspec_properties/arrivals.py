"""Laws of late updates: when the server moves, what a delay means, what does not depend on the number of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.contract import Arrival, Event
from fedspec.facts import Fact
from fedspec.params import flatten, unflatten
from fedspec_properties.arrival_paths import constant
from fedspec_properties.closed_forms.asynchronous import buffer_of, discount
from fedspec_suite.laws.asked import both, fact, if_option, option, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related, same
from fedspec_suite.measure.bench import Bench, Shown
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, posed, running, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.traces import arrival_scenarios
from fedspec_suite.measure.verdict import Deviates, Deviation

Pair = tuple[Scenario, Scenario]


def _late(e: Event, delay: int) -> Arrival:
    assert isinstance(e, Arrival)
    return replace(e, delay=delay)


def _cases(setting: Setting) -> st.SearchStrategy[Scenario]:
    return arrival_scenarios(setting)


def _waits(bench: Bench, s: Scenario) -> None:
    before = flatten(s.case.x0)
    for k, got in enumerate(bench.play(s)):
        if (k + 1) % buffer_of(s) != 0 and not np.array_equal(got["x"], before):
            j = int(np.argmax(got["x"] != before))
            note = "the model moves although the buffer is not full"
            where = f"arrival {k + 1}"
            raise Deviates(Deviation(bench.step_equation, where, j, float(got["x"][j]), float(before[j]), None, note))
        before = got["x"]


@st.composite
def _other_steps(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(constant(setting))
    events = tuple(replace(e, steps=draw(st.integers(1, 6))) for e in s.events if isinstance(e, Arrival))
    return s, replace(s, events=events)


@st.composite
def _revisiting(draw: st.DrawFn, setting: Setting) -> Scenario:
    """The last buffer holds one client's update several times, from one old version."""
    s: Scenario = draw(arrival_scenarios(setting))
    m = buffer_of(s)
    full = len(s.events) // m
    last = _late(s.events[-1], draw(st.integers(0, min(full, 3))))
    return replace(s, events=(*s.events[: full * m], *[last] * m))


def _completed(bench: Bench, run: Sequence[Shown], k: int) -> Array:
    """The mean change that arrival k = 0, 1, ... completes; a server that shows none there did not fill its buffer."""
    if "delta" not in run[k]:
        note = "the buffer is full, and the answer holds no delta"
        raise Deviates(Deviation(bench.equation_of("delta"), f"arrival {k + 1}", note=note))
    return run[k]["delta"]


def _remembers(bench: Bench, s: Scenario) -> None:
    m, last = buffer_of(s), s.events[-1]
    assert isinstance(last, Arrival)
    played = bench.play(s)
    versions = [flatten(s.case.x0), *(got["x"] for got in played[m - 1 :: m])]
    old = unflatten(versions[-2 - last.delay].astype(s.case.dtype), s.case.x0)
    afresh = Scenario(replace(s.case, x0=old), (_late(last, 0),) * m)
    want = _completed(bench, bench.play(afresh), m - 1)
    bounds = 2 * bounds_of(bench.expect(afresh)[-1]["delta"]) + np.abs(want)
    bench.compare("delta", _completed(bench, played, len(played) - 1), want, f"arrival {len(played)}", bounds)


@st.composite
def _standing(draw: st.DrawFn, setting: Setting) -> Pair:
    """Everybody agrees with the model until the last buffer, which a stranger fills: late or not is the same."""
    s: Scenario = draw(arrival_scenarios(setting, clients=(2, 4)))
    problem, m = s.case.problem, buffer_of(s)
    assert problem is not None
    stranger = len(problem.e) - 1
    c = flatten(s.case.x0)
    e = np.stack([*(H_i @ c for H_i in problem.H[:-1]), problem.e[-1]])
    full = len(s.events) // m
    first = [replace(a, client=a.client % stranger) for a in s.events[: full * m] if isinstance(a, Arrival)]
    steps = [draw(st.integers(1, 4)) for _ in range(m)]
    late = [Arrival(stranger, K, draw(st.integers(0, full))) for K in steps]
    there = posed(s, e=e)
    both = [replace(there, events=(*first, *last)) for last in (late, [_late(a, 0) for a in late])]
    return both[0], both[1]


@st.composite
def _copied(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = with_hyper(draw(arrival_scenarios(setting)), buffer=1)
    # A delay is counted in versions, of which a buffer of one has as many as there are arrivals.
    m = draw(st.integers(2, 3))
    return s, replace(with_hyper(s, buffer=m), events=tuple(e for e in s.events for _ in range(m)))


def _as_one(bench: Bench, pair: Pair) -> None:
    one, many = pair
    m = buffer_of(many)
    scale = bench.expect(many)[m - 1 :: m]
    for k, (want, got) in enumerate(zip(bench.play(one), bench.play(many)[m - 1 :: m], strict=True)):
        bounds = 2 * bounds_of(scale[k]["x"]) + np.abs(want["x"])
        bench.compare("x", got["x"], want["x"], f"arrival {(k + 1) * m}", bounds)


@st.composite
def _merged(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(arrival_scenarios(setting, rounds=(2, 4), everyone=True))
    m = len(s.events) // 2
    events = s.events[: 2 * m]
    halves = (*events[:m], *(_late(e, 1) for e in events[m:]))
    return with_hyper(replace(s, events=halves), buffer=m), with_hyper(replace(s, events=events), buffer=2 * m)


def _merges(bench: Bench, pair: Pair) -> None:
    halves, whole = pair
    m = buffer_of(halves)
    parts = bench.play(halves)
    first, second = (_completed(bench, parts, k) for k in (m - 1, 2 * m - 1))
    want = (first.astype(float) + second.astype(float)) / 2
    bounds = 2 * bounds_of(bench.expect(whole)[-1]["delta"])
    bench.compare("delta", _completed(bench, bench.play(whole), 2 * m - 1), want, f"arrival {2 * m}", bounds)


@st.composite
def _stranger_late(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario, float]:
    """The model stands still until the stranger's updates come, all equally late; and the share that they then have."""
    late, fresh = draw(_standing(setting))
    m = buffer_of(late)
    delay = max(e.delay for e in late.events[-m:] if isinstance(e, Arrival))
    late = replace(late, events=(*late.events[:-m], *(_late(e, delay) for e in late.events[-m:])))
    with digits():
        exact = running(late)
        share = float(discount(exact, delay)) / float(discount(exact, 0))
    return late, fresh, share


def _weighs_less(bench: Bench, drawn: tuple[Scenario, Scenario, float]) -> None:
    late, fresh, share = drawn
    x0 = flatten(late.case.x0)
    related(bench, fresh, late, lambda k, x: x0 + share * (x - x0))


def _whole(setting: Setting) -> st.SearchStrategy[Scenario]:
    return _revisiting(setting).map(lambda s: with_hyper(s, mix=1.0))


def _takes_over(bench: Bench, s: Scenario) -> None:
    last = s.events[-1]
    assert isinstance(last, Arrival)
    played = bench.play(s)
    versions = [flatten(s.case.x0), *(got["x"] for got in played)]
    old = unflatten(versions[-2 - last.delay].astype(s.case.dtype), s.case.x0)
    afresh = Scenario(replace(s.case, x0=old), (_late(last, 0),))
    want = bench.play(afresh)[0]["x"]
    bounds = 2 * bounds_of(bench.expect(afresh)[0]["x"]) + np.abs(versions[-2])
    bench.compare("x", played[-1]["x"], want, f"arrival {len(played)}", bounds)


STEADY = if_option("staleness", "constant")
LAWS = (
    Law(
        id="waits",
        words="the model moves when the buffer is full, and not before",
        levels=("trace",),
        source="Client-Centric, L187",
        cases=_cases,
        check=_waits,
        applies=fact(Fact.BUFFERED),
    ),
    Law(
        id="steps-uncounted",
        words="with constant gradients the number of local steps does not matter",
        levels=("trace",),
        source="Client-Centric, Alg. 3, line 9 (L175)",
        cases=_other_steps,
        check=same,
        applies=both(fact(Fact.BUFFERED), option("normalise", "per-step")),
    ),
    Law(
        id="remembers",
        words="a late change is that of a session begun at the version which the client downloaded",
        levels=("trace",),
        source="Client-Centric, Alg. 3, line 8 (L173)",
        cases=_revisiting,
        check=_remembers,
        applies=both(fact(Fact.BUFFERED), STEADY),
        shows="delta",
    ),
    Law(
        id="standing",
        words="while the model stands still, it does not matter how late an update is",
        levels=("trace",),
        source="Client-Centric, Alg. 3 (L149-181): a delay names a version",
        cases=_standing,
        check=same,
        applies=both(fact(Fact.LATE), STEADY),
    ),
    Law(
        id="copies",
        words="a buffer full of copies of one update is as good as the update",
        levels=("trace",),
        source="Client-Centric, L893: Delta is the mean of the buffer",
        cases=_copied,
        check=_as_one,
        applies=fact(Fact.BUFFERED),
        needs=("buffer",),
    ),
    Law(
        id="merged",
        words="two buffers merged have the mean of their aggregates",
        levels=("trace",),
        source="Client-Centric, L893: Delta is the mean of the buffer",
        cases=_merged,
        check=_merges,
        applies=both(fact(Fact.BUFFERED), STEADY),
        shows="delta",
        needs=("buffer",),
    ),
    Law(
        id="weighs-less",
        words="while the model stands still, a late update moves it s(u) times as far as one that is not late",
        levels=("trace",),
        source="external: Xie et al. (2019): alpha_t = alpha s(t - tau)",
        cases=_stranger_late,
        check=_weighs_less,
        applies=both(
            fact(Fact.LATE),
            option("staleness"),
            unless(option("staleness", "constant"), "its weights do not depend on the delay"),
        ),
    ),
    Law(
        id="takes-over",
        words="with mix = 1 the model is the arriving one, whatever it was",
        levels=("trace",),
        source="external: Xie et al. (2019), Algorithm 1",
        cases=_whole,
        check=_takes_over,
        applies=both(fact(Fact.MIXED_MODELS), STEADY),
        needs=("mix",),
    ),
)
