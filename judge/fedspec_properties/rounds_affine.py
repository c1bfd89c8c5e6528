"""The law that on quadratics a round is an affine map of the model and of what clients remember."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from fedspec.contract import Round
from fedspec_properties.closed_forms.affine_rounds import maps, models
from fedspec_suite.laws.asked import entry
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.parts import lengths
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting


@st.composite
def _varying(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Step counts that change from round to round."""
    s: Scenario = draw(round_scenarios(setting, rounds=(1, 4)))
    if not draw(st.booleans()):
        return s
    events = []
    for e in s.events:
        assert isinstance(e, Round)
        events.append(replace(e, steps=lengths(setting.takes, [draw(st.integers(1, 4)) for _ in e.steps])))
    return Scenario(s.case, tuple(events))


def _follows(bench: Bench, s: Scenario) -> None:
    bench.follows(s, models(s))


WRITTEN_OUT = entry(maps, "matrix of its round (MAPS in its file)")
LAWS = (
    Law(
        id="affine-round",
        words="on quadratics a round is one affine map of model and memory, made of powers of I - eta_l H_i",
        levels=("round",),
        source="FedNova, eqs. (17)-(21), with a constant b_i added to the gradients",
        cases=_varying,
        check=_follows,
        applies=WRITTEN_OUT,
    ),
)
