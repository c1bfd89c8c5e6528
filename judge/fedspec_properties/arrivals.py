"""Laws of late updates: closed forms over all arrivals, the effects of delays and blocks, bounds of a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Arrival, Event
from fedspec.facts import Fact
from fedspec.params import flatten, unflatten
from fedspec_properties.closed_forms.asynchronous import MOVES, buffer_of, change_on, known, models
from fedspec_properties.unrolled import follows
from fedspec_suite.laws.applicability import NOT_RETURNED, SKIPPED, both, entry, fact, if_option, number
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import THRESHOLD, Bench, Shown
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario, linear, problem_of, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.trace_cases import arrival_scenarios
from fedspec_suite.measure.verdict import Deviates, Deviation, NotOffered

Pair = tuple[Scenario, Scenario]


def _late(e: Event, delay: int) -> Arrival:
    assert isinstance(e, Arrival)
    return replace(e, delay=delay)


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


STEADY = if_option("staleness", "constant")


@st.composite
def _convergent(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(arrival_scenarios(setting))
    h = s.case.hyper
    return with_hyper(s, beta1=0.5) if "beta2" in h and h["beta1"] ** 2 >= h["beta2"] else s


def longest(s: Scenario) -> float:
    """Return the upper bound of a coordinate's step, by Cauchy-Schwarz on the sums that m and v are."""
    h = s.case.hyper
    b1 = h["beta1"]
    if "beta2" not in h:
        return float(h["eta"] * math.sqrt((1 - b1) / (1 + b1)))
    return float(h["eta"] * (1 - b1) / math.sqrt((1 - h["beta2"]) * (1 - b1 * b1 / h["beta2"])))


def _bounded(bench: Bench, s: Scenario) -> None:
    scale = bench.expect(s)
    x: Array = flatten(s.case.x0).astype(float)
    for k, got in enumerate(bench.play(s)):
        now = got["x"].astype(float)
        slack = THRESHOLD * float(np.finfo(bench.dtype).eps) * bounds_of(scale[k]["x"])
        over = np.abs(now - x) - longest(s) - slack
        if over.max() > 0:
            j = int(np.argmax(over))
            note = f"the step is longer than {longest(s):.6g}, which m and v cannot give"
            raise Deviates(Deviation(bench.step_equation, f"arrival {k + 1}", j, note=note))
        x = now


def _unrolled(s: Scenario) -> list[Array]:
    return models(s, change_on(s))


