"""Laws of Fed-LAMB and its baselines: what one layer does alone, and what one client does alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import digits
from fedspec.contract import Quadratics, Round
from fedspec.params import flatten, unflatten
from fedspec_properties.closed_forms.fed_lamb import each_layer, length_factor
from fedspec_properties.closed_forms.sums import length
from fedspec_properties.layerwise.shared import (
    ALL,
    BOX,
    BY_LAYER,
    IDENTITY,
    LAMB,
    OF_THE_ROUND,
    PARTICIPANTS,
    ROUND,
    compare,
    taken,
)
from fedspec_properties.reductions.layerwise import in_fed_ams
from fedspec_suite.laws.asked import below_one, both, if_option, settable
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import same
from fedspec_suite.measure.bench import Bench, reference
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, posed, problem_of, running, with_hyper
from fedspec_suite.measure.setting import Setting


@st.composite
def single_coordinates(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Draw a round whose blocks have one coordinate each."""
    s: Scenario = draw(round_scenarios(setting))
    x = flatten(s.case.x0)[: draw(st.integers(1, 3))]
    p, d = problem_of(s), len(x)
    return posed(s, H=p.H[:, :d, :d], e=p.e[:, :d], x0={f"p{j}": x[j : j + 1] for j in range(d)})


def _keeps_signs(bench: Bench, s: Scenario) -> None:
    x0 = flatten(s.case.x0)
    for k, got in enumerate(bench.play(s)):
        bench.compare("x", np.sign(got["x"]), np.sign(x0), f"round {k + 1}", np.ones(len(x0)))


@st.composite
def _with_idle_layer(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, slice]:
    """One layer has no gradient in any client, and there is no decay."""
    s: Scenario = draw(round_scenarios(setting))
    p, at = problem_of(s), draw(st.sampled_from(each_layer(s)))
    live = np.ones(p.e.shape[1])
    live[at] = 0
    live = live.astype(setting.dtype)
    return taken(posed(s, H=live[:, None] * p.H * live, e=live * p.e), lam=0.0), at


def _idles(bench: Bench, drawn: tuple[Scenario, slice]) -> None:
    s, at = drawn
    x, scale = flatten(s.case.x0), bench.expect(s)
    for k, got in enumerate(bench.play(s)):
        bounds = bounds_of(scale[k]["x"])[at] + np.abs(x[at])
        bench.compare("x", got["x"][at], x[at], f"round {k + 1}", bounds)


@st.composite
def _with_zero_layer(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, slice]:
    s: Scenario = draw(round_scenarios(setting))
    at = draw(st.sampled_from(each_layer(s)))
    x = flatten(s.case.x0).copy()
    x[at] = 0
    return replace(s, case=replace(s.case, x0=unflatten(x, s.case.x0))), at


def _stays_zero(bench: Bench, drawn: tuple[Scenario, slice]) -> None:
    s, at = drawn
    for k, got in enumerate(bench.play(s)):
        zero = got["x"][at] * 0
        bench.compare("x", got["x"][at], zero, f"round {k + 1}", zero)


