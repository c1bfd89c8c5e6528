"""Laws of whole rounds, exchanges and arrivals on quadratic clients: closed-form paths, who counts, common minima."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.catalogue import Method
from fedspec.contract import Arrival, Event, Exchange, Level, Quadratics, Round
from fedspec.facts import Fact
from fedspec.params import flatten, unflatten
from fedspec.problems.quadratic import QuadraticClients, limit, local_matrix
from fedspec_suite.laws.about import about
from fedspec_suite.laws.common import related, same_bits
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import norm_of, quadratics, round_scenarios, scenarios, vectors
from fedspec_suite.measure.scenario import Scenario, at_rest, lift
from fedspec_suite.measure.setting import Setting

Pair = tuple[Scenario, Scenario]


def _linear(setting: Setting) -> str:
    of_method = isinstance(setting.algorithm.run, Method)
    return about(Fact.AFFINE)(setting) if of_method else "its rounds are no mean of what clients send"


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
    n = problem.examples if o["weights"] == "examples" else problem.examples * 0 + 1
    p = n / sum(n)
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


EXEMPT: dict[tuple[str, Fact | str], str] = {
    ("common-minimum", Fact.PRIVATE): "its noise moves the model everywhere",
    ("clones", Fact.PRIVATE): "its noise is divided by the number of clients",
    ("common-minimum", Fact.DECAYING): "its decay moves the model where no gradient does",
    ("common-minimum", "received=without-start"): "its second moment is what is left of two equal numbers there",
    ("common-minimum", "averaged=all"): "it shrinks the model unless all take part",
    ("problem-translates", Fact.LAYERED): "its steps depend on the length of the layers",
    ("problem-translates", "averaged=all"): "it shrinks the model unless all take part",
    ("bystander", "averaged=all"): "it divides by the number of all clients",
    ("bystander", "averaged=last-sent"): "it divides by the number of all clients",
    ("bystander", Fact.COUNTS_ALL): "it has a mean or shares over all clients",
}
"""Why a law of this file is not asked of an algorithm, by law and fact, or option and value."""


def asked(law: str) -> Callable[[Setting], str]:
    """Whether a law is asked of a setting's algorithm."""

    def why_not(setting: Setting) -> str:
        said = (*setting.algorithm.known, *(f"{n}={v}" for n, v in setting.options.items()))
        return next((EXEMPT[law, what] for what in said if (law, what) in EXEMPT), "")

    return why_not


