"""The rounds of FedAda2's methods from their whole history: sums over all gradients and all changes so far.

    x_i - x = -eta_l (u_1 + ... + u_tau),    u_k from the sums of g_1 .. g_k and of their squares
    x_T = x_0 + eta sum over t of m_t / (sqrt(v_t) + tau),
    m_t = (1 - beta1) sum over s <= t of beta1^(t-s) Delta_s,    v_t = v_0 + sum over s <= t of Delta_s^2, ...

They share no code with the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec.covers import named_cover
from fedspec.params import flatten, shapes
from fedspec.readings import CoverName
from fedspec_suite.laws import history
from fedspec_suite.measure.running import Running
from fedspec_suite.measure.scenario import Scenario

ADAPTIVE = ("joint-local", "joint-direct", "fedada2", "fedadaadagrad", "fedadaadam", "fedblended")
"""Rows whose clients may adapt under a server that does."""

BOUNDED = ("fedavg-normalised", "dp-fedavg")
"""Rows whose clients' changes have bounded length."""

RULE = {"adagrad": "agdu", "adam": "admu", "sm3-adagrad": "sm3-ii-delayed", "sm3-adam": "sm3-adam"}
"""The local solver behind the name of a strategy."""

Numbers = Mapping[str, Any]


def total(terms: Sequence[Any]) -> Any:
    """The sum of at least one term."""
    return sum(terms[1:], start=terms[0])


def root(v: Array) -> Array:
    """The root of every entry."""
    return np.array([x.sqrt() for x in v], dtype=object)


def length(x: Array) -> Any:
    """The Euclidean length."""
    return total([a * a for a in x]).sqrt()


def average(beta: Any, rows: Sequence[Array], start: Any = None) -> Array:
    """beta^T start + (1 - beta) sum over s of beta^(T-s) row_s."""
    T = len(rows)
    past = [(1 - beta) * beta ** (T - s) * row for s, row in enumerate(rows, 1)]
    return np.asarray(total(past if start is None else [beta**T * start, *past]))


def strategy(s: Scenario, place: int, e: Round) -> str:
    """The local solver of a participant."""
    name, o = s.case.algorithm, s.case.options
    match name:
        case "fedblended":
            return e.strategies[place]
        case "fedada2":
            return f"sm3-{o['client']}"
        case "joint-local" | "joint-direct":
            return o["client"]
    return {"fedadaadagrad": "adagrad", "fedadaadam": "adam", "fedavg-normalised": "normalised"}.get(name, "sgd")


def clients_own(h: Numbers) -> dict[str, Any]:
    """The hyper-parameters under the names that they have in a local solver."""
    none = Running(0)
    moments = {n: h.get(f"{n}_l", none) for n in ("beta1", "beta2")}
    return {**moments, "eps": h.get("eps", none), "eps_s": h.get("eps_s", none), "z": h.get("z", 1), "v0": none}


def last_step(kind: str, rows: Sequence[Array], sets: history.Sets, h: Numbers, o: Mapping[str, str]) -> Array:
    """What the last of the steps with these gradients takes eta_l of."""
    g = rows[-1]
    match kind:
        case "normalised":
            return np.asarray(g / (length(g) + h["eps"]))
        case "sgd":
            return g * 0 if total([a * a for a in g]) < h["eps_s"] * h["eps_s"] else g
        case "adam" if o.get("received") == "uncorrected":
            v = average(h["beta2"], [row * row for row in rows], h["v0"])
            return np.asarray(average(h["beta1"], rows) / (root(v) + h["eps"]))
    return history.steps(RULE[kind], rows, sets, h, o)[-1]


def change(s: Scenario, e: Round, place: int, x: Array, v: Array) -> Array:
    """A participant's change, before it is weighted or clipped; the server's second moment is v."""
    h, o, problem = s.case.hyper, s.case.options, s.case.problem
    assert problem is not None
    i = e.participants[place]
    own = clients_own(h)
    if s.case.algorithm == "joint-direct":
        own["v0"] = v
    sets = named_cover(CoverName(o.get("cover", "singletons")), shapes(s.case.x0)).sets
    rows: list[Array] = []
    steps: list[Array] = []
    for _ in range(e.steps[place]):
        at = x - h["eta_l"] * total(steps) if steps else x
        rows.append(problem.H[i] @ at - problem.e[i])
        steps.append(last_step(strategy(s, place, e), rows, sets, own, o))
    return np.asarray(-h["eta_l"] * total(steps))


def aggregate(s: Scenario, e: Round, changes: Sequence[Array]) -> Array:
    """The mean over the draws of a round of their weighted or clipped changes, with its noise."""
    h, n = s.case.hyper, len(changes)
    if s.case.algorithm != "dp-fedavg":
        scales = e.scales or (Running(1),) * n
        return np.asarray(total([c * row for c, row in zip(scales, changes, strict=True)]) / n)
    short = []
    for row in changes:
        size = length(row)
        short.append(row if size <= h["clip_norm"] else row * (h["clip_norm"] / size))
    return np.asarray(total([*short, h["sigma"] * h["clip_norm"] * np.array(e.noise, dtype=object)]) / n)


@dataclass(frozen=True)
class Server:
    """What a server has after all changes so far: the direction of its next step and its second moment."""

    step: Array
    v: Array


def server(s: Scenario, past: Sequence[Array]) -> Server:
    """The server after the given changes, none left out."""
    h, o = s.case.hyper, s.case.options
    d = flatten(s.case.x0).size
    start = np.array([h.get("v0", Running(0))] * d, dtype=object)
    kind = o.get("server", "average" if s.case.algorithm in BOUNDED else "adagrad")
    if kind == "average":
        return Server(past[-1] if past else start, start)
    squares = [row * row for row in past]
    v = average(h["beta2"], squares, start) if kind == "adam" and past else np.asarray(total([start, *squares]))
    return Server(average(h["beta1"], past) / (root(v) + h["tau"]) if past else start, v)


def models(s: Scenario) -> Iterator[Array]:
    """The model after every round of a scenario of running numbers."""
    x, past = flatten(s.case.x0), list[Array]()
    v = server(s, past).v
    for e in s.events:
        assert isinstance(e, Round)
        past.append(aggregate(s, e, [change(s, e, p, x, v) for p in range(len(e.participants))]))
        after = server(s, past)
        x, v = x + s.case.hyper.get("eta", Running(1)) * after.step, after.v
        yield x
