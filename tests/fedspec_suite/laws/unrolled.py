"""Closed forms, written as sums over the whole history instead of recursions: a second route to every model.

    m_T = (1 - beta1) sum_s beta1^(T-s) Delta_s,   v_T = beta2^T v_0 + (1 - beta2) sum_s beta2^(T-s) Delta_s^2, ...

They share no code with the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.catalogue import Program
from fedspec.contract import Begin, ClientMessage, Gradient, Messages, Round
from fedspec.covers import named_cover
from fedspec.params import flatten, shapes
from fedspec.readings import CoverName
from fedspec_suite.laws import history
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios, scenarios
from fedspec_suite.measure.running import Running
from fedspec_suite.measure.scenario import Scenario, describe, lift
from fedspec_suite.measure.setting import Setting

Options = Mapping[str, str]


def _root(v: Array) -> Array:
    return np.array([x.sqrt() for x in v], dtype=object)


def _biggest(rows: Sequence[Array]) -> Array:
    return np.array([max(column) for column in zip(*rows, strict=True)], dtype=object)


def _total(rows: Iterable[Any], start: Any = None) -> Any:
    """The sum of running numbers, or of vectors of them."""
    return sum(rows, start=Running(0) if start is None else start)


def _ema(beta: Any, rows: Sequence[Array], start: Any = 0) -> Array:
    """beta^T start + (1 - beta) sum_s beta^(T-s) row_s."""
    T = len(rows)
    past: Array = _total([(1 - beta) * beta ** (T - s) * row for s, row in enumerate(rows, 1)], beta**T * start)
    return past


def _moment_steps(rows: Sequence[Array], h: Mapping[str, Any], o: Options, kind: str, small: Any) -> Array:
    """The last step's direction m / (sqrt(v) + eps) of an adaptive rule after the given inputs."""
    T = len(rows)
    b1, b2 = h.get("beta1", Running(0)), h.get("beta2", Running(0))
    m = _ema(b1, rows)
    inputs = [_ema(b1, rows[:s]) for s in range(1, T + 1)] if o.get("second_moment") == "momentum" else rows
    squares = [row * row for row in inputs]
    v0 = h.get("v0", Running(0))
    fix2: list[Any] = [1 - b2**s if o.get("bias_correction") == "moments" else Running(1) for s in range(1, T + 1)]
    if kind == "adagrad":
        v = _total(squares, v0)
    elif kind == "yogi":
        v = np.array([v0] * len(rows[0]), dtype=object)
        for q in squares:
            v = np.array(
                [a - (1 - b2) * s if a > s else a + (1 - b2) * s if a < s else a for a, s in zip(v, q, strict=True)],
                dtype=object,
            )
        v = v / fix2[-1]
    elif kind == "adam":
        v = _ema(b2, squares, v0) / fix2[-1]
    else:
        history = [_ema(b2, squares[:s]) for s in range(1, T + 1)]
        if o.get("maximum_of") == "after-correction":
            v = _biggest([x / f for x, f in zip(history, fix2, strict=True)])
        else:
            v = _biggest(history) / fix2[-1]
    rate: Any = Running(1)
    if o.get("bias_correction") == "moments":
        rate = 1 / (1 - b1**T)
    elif o.get("bias_correction") == "step":
        rate = (1 - b2**T).sqrt() / (1 - b1**T)
    if kind == "ams-option-1":
        below = _root(np.array([x if x > small else small for x in v], dtype=object))
    elif o.get("epsilon") == "inside" or kind == "ams-option-2":
        below = _root(v + small)
    else:
        below = _root(v) + small
    step: Array = rate * m / below
    return step


def _mean(e: Messages, o: Options) -> Array:
    """The weighted mean of a round's changes."""
    counts = [Running(1) if o.get("weights") == "uniform" else m.weight for m in e.messages]
    total = _total(counts)
    mean: Array = _total((c / total * flatten(m.delta) for c, m in zip(counts, e.messages, strict=True)))
    return mean


def _nova(e: Messages, h: Mapping[str, Any], o: Options) -> Array:
    """tau_eff sum_i w_i Delta_i / ||a_i||_1."""
    counts = [Running(1) if o["weights"] == "uniform" else m.weight for m in e.messages]
    p = [c / _total(counts) for c in counts]
    a: list[Any] = [m.a_norm for m in e.messages]
    A = _total((p_i * a_i for p_i, a_i in zip(p, a, strict=True)))
    tau = _total((p_i * m.steps for p_i, m in zip(p, e.messages, strict=True)))
    steps = o.get("tau_eff_choice", "weighted-norm")
    tau_eff: Any = {"weighted-norm": A, "weighted-steps": tau, "fixed": h.get("tau_eff")}[steps]
    w = p if o.get("nova_weights", "nova") == "nova" else [p_i * a_i / A for p_i, a_i in zip(p, a, strict=True)]
    parts = [tau_eff * w_i / a_i * flatten(m.delta) for w_i, a_i, m in zip(w, a, e.messages, strict=True)]
    step: Array = _total(parts)
    return step


