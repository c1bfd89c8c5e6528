"""Laws of what algorithms that are linear in their gradients do not see: the unit of the objective, halved clients, ...

And of FedNova's general rule with arbitrary ||a_i||_1: what tau_eff and the normalisation do to the step.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Messages
from fedspec.params import flatten
from fedspec_properties.closed_forms.sums import counts
from fedspec_properties.rounds import WRITTEN_OUT
from fedspec_suite.laws.asked import both, either, method, offered, option, settable
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import same
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import few, round_scenarios, server_scenarios
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, louder, with_hyper
from fedspec_suite.measure.setting import Setting

Pair = tuple[Scenario, Scenario]


# The unit of the objective.


def _in_other_units(setting: Setting) -> st.SearchStrategy[Pair]:
    def scaled(s: Scenario) -> Pair:
        h = s.case.hyper
        return s, with_hyper(louder(s), eta_l=h["eta_l"] / 4, **{n: h[n] * 4 for n in ("mu",) if n in h})

    return round_scenarios(setting).map(scaled)


# FedNova's general rule.


@st.composite
def _rescaled(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(server_scenarios(setting))
    factors = [draw(st.sampled_from((0.5, 2.0, 4.0))) for _ in range(4)]

    def scaled(e: Any) -> Messages:
        return Messages(
            tuple(
                replace(m, delta={n: a * c for n, a in m.delta.items()}, a_norm=m.a_norm * c)
                for m, c in zip(e.messages, factors, strict=False)
            )
        )

    return s, replace(s, events=tuple(map(scaled, s.events)))


def _alike(setting: Setting) -> st.SearchStrategy[Scenario]:
    def shared(s: Scenario) -> Scenario:
        def same(e: Any) -> Messages:
            return Messages(tuple(replace(m, delta=e.messages[0].delta) for m in e.messages))

        return replace(s, events=tuple(map(same, s.events)))

    return server_scenarios(setting, clients=few(setting, 2)).map(shared)


def _extrapolates(bench: Bench, s: Scenario) -> None:
    x: Array = np.array([Fraction(float(v)) for v in flatten(s.case.x0)], dtype=object)
    scale = bench.expect(s)
    for k, (event, got) in enumerate(zip(s.events, bench.play(s), strict=True)):
        assert isinstance(event, Messages)
        sent = event.messages
        n = counts(s.case.options, [Fraction(m.weight) for m in sent], [m.steps for m in sent])
        a = [Fraction(m.a_norm) for m in event.messages]
        w = [n_i * a_i for n_i, a_i in zip(n, a, strict=True)]
        p, w = [n_i / sum(n) for n_i in n], [w_i / sum(w) for w_i in w]
        chi_squared = sum((p_i - w_i) ** 2 / w_i for p_i, w_i in zip(p, w, strict=True))
        change = np.array([Fraction(float(v)) for v in flatten(event.messages[0].delta)], dtype=object)
        x = x + (1 + chi_squared) * change
        bench.compare("x", got["x"], x, f"round {k + 1}", bounds_of(scale[k]["x"]))


LINEAR_CLIENTS = both(either(method, WRITTEN_OUT), settable("mu"))
LAWS = (
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
