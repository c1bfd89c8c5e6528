"""Laws of rounds on quadratics: closed forms, changes of units, translations; and of FedNova's general rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import ClientMessage, Level, Messages, Round
from fedspec.facts import Fact
from fedspec.params import flatten, unflatten
from fedspec.problems.quadratic import QuadraticClients, limit, local_matrix
from fedspec_properties.closed_forms.round_matrices import maps, models
from fedspec_properties.closed_forms.sums import counts, events_of, exactly
from fedspec_suite.laws.applicability import both, either, entry, fact, method, offered, option, settable, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related, same
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.case_parts import lengths, vectors
from fedspec_suite.measure.cases import few, norm_of, round_scenarios, scenarios, server_scenarios
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario, each_round, lift, louder, problem_of, with_hyper
from fedspec_suite.measure.setting import Setting

Pair = tuple[Scenario, Scenario]


def _setting_of(bench: Bench, s: Scenario) -> Setting:
    return Setting(bench.algorithm, s.case.level, s.case.reading, s.case.options, s.case.dtype)


def path(s: Scenario, setting: Setting) -> list[Array]:
    """Return x_T = x~ + M^T (x_0 - x~) in exact arithmetic; limit and contraction come from the matrices K_i."""
    exact = lift(s, Fraction)
    h, o, problem = exact.case.hyper, s.case.options, exact.case.problem
    assert problem is not None
    event = s.events[0]
    assert isinstance(event, Round)
    solver = setting.solver
    numbers = {n: h[n] for n in ("eta_l", "mu", "rho", "gamma") if n in h}
    K = np.stack(
        [
            local_matrix(solver, problem.H[i], tau, **numbers)
            for i, tau in zip(event.participants, event.steps, strict=True)
        ]
    )
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


def _follows_path(bench: Bench, s: Scenario) -> None:
    bench.follows(s, path(s, _setting_of(bench, s)))


def everywhere(s: Scenario, point: Array) -> dict[str, Array]:
    """Return the scenario's model at a point: as its blocks, or as one row per client."""
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
    for e in events_of(Round, s):
        events.append(replace(e, steps=lengths(setting.takes, [draw(st.integers(1, 4)) for _ in e.steps])))
    return Scenario(s.case, tuple(events))


def _follows(bench: Bench, s: Scenario) -> None:
    bench.follows(s, models(s))


WRITTEN_OUT = entry(maps, "matrix of its round (MAPS in its file)")


def _in_other_units(setting: Setting) -> st.SearchStrategy[Pair]:
    def scaled(s: Scenario) -> Pair:
        h = s.case.hyper
        return s, with_hyper(louder(s), eta_l=h["eta_l"] / 4, **{n: h[n] * 4 for n in ("mu",) if n in h})

    return round_scenarios(setting).map(scaled)


@st.composite
def _rescaled(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(server_scenarios(setting))
    factors = [draw(st.sampled_from((0.5, 2.0, 4.0))) for _ in range(4)]

    def scaled(sent: Sequence[ClientMessage]) -> Iterator[ClientMessage]:
        for m, c in zip(sent, factors, strict=False):
            yield replace(m, delta={n: a * c for n, a in m.delta.items()}, a_norm=m.a_norm * c)

    return s, each_round(s, scaled)


def _alike(setting: Setting) -> st.SearchStrategy[Scenario]:
    drawn = server_scenarios(setting, clients=few(setting, 2))
    return drawn.map(lambda s: each_round(s, lambda sent: (replace(m, delta=sent[0].delta) for m in sent)))


def _extrapolates(bench: Bench, s: Scenario) -> None:
    x = exactly(flatten(s.case.x0))
    scale = bench.expect(s)
    for k, (event, got) in enumerate(zip(s.events, bench.play(s), strict=True)):
        assert isinstance(event, Messages)
        sent = event.messages
        n = counts(s.case.options, [Fraction(m.weight) for m in sent], [m.steps for m in sent])
        a = [Fraction(m.a_norm) for m in event.messages]
        w = [n_i * a_i for n_i, a_i in zip(n, a, strict=True)]
        p, w = [n_i / sum(n) for n_i in n], [w_i / sum(w) for w_i in w]
        chi_squared = sum((p_i - w_i) ** 2 / w_i for p_i, w_i in zip(p, w, strict=True))
        change = exactly(flatten(event.messages[0].delta))
        x = x + (1 + chi_squared) * change
        bench.compare("x", got["x"], x, f"round {k + 1}", bounds_of(scale[k]["x"]))


LINEAR_CLIENTS = both(either(method, WRITTEN_OUT), settable("mu"))

LAWS = (
    Law(
        id="path",
        words="on quadratics the model follows x~ + M^T (x_0 - x~) exactly, x~ the closed-form limit",
        levels=ROUND,
        source="FedNova, eqs. (17)-(28)",
        cases=lambda setting: round_scenarios(setting, rounds=(1, 4), everyone=True),
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
    Law(
        id="objective-unit",
        words="4 F_i with a quarter of the client rate (and 4 mu) is the same",
        levels=("round",),
        source="FedNova, App. B: gradients enter as eta_l g and eta_l mu only",
        cases=_in_other_units,
        check=same,
        applies=LINEAR_CLIENTS,
        needs=("eta_l",),
    ),
    Law(
        id="local-scale",
        words="for a constant tau_eff it does not matter if a client scales its accumulation vector",
        levels=("server",),
        source="FedNova, eq. (4): d_i = G_i a_i / ||a_i||_1",
        cases=_rescaled,
        check=same,
        applies=both(
            option("tau_eff_choice", "fixed"),
            option("nova_weights", "nova"),
            offered(lambda setting: not setting.steps_only, "||a_i||_1 is the number of steps"),
        ),
    ),
    Law(
        id="extrapolates",
        words="where all clients change alike, FedNova moves 1 + chi^2(p||w) times as far, w the weights averaging "
        "implies",
        levels=("server",),
        source="FedNova, eqs. (6) and (12), and chi^2 of Theorem 2 (L116, L198, L175)",
        cases=_alike,
        check=_extrapolates,
        applies=both(option("nova_weights", "nova"), option("tau_eff_choice", "weighted-norm")),
    ),
)