_SGD = {"proximal": "proximal-sgd", "decayed": "decayed-sgd"}

_KIND = {
    "fedadagrad": "adagrad",
    "fedadam": "adam",
    "fedyogi": "yogi",
    "fedamsgrad": "amsgrad",
    "adagrad": "adagrad",
    "adam": "adam",
    "yogi": "yogi",
    "amsgrad": "amsgrad",
}


def _heavy_ball(past: list[Array], h: Mapping[str, Any], o: Options) -> Array:
    v = _total((h["beta"] ** (len(past) - t) * delta for t, delta in enumerate(past, 1)))
    step: Array = h["eta"] * (past[-1] + h["beta"] * v if o["momentum"] == "nesterov" else v)
    return step


STEPS: dict[str, Callable[[list[Array], Mapping[str, Any], Options], Array]] = {
    "fedavg": lambda past, h, o: h["eta"] * past[-1],
    "fedprox": lambda past, h, o: h["eta"] * past[-1],
    "fedavgm": _heavy_ball,
}
"""The server's last move from the mean changes of all rounds so far, for servers without a second moment."""


def server_models(s: Scenario) -> list[Array]:
    """The model after each round, from the whole history."""
    h, o, name = s.case.hyper, s.case.options, s.case.algorithm
    x = flatten(s.case.x0)
    deltas = [_mean(e, o) for e in s.events if isinstance(e, Messages)]
    out = []
    for T, event in enumerate(s.events, 1):
        past = deltas[:T]
        if name == "fednova":
            assert isinstance(event, Messages)
            step = _nova(event, h, o)
        elif name == "fednova-momentum":
            moves = [_nova(e, h, o) for e in s.events[:T] if isinstance(e, Messages)]
            step = _total((h["beta"] ** (T - t) * P for t, P in enumerate(moves, 1)))
        elif name in STEPS:
            step = STEPS[name](past, h, o)
        else:
            kind = f"ams-option-{o['option']}" if name == "fedams" else _KIND[name]
            step = h["eta"] * _moment_steps(past, h, o, kind, h["tau"] if "tau" in h else h["eps"])
        x = x + step
        out.append(x)
    return out


def _factor(name: str, h: Mapping[str, Any], o: Options) -> Callable[[int, int], Any] | None:
    """a_k of a linear solver, in the closed form of the paper; None when the solver is adaptive."""
    rho: Any = h.get("rho")
    gamma: Any = h.get("gamma")
    b: Any = 1 - h["eta_l"] * h["mu"] if "mu" in h else None
    match name:
        case "sgd":
            return lambda k, tau: Running(1)
        case "decayed-sgd":
            return lambda k, tau: gamma**k
        case "proximal-sgd":
            return lambda k, tau: b ** (tau - 1 - k)
        case "momentum":
            return lambda k, tau: (1 - rho ** (tau - k)) / (1 - rho)
        case "nesterov":
            return lambda k, tau: (1 - rho ** (tau - k + 1)) / (1 - rho)
        case "dampened" if o["start"] == "first-gradient":
            # The first gradient enters whole: 1 + rho + ... + rho^(tau-1).
            return lambda k, tau: (1 - rho**tau) / (1 - rho) if k == 0 else 1 - rho ** (tau - k)
        case "dampened":
            return lambda k, tau: 1 - rho ** (tau - k)
        case "momentum-proximal-outside":
            return lambda k, tau: sum(
                (b**j * rho ** (tau - k - 1 - j) for j in range(tau - k)),
                start=Running(0),
            )
        case "momentum-proximal-inside":
            return lambda k, tau: _companion(b, rho, tau - k)
    return None


def _companion(b: Any, rho: Any, n: int) -> Any:
    """First component of C^(n-1) (1, 1): the two-step recursion of (x, u) after a unit gradient, as a matrix power.

    One step maps (y, u) to (y + rho u - alpha y, rho u - alpha y), with y the displacement and b = 1 - alpha.
    """
    y = u = Running(1)
    alpha = 1 - b
    for _ in range(n - 1):
        u = rho * u - alpha * y
        y = y + u
    return y


def constant_changes(s: Scenario) -> Scenario:
    """The messages that clients with constant gradients send: Delta_i = -eta_l ||a_i||_1 g, ||a||_1 summed from its
    closed form, since no gradient depends on the model.
    """
    h, problem = s.case.hyper, s.case.problem
    assert problem is not None
    solver = s.case.options.get("solver", "proximal" if s.case.algorithm == "fedprox" else "sgd")
    name = _SGD.get(solver, solver)
    factor = _factor(name, h, {"start": "zero"})
    assert factor is not None
    rounds = []
    for event in s.events:
        assert isinstance(event, Round)
        messages = []
        for i, tau in zip(event.participants, event.steps, strict=True):
            a = _total(factor(k, tau) for k in range(tau))
            # The gradient of -e' x is -e.
            delta = {"w": h["eta_l"] * a * problem.e[i]}
            messages.append(ClientMessage(i, delta, problem.examples[i], tau, a))
        rounds.append(Messages(tuple(messages)))
    return Scenario(s.case, tuple(rounds))


