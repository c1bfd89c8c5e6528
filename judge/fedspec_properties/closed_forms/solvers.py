"""Local solvers in closed form: the local model after each step as a sum over all gradients of the round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from fedspec.arith import Array, sqrt
from fedspec.catalogue import LocalSolver, find
from fedspec.contract import Begin, ClientMessage, Gradient, Messages, Round
from fedspec.covers import named_cover
from fedspec.params import flatten, shapes
from fedspec.readings import CoverName
from fedspec_properties.closed_forms import delayed_solvers, fed_lamb, plugin_tables
from fedspec_properties.closed_forms.adaptive import Numbers, Options, direction
from fedspec_properties.closed_forms.sums import each, events_of, length, total
from fedspec_suite.measure.closed_form_rounding import of_code
from fedspec_suite.measure.scenario import Scenario

ADAPTIVE = ("adagrad", "adam", "yogi", "amsgrad")


def factor(name: str, h: Numbers, o: Options) -> Callable[[int, int], Any] | None:
    """Return the function a_k of a linear solver, in the paper's closed form; None for an adaptive solver."""
    rho: Any = h.get("rho")
    gamma: Any = h.get("gamma")
    b: Any = 1 - h["eta_l"] * h["mu"] if "mu" in h else None
    match name:
        case "sgd":
            return lambda k, tau: 1
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
            return lambda k, tau: total(b**j * rho ** (tau - k - 1 - j) for j in range(tau - k))
        case "momentum-proximal-inside":
            return lambda k, tau: _companion(b, rho, tau - k)
    return None


def _companion(b: Any, rho: Any, n: int) -> Any:
    """First component of C^(n-1) (1, 1): the two-step recursion of (x, u) after a unit gradient, as a matrix power.

    One step maps (y, u) to (y + rho u - alpha y, rho u - alpha y), with y the displacement and b = 1 - alpha.
    """
    y: Any = 1
    u: Any = 1
    alpha = 1 - b
    for _ in range(n - 1):
        u = rho * u - alpha * y
        y = y + u
    return y


LINEAR = (
    *("sgd", "decayed-sgd", "proximal-sgd", "momentum", "nesterov", "dampened"),
    *("momentum-proximal-outside", "momentum-proximal-inside"),
)
KNOWN = frozenset({*LINEAR, *ADAPTIVE, *delayed_solvers.NAMES, "adamw", "normalised-sgd", "lamb", "sm3-i", "sm3-ii"})
"""Local solvers that have a closed form here."""


@cache
def of_plugins() -> dict[str, Callable[..., Array]]:
    """Return the last local moves, from all gradients of a round so far, of plugins' local solvers."""
    rows = plugin_tables.table("STEPS")
    return {n: f for n, f in rows.items() if isinstance(find(n).run, LocalSolver)}


def known() -> frozenset[str]:
    """Return the local solvers that have a closed form, plugins included."""
    return KNOWN | of_plugins().keys()


def constant_changes(s: Scenario) -> Scenario:
    """Return the messages of clients with constant gradients, Delta_i = -eta_l ||a_i||_1 g.

    No gradient depends on the model, so ||a_i||_1 is summed from its closed form.
    """
    h, problem = s.case.hyper, s.case.problem
    assert problem is not None
    solver = s.case.options.get("solver", "proximal" if s.case.algorithm == "fedprox" else "sgd")
    a_k = factor({"proximal": "proximal-sgd", "decayed": "decayed-sgd"}.get(solver, solver), h, {"start": "zero"})
    assert a_k is not None
    rounds = []
    for event in events_of(Round, s):
        messages = []
        for i, tau in zip(event.participants, event.steps, strict=True):
            a = total(a_k(k, tau) for k in range(tau))
            # The gradient of -e' x is -e.
            delta = {"w": h["eta_l"] * a * problem.e[i]}
            told = of_code(tau, h["eta_l"] * h["mu"], h["rho"]) if s.case.options.get("norm") == "code" else a
            messages.append(ClientMessage(i, delta, problem.examples[i], tau, told))
        rounds.append(Messages(tuple(messages)))
    return Scenario(s.case, tuple(rounds))


def models(s: Scenario) -> list[Array]:
    """Return the local model after each event, from the whole history of its round."""
    h, o, name = s.case.hyper, s.case.options, s.case.algorithm
    start = flatten(s.case.x0)
    cover = named_cover(CoverName(o.get("cover", "one")), shapes(s.case.x0))
    a_k = factor(name, h, o)
    rows: list[Array] = []
    x, out = start, []
    for event in s.events:
        if isinstance(event, Begin):
            start = x = flatten(event.x)
            rows = []
        elif isinstance(event, Gradient):
            rows.append(flatten(event.g))
            if name in of_plugins():
                x = x + of_plugins()[name](rows, h, o)
            elif a_k is not None:
                # The anchor pulls towards the start, which a round leaves where it was.
                x = start - h["eta_l"] * total(a_k(k, len(rows)) * row for k, row in enumerate(rows))
            elif name == "normalised-sgd":
                x = start - h["eta_l"] * total(row / (length(row) + h["eps"]) for row in rows)
            elif name in delayed_solvers.NAMES:
                x = x - h["eta_l"] * delayed_solvers.steps(name, rows, cover.sets, h, o)[-1]
            elif name == "lamb":
                x = x - h["eta_l"] * fed_lamb.lamb_direction(rows, x, s)
            elif name == "adamw":
                x = decaying(start, rows, h, o)
            elif name in ADAPTIVE:
                x = x - h["eta_l"] * direction(name, rows, h, o, h["eps"])
            else:
                nu = delayed_solvers.second_moment(f"{name}-delayed", rows, cover.sets, {})
                x = x - h["eta_l"] * _over(rows[-1], nu, h, o)
        out.append(x)
    return out


def decaying(start: Array, rows: Sequence[Array], h: Numbers, o: Options) -> Array:
    """Return AdamW's model: the decayed start minus the sum of all steps, each with the decays after it.

    With b = 1 - eta_l wd, or 1 - wd:  b^T x_0 - eta_l sum over s = 1 .. T of b^(T-s) r_s, b^(T-s+1) where a step decays
    too; r_s are Adam's.
    """
    T, b = len(rows), 1 - (1 if o["decay"] == "alone" else h["eta_l"]) * h["wd"]
    late = 1 if o["decay"] == "after" else 0
    steps = (b ** (T - s + late) * direction("adam", rows[:s], h, o, h["eps"]) for s in range(1, T + 1))
    model: Array = b**T * start - h["eta_l"] * total(steps)
    return model


def _over(g: Array, nu: Array, h: Numbers, o: Options) -> Array:
    if o["zero"] == "epsilon":
        return np.asarray(g / (sqrt(nu) + h["eps"]))
    return each(a / sqrt(b) if b > 0 else a for a, b in zip(g, nu, strict=True))
