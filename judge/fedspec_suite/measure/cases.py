"""Hypothesis strategies for scenarios: heterogeneous by design, at every level."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from hypothesis import strategies as st

from fedspec.catalogue import Program
from fedspec.contract import Begin, ClientMessage, Event, Level, Messages, Round
from fedspec.mixing.accumulation import a_norm
from fedspec.readings import Strategy
from fedspec_suite.measure.case_parts import (
    between,
    case,
    draw_blocks,
    draw_shapes,
    draw_some,
    draw_start,
    draw_uniforms,
    lengths,
    lists,
    most_steps,
    of_batches,
    step_of,
    vectors,
)
from fedspec_suite.measure.closed_form_rounding import of_code
from fedspec_suite.measure.hyper_pools import draw_hypers, picking
from fedspec_suite.measure.message_cases import finer
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.trace_cases import trace_scenarios


def draw_message_lists(
    draw: st.DrawFn,
    setting: Setting,
    shape: Mapping[str, tuple[int, ...]],
    clients: tuple[int, int] = (1, 4),
    largest: int = 24,
) -> Messages:
    """Draw a round's messages, with uneven weights and steps."""
    n = draw(between(*clients))
    out = []
    for i in range(n):
        steps = draw(between(1, 6))
        a = steps if setting.steps_only else draw(between(1, 24)) / 4
        delta = draw_blocks(draw, shape, setting.dtype, largest=largest)
        weight = draw(between(1, 9))
        control = draw_blocks(draw, shape, setting.dtype) if setting.controls else None
        loss = draw(between(1, 24)) / 8 if setting.losses else None
        out.append(ClientMessage(i, delta, weight, steps, a, control, loss))
    return Messages(tuple(out))


def few(setting: Setting, least: int = 1) -> tuple[int, int]:
    """Return the range of the number of clients in a small case, at least ``least`` and enough for the rule."""
    return max(least, setting.crowd), setting.crowd + 3


@st.composite
def server_scenarios(
    draw: st.DrawFn, setting: Setting, rounds: tuple[int, int] = (1, 5), clients: tuple[int, int] | None = None
) -> Scenario:
    """Draw several rounds of client messages."""
    clients = clients or few(setting)
    shape = draw_shapes(draw, setting)
    x0 = draw_blocks(draw, shape, setting.dtype)
    h = draw_hypers(picking(draw), setting)
    count = draw(between(*rounds))
    if setting.everyone:
        clients = (draw(between(*clients)),) * 2
    events = tuple(draw_message_lists(draw, setting, shape, clients) for _ in range(count))
    N = None
    if setting.counts_all:
        # More than ever take part, so that laws may add some.
        N = clients[1] if setting.everyone else draw(between(max(5, clients[1]), 9))
    return finer(setting, Scenario(case(setting, x0, h, population=N), events))


@st.composite
def client_scenarios(
    draw: st.DrawFn, setting: Setting, steps: tuple[int, int] = (1, 6), rounds: tuple[int, int] = (1, 2)
) -> Scenario:
    """Draw one or two rounds of gradients; a new round begins at another model."""
    shape = draw_shapes(draw, setting)
    x0 = draw_blocks(draw, shape, setting.dtype)
    h = draw_hypers(picking(draw), setting)
    events: list[Event] = []
    for r in range(draw(between(*rounds))):
        if r:
            events.append(Begin(draw_blocks(draw, shape, setting.dtype)))
        count = draw(between(steps[0], steps[1] + setting.longer))
        rows = of_batches(setting, shape)
        events.extend(step_of(setting, draw_blocks(draw, rows, setting.dtype), k + r) for k in range(count))
    return finer(setting, Scenario(case(setting, x0, h), tuple(events)))


STRATEGIES = tuple(map(str, Strategy))
"""Names of the local solvers among which a blending algorithm chooses."""


@st.composite
def round_scenarios(
    draw: st.DrawFn,
    setting: Setting,
    rounds: tuple[int, int] = (1, 3),
    clients: tuple[int, int] | None = None,
    everyone: bool = False,
) -> Scenario:
    """Draw rounds of clients with quadratics, uneven examples and steps; partial participation unless ``everyone``."""
    n = draw(between(*(clients or few(setting))))
    x0, h, problem = draw_start(draw, setting, n)
    events = []
    steps = tuple(draw(lists(1, most_steps(setting) + setting.longer, n)))
    for _ in range(draw(between(*rounds))):
        chosen = (
            tuple(range(n)) if everyone or "everyone" in setting.takes else draw_some(draw, n, min(n, setting.crowd))
        )
        if "repeats" in setting.takes and not everyone and draw(st.booleans()):
            chosen = (*chosen, draw(st.sampled_from(chosen)))
        more: dict[str, Any] = {}
        if "strategies" in setting.takes:
            run = setting.algorithm.run
            kinds = st.sampled_from(run.strategies if isinstance(run, Program) else STRATEGIES)
            more["strategies"] = tuple(draw(kinds) for _ in chosen)
        if "scales" in setting.takes:
            more["scales"] = tuple(draw(st.sampled_from((0.5, 1.0, 2.0))) for _ in chosen)
        if "noise" in setting.takes:
            more["noise"] = tuple(draw(vectors(problem.e.shape[1:], "float64")).tolist())
        if "draws" in setting.takes:
            more["draws"] = tuple(draw_uniforms(draw, problem.e.shape[1]) for _ in chosen)
        events.append(Round(chosen, lengths(setting.takes, [steps[i] for i in chosen]), **more))
    return finer(setting, Scenario(case(setting, x0, h, problem), tuple(events)))


def scenarios(setting: Setting, **kw: Any) -> st.SearchStrategy[Scenario]:
    """Return the strategy of scenarios for the setting's level."""
    kinds: dict[Level, Any] = {
        "client": client_scenarios,
        "server": server_scenarios,
        "round": round_scenarios,
        "trace": trace_scenarios,
    }
    drawn: st.SearchStrategy[Scenario] = kinds[setting.level](setting, **kw)
    return drawn.map(partial(finer, setting)) if setting.level == "trace" and setting.gradients else drawn


def norm_of(setting: Setting, h: Mapping[str, Any], tau: int) -> Any:
    """Return ||a||_1 of the setting's solver after ``tau`` steps, or the divisor in FedNova's authors' code."""
    if setting.options.get("norm") == "code":
        return of_code(tau, h["eta_l"] * h["mu"], h["rho"])
    return a_norm(setting.solver, tau, alpha=h["eta_l"] * h.get("mu", 0), rho=h.get("rho", 0), gamma=h.get("gamma", 1))


message_lists = st.composite(draw_message_lists)
