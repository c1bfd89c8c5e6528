"""Laws of sharpness-aware clients, which evaluate the gradient at a point uphill of the model."""

from __future__ import annotations

from functools import partial

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import digits
from fedspec.contract import Round
from fedspec.params import flatten, unflatten
from fedspec_properties.closed_forms import fedsam
from fedspec_suite.laws.applicability import both, rule, settable
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.case_parts import vectors
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.hyper_pools import POOLS
from fedspec_suite.measure.scenario import Scenario, posed, problem_of, running, with_hyper
from fedspec_suite.measure.setting import Setting

FAR = 64.0
"""Distance from an isotropic quadratic's minimum that no step of a round overcomes."""


@st.composite
def _on_bowls(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Everybody's objective is round, with a bottom of its own far away."""
    s: Scenario = draw(round_scenarios(setting, rounds=(1, 1)))
    problem, x = problem_of(s), flatten(s.case.x0)
    a = np.array([draw(st.sampled_from((1.0, 0.5, 2.0))) for _ in problem.e], dtype=problem.e.dtype)[:, None]
    bottoms = draw(vectors(problem.e.shape, setting.dtype))
    bottoms = bottoms + np.where(bottoms < 0, -FAR, FAR) * (np.arange(len(x)) == 0)
    H = a[:, :, None] * np.eye(len(x))
    return with_hyper(posed(s, H=H.astype(x.dtype), e=(a * (x + bottoms)).astype(x.dtype)), eps=0.0)


@st.composite
def _in_bowls(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Everybody's objective is round, with a bottom of its own so near that the next step leads past it."""
    s: Scenario = draw(_on_bowls(setting))
    problem, x = problem_of(s), flatten(s.case.x0)
    radius = draw(st.sampled_from([r for r in POOLS["radius"] if r > 0]))
    a = problem.H[:, :1, :1].reshape(-1, 1)
    share = np.array([draw(st.sampled_from((0.5, 0.25, -0.75))) for _ in a], dtype=x.dtype)[:, None]
    bottoms = share * fedsam.rate(s) * a * radius * (np.arange(len(x)) == draw(st.integers(0, len(x) - 1)))
    return with_hyper(posed(s, e=(a * (x + bottoms)).astype(x.dtype)), radius=radius)


def _follows_rays(bench: Bench, s: Scenario, swings: bool) -> None:
    with digits():
        want = fedsam.model(running(s), swings)
    bench.follows(s, [want])


@st.composite
def _half_way(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Draw a single step of one client, with eps as long as its gradient."""
    s: Scenario = draw(round_scenarios(setting, rounds=(1, 1), clients=(1, 1), everyone=True))
    problem, x = problem_of(s), flatten(s.case.x0)
    size = draw(st.sampled_from((0.25, 0.5, 1.0)))
    g = size * np.array(([3, -4] if len(x) > 1 else [5]) + [0] * (len(x) - 2), dtype=x.dtype)
    alone = posed(s, e=(problem.H[0] @ x - g)[None].astype(x.dtype), x0=unflatten(x, s.case.x0))
    return Scenario(with_hyper(alone, eps=5 * size).case, (Round((0,), (1,)),))


def _looks_half_way(bench: Bench, s: Scenario) -> None:
    exact = running(s)
    problem, x, h = problem_of(exact), flatten(exact.case.x0), exact.case.hyper
    g = problem.H[0] @ x - problem.e[0]
    along = np.array(([3, -4] if len(x) > 1 else [1]) + [0] * (len(x) - 2)) * np.sign(float(g[0].value))
    ahead = h["radius"] * along / (10 if len(x) > 1 else 2)
    bench.follows(s, [x - h["eta"] * fedsam.rate(exact) * (g + problem.H[0] @ ahead)])


LAWS = (
    Law(
        id="uphill-swings",
        words="near the bottom of a round bowl a client changes sides in each step, towards two points beside it",
        levels=("round",),
        source="external: Qu et al. (2022); Caldarola, Caputo and Ciccone (2022), solved for F = a |y - b|^2 / 2",
        cases=_in_bowls,
        check=partial(_follows_rays, swings=True),
        applies=both(rule("uphill"), settable("eta_l")),
        needs=("eps", "radius"),
        zeroes=("eps",),
    ),
    Law(
        id="uphill-half-way",
        words="where eps is as long as the gradient, a client looks half the radius away",
        levels=("round",),
        source="bytedance/FedDecorr, woodenchild95/FL-Simulator, debcaldarola/fedsam: the length and eps are added",
        cases=_half_way,
        check=_looks_half_way,
        applies=rule("uphill"),
        needs=("eps",),
    ),
)
