"""Servers from all messages so far: the model after each round, as a sum over the rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from fedspec.arith import Array, sqrt
from fedspec.contract import Messages
from fedspec.discovered import said
from fedspec.params import flatten
from fedspec_properties.closed_forms import own
from fedspec_properties.closed_forms.adaptive import Numbers, Options, direction
from fedspec_properties.closed_forms.every_change import MOVES, Move, centred
from fedspec_properties.closed_forms.sums import average, counts, decayed, largest, total
from fedspec_suite.measure.scenario import Scenario

ADAPTIVE = {"fedadagrad": "adagrad", "fedadam": "adam", "fedyogi": "yogi", "fedamsgrad": "amsgrad"}
"""The second moments of adaptive servers; those of FedAMS follow its option."""


def _shares(e: Messages, o: Options) -> list[Any]:
    n = counts(o, [m.weight for m in e.messages], [m.steps for m in e.messages])
    return [n_i / total(n) for n_i in n]


def mean_change(e: Messages, o: Options) -> Array:
    """The weighted mean of a round's changes."""
    mean: Array = total(p * flatten(m.delta) for p, m in zip(_shares(e, o), e.messages, strict=True))
    return mean


def normalised_change(e: Messages, h: Numbers, o: Options) -> Array:
    """tau_eff sum_i w_i Delta_i / ||a_i||_1."""
    p, a = _shares(e, o), [m.a_norm for m in e.messages]
    A = total(p_i * a_i for p_i, a_i in zip(p, a, strict=True))
    tau = total(p_i * m.steps for p_i, m in zip(p, e.messages, strict=True))
    steps = o.get("tau_eff_choice", "weighted-norm")
    tau_eff: Any = {"weighted-norm": A, "weighted-steps": tau, "fixed": h.get("tau_eff")}[steps]
    w = p if o.get("nova_weights", "nova") == "nova" else [p_i * a_i / A for p_i, a_i in zip(p, a, strict=True)]
    step: Array = total(tau_eff * w_i / a_i * flatten(m.delta) for w_i, a_i, m in zip(w, a, e.messages, strict=True))
    return step


def _heavy_ball(past: Sequence[Array], h: Numbers, o: Options) -> Array:
    v = decayed(h["beta"], past)
    if o["momentum_sum"] == "average":
        mean: Array = h["eta"] * (1 - h["beta"]) * v
        return mean
    step: Array = h["eta"] * (past[-1] + h["beta"] * v if o["momentum"] == "nesterov" else v)
    return step


def _ams_of_the_authors(past: Sequence[Array], h: Numbers, o: Options) -> Array:
    """FedAMS as its authors run it: the largest average so far, or what it began with."""
    T, squares = len(past), [row * row for row in past]
    averages = [average(h["beta2"], squares[:s]) for s in range(1, T + 1)]
    v_hat = largest([past[0] * 0 + h["v_hat0"], *averages])
    below = sqrt(v_hat / (1 - h["beta2"] ** T)) + h["eps"]
    step: Array = h["eta"] * average(h["beta1"], past) / (1 - h["beta1"] ** T) / below
    return step


Step = Callable[[Sequence[Array], Numbers, Options], Array]

STEPS: dict[str, Step] = {
    "fedavg": lambda past, h, o: h["eta"] * past[-1],
    "fedprox": lambda past, h, o: h["eta"] * past[-1],
    "scaffold": lambda past, h, o: h["eta"] * past[-1],
    "fedavgm": _heavy_ball,
    "fedams-code": _ams_of_the_authors,
    # A change in units of the rate that leaves the buffer in this rate: while it stays, powers of beta times changes.
    "slowmo": lambda past, h, o: h["eta"] * decayed(h["beta"], past),
}
"""The server's last move from the mean changes of all rounds so far, for servers without a second moment."""


NOVA: dict[str, Step] = {
    "fednova": lambda past, h, o: past[-1],
    "fednova-momentum": lambda past, h, o: decayed(h["beta"], past),
    "fednova-adaptive": lambda past, h, o: h["eta"] * direction(o["server"], past, h, o, h["tau"]),
}
"""The same from FedNova's changes of all rounds so far."""


@cache
def _steps() -> dict[str, Step]:
    """Those of every closed form's file, and of plugins."""
    tables = (*said(__package__, "STEPS"), own.table("STEPS"))
    return {name: step for table in tables for name, step in table.items()}


@cache
def _moves() -> dict[str, Move]:
    """Those of servers that read every change, and of plugins."""
    return {**MOVES, **own.table("MOVES")}


def known() -> frozenset[str]:
    """The algorithms whose server has a closed form here."""
    return frozenset({*NOVA, *_moves(), *_steps(), *ADAPTIVE, "centred-clipping", "feddyn", "fedams"})


def last_move(s: Scenario, rounds: Sequence[Messages]) -> Array:
    """The server's move in the last of these rounds."""
    h, o, name = s.case.hyper, s.case.options, s.case.algorithm
    move: Array
    if name in NOVA:
        return NOVA[name]([normalised_change(e, h, o) for e in rounds], h, o)
    if name in _moves():
        e = rounds[-1]
        return _moves()[name](_shares(e, o), [flatten(m.delta) for m in e.messages], h, o)
    if name == "centred-clipping":
        move = h["eta"] * centred([[flatten(m.delta) for m in e.messages] for e in rounds], h)
        return move
    if name == "feddyn":
        # mu cancels: h / mu is the sum of all changes that were ever sent, over all clients.
        sums = [total(flatten(m.delta) for m in e.messages) for e in rounds]
        move = sums[-1] / len(rounds[-1].messages) + total(sums) / s.case.population
        return move
    past = [mean_change(e, o) for e in rounds]
    if name in _steps():
        return _steps()[name](past, h, o)
    kind = f"ams-option-{o['option']}" if name == "fedams" else ADAPTIVE[name]
    move = h["eta"] * direction(kind, past, h, o, h["tau"] if "tau" in h else h["eps"])
    return move


def models(s: Scenario) -> list[Array]:
    """The model after each round, from the whole history."""
    rounds = [e for e in s.events if isinstance(e, Messages)]
    x, out = flatten(s.case.x0), []
    for T in range(1, len(rounds) + 1):
        x = x + last_move(s, rounds[:T])
        out.append(x)
    return out
