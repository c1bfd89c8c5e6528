"""Laws of a model that is exchanged by fragments in turn, which travel while clients go on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.contract import Round
from fedspec.params import flatten, layers, shapes
from fedspec_properties.closed_forms.streaming_diloco import KNOWN, exchanges
from fedspec_suite.laws.asked import entry, number
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, running, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation

Pair = tuple[Scenario, Scenario]


def _longer(draw: st.DrawFn, s: Scenario) -> Scenario:
    """An overlap of some steps, and as many steps more for everybody."""
    late = draw(st.integers(0, 3))
    events = (replace(e, steps=tuple(K + late for K in e.steps)) for e in s.events if isinstance(e, Round))
    return with_hyper(replace(s, events=tuple(events)), overlap=late)


@st.composite
def _several(draw: st.DrawFn, setting: Setting) -> Scenario:
    return _longer(draw, draw(round_scenarios(setting, rounds=(2, 4))))


def _follows(bench: Bench, s: Scenario) -> None:
    with digits():
        want = list(exchanges(running(s)))
    bench.follows(s, want)


def _elsewhere(s: Scenario, r: int) -> Array:
    """The coordinates of the fragments whose turn it is not."""
    P, blocks = int(s.case.hyper["P"]), layers(shapes(s.case.x0))
    places = np.arange(len(flatten(s.case.x0)))
    others = [places[block] for l, block in enumerate(blocks) if l % P != r % P]
    return np.concatenate([places[:0], *others])


def _stays(bench: Bench, s: Scenario) -> None:
    before = flatten(s.case.x0)
    for r, got in enumerate(bench.play(s)):
        for j in _elsewhere(s, r):
            if got["x"][j] != before[j]:
                note = "it lies in a fragment whose turn it is not"
                values = float(got["x"][j]), float(before[j])
                raise Deviates(Deviation(bench.step_equation, f"round {r + 1}", int(j), *values, None, note))
        before = got["x"]


@st.composite
def _sent_at_once(draw: st.DrawFn, setting: Setting) -> Pair:
    """One exchange whose last steps are taken while the fragment travels, and one without these."""
    s = draw(round_scenarios(setting, rounds=(1, 1)))
    late = draw(st.integers(1, 3))
    (e,) = s.events
    assert isinstance(e, Round)
    longer = replace(e, steps=tuple(K + late for K in e.steps))
    return with_hyper(s, overlap=0), with_hyper(replace(s, events=(longer,)), overlap=late)


@st.composite
def _for_oneself(draw: st.DrawFn, setting: Setting) -> Pair:
    """Clients that take nothing in, under two outer rates."""
    s = with_hyper(_longer(draw, draw(round_scenarios(setting, rounds=(2, 3)))), own=1.0)
    return s, with_hyper(s, eta=4 * s.case.hyper["eta"])


def _as(bench: Bench, pair: Pair, name: str) -> None:
    """Both runs show the same under this name."""
    one, other = pair
    bounds = [[bounds_of(shown[name]) for shown in bench.expect(s)] for s in pair]
    for k, (want, got) in enumerate(zip(bench.play(one), bench.play(other), strict=True)):
        allowed = bounds[0][k] + bounds[1][k] + np.abs(want[name])
        bench.compare(name, got[name], want[name], f"round {k + 1}", allowed)


LAWS = (
    Law(
        id="fragment-history",
        words="clients from all gradients that they have seen, each block from the changes of its exchanges, in sums",
        levels=("round",),
        source="external: Douillard et al. (2025): every fragment has an outer optimiser of its own",
        cases=_several,
        check=_follows,
        applies=entry(KNOWN, "sum over its history (closed_forms/streaming_diloco.py)"),
    ),
    Law(
        id="fragment-elsewhere",
        words="an exchange does not touch the fragments whose turn it is not",
        levels=("round",),
        source="external: Douillard et al. (2025): fragments do not overlap",
        cases=_several,
        check=_stays,
        applies=number("P"),
    ),
    Law(
        id="fragment-unsent",
        words="the steps taken while the first fragment travels do not show in what is made of it",
        levels=("round",),
        source="external: Douillard et al. (2025): what is sent is the change up to then",
        cases=_sent_at_once,
        check=lambda bench, pair: _as(bench, pair, "x"),
        applies=number("overlap"),
        needs=("overlap",),
    ),
    Law(
        id="fragment-ignored",
        words="with alpha = 1 clients hear nothing: their models do not depend on the outer rate",
        levels=("round",),
        source="external: Douillard et al. (2025): alpha weighs what the client has",
        cases=_for_oneself,
        check=lambda bench, pair: _as(bench, pair, "x_i"),
        applies=number("own"),
        shows="x_i",
        needs=("own", "eta"),
    ),
)
