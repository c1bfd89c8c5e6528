"""Hypothesis strategies for scenarios: heterogeneous by design, every number a dyadic rational.

Dyadic inputs are exact in every floating-point type, so a deviation is never the input's. Pairs of decays with
(1 - beta1)^2 = 1 - beta2 are left out: there several variants of Adam agree in the first round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.catalogue import Algorithm
from fedspec.contract import Begin, Case, ClientMessage, Event, Gradient, Level, Messages, Quadratics, Round
from fedspec.mixing.accumulation import a_norm
from fedspec.readings import Solver
from fedspec_suite.judge.scenario import Scenario

POOLS: dict[str, Sequence[float]] = {
    "eta": (0.125, 0.5, 1.0, 2.0),
    "eta_l": (0.0625, 0.125, 0.25, 0.5),
    "beta": (0.25, 0.5, 0.875),
    "beta1": (0.25, 0.5, 0.875),
    "beta2": (0.5, 0.625, 0.9375),
    "rho": (0.25, 0.5, 0.875),
    "gamma": (0.5, 0.75, 1.5),
    "mu": (0.25, 0.5, 1.0),
    "eps": (0.015625, 0.0625, 0.25),
    "tau": (0.0625, 0.125, 0.5),
    "tau_eff": (0.5, 1.5, 3.0),
}
"""What each hyper-parameter is drawn from."""

_V0 = st.sampled_from((0.0, 0.0625, 1.0))
_V0_OVER_TAU = st.sampled_from((1, 4, 16))
_POOLED = {name: st.sampled_from(pool) for name, pool in POOLS.items()}

SOLVER_NUMBERS: dict[Solver, tuple[str, ...]] = {
    Solver.SGD: (),
    Solver.PROXIMAL: ("mu",),
    Solver.DECAYED: ("gamma",),
    Solver.MOMENTUM: ("rho",),
    Solver.NESTEROV: ("rho",),
    Solver.DAMPENED: ("rho",),
    Solver.MOMENTUM_PROXIMAL_OUTSIDE: ("rho", "mu"),
    Solver.MOMENTUM_PROXIMAL_INSIDE: ("rho", "mu"),
}
"""The hyper-parameters that each of FedNova's local solvers has."""


@dataclass(frozen=True)
class Setting:
    """What cases are drawn for: an algorithm at a level under resolved options, and what the subject pins down."""

    algorithm: Algorithm
    level: Level
    reading: str
    options: Mapping[str, str]
    dtype: str = "float64"
    fixed: Mapping[str, float] = field(default_factory=dict)
    nonzero: tuple[str, ...] = ()
    one_block: bool = False
    v0_is_tau_squared: bool = False
    steps_only: bool = False
    """Whether every message's ||a_i||_1 is its number of steps: the subject declares plain SGD clients."""

    @property
    def numbers(self) -> tuple[str, ...]:
        """The hyper-parameters that play a part in this setting."""
        names = self.algorithm.numbers_at(self.level)
        if "solver" in self.options and self.level != "server":
            solver = Solver(self.options["solver"])
            names = tuple(n for n in names if n not in {"mu", "rho", "gamma"} or n in SOLVER_NUMBERS[solver])
        if self.options.get("tau_eff_choice", "fixed") != "fixed":
            names = tuple(n for n in names if n != "tau_eff")
        if self.options.get("zero") == "zero-over-zero":
            names = tuple(n for n in names if n != "eps")
        return names


def draw_hypers(draw: st.DrawFn, setting: Setting) -> dict[str, float]:
    """Hyper-parameters: drawn from the pools, pinned where the subject pins them."""
    h = {n: draw(_POOLED[n]) for n in setting.numbers if n in POOLS and n not in setting.fixed}
    h = {n: float(setting.fixed[n]) if n in setting.fixed else h[n] for n in setting.numbers if n in POOLS}
    if "v0" in setting.numbers:
        if "v0" in setting.fixed:
            h["v0"] = float(setting.fixed["v0"])
        elif setting.v0_is_tau_squared:
            h["v0"] = h["tau"] ** 2
        elif "tau" in h:
            h["v0"] = draw(_V0_OVER_TAU) * h["tau"] ** 2
        else:
            h["v0"] = draw(_V0)
    return h


