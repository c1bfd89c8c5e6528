"""Laws that compare models with their closed forms, which are sums over the whole history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.contract import Gradient, Messages, Round
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec_properties.closed_forms import diloco, fair, servers, solvers
from fedspec_properties.closed_forms.rates import MOVES as RATED_MOVES
from fedspec_suite.laws.applicability import any_fact, both, by_level, entry, method, reads_losses, sets_rates, where
from fedspec_suite.laws.law import Check, Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios, scenarios, server_scenarios
from fedspec_suite.measure.scenario import Scenario, lift, linear, problem_of, running, with_hyper
from fedspec_suite.measure.scheduled_cases import varied_scenarios
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


def follows(models: Callable[[Scenario], Iterable[Array]], lifted: bool = True) -> Check:
    """Return a check against a closed form in 50 digits; if ``lifted``, in numbers that carry error bounds."""

    def check(bench: Bench, s: Scenario) -> None:
        # What is known no more of a path that has gone far is no warning: the law then says nothing.
        with digits(), np.errstate(invalid="ignore", over="ignore"):
            want = list(models(running(s) if lifted else s))
        bench.follows(s, want)

    return check


def _models(s: Scenario) -> list[Array]:
    return servers.models(s) if s.case.level == "server" else solvers.models(s)


def _models_of_constants(s: Scenario) -> list[Array]:
    return servers.models(solvers.constant_changes(s))


WRITTEN = by_level(
    client=entry(solvers.known, "closed form of its steps (STEPS in its file)"),
    server=entry(servers.known, "closed form of its server (STEPS or MOVES in its file)"),
    round=entry(servers.known, "closed form of its server (STEPS or MOVES in its file)"),
)
"""Condition that the algorithm has a closed form; a new row is judged before it has one."""


TOGETHER = (Fact.ORDERED, Fact.ELECTING, Fact.DISTANT, Fact.CENTRED, Fact.EXTRAPOLATING)


@st.composite
def _overlapping(draw: st.DrawFn, setting: Setting) -> Scenario:
    """An overlap of some steps, and as many steps more for everybody."""
    s: Scenario = draw(round_scenarios(setting, rounds=(2, 4)))
    late = draw(st.integers(0, 3))
    events = (replace(e, steps=tuple(K + late for K in e.steps)) for e in s.events if isinstance(e, Round))
    return with_hyper(replace(s, events=tuple(events)), overlap=late)


OF_DILOCO = entry(diloco.KNOWN, "sum over its history (closed_forms/diloco.py)")


def _moves(bench: Bench, s: Scenario) -> None:
    exact = lift(s, Fraction)
    problem, x = problem_of(exact), flatten(exact.case.x0)
    moves = RATED_MOVES[s.case.algorithm][0](exact.case, exact.events, -problem.e)
    bench.follows(s, [x + sum(moves[1 : k + 1], start=moves[0]) for k in range(len(s.events))])


def _moves_known(setting: Setting) -> bool:
    _, options = RATED_MOVES[setting.algorithm.id]
    return all(setting.options.get(n, v[0]) in v for n, v in options.items())


UNDER = where(_moves_known, "", "the sum of its moves is of other options (closed_forms/rates.py)")

LAWS = (
    Law(
        id="constant-gradients",
        words="clients with constant gradients g_i change by exactly -eta_l ||a_i||_1 g_i",
        levels=("round",),
        source="FedNova, eq. (4) and App. B: Delta_i = -eta G_i a_i",
        cases=lambda setting: round_scenarios(setting).map(linear),
        check=follows(_models_of_constants),
        applies=both(method, WRITTEN),
    ),
    Law(
        id="unrolled",
        words="the model is the sum over its whole history: powers of the decays times the inputs, pauses included",
        levels=("client", "server"),
        source="FedNova, App. B (a_i); FedAda2, eq. (19) and L1136 (moments as sums)",
        cases=_with_pauses,
        check=follows(_models),
        applies=WRITTEN,
    ),
    Law(
        id="of-several",
        words="where five clients or more take part, the model is what all their changes make",
        levels=("server",),
        source="ranks by subsets; lengths by what changes are apart",
        cases=lambda setting: server_scenarios(setting, rounds=(1, 2), clients=(5, 7)),
        check=follows(_models),
        applies=both(any_fact(*TOGETHER), WRITTEN),
    ),
    Law(
        id="fair-shares",
        words="the mean of the changes by shares F_i^q, over 1 + (q / eta_l) times the mean of |Delta_i|^2 / F_i",
        levels=("server", "round"),
        source="external: Li et al. (2020), Algorithm 2, written with shares; on quadratics Delta_i by its matrix",
        cases=scenarios,
        check=follows(fair.models),
        applies=both(reads_losses, entry(fair.KNOWN, "closed form by shares")),
    ),
    Law(
        id="fragment-history",
        words="clients from all gradients that they have seen, each block from the changes of its exchanges, in sums",
        levels=("round",),
        source="external: Douillard et al. (2025): every fragment has an outer optimiser of its own",
        cases=_overlapping,
        check=follows(diloco.exchanges),
        applies=entry(diloco.STREAMING, "sum over its history (closed_forms/diloco.py)"),
    ),
    Law(
        id="inner-history",
        words="clients from all gradients that their moments hold, the server from all mean changes, in sums",
        levels=("round",),
        source="external: Douillard et al. (2023): AdamW's state stays in the client, the outer one in the server",
        cases=round_scenarios,
        check=follows(diloco.rounds),
        applies=OF_DILOCO,
    ),
    Law(
        id="outer-rates",
        words="where rounds say the outer rate anew, each move is a sum of all changes at the rates that reached them",
        levels=("server",),
        source="external: Sutskever et al. (2013), with the rate at the step or inside the buffer",
        cases=varied_scenarios,
        check=follows(diloco.servers),
        applies=both(sets_rates, OF_DILOCO),
    ),
    Law(
        id="rates-linear",
        words="on linear objectives a round moves by the sum of the clients' own rates times their gradients",
        levels=("round", "trace"),
        source="a client's steps along a constant gradient, summed",
        cases=lambda setting: varied_scenarios(setting).map(linear),
        check=_moves,
        applies=both(sets_rates, entry(RATED_MOVES, "sum of its moves (closed_forms/rates.py)"), UNDER),
    ),
)
