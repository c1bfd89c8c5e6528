"""Laws of Fed-LAMB and its baselines: problems that are scaled, reflected, permuted or moved."""

from __future__ import annotations

from hypothesis import strategies as st

from fedspec_properties.layerwise.shared import ALL, AMS, BOX, ROUND, taken
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related, same
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.scenario import Scenario, louder, posed, problem_of
from fedspec_suite.measure.setting import Setting

Pair = tuple[Scenario, Scenario]


@st.composite
def _louder(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(round_scenarios(setting))
    h = s.case.hyper
    return s, taken(louder(s), v0=16 * h["v0"], eps=4 * h["eps"])


@st.composite
def _other_units(draw: st.DrawFn, setting: Setting) -> Pair:
    """Every coordinate in a unit four times smaller."""
    s: Scenario = draw(round_scenarios(setting))
    h, p = s.case.hyper, problem_of(s)
    there = posed(s, H=p.H / 16, e=p.e / 4, x0={n: 4 * a for n, a in s.case.x0.items()})
    there = taken(there, v0=h.get("v0", 0) / 16, eps=h.get("eps", 0) / 4, lam=h.get("lam", 0) / 4)
    there = taken(there, phi_m=4 * h.get("phi_m", 0), phi_M=4 * h.get("phi_M", 0))
    if "eps" not in h:
        return s, taken(there, eta_l=16 * h["eta_l"])
    by_layer = s.case.options.get("normalisation") == "layer" and s.case.options["phi"] != "constant"
    return s, there if by_layer else taken(there, eta_l=4 * h["eta_l"])


def _four_times(bench: Bench, pair: Pair) -> None:
    related(bench, *pair, lambda k, x: 4 * x)


LAWS = (
    Law(
        id="gradient-scale",
        words="objectives times 4, v_0 times 16 and eps times 4: the same path",
        levels=ROUND,
        source=BOX + "line 10 (L143): p does not change",
        cases=_louder,
        check=same,
        applies=AMS,
        needs=("v0", "eps"),
    ),
    Law(
        id="parameter-units",
        words="every coordinate in another unit, and all that is measured in it: the same path in that unit",
        levels=ROUND,
        source=BOX + "lines 8-15 (L140-154): every equation has one dimension",
        cases=_other_units,
        check=_four_times,
        applies=ALL,
        needs=("v0", "eps", "lam", "phi_m", "phi_M", "eta_l"),
    ),
)
