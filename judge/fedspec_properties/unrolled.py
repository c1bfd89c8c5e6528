"""Laws of whole histories: servers and local solvers against their closed forms, instead of recursions."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from fedspec.arith import digits
from fedspec.contract import Gradient, Messages
from fedspec_properties.closed_forms import servers, solvers
from fedspec_suite.laws.asked import both, by_level, entry, method
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios, scenarios
from fedspec_suite.measure.scenario import Scenario, linear, running
from fedspec_suite.measure.setting import Setting


@st.composite
def _with_pauses(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Scenarios in which some rounds or steps bring nothing."""
    s: Scenario = draw(scenarios(setting))
    events = []
    for e in s.events:
        if draw(st.integers(0, 3)) == 0:
            if isinstance(e, Messages):
                e = Messages(tuple(replace(m, delta={n: a * 0 for n, a in m.delta.items()}) for m in e.messages))
            elif isinstance(e, Gradient):
                e = Gradient({n: a * 0 for n, a in e.g.items()})
        events.append(e)
    return replace(s, events=tuple(events))


def check(bench: Bench, s: Scenario) -> None:
    """Compare the models with the closed form in 50 digits."""
    closed_form = servers if s.case.level == "server" else solvers
    with digits():
        want = closed_form.models(running(s))
    bench.follows(s, want)


def _constant(setting: Setting) -> st.SearchStrategy[Scenario]:
    return round_scenarios(setting).map(linear)


def _check_constant(bench: Bench, s: Scenario) -> None:
    with digits():
        want = servers.models(solvers.constant_changes(running(s)))
    bench.follows(s, want)


WRITTEN = by_level(
    client=entry(solvers.known, "closed form of its steps (STEPS in its file)"),
    server=entry(servers.known, "closed form of its server (STEPS or MOVES in its file)"),
    round=entry(servers.known, "closed form of its server (STEPS or MOVES in its file)"),
)
"""A new row is judged before its closed form is written."""

LAWS = (
    Law(
        id="constant-gradients",
        words="clients with constant gradients g_i change by exactly -eta_l ||a_i||_1 g_i",
        levels=("round",),
        source="FedNova, eq. (4) and App. B: Delta_i = -eta G_i a_i",
        cases=_constant,
        check=_check_constant,
        applies=both(method, WRITTEN),
    ),
    Law(
        id="unrolled",
        words="the model is the sum over its whole history: powers of the decays times the inputs, pauses included",
        levels=("client", "server"),
        source="FedNova, App. B (a_i); FedAda2, eq. (19) and L1136 (moments as sums)",
        cases=_with_pauses,
        check=check,
        applies=WRITTEN,
    ),
)
