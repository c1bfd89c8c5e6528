"""Laws of a model that is exchanged by fragments in turn, which travel while clients go on."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from fedspec.arith import digits
from fedspec.contract import Round
from fedspec_properties.closed_forms.streaming_diloco import KNOWN, exchanges
from fedspec_suite.laws.asked import entry
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.scenario import Scenario, running, with_hyper
from fedspec_suite.measure.setting import Setting

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
)