@cache
def _between(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


@cache
def vectors(shape: tuple[int, ...], dtype: str, denominator: int = 8, largest: int = 24) -> st.SearchStrategy[Array]:
    """Arrays of integers over a power of two, drawn a byte each: 0, 1, -1, 2, -2, ... so that they shrink to zero."""

    def decode(drawn: bytes) -> Array:
        n = np.frombuffer(drawn, dtype=np.uint8).astype(np.int64) % (2 * largest + 1)
        whole = np.where(n % 2 == 1, (n + 1) // 2, -(n // 2))
        return (whole / denominator).astype(dtype).reshape(shape)

    return st.binary(min_size=prod(shape), max_size=prod(shape)).map(decode)


_TENSORS = st.sampled_from([(3,), (2, 3), (3, 2), (2, 2, 2)])
_ARRAYS = st.sampled_from([(1,), (2,), (3,), (2, 2)])


def draw_shapes(draw: st.DrawFn, setting: Setting) -> dict[str, tuple[int, ...]]:
    """One to three blocks with names; tensors where the cover looks at axes."""
    tensors = "cover" in setting.options
    one: st.SearchStrategy[Any] = _TENSORS if tensors else _ARRAYS
    count = 1 if setting.one_block else draw(_between(1, 2 if tensors else 3))
    return {name: draw(one) for name in ("w", "b", "c")[:count]}


def draw_blocks(
    draw: st.DrawFn, shape: Mapping[str, tuple[int, ...]], dtype: str, denominator: int = 8, largest: int = 24
) -> dict[str, Array]:
    """A model's worth of arrays, in the order of the shapes."""
    return {n: draw(vectors(s, dtype, denominator, largest)) for n, s in shape.items()}


def draw_message_lists(
    draw: st.DrawFn,
    setting: Setting,
    shape: Mapping[str, tuple[int, ...]],
    clients: tuple[int, int] = (1, 4),
    largest: int = 24,
) -> Messages:
    """One round's messages: uneven weights, uneven steps."""
    n = draw(_between(*clients))
    out = []
    for i in range(n):
        steps = draw(_between(1, 6))
        a = steps if setting.steps_only else draw(_between(1, 24)) / 4
        delta = draw_blocks(draw, shape, setting.dtype, largest=largest)
        out.append(ClientMessage(i, delta, draw(_between(1, 9)), steps, a))
    return Messages(tuple(out))


@st.composite
def server_scenarios(
    draw: st.DrawFn, setting: Setting, rounds: tuple[int, int] = (1, 5), clients: tuple[int, int] = (1, 4)
) -> Scenario:
    """Several rounds of messages."""
    shape = draw_shapes(draw, setting)
    x0 = draw_blocks(draw, shape, setting.dtype)
    h = draw_hypers(draw, setting)
    count = draw(_between(*rounds))
    events = tuple(draw_message_lists(draw, setting, shape, clients) for _ in range(count))
    return Scenario(case(setting, x0, h), events)


@st.composite
def client_scenarios(
    draw: st.DrawFn, setting: Setting, steps: tuple[int, int] = (1, 6), rounds: tuple[int, int] = (1, 2)
) -> Scenario:
    """One or two rounds of gradients; a new round begins at another model."""
    shape = draw_shapes(draw, setting)
    x0 = draw_blocks(draw, shape, setting.dtype)
    h = draw_hypers(draw, setting)
    events: list[Event] = []
    for r in range(draw(_between(*rounds))):
        if r:
            events.append(Begin(draw_blocks(draw, shape, setting.dtype)))
        count = draw(_between(*steps))
        events.extend(Gradient(draw_blocks(draw, shape, setting.dtype)) for _ in range(count))
    return Scenario(case(setting, x0, h), tuple(events))


@st.composite
def round_scenarios(
    draw: st.DrawFn,
    setting: Setting,
    rounds: tuple[int, int] = (1, 3),
    clients: tuple[int, int] = (1, 4),
    everyone: bool = False,
) -> Scenario:
    """Quadratic clients, uneven examples, uneven steps, partial participation unless ``everyone``."""
    n, d = draw(_between(*clients)), draw(_between(1, 3))
    x0 = {"w": draw(vectors((d,), setting.dtype))}
    h = draw_hypers(draw, setting)
    if "eta_l" not in setting.fixed:
        h["eta_l"] = draw(st.sampled_from((0.03125, 0.0625, 0.125)))
    problem = draw_quadratics(draw, n, d, setting.dtype)
    events = []
    steps = tuple(draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    for _ in range(draw(_between(*rounds))):
        chosen = range(n) if everyone else sorted(draw(st.sets(st.integers(0, n - 1), min_size=1)))
        events.append(Round(tuple(chosen), tuple(steps[i] for i in chosen)))
    return Scenario(case(setting, x0, h, problem), tuple(events))


def draw_quadratics(draw: st.DrawFn, n: int, d: int, dtype: str) -> Quadratics:
    """H_i = A A' / 4 + I / 4 with small integer A: symmetric positive definite, exact."""
    H = []
    for _ in range(n):
        A = np.array(draw(st.lists(st.integers(-1, 2), min_size=d * d, max_size=d * d)), dtype=float).reshape(d, d)
        H.append((A @ A.T + np.eye(d)) / 4)
    e = draw(vectors((n, d), dtype))
    examples = np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), dtype=float)
    return Quadratics(np.array(H, dtype=dtype).reshape(n, d, d), e, examples)


def scenarios(setting: Setting, **kw: Any) -> st.SearchStrategy[Scenario]:
    """The scenarios of the setting's level."""
    return {"client": client_scenarios, "server": server_scenarios, "round": round_scenarios}[setting.level](
        setting, **kw
    )


def case(setting: Setting, x0: Mapping[str, Array], h: Mapping[str, float], problem: Quadratics | None = None) -> Case:
    """The case of a setting."""
    return Case(
        algorithm=setting.algorithm.id,
        level=setting.level,
        reading=setting.reading,
        options=dict(setting.options),
        dtype=setting.dtype,
        x0=dict(x0),
        hyper=dict(h),
        problem=problem,
    )


def norm_of(setting: Setting, h: Mapping[str, Any], tau: int) -> Any:
    """||a||_1 of the setting's local solver."""
    solver = Solver(setting.options.get("solver", "proximal" if setting.algorithm.id == "fedprox" else "sgd"))
    return a_norm(solver, tau, alpha=h["eta_l"] * h.get("mu", 0), rho=h.get("rho", 0), gamma=h.get("gamma", 1))


blocks = st.composite(draw_blocks)
hypers = st.composite(draw_hypers)
message_lists = st.composite(draw_message_lists)
quadratics = st.composite(draw_quadratics)
