"""Laws of whole rounds, exchanges and arrivals on quadratic clients: closed-form paths, common minima, translations."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Level, Round
from fedspec.facts import Fact
from fedspec.params import flatten, unflatten
from fedspec.problems.quadratic import QuadraticClients, limit, local_matrix
from fedspec_properties.closed_forms.affine_rounds import maps, models
from fedspec_properties.closed_forms.sums import counts
from fedspec_suite.laws.asked import both, entry, fact, method, option, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import norm_of, round_scenarios, scenarios
from fedspec_suite.measure.parts import lengths, vectors
from fedspec_suite.measure.scenario import Scenario, lift, problem_of
from fedspec_suite.measure.setting import Setting

Pair = tuple[Scenario, Scenario]


def _everyone(setting: Setting) -> st.SearchStrategy[Scenario]:
    return round_scenarios(setting, rounds=(1, 4), everyone=True)


def _setting_of(bench: Bench, s: Scenario) -> Setting:
    return Setting(bench.algorithm, s.case.level, s.case.reading, s.case.options, s.case.dtype)


def path(s: Scenario, setting: Setting) -> list[Array]:
    """x_T = x~ + M^T (x_0 - x~) in exact arithmetic: limit and contraction from the closed-form matrices K_i."""
    exact = lift(s, Fraction)
    h, o, problem = exact.case.hyper, s.case.options, exact.case.problem
    assert problem is not None
    event = s.events[0]
    assert isinstance(event, Round)
    solver = setting.solver
    numbers = {n: h[n] for n in ("eta_l", "mu", "rho", "gamma") if n in h}
    K = np.stack([local_matrix(solver, problem.H[i], tau, **numbers) for i, tau in zip(*_plan(event), strict=True)])
    n: Array = np.array(counts(o, [*problem.examples], event.steps), dtype=object)
    p = n / n.sum()
    a = np.array([Fraction(norm_of(setting, h, tau)) for tau in event.steps], dtype=object)
    if "nova_weights" in o:
        steps = np.array([Fraction(t) for t in event.steps], dtype=object)
        tau_eff = {"weighted-norm": p @ a, "weighted-steps": p @ steps, "fixed": h.get("tau_eff")}[o["tau_eff_choice"]]
        W = tau_eff * (p / a if o["nova_weights"] == "nova" else p / (p @ a))
    else:
        W = p * h["eta"]
    clients = QuadraticClients(problem.H, problem.e)
    end = limit(W, K, clients)
    pull = sum(W_i * (K_i @ H_i) for W_i, K_i, H_i in zip(W, K, problem.H, strict=True))
    gap = flatten(exact.case.x0) - end
    out = []
    for _ in s.events:
        gap = gap - pull @ gap
        out.append(end + gap)
    return out


def _plan(event: Round) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return event.participants, event.steps


def _follows_path(bench: Bench, s: Scenario) -> None:
    bench.follows(s, path(s, _setting_of(bench, s)))


def everywhere(s: Scenario, point: Array) -> dict[str, Array]:
    """The model of a scenario at a point: as its blocks, or as one row for each client."""
    x0 = s.case.x0
    size = sum(a.size for a in x0.values())
    return unflatten(np.tile(point, size // len(point)), x0)


@st.composite
def _moved(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario, Array]:
    s: Scenario = draw(scenarios(setting))
    problem = problem_of(s)
    shift = draw(vectors((problem.e.shape[1],), setting.dtype, denominator=4, largest=8))
    e = problem.e + np.stack([H_i @ shift for H_i in problem.H])
    by = everywhere(s, shift)
    f = None
    if problem.f is not None:
        # F_i at what is to be 0 from now on.
        f = problem.f + problem.e @ shift + np.stack([H_i @ shift for H_i in problem.H]) @ shift / 2
    case = replace(s.case, x0={n: a + by[n] for n, a in s.case.x0.items()}, problem=replace(problem, e=e, f=f))
    return s, replace(s, case=case), flatten(by)


def _translates(bench: Bench, drawn: tuple[Scenario, Scenario, Array]) -> None:
    s, there, shift = drawn
    related(bench, s, there, lambda k, x: x + shift)


ROUND: tuple[Level, ...] = ("round",)
BOTH: tuple[Level, ...] = ("round", "trace")
WHOLE = unless(option("averaged", "all"), "it shrinks the model unless all take part")


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
        id="path",
        words="on quadratics the model follows x~ + M^T (x_0 - x~) exactly, x~ the closed-form limit",
        levels=ROUND,
        source="FedNova, eqs. (17)-(28)",
        cases=_everyone,
        check=_follows_path,
        applies=both(method, fact(Fact.AFFINE)),
    ),
    Law(
        id="problem-translates",
        words="moving problem and start moves the path",
        levels=BOTH,
        source="equivariance of gradient steps",
        cases=_moved,
        check=_translates,
        applies=both(
            unless(fact(Fact.LAYERED), "its steps depend on the length of the layers"),
            unless(fact(Fact.DECAYING), "its decay depends on where the model is"),
            WHOLE,
        ),
    ),
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