def client_models(s: Scenario) -> list[Array]:
    """The local model after each event, from the whole history of its round."""
    h, o, name = s.case.hyper, s.case.options, s.case.algorithm
    start = flatten(s.case.x0)
    cover = named_cover(CoverName(o.get("cover", "one")), shapes(s.case.x0))
    factor = _factor(name, h, o)
    rows: list[Array] = []
    x, out = start, []
    for event in s.events:
        if isinstance(event, Begin):
            start = x = flatten(event.x)
            rows = []
        elif isinstance(event, Gradient):
            rows.append(flatten(event.g))
            tau = len(rows)
            if factor is not None:
                parts = [factor(k, tau) * row for k, row in enumerate(rows)]
                x = start - h["eta_l"] * _total(parts)
                # The anchor pulls towards the start, which a round leaves where it was.
            elif name == "normalised-sgd":
                x = start - h["eta_l"] * _total(row / (_total(a * a for a in row).sqrt() + h["eps"]) for row in rows)
            elif name in history.DELAYED:
                x = x - h["eta_l"] * history.steps(name, rows, cover.sets, h, o)[-1]
            elif name.startswith("sm3"):
                nu = _sm3(rows, cover.sets, name)
                x = x - h["eta_l"] * _over(rows[-1], nu, h, o)
            else:
                x = x - h["eta_l"] * _moment_steps(rows, h, o, _KIND[name], h["eps"])
        out.append(x)
    return out


def _sm3(rows: Sequence[Array], sets: Sequence[Sequence[int]], name: str) -> Array:
    d = len(rows[0])
    holding = [[r for r, S in enumerate(sets) if j in S] for j in range(d)]
    if name == "sm3-i":
        total = [_total(max(row[j] * row[j] for j in S) for row in rows) for S in sets]
        return np.array([min(total[r] for r in holding[j]) for j in range(d)], dtype=object)
    nu = [Running(0)] * d
    for row in rows:
        top = [max(nu[j] for j in S) for S in sets]
        nu = [min(top[r] for r in holding[j]) + row[j] * row[j] for j in range(d)]
    return np.array(nu, dtype=object)


def _over(g: Array, nu: Array, h: Mapping[str, Any], o: Options) -> Array:
    if o["zero"] == "epsilon":
        stepped: Array = g / (_root(nu) + h["eps"])
        return stepped
    return np.array([a / b.sqrt() if b > 0 else a for a, b in zip(g, nu, strict=True)], dtype=object)


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


def check(bench: Bench, s: Scenario) -> None:
    scale = bench.expect(s)
    with digits():
        lifted = lift(s, Running)
        want = server_models(lifted) if s.case.level == "server" else client_models(lifted)
    for k, got in enumerate(bench.play(s)):
        where = f"{describe(s.events[k])} {k + 1}"
        bounds = np.array([w.bound for w in scale[k]["x"]])
        bench.compare("x", got["x"], want[k], where, bounds)


def _constant(setting: Setting) -> st.SearchStrategy[Scenario]:
    def flat(s: Scenario) -> Scenario:
        problem = s.case.problem
        assert problem is not None
        return replace(s, case=replace(s.case, problem=replace(problem, H=problem.H * 0)))

    return round_scenarios(setting).map(flat)


def _is_method(setting: Setting) -> str:
    return "its clients are not described by ||a_i||_1" if isinstance(setting.algorithm.run, Program) else ""


def _check_constant(bench: Bench, s: Scenario) -> None:
    scale = bench.expect(s)
    with digits():
        want = server_models(constant_changes(lift(s, Running)))
    for k, got in enumerate(bench.play(s)):
        bounds = np.array([w.bound for w in scale[k]["x"]])
        bench.compare("x", got["x"], want[k], f"round {k + 1}", bounds)


LAWS = (
    Law(
        id="constant-gradients",
        words="clients with constant gradients g_i change by exactly -eta_l ||a_i||_1 g_i",
        levels=("round",),
        source="FedNova, eq. (4) and App. B: Delta_i = -eta G_i a_i",
        cases=_constant,
        check=_check_constant,
        applies=_is_method,
    ),
    Law(
        id="unrolled",
        words="the model is the sum over its whole history: powers of the decays times the inputs, pauses included",
        levels=("client", "server"),
        source="FedNova, App. B (a_i); FedAda2, eq. (19) and L1136 (moments as sums)",
        cases=_with_pauses,
        check=check,
    ),
)
