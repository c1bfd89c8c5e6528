"""Asynchronous algorithms from their whole history: closed forms on quadratic clients, no recursion.

    x_i - x_mu = -eta_l (I + B + ... + B^(K-1)) (H_i x_mu - e_i),    B = I - eta_l (H_i + mu I)
    x_T = x_0 + eta sum_t m_t / (sqrt(v_t) + eps),    m_t = (1 - beta1) sum_s beta1^(t-s) Delta_s, ...

They share no code with the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.contract import Arrival
from fedspec.linear import eye
from fedspec.params import flatten
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import arrival_scenarios
from fedspec_suite.measure.running import Running
from fedspec_suite.measure.scenario import Scenario, lift
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import NotOffered

Change = Callable[[Arrival, Array], Array]

BUFFERED = ("cc-fedavg", "cc-fedsgd", "cc-fedavgm", "cc-fedadagrad", "cc-fedadam", "cc-fedams", "fedbuff")
ASYNCHRONOUS = (*BUFFERED, "fedasync")
LINEAR = ("cc-fedavg", "cc-fedsgd", "fedbuff")


def among(names: Sequence[str], what: str) -> Callable[[Setting], str]:
    """Whether a law is asked of a setting's algorithm."""
    return lambda setting: "" if setting.algorithm.id in names else f"it is about {what}"


def buffer_of(s: Scenario) -> int:
    """How many updates the server of a scenario waits for."""
    return int(s.case.hyper.get("buffer", 1))


def _sum(terms: Sequence[Any]) -> Any:
    return sum(terms[1:], start=terms[0])


def solved(H: Array, e: Array, steps: int, h: Mapping[str, Any]) -> tuple[Array, Array]:
    """S and H S x_mu - S e: a client's change is minus their sum, S = eta_l (I + B + ... + B^(K-1))."""
    one = eye(H)
    B = one - h["eta_l"] * (H + h.get("mu", 0) * one)
    powers = [one]
    for _ in range(steps - 1):
        powers.append(powers[-1] @ B)
    S = h["eta_l"] * _sum(powers)
    return S @ H, S @ e


def change_on(s: Scenario) -> Change:
    """The change of an arrival's client from the version that it downloaded."""
    problem = s.case.problem
    assert problem is not None

    def change(e: Arrival, x_mu: Array) -> Array:
        SH, Se = solved(problem.H[e.client], problem.e[e.client], e.steps, s.case.hyper)
        moved: Array = Se - SH @ x_mu
        return moved

    return change


def weight(s: Scenario, delay: int) -> Any:
    """s(u) of a late update, through logarithms."""
    h, o = s.case.hyper, s.case.options
    u = delay + (o.get("age") == "literal")
    match o.get("staleness"):
        case "polynomial":
            return Running(Decimal(1 + u) ** (Decimal(-h["twice_a"]) / 2))
        case "hinge" if u > h.get("hinge_b", 0):
            return 1 / (1 + h["hinge_a"] * (u - h["hinge_b"]))
    return Running(1)


def _average(beta: Any, rows: Sequence[Array]) -> Array:
    T = len(rows)
    return np.asarray(_sum([(1 - beta) * beta ** (T - s) * row for s, row in enumerate(rows, 1)]))


def _second(name: str, rows: Sequence[Array], h: Mapping[str, Any]) -> Array:
    squares = [row * row for row in rows]
    start = rows[0] * 0 + h["v0"]
    if name == "cc-fedadagrad":
        return np.asarray(_sum([start, *squares]))
    return np.asarray(h["beta2"] ** len(rows) * start + _average(h["beta2"], squares))


def _direction(name: str, rows: Sequence[Array], h: Mapping[str, Any], o: Mapping[str, str]) -> Array:
    """What the server's step is eta times of, after all aggregates so far."""
    if name in LINEAR:
        return rows[-1]
    if name == "cc-fedavgm":
        v = _average(h["beta"], rows)
        return v if o["momentum_sum"] == "average" else v / (1 - h["beta"])
    v = _second(name, rows, h)
    if name == "cc-fedams":
        past = [_second(name, rows[:t], h) for t in range(1, len(rows) + 1)]
        past.append(rows[0] * 0 + (h["v0"] if o["maximum_start"] == "v0" else 0))
        v = np.array([max(column) for column in zip(*past, strict=True)], dtype=object)
    small = h["eps"] if name == "cc-fedams" else h["tau"]
    inside = o["epsilon"] == "inside"
    below = np.array([(x + small).sqrt() if inside else x.sqrt() + small for x in v], dtype=object)
    return np.asarray(_average(h["beta1"], rows) / below)


