"""Laws of Fed-LAMB and its baselines: problems that are scaled, reflected, permuted or moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.params import flatten, unflatten
from fedspec_properties.closed_forms.fed_lamb import each_layer
from fedspec_properties.layerwise.shared import ALL, AMS, BOX, BY_LAYER, LAMB, NOT_BY_LAYER, PARTICIPANTS, ROUND, taken
from fedspec_suite.laws.asked import both, if_option
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related, same
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.parts import vectors
from fedspec_suite.measure.scenario import Scenario, louder, posed, problem_of, with_hyper
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


@st.composite
def _reflected(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario, Array]:
    s: Scenario = draw(round_scenarios(setting))
    p, x = problem_of(s), flatten(s.case.x0)
    signs = np.array(draw(st.lists(st.sampled_from((-1, 1)), min_size=x.size, max_size=x.size)), dtype=x.dtype)
    return s, posed(s, H=signs[:, None] * p.H * signs, e=p.e * signs, x0=unflatten(signs * x, s.case.x0)), signs


def _reflects(bench: Bench, drawn: tuple[Scenario, Scenario, Array]) -> None:
    related(bench, *drawn[:2], lambda k, x: drawn[2] * x)


@st.composite
def _permuted(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario, list[int]]:
    """The layers in another order, and the coordinates of each in another."""
    s: Scenario = draw(round_scenarios(setting))
    p, x, names = problem_of(s), flatten(s.case.x0), list(s.case.x0)
    layers = dict(zip(names, each_layer(s), strict=True))
    names = draw(st.permutations(names))
    order = [j for n in names for j in draw(st.permutations(range(layers[n].start, layers[n].stop)))]
    like = {n: s.case.x0[n] for n in names}
    return s, posed(s, H=p.H[:, order][:, :, order], e=p.e[:, order], x0=unflatten(x[order], like)), order


def _permutes(bench: Bench, drawn: tuple[Scenario, Scenario, list[int]]) -> None:
    related(bench, *drawn[:2], lambda k, x: x[drawn[2]])


@st.composite
def _other_layers(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(round_scenarios(setting))
    x = flatten(s.case.x0)
    cut = draw(st.integers(1, x.size))
    like = {"p": x[:cut], "q": x[cut:]} if cut < x.size else {"p": x}
    return s, replace(s, case=replace(s.case, x0=like))


@st.composite
def _one_round(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(round_scenarios(setting, rounds=(1, 1)))
    return s, with_hyper(s, beta2=0.75 if s.case.hyper["beta2"] < 0.75 else 0.25)


@st.composite
def _other_examples(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(round_scenarios(setting, clients=(2, 4)))
    p = problem_of(s)
    examples = np.array(draw(st.permutations(range(1, 1 + len(p.H)))), dtype=float)
    return s, posed(s, examples=examples)


@st.composite
def _moved(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario, Array]:
    s: Scenario = draw(round_scenarios(setting))
    s, p = with_hyper(s, lam=0.0), problem_of(s)
    shift = draw(vectors((p.e.shape[1],), setting.dtype, denominator=4, largest=8))
    e = p.e + np.stack([H_i @ shift for H_i in p.H])
    return s, posed(s, H=p.H, e=e, x0=unflatten(flatten(s.case.x0) + shift, s.case.x0)), shift


def _translates(bench: Bench, drawn: tuple[Scenario, Scenario, Array]) -> None:
    related(bench, *drawn[:2], lambda k, x: x + drawn[2])


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
    Law(
        id="coordinates-reflect",
        words="turning the signs of some coordinates turns the path",
        levels=ROUND,
        source=BOX + "lines 8-15 (L140-154): all is odd in a coordinate, or even",
        cases=_reflected,
        check=_reflects,
        applies=ALL,
    ),
    Law(
        id="layers-permute",
        words="layers, and coordinates in a layer, in another order",
        levels=ROUND,
        source=BOX + "line 12 (L147): a length has no order",
        cases=_permuted,
        check=_permutes,
        applies=ALL,
    ),
    Law(
        id="layers-ignored",
        words="cutting the model into layers elsewhere changes nothing",
        levels=ROUND,
        source=BOX + "without line 12 (L147): all is coordinatewise",
        cases=_other_layers,
        check=same,
        applies=both(ALL, NOT_BY_LAYER),
    ),
    Law(
        id="denominator-lags",
        words="the model after the first round does not depend on beta2: its denominator is v_0",
        levels=ROUND,
        source=BOX + "lines 10 and 15 (L143, L152): v_hat_(r+1) is made after round r",
        cases=_one_round,
        check=same,
        applies=AMS,
        needs=("beta2",),
    ),
    Law(
        id="examples-ignored",
        words="sample sizes do not matter",
        levels=ROUND,
        source=BOX + "line 15 (L152): a plain mean",
        cases=_other_examples,
        check=same,
        applies=ALL,
    ),
    Law(
        id="layers-translate",
        words="phi constant and lam = 0: moving problem and start moves the path",
        levels=ROUND,
        source=BOX + "line 12 (L147), where no length of a layer enters",
        cases=_moved,
        check=_translates,
        applies=both(LAMB, if_option("phi", "constant"), BY_LAYER, PARTICIPANTS),
        needs=("lam",),
        zeroes=("lam",),
    ),
)