@st.composite
def _first_step(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(round_scenarios(setting, rounds=(1, 1), clients=(1, 1)))
    return with_hyper(replace(s, events=(Round((0,), (1,)),)), lam=0.0)


def _rescales(bench: Bench, s: Scenario) -> None:
    """The first step of one client: in every layer that of Fed-AMS, with another length."""
    ams = in_fed_ams(s)
    with digits():
        exact = running(s)
        x0 = flatten(exact.case.x0)
        step, x = reference(ams)[0]["x"] - x0, x0.copy()
        for at in each_layer(s):
            size = length(step[at])
            if size > 0:
                phi = length_factor(length(x0[at]), exact.case.hyper, s.case.options)
                x[at] = x0[at] + exact.case.hyper["eta_l"] * phi * (step[at] / size)
    compare(bench, s, [x])


def _is_mean_of_solos(bench: Bench, s: Scenario) -> None:
    """The last round is the mean of what it is with each of its clients alone."""
    last = s.events[-1]
    assert isinstance(last, Round)
    alone = [Round((i,), (T,)) for i, T in zip(last.participants, last.steps, strict=True)]
    solos = [replace(s, events=(*s.events[:-1], e)) for e in alone]
    runs = [bench.play(solo)[-1]["x"] for solo in solos]
    for x in runs:
        bench.finite("x", x, f"round {len(s.events)}")
    n = 1 if s.case.options.get("averaged") == "all" else len(runs)
    bounds = sum(bounds_of(bench.expect(solo)[-1]["x"]) for solo in solos) / n
    together = bench.play(s)[-1]["x"]
    scale = bounds + bounds_of(bench.expect(s)[-1]["x"])
    bench.compare("x", together, np.sum(runs, axis=0) / n, f"round {len(s.events)}", scale)


@st.composite
def _sampled_clones(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario]:
    """Clients with one objective, some of whom take part, in equal steps; and one of them alone."""
    one: Scenario = draw(round_scenarios(setting, clients=(1, 1), rounds=(2, 3)))
    p, n = problem_of(one), draw(st.integers(2, 4))
    many = Quadratics(np.repeat(p.H, n, axis=0), np.repeat(p.e, n, axis=0), np.repeat(p.examples, n))
    events = []
    for e in one.events:
        assert isinstance(e, Round)
        who = tuple(sorted(draw(st.sets(st.integers(0, n - 1), min_size=1))))
        events.append(Round(who, e.steps * len(who)))
    return one, Scenario(replace(one.case, problem=many), tuple(events))


@st.composite
def _several(draw: st.DrawFn, setting: Setting) -> Scenario:
    return draw(round_scenarios(setting, clients=(2, 4)))


LAWS = (
    Law(
        id="layer-of-one-keeps-its-sign",
        words="phi the identity: a layer of one coordinate never changes sign",
        levels=ROUND,
        source=BOX + "line 12 (L147): a step is a share eta_l < 1 of its layer",
        cases=single_coordinates,
        check=_keeps_signs,
        applies=both(LAMB, IDENTITY, BY_LAYER, settable("eta_l", fits=below_one)),
    ),
    Law(
        id="zero-layer-stays",
        words="phi the identity: a layer that is zero stays zero, whatever its gradient",
        levels=ROUND,
        source=BOX + "line 12 (L147): phi(0) = 0",
        cases=_with_zero_layer,
        check=_stays_zero,
        applies=both(LAMB, IDENTITY, BY_LAYER),
    ),
    Law(
        id="idle-layer-stays",
        words="lam = 0: a layer without gradient stays, whatever the others do",
        levels=ROUND,
        source=BOX + "line 12 (L147), q = 0: no move",
        cases=_with_idle_layer,
        check=_idles,
        applies=both(ALL, PARTICIPANTS),
        needs=("lam",),
        zeroes=("lam",),
    ),
    Law(
        id="first-step-is-that-of-fed-ams",
        words="lam = 0: one client's first step is that of Fed-AMS in every layer, with another length",
        levels=ROUND,
        source=BOX + "line 12 (L147): q over ||q|| points as q does",
        cases=_first_step,
        check=_rescales,
        applies=both(LAMB, BY_LAYER),
        needs=("lam",),
        zeroes=("lam",),
    ),
    Law(
        id="mean-of-solos",
        words="a round is the mean of what it is with each of its clients alone",
        levels=ROUND,
        source=BOX + "line 15 (L152): what a client does depends on no other of its round",
        cases=_several,
        check=_is_mean_of_solos,
        applies=both(ALL, OF_THE_ROUND),
    ),
    Law(
        id="sampled-clones",
        words="clients with one objective and no memory are as good as one, whoever takes part",
        levels=ROUND,
        source=BOX + "lines 4-13 (L133-149) where the moments start afresh",
        cases=_sampled_clones,
        check=same,
        applies=both(ALL, if_option("memory", "reset"), PARTICIPANTS),
    ),
)