def models(s: Scenario, change: Change) -> list[Array]:
    """The model after each arrival of a scenario in running arithmetic."""
    h, o, name = s.case.hyper, s.case.options, s.case.algorithm
    versions, out = [flatten(s.case.x0)], []
    waiting: list[Array] = []
    rows: list[Array] = []
    shares: list[Any] = []
    for e in s.events:
        assert isinstance(e, Arrival)
        x_mu = versions[-1 - e.delay]
        moved = change(e, x_mu)
        if name == "fedasync":
            rows.append(x_mu + moved)
            shares.append(h["mix"] * weight(s, e.delay))
            left = [_product([1 - a for a in shares[t:]]) for t in range(len(shares) + 1)]
            arrived = [a * p * row for a, p, row in zip(shares, left[1:], rows, strict=True)]
            versions.append(left[0] * versions[0] + _sum(arrived))
        else:
            waiting.append(moved / e.steps if o.get("normalise") == "per-step" else weight(s, e.delay) * moved)
            if len(waiting) == buffer_of(s):
                rows.append(_sum(waiting) / len(waiting))
                waiting = []
                steps = [_direction(name, rows[:t], h, o) for t in range(1, len(rows) + 1)]
                versions.append(versions[0] + h.get("eta", 1) * _sum(steps))
        out.append(versions[-1])
    return out


def _product(factors: Sequence[Any]) -> Any:
    out: Any = Running(1)
    for factor in factors:
        out = out * factor
    return out


def against(bench: Bench, s: Scenario, want: Sequence[Array]) -> None:
    """The subject's models are the wanted ones, up to the rounding of the rule."""
    scale = bench.expect(s)
    for k, got in enumerate(bench.play(s)):
        bounds = np.array([w.bound for w in scale[k]["x"]])
        bench.compare("x", got["x"], want[k], f"arrival {k + 1}", bounds)


def _unrolled(bench: Bench, s: Scenario) -> None:
    with digits():
        lifted = lift(s, Running)
        want = models(lifted, change_on(lifted))
    against(bench, s, want)


def constant(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Clients whose gradient is -e_i everywhere."""

    def flat(s: Scenario) -> Scenario:
        problem = s.case.problem
        assert problem is not None
        return replace(s, case=replace(s.case, problem=replace(problem, H=problem.H * 0)))

    return arrival_scenarios(setting).map(flat)


def _telescopes(bench: Bench, s: Scenario) -> None:
    with digits():
        lifted = lift(s, Running)
        problem = lifted.case.problem
        assert problem is not None
        eta_l = lifted.case.hyper["eta_l"]
        want = models(lifted, lambda e, x_mu: e.steps * eta_l * problem.e[e.client])
    against(bench, s, want)


def _conserves(bench: Bench, s: Scenario) -> None:
    h, o, name = s.case.hyper, s.case.options, s.case.algorithm
    moment = {"cc-fedavgm": "v", "cc-fedams": "v_hat"}.get(name, "delta" if name in LINEAR else "v")
    small = float(h.get("eps", h.get("tau", 0)))
    scale = bench.expect(s)
    done = []
    for k, got in enumerate(bench.play(s)):
        if k % buffer_of(s) == buffer_of(s) - 1:
            if not {moment, "delta"} <= set(got) or (small and "m" not in got):
                raise NotOffered(f"not offered: {moment} is not shown")
            below = got[moment].astype(float)
            if small:
                root = np.sqrt(below + small) if o["epsilon"] == "inside" else np.sqrt(below) + small
                done.append(got["m"].astype(float) / root)
            else:
                done.append(below)
        want = flatten(s.case.x0).astype(float) + float(h.get("eta", 1)) * np.sum(done, axis=0)
        bounds = np.array([w.bound for w in scale[k]["x"]])
        bench.compare("x", got["x"], want, f"arrival {k + 1}", bounds)


LAWS = (
    Law(
        id="arrivals-unrolled",
        words="on quadratics the model is a sum over all arrivals: powers of the clients' matrices and of the decays",
        levels=("trace",),
        source="Client-Centric, Alg. 3 (L149-181), L554; FedNova, eqs. (17)-(21)",
        cases=lambda setting: arrival_scenarios(setting, rounds=(2, 9)),
        check=_unrolled,
        applies=among(ASYNCHRONOUS, "late updates"),
    ),
    Law(
        id="arrivals-telescope",
        words="a client with constant gradient g sends -eta_l g, whatever its steps and delay; K times that "
        "unnormalised",
        levels=("trace",),
        source="Client-Centric, Alg. 3 (L149-181): Delta = (eta_l / K) sum of the K gradients",
        cases=constant,
        check=_telescopes,
        applies=among(BUFFERED, "buffers of changes"),
    ),
    Law(
        id="arrivals-conserved",
        words="the model has moved by eta times the sum of all steps, as the moments shown give them",
        levels=("trace",),
        source="Client-Centric, L111 and L554, summed over the rounds",
        cases=lambda setting: arrival_scenarios(setting, rounds=(2, 9)),
        check=_conserves,
        applies=among(BUFFERED, "buffers of changes"),
        shows="delta",
    ),
)
