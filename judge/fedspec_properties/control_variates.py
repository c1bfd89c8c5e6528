"""Laws of control variates: their sums at the clients and the server, and fixed points of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import ClientMessage, Level, Messages, Round
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec_properties.closed_forms.sums import events_of, exactly
from fedspec_suite.laws.applicability import NOT_RETURNED, SKIPPED, both, counts_clients, fact, if_option, rule
from fedspec_suite.laws.law import Check, Law
from fedspec_suite.measure.bench import Bench, Shown
from fedspec_suite.measure.case_parts import vectors
from fedspec_suite.measure.cases import round_scenarios, scenarios
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario, problem_of, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import NotOffered

ROUND: tuple[Level, ...] = ("round",)


def shares(s: Scenario) -> list[Fraction]:
    """Return the weights of all clients under the case's options."""
    assert s.case.problem is not None
    n = [Fraction(float(n_i)) for n_i in s.case.problem.examples]
    if s.case.options.get("weights", "uniform") == "uniform":
        n = [Fraction(1)] * len(n)
    return [n_i / sum(n) for n_i in n]


# What they sum to.


def _largest_rate(setting: Setting, rounds: tuple[int, int] = (1, 2)) -> st.SearchStrategy[Scenario]:
    """Small rates amplify the rounding of x - x_i."""
    rate = {} if "eta_l" in setting.fixed else {"eta_l": 0.125}
    return round_scenarios(setting, rounds=rounds, clients=(2, 4)).map(lambda s: with_hyper(s, **rate))


def cancels(name: str, weights: Callable[[Scenario], list[Any]]) -> Callable[[Bench, Scenario], None]:
    """Return a check that sum_i W_i c_i = 0: the last client's value cancels the others."""

    def check(bench: Bench, s: Scenario) -> None:
        *others, own = (float(W_i) for W_i in weights(s))
        scale = bench.expect(s)
        for k, got in enumerate(bench.play(s)):
            rows, bounds = got[name].reshape(len(others) + 1, -1), _bounds(scale[k], name, len(others) + 1)
            W = np.array(others) / own
            want = np.concatenate([rows[:-1], -(W @ rows[:-1])[None]])
            allowed = np.concatenate([bounds[:-1], (bounds[-1] + W @ (bounds[:-1] + 3 * np.abs(rows[:-1])))[None]])
            bench.compare(name, got[name], want.reshape(-1), f"round {k + 1}", allowed.reshape(-1))

    return check


def _bounds(shown: Shown, name: str, n: int) -> Array:
    return bounds_of(shown[name]).reshape(n, -1)


def _is_mean(name: str, of: str) -> Callable[[Bench, Scenario], None]:
    """Check that the server's value is the mean of all clients' values."""

    def check(bench: Bench, s: Scenario) -> None:
        p = [float(p_i) for p_i in shares(s)]
        scale = bench.expect(s)
        for k, got in enumerate(bench.play(s)):
            if of not in got:
                raise NotOffered(f"{SKIPPED}{NOT_RETURNED}{of}")
            rows, bounds = got[of].reshape(len(p), -1), _bounds(scale[k], of, len(p))
            allowed = bounds_of(scale[k][name]) + np.array(p) @ (bounds + 3 * np.abs(rows))
            bench.compare(name, got[name], np.array(p) @ rows, f"round {k + 1}", allowed)

    return check


# Where they hold the model.


@st.composite
def _at_minimum(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Everybody starts at the minimiser of sum p_i F_i and takes one step, then any steps; exact in every type."""
    s: Scenario = draw(round_scenarios(setting, rounds=(1, 2), clients=(2, 4)))
    problem = problem_of(s)
    n, d = problem.e.shape
    examples = problem.examples.copy()
    examples[-1] = draw(st.sampled_from((1.0, 2.0, 4.0, 8.0)))
    counts = np.ones(n) if setting.options.get("weights") == "uniform" else examples
    pulls = draw(vectors((n - 1, d), setting.dtype, largest=8))
    last = -(counts[:-1] @ pulls) / counts[-1]
    gradients = np.concatenate([pulls, last[None]]).astype(setting.dtype)
    e = np.einsum("nij,j->ni", problem.H, flatten(s.case.x0)) - gradients
    later = [
        replace(r, steps=tuple(draw(st.integers(1, 4)) for _ in r.steps)) for r in s.events if isinstance(r, Round)
    ]
    events = (Round(tuple(range(n)), (1,) * n), *later)
    return Scenario(replace(s.case, problem=replace(problem, e=e.astype(setting.dtype), examples=examples)), events)


def _stays(bench: Bench, s: Scenario) -> None:
    bench.follows(s, [flatten(s.case.x0)] * len(s.events), rounded=True)


def _control(m: ClientMessage) -> Array:
    assert m.control is not None
    return flatten(m.control)


def _sums(name: str, sent: Any, per_client: Any) -> Check:
    """Check that the server's value is a multiple of the sum of everything sent so far."""

    def check(bench: Bench, s: Scenario) -> None:
        total, want = np.array([Fraction(0)] * flatten(s.case.x0).size, dtype=object), []
        for e in events_of(Messages, s):
            for m in e.messages:
                total = total + exactly(sent(m))
            want.append(total * per_client(s) / s.case.population)
        scale = bench.expect(s)
        for k, got in enumerate(bench.play(s)):
            bench.compare(name, got[name], want[k], f"round {k + 1}", bounds_of(scale[k][name]))

    return check


SERVER: tuple[Level, ...] = ("server",)

LAWS = (
    Law(
        id="corrections-cancel",
        words="the corrections cancel: sum_i p_i c_i = 0 in every round",
        levels=ROUND,
        source="FedNova, L204",
        cases=lambda setting: _largest_rate(setting, rounds=(2, 3)),
        check=cancels("c_i", shares),
        applies=fact(Fact.CROSS_CLIENT),
        shows="c_i",
    ),
    Law(
        id="control-is-mean",
        words="the server's control variate is the mean of all clients', whoever takes part",
        levels=ROUND,
        source="external: Karimireddy et al. (2020), Algorithm 1",
        cases=lambda setting: round_scenarios(setting, rounds=(2, 3), clients=(2, 4)),
        check=_is_mean("c", "c_i"),
        shows="c",
    ),
    Law(
        id="controlled-minimum",
        words="the minimum of sum p_i F_i is not left once every client has met its gradient there, whatever steps "
        "follow",
        levels=ROUND,
        source="FedNova, L204 on quadratics: c_i = -grad F_i(x*)",
        cases=_at_minimum,
        check=_stays,
        applies=both(fact(Fact.CONTROLLED), if_option("stored", "uncorrected"), if_option("loop", "shifted")),
    ),
    Law(
        id="server-control-sums",
        words="c is one N-th of all changes of control variates that were ever sent, N the number of all clients",
        levels=SERVER,
        source="external: Karimireddy et al. (2020), Algorithm 1, line 17",
        cases=scenarios,
        check=_sums("c", _control, lambda s: 1),
        applies=both(counts_clients, rule("server_control")),
        shows="c",
    ),
)