def everywhere(s: Scenario, point: Array) -> dict[str, Array]:
    """The model of a scenario at a point: as its blocks, or as one row for each client."""
    x0 = s.case.x0
    size = sum(a.size for a in x0.values())
    return unflatten(np.tile(point, size // len(point)), x0)


@st.composite
def _agreeing(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = at_rest(draw(scenarios(setting)))
    problem = s.case.problem
    assert problem is not None
    c = draw(vectors((problem.e.shape[1],), setting.dtype))
    e = np.stack([H_i @ c for H_i in problem.H])
    return replace(s, case=replace(s.case, x0=everywhere(s, c), problem=replace(problem, e=e)))


def _stays(bench: Bench, s: Scenario) -> None:
    bench.follows(s, [flatten(s.case.x0)] * len(s.events), rounded=True)


def _reorder(draw: st.DrawFn, e: Event, takes: Sequence[str]) -> Event:
    match e:
        case Round(participants=who):
            order = draw(st.permutations(range(len(who))))
            columns = {n: getattr(e, n) for n in ("participants", "steps", "strategies", "scales")}
            return replace(e, **{n: tuple(column[i] for i in order) for n, column in columns.items() if column})
        case Exchange(senders=senders, computing=computing) if "senders" in takes:
            # Row k of W is the k-th client.
            order = draw(st.permutations(range(len(senders))))
            sets = tuple(tuple(S[k] for k in order) for S in computing)
            return replace(
                e, senders=tuple(senders[k] for k in order), computing=sets, mixing=e.mixing[np.ix_(order, order)]
            )
        case Exchange(senders=senders, computing=computing):
            return replace(
                e,
                senders=tuple(draw(st.permutations(senders))),
                computing=tuple(tuple(draw(st.permutations(S))) for S in computing),
            )
    return e


@st.composite
def _reordered(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(scenarios(setting, clients=(2, 4)))
    events = [_reorder(draw, e, setting.takes) for e in s.events]
    if isinstance(s.events[0], Arrival):
        size = int(s.case.hyper.get("buffer", 1))
        groups = [events[k : k + size] for k in range(0, len(events), size)]
        events = [e for group in groups for e in draw(st.permutations(group))]
    return s, replace(s, events=tuple(events))


def _renamed(e: Event, new: Sequence[int], takes: Sequence[str]) -> Event:
    """The event in which client i is called new[i]."""

    def names(who: Sequence[int]) -> tuple[int, ...]:
        return tuple(new[i] for i in who)

    match e:
        case Round(participants=who):
            return replace(e, participants=names(who))
        case Arrival(client=i):
            return replace(e, client=new[i])
        case Exchange(mixing=W):
            if "senders" not in takes:
                old = [list(new).index(i) for i in range(len(new))]
                W = W[np.ix_(old, old)]
            return Exchange(
                names(e.senders), tuple(map(names, e.computing)), W, tuple(names(cluster) for cluster in e.clusters)
            )
    return e


@st.composite
def _relabelled(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario, list[int]]:
    s: Scenario = draw(scenarios(setting, clients=(2, 4)))
    problem = s.case.problem
    assert problem is not None
    new = draw(st.permutations(range(len(problem.H))))
    old = [new.index(i) for i in range(len(new))]
    there = Quadratics(problem.H[old], problem.e[old], problem.examples[old])
    events = tuple(_renamed(e, new, setting.takes) for e in s.events)
    return s, Scenario(replace(s.case, problem=there), events), old


def _same_under_names(bench: Bench, drawn: tuple[Scenario, Scenario, list[int]]) -> None:
    s, there, old = drawn
    peers = _setting_of(bench, s).takes and "peers" in _setting_of(bench, s).takes
    n = len(old)
    related(bench, s, there, lambda k, x: x.reshape(n, -1)[old].reshape(-1) if peers else x)


def _same(bench: Bench, pair: Pair) -> None:
    related(bench, *pair, lambda k, x: x)


@st.composite
def _with_bystander(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(scenarios(setting, clients=(1, 3)))
    problem = s.case.problem
    assert problem is not None
    d = problem.e.shape[1]
    extra: Quadratics = draw(quadratics(1, d, setting.dtype))
    more = Quadratics(
        np.concatenate([problem.H, extra.H]),
        np.concatenate([problem.e, extra.e]),
        np.concatenate([problem.examples, extra.examples]),
    )
    events = tuple(
        replace(e, mixing=_beside(e.mixing)) if isinstance(e, Exchange) and "senders" not in setting.takes else e
        for e in s.events
    )
    return s, Scenario(replace(s.case, problem=more), events)


def _beside(W: Array) -> Array:
    """The matrix with one more client, who talks to nobody."""
    n = len(W)
    return np.block([[W, np.zeros((n, 1), W.dtype)], [np.zeros((1, n), W.dtype), np.eye(1, dtype=W.dtype)]])


def _bystands(bench: Bench, pair: Pair) -> None:
    s, more = pair
    if s.case.level == "trace":
        # A product with a larger matrix may be summed in another order.
        related(bench, *pair, lambda k, x: x)
        return
    same_bits(bench, s, bench.play(s), bench.play(more), "a client that never takes part changes the result")


@st.composite
def _moved(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario, Array]:
    s: Scenario = draw(scenarios(setting))
    problem = s.case.problem
    assert problem is not None
    shift = draw(vectors((problem.e.shape[1],), setting.dtype, denominator=4, largest=8))
    e = problem.e + np.stack([H_i @ shift for H_i in problem.H])
    by = everywhere(s, shift)
    case = replace(s.case, x0={n: a + by[n] for n, a in s.case.x0.items()}, problem=replace(problem, e=e))
    return s, replace(s, case=case), flatten(by)


def _translates(bench: Bench, drawn: tuple[Scenario, Scenario, Array]) -> None:
    s, there, shift = drawn
    related(bench, s, there, lambda k, x: x + shift)


@st.composite
def _clones(draw: st.DrawFn, setting: Setting) -> Pair:
    one: Scenario = draw(round_scenarios(setting, clients=(1, 1), everyone=True))
    problem = one.case.problem
    assert problem is not None
    n = draw(st.integers(2, 4))
    many = Quadratics(
        np.repeat(problem.H, n, axis=0),
        np.repeat(problem.e, n, axis=0),
        np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), dtype=float),
    )
    events: list[Any] = []
    for e in one.events:
        assert isinstance(e, Round)
        more = {name: getattr(e, name) * n for name in ("strategies", "scales")}
        events.append(Round(tuple(range(n)), e.steps * n, noise=e.noise, **more))
    return one, Scenario(replace(one.case, problem=many), tuple(events))


def _stays_out(setting: Setting) -> str:
    return (
        "everybody takes part"
        if {"peers", "everyone", "clusters"} & set(setting.takes)
        else asked("bystander")(setting)
    )


ROUND: tuple[Level, ...] = ("round",)
BOTH: tuple[Level, ...] = ("round", "trace")
LAWS = (
    Law(
        id="path",
        words="on quadratics the model follows x~ + M^T (x_0 - x~) exactly, x~ the closed-form limit",
        levels=ROUND,
        source="FedNova, eqs. (17)-(28)",
        cases=_everyone,
        check=_follows_path,
        applies=_linear,
    ),
    Law(
        id="common-minimum",
        words="a minimum that all clients share is not left",
        levels=BOTH,
        source="FedNova, eq. (28) where all minimisers agree",
        cases=_agreeing,
        check=_stays,
        applies=asked("common-minimum"),
    ),
    Law(
        id="participants-order",
        words="the order of the participants does not matter",
        levels=BOTH,
        source="FedNova, eq. (4): a sum over clients",
        cases=_reordered,
        check=_same,
    ),
    Law(
        id="relabelled",
        words="renaming the clients changes nothing",
        levels=BOTH,
        source="AFGA, Alg. 1, with P W P' for W: sums over clients",
        cases=_relabelled,
        check=_same_under_names,
    ),
    Law(
        id="bystander",
        words="who does not take part does not matter",
        levels=BOTH,
        source="FedNova, Alg. 1",
        cases=_with_bystander,
        check=_bystands,
        applies=_stays_out,
    ),
    Law(
        id="problem-translates",
        words="moving problem and start moves the path",
        levels=BOTH,
        source="equivariance of gradient steps",
        cases=_moved,
        check=_translates,
        applies=asked("problem-translates"),
    ),
    Law(
        id="clones",
        words="clients with one objective and equal steps are as good as one",
        levels=ROUND,
        source="FedNova, eqs. (5)-(6) with equal ||a_i||_1",
        cases=_clones,
        check=_same,
        applies=asked("clones"),
    ),
)