def constant(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Draw arrivals of clients whose gradient is -e_i everywhere."""
    return arrival_scenarios(setting).map(linear)


def _telescoped(s: Scenario) -> list[Array]:
    problem, eta_l = problem_of(s), s.case.hyper["eta_l"]
    return models(s, lambda e, x_mu: e.steps * eta_l * problem.e[e.client])


def _conserves(bench: Bench, s: Scenario) -> None:
    h, o = s.case.hyper, s.case.options
    moment = next(name for name in ("v_hat", "v", "delta") if name in bench.algorithm.shows)
    small = float(h.get("eps", h.get("tau", 0)))
    scale = bench.expect(s)
    done = []
    for k, got in enumerate(bench.play(s)):
        if k % buffer_of(s) == buffer_of(s) - 1:
            if not {moment, "delta"} <= set(got) or (small and "m" not in got):
                raise NotOffered(f"{SKIPPED}{NOT_RETURNED}{moment}")
            below = got[moment].astype(float)
            if small:
                root = np.sqrt(below + small) if o["epsilon"] == "inside" else np.sqrt(below) + small
                done.append(got["m"].astype(float) / root)
            else:
                done.append(below)
        want = flatten(s.case.x0).astype(float) + float(h.get("eta", 1)) * np.sum(done, axis=0)
        bounds = bounds_of(scale[k]["x"])
        bench.compare("x", got["x"], want, f"arrival {k + 1}", bounds)


WRITTEN = entry(known, "closed form of its server (STEPS in its file)")


def _ends(s: Scenario) -> range:
    """The last updates of the blocks, by number."""
    N = int(s.case.hyper["N"])
    return range(N - 1, len(s.events), N)


def _at_the_ends(bench: Bench, pair: Pair, behind: float = 0) -> None:
    """Check that, at the end of each block, the second run lies ``behind`` times m behind the first."""
    first, second = pair
    a, b = bench.play(first), bench.play(second)
    before, after = bench.expect(first), bench.expect(second)
    for k in _ends(first):
        want = a[k]["x"].astype(float)
        bounds = bounds_of(before[k]["x"]) + bounds_of(after[k]["x"])
        if behind:
            want = want - behind * a[k]["m"].astype(float)
            bounds = bounds + np.abs(want) + behind * bounds_of(before[k]["m"])
        bench.compare("x", b[k]["x"], want, f"arrival {k + 1}", bounds)


@st.composite
def _activated(draw: st.DrawFn, setting: Setting) -> Pair:
    """Clients with constant gradients, so that changes do not read the model: without activation, and with some."""
    s: Scenario = draw(constant(setting))
    s = with_hyper(s, N=draw(st.integers(2, 3)))
    return with_hyper(s, c=0.0), with_hyper(s, c=draw(st.sampled_from((0.25, 0.5))))


def _lies_behind(bench: Bench, pair: Pair) -> None:
    h = pair[1].case.hyper
    _at_the_ends(bench, pair, h["eta"] * h["beta"] * h["c"] * (h["N"] - 1))


LAWS = (
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
        id="bounded-steps",
        words="no step is longer than the moments allow: eta (1 - beta1) / sqrt((1 - beta2) (1 - beta1^2 / beta2)) "
        "and the like, whatever arrives",
        levels=("trace",),
        source="Client-Centric, L554, by Cauchy-Schwarz",
        cases=_convergent,
        check=_bounded,
        applies=both(fact(Fact.LATE, Fact.ADAPTIVE), if_option("bias_correction", "none")),
        needs=("beta1",),
    ),
    Law(
        id="arrivals-unrolled",
        words="on quadratics the model is a sum over all arrivals: powers of the clients' matrices and of the decays",
        levels=("trace",),
        source="Client-Centric, Alg. 3 (L149-181), L554; FedNova, eqs. (17)-(21)",
        cases=lambda setting: arrival_scenarios(setting, rounds=(2, 9)),
        check=follows(_unrolled),
        applies=both(fact(Fact.LATE), WRITTEN),
    ),
    Law(
        id="arrivals-telescope",
        words="a client with constant gradient g sends -eta_l g, whatever its steps and delay; K times that "
        "unnormalised",
        levels=("trace",),
        source="Client-Centric, Alg. 3 (L149-181): Delta = (eta_l / K) sum of the K gradients",
        cases=constant,
        check=follows(_telescoped),
        applies=both(fact(Fact.BUFFERED), WRITTEN),
    ),
    Law(
        id="arrivals-conserved",
        words="the model has moved by eta times the sum of all steps, as the moments shown give them",
        levels=("trace",),
        source="Client-Centric, L111 and L554, summed over the rounds",
        cases=lambda setting: arrival_scenarios(setting, rounds=(2, 9)),
        check=_conserves,
        # What a row shows as v is its own affair.
        applies=both(fact(Fact.BUFFERED), entry(MOVES, "sum of what it shows here")),
        shows="delta",
    ),
    Law(
        id="activation-lags",
        words="with constant gradients the model is eta beta c (N - 1) m behind that without c at the end of a block",
        levels=("trace",),
        source="external: Liu et al. (2024): what c takes from the new momentum it gives to the old, block by block",
        cases=_activated,
        check=_lies_behind,
        applies=number("c"),
        shows="m",
        needs=("N", "c"),
        zeroes=("c",),
    ),
)
